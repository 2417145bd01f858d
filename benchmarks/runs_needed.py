"""How often the number of runs that would decide is enough: ``python -m benchmarks.runs_needed``, about 13 minutes.

A first sample has exactly the estimate and the standard deviation of a case, and is undecided; ``runs_needed`` is read
from its conclusion. Then new samples of that many runs are drawn with the same mean and deviation, and judged by the
same study. The goal is that 80 % of them are decided. A case fails if the 95 % interval of its rate is below 75 %, or
if it is above 90 % and one run fewer would decide 80 %, too: one run can move a rate far.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks.markdown import table
from benchmarks.undecided_validation import UndecidedValidation
from hati.campaign import campaign
from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    FloatArray,
    Metric,
    Observations,
    Reader,
    ReaderKind,
    Revision,
    RevisionKind,
    Sample,
    SampledRun,
    Stopping,
    Task,
)
from hati.formula import Comparator
from hati.harness import AnytimeValid, FixedSize, StoppingRule
from hati.logic.interpret import (
    AskedRelation,
    FormulaVerdict,
    Limit,
    MeasuredSample,
    RelationEvidence,
    decide,
    decide_early,
    glance_early,
)
from hati.studies.comparison import ChangeVerdict, Question, compare, pairs
from hati.studies.gate import Cell, Gate, gate_id
from hati.studies.paired.judging import JudgedPairs
from hati.studies.validation import Mode
from hati.testing import FakeEngine, MemoryStore

SEED = 20261123
REPLICATES = 2000
CAMPAIGNS = 400
LEAST, GOAL, MOST = 0.75, 0.80, 0.90
TIME = Metric("time", "s")


class Beside(Enum):
    """The other side of a relation."""

    SIDE = "another side"
    LIMIT = "a limit"


class Case(NamedTuple):
    """A true change and the standard deviation of a run, as fractions; the runs of the first sample of a side."""

    change: float
    deviation: float
    runs: int


Draw = Callable[[tuple[int, int]], FloatArray]
"""Standardised values of two sides, shape (2, runs)."""
Decides = Callable[[int, Draw], bool]
"""Whether that many new runs of a side are decided."""
Study = Callable[[Case], tuple[int | None, Decides]]
"""``runs_needed`` of a first sample, and the function that judges new ones."""


class Rate(NamedTuple):
    """The number of samples of ``needed`` runs that are decided."""

    study: str
    case: Case
    needed: int | None
    decided: int
    replicates: int
    fewer: int | None = None
    """The number that one run fewer decides; None if that does not matter."""

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval of the rate."""
        return interval(self.decided, self.replicates)

    @property
    def met(self) -> bool:
        """Whether the goal is not excluded."""
        low, high = self.interval
        fewest = self.fewer is not None and interval(self.fewer, self.replicates)[0] < GOAL
        return self.needed is not None and high >= LEAST and (low <= MOST or fewest)


def interval(decided: int, replicates: int) -> tuple[float, float]:
    """The 95 % interval of a rate, by Clopper and Pearson."""
    found = stats.binomtest(decided, replicates).proportion_ci(0.95)
    return float(found.low), float(found.high)


def rate(name: str, study: Study, case: Case, replicates: int, seed: int = SEED) -> Rate:
    """The rate of decided new samples."""
    needed, decides = study(case)
    rng = np.random.default_rng([seed, case.runs])
    decided = 0 if needed is None else sum(decides(needed, rng.standard_normal) for _ in range(replicates))
    found = Rate(name, case, needed, decided, replicates)
    if needed is None or interval(decided, replicates)[0] <= MOST:
        return found
    return found._replace(fewer=sum(decides(needed - 1, rng.standard_normal) for _ in range(replicates)))


def exact(shape: tuple[int, int]) -> FloatArray:
    """Values of two sides, uncorrelated, with exactly the mean 0 and the standard deviation 1."""
    values = np.random.default_rng(SEED).standard_normal(shape)
    columns = np.linalg.qr((values - values.mean(axis=1, keepdims=True)).T)[0]
    return np.asarray(columns.T * math.sqrt(shape[1] - 1.0))


