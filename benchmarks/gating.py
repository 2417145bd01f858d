"""``python -m benchmarks.gating``: false alarms, power and number of rounds of regression checks.

Checks are simulated over eight strata of equal weight, with early stopping as in ``hati check``. In some noises the
two runs of a pair differ by their order. In a third table runs are forks of JMH benchmarks, drawn with replacement.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from scipy import stats

from benchmarks.comparing import FILE, forks, half
from benchmarks.markdown import table
from benchmarks.parallel import spread
from hati.campaign import measured
from hati.core import (
    Assignment,
    Benchmark,
    Budget,
    Configuration,
    FloatArray,
    Metric,
    Reader,
    ReaderKind,
    Revision,
    RevisionKind,
    Run,
    Task,
)
from hati.stats import proportion
from hati.studies.comparison import ChangeVerdict, Question
from hati.studies.gate import Cell, Gate, gate_id, worst_verdict
from hati.testing import FakeEngine, MemoryStore

CHECKS = 400
ROUNDS = 24
ALPHA = 0.01

TIME = Metric("time", "s")
MAIN = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (TIME,))
OLD, NEW = (Revision(name, RevisionKind.DIRECTORY) for name in ("old", "new"))
STRATA = tuple(
    Cell(MAIN, Configuration(setting), Assignment(setting))
    for setting in (dict(zip("abc", settings, strict=True)) for settings in product((False, True), repeat=3))
)
Noise = Callable[[np.random.Generator, int], float]
"""The logarithm of a run, by its number."""

NORMAL = "normal, 3 %"
NOISES: dict[str, Noise] = {
    NORMAL: lambda rng, _: float(rng.normal(0.0, 0.03)),
    "t3": lambda rng, _: float(0.02 * rng.standard_t(3)),
    "bimodal": lambda rng, _: float(rng.normal(0.1 * rng.integers(2), 0.01)),
    "drifting machine": lambda rng, run: float(rng.normal(0.002 * run, 0.03)),
    "alternating": lambda rng, run: float(rng.normal(0.1 * (run % 2), 0.002)),
    "skewed": lambda rng, _: float(0.03 * rng.standard_exponential()),
    "outliers": lambda rng, _: float(rng.normal(0.0, 0.01) + (rng.random() < 0.03)),
    "cycle": lambda rng, run: float(rng.normal(0.05 * np.sin(run / 5.0), 0.01)),
}


@dataclass(frozen=True)
class Change:
    """A change of the times by a ratio, where all options of ``where`` are set."""

    name: str
    ratio: float
    where: str = ""
    promised: bool = False

    def at(self, configuration: Configuration) -> float:
        """The ratio in a configuration."""
        return self.ratio if all(configuration[option] for option in self.where) else 1.0


NONE = Change("none", 1.0)
CHANGES = (
    Change("5 % everywhere", 1.05, promised=True),
    Change("30 % in one stratum of eight", 1.3, "abc", promised=True),
    Change("15 % in one stratum of eight", 1.15, "abc"),
    Change("3 % everywhere", 1.03),
)


@dataclass(frozen=True)
class Case:
    """Checks of one kind: the noise of runs by its name, the change, and the level."""

    noise: str
    change: Change
    alpha: float


@dataclass(frozen=True)
class Decided:
    """The verdict of a check, those of all its groups, and its rounds."""

    verdict: ChangeVerdict
    groups: tuple[ChangeVerdict, ...]
    rounds: int

    @property
    def alarmed(self) -> bool:
        """Whether any change is reported, overall or in a stratum."""
        return not {ChangeVerdict.SLOWER, ChangeVerdict.FASTER}.isdisjoint(self.groups)


class _Quick(MemoryStore):
    """A store without a search for recorded tasks: checks never repeat one."""

    def record(self, run: Run) -> bool:
        self.kept.append(run)
        return True


def check(cells: Sequence[Cell], alpha: float, seed: int) -> Gate:
    """A check of at most 24 rounds."""
    question, budget = Question(alpha=alpha), Budget(runs=ROUNDS * 2 * len(cells))
    return Gate(gate_id(cells, OLD, NEW, question, seed, "m"), OLD, NEW, tuple(cells), question, budget)


def simulated(case: Case, seed: int) -> tuple[Gate, FakeEngine]:
    """A check over all strata, and what runs its tasks."""
    gate = check(STRATA, case.alpha, seed)
    rng, noise = np.random.default_rng([seed, 77]), NOISES[case.noise]
    numbers = iter(range(sys.maxsize))

    def measure(task: Task) -> dict[str, list[float]]:
        level = case.change.at(task.configuration) if task.revision == NEW.id else 1.0
        return {"time": [float(level * np.exp(noise(rng, next(numbers))))]}

    return gate, FakeEngine(measure)


def decided(about: tuple[Case, int]) -> Decided:
    """The verdicts of the check of a case with a seed."""
    return judged(*simulated(*about))


@dataclass(frozen=True)
class ForkCase:
    """Checks of configurations of which each has the forks of one JMH benchmark, and a change of one side."""

    cells: int
    ratio: float
    alpha: float


FORK_CASES = tuple(
    ForkCase(cells, ratio, alpha)
    for cells in (1, len(STRATA))
    for ratio, alpha in ((1.0, ALPHA), (1.0, 0.05), (1.05, ALPHA), (1.1, ALPHA))
)


@cache
def _held_out() -> tuple[FloatArray, ...]:
    """The forks of each benchmark that no rule was tuned with, shape (forks, iterations)."""
    return tuple(half(forks(), first=False).values())


def of_forks(about: tuple[ForkCase, int]) -> Decided:
    """The verdicts of a check whose runs at both revisions are drawn from the forks of one build."""
    case, seed = about
    cells, rng = STRATA[: case.cells], np.random.default_rng([seed, 78])
    chosen = rng.choice(len(_held_out()), size=case.cells, replace=False)
    known = {cell.configuration: _held_out()[place] for cell, place in zip(cells, chosen, strict=True)}

    def measure(task: Task) -> dict[str, list[float]]:
        runs = known[task.configuration]
        ratio = case.ratio if task.revision == NEW.id else 1.0
        return {"time": (ratio * runs[rng.integers(len(runs))]).tolist()}

    return judged(check(cells, case.alpha, seed), FakeEngine(measure))


def judged(gate: Gate, engine: FakeEngine) -> Decided:
    """The verdicts of a check, without the intervals and forecasts of its report."""
    evidence = measured(gate, engine, _Quick(), gate.budget)
    found = gate.judgement(evidence)
    verdicts = {group: found.verdict(group) for group in gate.groups}
    everywhere, in_strata = (
        [each for group, each in verdicts.items() if (group.stratum is None) is whole] for whole in (True, False)
    )
    rounds = len(evidence.done) // (2 * len(gate.cells))
    return Decided(worst_verdict(everywhere, in_strata), tuple(verdicts.values()), rounds)


def cases(noises: Sequence[str] = tuple(NOISES)) -> tuple[Case, ...]:
    """Checks without a change at two levels, and with changes at 1 %."""
    alike = [Case(noise, NONE, alpha) for alpha, noise in product((ALPHA, 0.05), noises)]
    return (*alike, *(Case(noise, change, ALPHA) for change, noise in product(CHANGES, noises)))


def result(checks: int = CHECKS, noises: Sequence[str] = tuple(NOISES)) -> tuple[str, bool]:
    found = iter(spread(decided, product(cases(noises), range(1, checks + 1))))
    text, met = tables({case: [next(found) for _ in range(checks)] for case in cases(noises)})
    measured_text, kept = fork_table(checks)
    return f"{text}\n{measured_text}", met and kept


def fork_table(checks: int) -> tuple[str, bool]:
    """The table of checks of real measurements as Markdown, and whether its goals are reached."""
    if not FILE.is_file():
        return "## Checks of forks\n\nSkipped: set HATI_DATA to the folder with the measured data sets.\n", True
    found = iter(spread(of_forks, product(FORK_CASES, range(1, checks + 1))))
    rows, met = [], list[bool]()
    for case in FORK_CASES:
        own = [next(found) for _ in range(checks)]
        wrong = sum(each.alarmed if case.ratio == 1.0 else ChangeVerdict.FASTER in each.groups for each in own)
        met.append(proportion(wrong, checks).interval[0] <= case.alpha)
        slower, same = (sum(each.verdict is verdict for each in own) / checks for verdict in _SHOWN)
        size = f"{case.ratio - 1.0:.0%}" if case.ratio > 1.0 else NONE.name
        shown = (f"{wrong / checks:.1%}", f"{slower:.0%}", f"{same:.0%}", _rounds(own), "yes" if met[-1] else "NO")
        rows.append((str(case.cells), size, f"{case.alpha:.0%}", *shown))
    text = table(
        "Checks of forks of JMH benchmarks",
        ("configurations", "change", "alpha", "wrong", "slower", "same", "rounds", "met"),
        rows,
        f"{checks:,} checks a row, a benchmark for each configuration, of {len(_held_out())}; wrong: a change that is "
        "not there, or the opposite one; met: no more than alpha, by the lower 95 % limit.",
    )
    return text, all(met)


def tables(outcomes: Mapping[Case, Sequence[Decided]]) -> tuple[str, bool]:
    """Both tables as Markdown, and whether their goals are reached."""
    met: list[bool] = []
    checks = min(map(len, outcomes.values()))
    text = table(
        "Checks of what did not change",
        ("noise of runs", "alpha", "alarms", "rounds", "met"),
        [_alike(case, found, met) for case, found in outcomes.items() if case.change == NONE],
        f"{checks:,} simulated checks a row, eight strata, 5 % margin; met: within the 99 % bound of a binomial.",
    )
    text += "\n" + table(
        f"What checks find, at {ALPHA:.0%}",
        ("change", "noise of runs", "slower", "same", "rounds", "met"),
        [_changed(case, found, met) for case, found in outcomes.items() if case.change != NONE],
        f"{checks:,} simulated checks a row of at most {ROUNDS} rounds; met: nine of ten, where that is promised.",
    )
    return text, all(met)


def _alike(case: Case, found: Sequence[Decided], met: list[bool]) -> tuple[str, ...]:
    alarms = sum(each.alarmed for each in found)
    met.append(alarms <= stats.binom.ppf(0.99, len(found), case.alpha))
    return case.noise, f"{case.alpha:.0%}", f"{alarms / len(found):.1%}", _rounds(found), "yes" if met[-1] else "NO"


def _changed(case: Case, found: Sequence[Decided], met: list[bool]) -> tuple[str, ...]:
    slower, same = (sum(each.verdict is verdict for each in found) / len(found) for verdict in _SHOWN)
    wanted = case.change.promised and case.noise == NORMAL
    met.append(not wanted or slower >= 0.9)
    held = "" if not wanted else "yes" if met[-1] else "NO"
    return case.change.name, case.noise, f"{slower:.0%}", f"{same:.0%}", _rounds(found), held


_SHOWN = ChangeVerdict.SLOWER, ChangeVerdict.SAME


def _rounds(found: Sequence[Decided]) -> str:
    return f"{np.mean([each.rounds for each in found]):.1f}"


def main() -> int:
    text, held = result()
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