def compared(case: Case) -> tuple[int | None, Decides]:
    """``hati compare`` of two files."""

    def found(values: tuple[FloatArray, FloatArray]) -> tuple[ChangeVerdict, int | None]:
        sides = [
            [Sample("b", TIME, tuple(SampledRun(Observations("time", "s", np.array([each]))) for each in np.exp(side)))]
            for side in values
        ]
        change = compare(pairs(*sides)[0], Question()).rows[0].change
        return change.verdict, change.runs_needed

    def drawn(runs: int, draw: Draw) -> tuple[FloatArray, FloatArray]:
        before, after = case.deviation * draw((2, runs))
        return before, math.log1p(case.change) + after

    needed = found(drawn(case.runs, exact))[1]
    return needed, lambda runs, draw: found(drawn(runs, draw))[0] is not ChangeVerdict.INCONCLUSIVE


def paired(rule: StoppingRule) -> Study:
    """``hati compare A B`` and ``compare-effects``: pairs, with one look or a look after each."""

    def study(case: Case) -> tuple[int | None, Decides]:
        question = Question()

        def judged(values: FloatArray) -> JudgedPairs:
            return JudgedPairs(math.log1p(case.change) + case.deviation * values, rule, question.alpha, question.limit)

        def decides(runs: int, draw: Draw) -> bool:
            values = draw((2, runs))[0]
            first = rule.fewest(question.alpha) if isinstance(rule, AnytimeValid) else runs
            looks = (judged(values[:size]) for size in range(first, runs + 1))
            return any(look.same or (look.p_value or 0.0) <= question.alpha for look in looks)

        return judged(exact((2, case.runs))[0]).pairs_needed(question.alpha), decides

    return study


def asserted(beside: Beside, stopping: Stopping, sign: Comparator = Comparator.AT_MOST) -> Study:
    """``hati assert``: two sides, or one and a limit, with a fixed number of runs or a look after each."""
    relation = AskedRelation(sign, 0.02)

    def fixed(left: MeasuredSample, right: MeasuredSample | Limit) -> RelationEvidence:
        return decide(left, right, relation, np.random.default_rng(SEED))

    def early(left: MeasuredSample, right: MeasuredSample | Limit) -> RelationEvidence:
        return decide_early(left, right, relation)

    def glance(left: MeasuredSample, right: MeasuredSample | Limit) -> RelationEvidence:
        return glance_early(left, right, relation)

    first, again = (fixed, fixed) if stopping is Stopping.FIXED else (early, glance)

    def study(case: Case) -> tuple[int | None, Decides]:
        def sides(runs: int, draw: Draw) -> tuple[MeasuredSample, MeasuredSample | Limit]:
            left, right = 1.0 + case.deviation * draw((2, runs))
            measured = MeasuredSample(tuple(np.array([x]) for x in left + case.change))
            return measured, Limit(1.0) if beside is Beside.LIMIT else MeasuredSample(
                tuple(np.array([x]) for x in right)
            )

        def decides(runs: int, draw: Draw) -> bool:
            return again(*sides(runs, draw)).verdict is not FormulaVerdict.INCONCLUSIVE

        return first(*sides(case.runs, exact)).runs_needed, decides

    return study


def checked(case: Case) -> tuple[int | None, Decides]:
    """``hati check``: a configuration at two revisions, in rounds."""
    benchmark = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (TIME,))
    old, new = (Revision(name, RevisionKind.DIRECTORY) for name in ("old", "new"))
    cells = (Cell(benchmark, Configuration()),)

    def concluded(rounds: int, draw: Draw) -> tuple[ChangeVerdict, int | None]:
        values = math.log1p(case.change) + case.deviation * draw((2, rounds))[0]
        given: dict[tuple[str, int], float] = {}

        def measured(task: Task) -> Mapping[str, Sequence[float]]:
            key = task.stage.partition(" ")[0], task.repetition
            given.setdefault(key, values[len(given) % rounds])
            return {"time": [math.exp(given[key]) if task.revision == "new" else 1.0]}

        question = Question()
        study = Gate(gate_id(cells, old, new, question, 1, "m"), old, new, cells, question, Budget(runs=2 * rounds))
        store = MemoryStore()
        row = campaign(study, FakeEngine(measured), store, Budget(runs=2 * rounds)).rows[0]
        return row.change.verdict, row.change.runs_needed

    needed = concluded(case.runs, exact)[1]
    return needed, lambda rounds, draw: concluded(rounds, draw)[0] is not ChangeVerdict.INCONCLUSIVE


def validated(mode: Mode) -> Study:
    """``hati validate``: an important effect of a screening that the first validation leaves undecided."""

    def study(case: Case) -> tuple[int | None, Decides]:
        first = UndecidedValidation(mode, math.log1p(case.change), case.deviation, case.runs)
        return first.needed, lambda runs, draw: first.decided(draw((1, runs))[0])

    return study


CASES = (Case(0.02, 0.02, 5), Case(0.08, 0.05, 5), Case(0.0, 0.05, 5), Case(0.1, 0.2, 8), Case(0.03, 0.01, 3))
PAIRED = (Case(0.02, 0.03, 10), Case(0.08, 0.1, 8), Case(0.0, 0.05, 10), Case(0.03, 0.1, 20))
EQUAL = (Case(0.0, 0.02, 14), Case(0.01, 0.02, 14))
ASSERTED = (Case(0.0, 0.03, 14), Case(0.06, 0.05, 14), Case(0.03, 0.02, 14))
VALIDATED = (Case(0.03, 0.08, 32), Case(0.0, 0.03, 32))
STUDIES: dict[str, tuple[Study, tuple[Case, ...], int]] = {
    "compare, two files": (compared, CASES, CAMPAIGNS),
    "pairs, fixed number": (paired(FixedSize()), PAIRED, REPLICATES),
    "pairs, anytime-valid": (paired(AnytimeValid()), PAIRED, REPLICATES),
    "assert a <= b": (asserted(Beside.SIDE, Stopping.FIXED), ASSERTED, REPLICATES),
    "assert a = b": (
        asserted(Beside.SIDE, Stopping.FIXED, Comparator.EQUAL),
        EQUAL,
        REPLICATES,
    ),
    "assert a <= limit": (asserted(Beside.LIMIT, Stopping.FIXED), ASSERTED, REPLICATES),
    "assert a <= b, anytime-valid": (asserted(Beside.SIDE, Stopping.ANYTIME), ASSERTED, REPLICATES),
    "assert a <= limit, anytime-valid": (asserted(Beside.LIMIT, Stopping.ANYTIME), ASSERTED, CAMPAIGNS),
    "validate, confirm": (validated(Mode.CONFIRM), VALIDATED, CAMPAIGNS),
    "validate, discriminate": (validated(Mode.DISCRIMINATE), VALIDATED, CAMPAIGNS),
    "validate, dealias": (validated(Mode.DEALIAS), VALIDATED, CAMPAIGNS),
    "validate, check": (validated(Mode.CHECK), VALIDATED, CAMPAIGNS),
    "check": (checked, (Case(0.1, 0.05, 9), Case(0.0, 0.05, 9), Case(0.05, 0.02, 9)), CAMPAIGNS),
}


def rates(scale: float = 1.0, names: Sequence[str] = tuple(STUDIES)) -> Iterator[Rate]:
    """The rates of studies in every case."""
    for name in names:
        study, cases, replicates = STUDIES[name]
        for case in cases:
            yield rate(name, study, case, math.ceil(scale * replicates))


def result(scale: float = 1.0, names: Sequence[str] = tuple(STUDIES)) -> tuple[str, bool]:
    """The table, and whether every goal is met."""
    found = list(rates(scale, names))
    rows = [
        [
            each.study,
            f"{each.case.change:+.0%}",
            f"{each.case.deviation:.0%}",
            str(each.case.runs),
            str(each.needed),
            f"{each.decided / each.replicates:.1%} ({each.interval[0]:.1%} to {each.interval[1]:.1%})",
            "met" if each.met else "missed",
        ]
        for each in found
    ]
    heads = ["study", "change", "deviation of a run", "runs now", "runs needed", "decided (95 % interval)", "goal"]
    return table("Runs that would decide", heads, rows), all(each.met for each in found)


if __name__ == "__main__":
    text, held = result()
    print(text)
    sys.exit(not held)
