"""How often validation finds the right model: screenings with known truths, simulated and validated.

``python -m benchmarks.validating`` prints a table as Markdown. The size of an effect is the difference between an
option's settings, in standard deviations of a run; every active interaction has two active parents; all values shift
between the screening and each follow-up.
"""

from __future__ import annotations

import math
import sys
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache

import numpy as np

from benchmarks.markdown import table
from hati.campaign import campaign
from hati.core import Benchmark, Budget, Configuration, FloatArray, Metric, Reader, ReaderKind, StudyId, Task, generator
from hati.design import Design, by_runs, configurations
from hati.space import Option, Space
from hati.studies.screening import EffectScale
from hati.studies.validation import Result, Screened, Validation, ValidationConclusion, ValidationOutcome, screened_runs
from hati.testing import FakeEngine, MemoryStore

STUDIES = 400
OPTIONS = 14
_METRIC = Metric("latency", "s")
_BENCHMARK = Benchmark("simulated", ("true",), Reader(ReaderKind.HATI), (_METRIC,))
_MEAN, _DEVIATION = 10.0, 0.3
_SHIFT = 2.0
"""The deviation of the shift between the screening and a follow-up, in standard deviations of a run."""

Truth = dict[tuple[int, ...], float]


@dataclass(frozen=True)
class Rates:
    """Fractions of simulated studies that ended with the right model, with a wrong one, or undecided; and the cost."""

    studies: int
    right: float
    wrong: float
    undecided: float
    runs: float
    most_runs: int
    seconds: float


@cache
def _space() -> Space:
    return Space(tuple(Option(f"x{i}", (False, True), default=False) for i in range(OPTIONS)))


@cache
def _design(runs: int) -> tuple[Design, tuple[Configuration, ...]]:
    design = by_runs(_space().names, runs)
    return design, configurations(design, _space())


def truth(interactions: int, size: float, rng: np.random.Generator) -> Truth:
    """Active main effects, at least three, and interactions among them, of one size and random signs."""
    mains = sorted(int(i) for i in rng.permutation(OPTIONS)[: max(3, 2 * interactions)])
    pairs = [(a, b) for a in mains for b in mains if a < b]
    chosen = [pairs[int(i)] for i in rng.permutation(len(pairs))[:interactions]]
    return {term: size * float(rng.choice([-1.0, 1.0])) for term in [*((main,) for main in mains), *chosen]}


def validated(
    active: Truth,
    rng: np.random.Generator,
    *,
    runs: int = 32,
    repetitions: int = 1,
    budget: int = 16,
    claimed: int = 0,
) -> ValidationConclusion:
    """Screen a program with those effects and validate the screening.

    The screening calls nothing important; or the active main effects, and the ``claimed`` others with the largest
    estimates.
    """
    design, settings = _design(runs)

    def value(configuration: Configuration, shift: float) -> float:
        signs = [1.0 if configuration[name] else -1.0 for name in _space().names]
        effects = sum(size / 2.0 * float(np.prod([signs[i] for i in term])) for term, size in active.items())
        return _MEAN + _DEVIATION * (effects + shift + float(rng.standard_normal()))

    values = np.array([value(configuration, 0.0) for _ in range(repetitions) for configuration in settings])
    important = _claims(active, settings * repetitions, values, claimed) if claimed else ()
    screened = Screened(
        study="screening-1",
        runs=screened_runs(
            settings * repetitions,
            values,
            np.repeat(np.arange(repetitions), design.runs),
            _space(),
            EffectScale.RAW,
            order=generator(len(values), "order").permutation(len(values)).astype(np.float64),
        ),
        scale=EffectScale.RAW,
        important=important,
        aliases=tuple(() for _ in important),
        relevant=0.01 * _MEAN,
        typical=_MEAN,
    )
    study = Validation(
        StudyId.of("validation", {}, int(rng.integers(2**31)), "simulated"),
        "simulated",
        _BENCHMARK,
        _METRIC,
        "1",
        _space(),
        screened,
        budget=budget,
    )
    shifts = dict[str, float]()

    def measure(task: Task) -> dict[str, list[float]]:
        shift = shifts.setdefault(task.stage, _SHIFT * float(rng.standard_normal()))
        return {"latency": [value(task.configuration, shift)]}

    return campaign(study, FakeEngine(measure), MemoryStore(), Budget(runs=budget))


def _claims(
    active: Truth, chosen: tuple[Configuration, ...], values: FloatArray, inert: int
) -> tuple[tuple[str, ...], ...]:
    """The active main effects, and the ``inert`` others with the largest estimates."""
    names = _space().names
    signs = np.array([[1.0 if configuration[name] else -1.0 for name in names] for configuration in chosen])
    sizes = np.abs(signs.T @ values)
    others = sorted((place for place in range(OPTIONS) if (place,) not in active), key=lambda place: -sizes[place])
    mains = [place for term in active if len(term) == 1 for place in term]
    return tuple((names[place],) for place in (*mains, *others[:inert]))


def doubted(studies: int, size: float = 100.0, budget: int = 12) -> tuple[float, float]:
    """The fraction of studies that confirm the largest inert option among three large effects, and the mean runs."""
    rng = generator(2026, "doubted", str(size))
    confirmed, spent = 0, 0
    for _ in range(studies):
        active = truth(0, size, rng)
        found = validated(active, rng, budget=budget, claimed=1)
        inert = [a for a in found.assumptions if a.effect and (_space().names.index(a.effect[0]),) not in active]
        confirmed += any(a.result is Result.CONFIRMED for a in inert)
        spent += found.done
    return confirmed / studies, spent / studies


def simulate(
    interactions: int, *, size: float = 3.0, runs: int = 32, repetitions: int = 1, budget: int = 16, studies: int
) -> Rates:
    """Rates over random truths with that number of active interactions."""
    rng = generator(2026, "validating", str(interactions), str(size), str(runs), str(repetitions))
    outcomes = Counter[str]()
    spent = list[int]()
    started = time.perf_counter()
    for _ in range(studies):
        active = truth(interactions, size, rng)
        found = validated(active, rng, runs=runs, repetitions=repetitions, budget=budget)
        names = {tuple(sorted(_space().names[i] for i in term)) for term in active}
        right = {tuple(sorted(effect.options)) for effect in found.effects} == names
        decided = found.outcome is ValidationOutcome.DECIDED
        outcomes["undecided" if not decided else "right" if right else "wrong"] += 1
        spent.append(found.done)
    share = {outcome: count / studies for outcome, count in outcomes.items()}
    return Rates(
        studies,
        share.get("right", 0.0),
        share.get("wrong", 0.0),
        share.get("undecided", 0.0),
        float(np.mean(spent)),
        max(spent),
        (time.perf_counter() - started) / studies,
    )


def result(studies: int = STUDIES) -> tuple[str, bool]:
    """The table, and whether the right model was found in 90 % with 16 runs at most, where effects are 3 or larger."""
    rows, held = [], True
    for runs, repetitions, size in ((32, 1, 3.0), (32, 3, 3.0), (32, 1, 6.0), (32, 1, 2.0)):
        for interactions in (0, 1, 2):
            found = simulate(interactions, size=size, runs=runs, repetitions=repetitions, studies=studies)
            held = held and (size < 3.0 or (found.right >= 0.9 and found.most_runs <= 16))
            shares = [f"{100 * share:.1f} %" for share in (found.right, found.wrong, found.undecided)]
            rows.append([f"{runs} x {repetitions}", f"{size:g}", interactions, *shares, f"{found.runs:.1f}"])
    header = [
        "screening",
        "effect / sigma",
        "active interactions",
        "right model",
        "wrong model",
        "undecided",
        "follow-up runs",
    ]
    confirmed, spent = doubted(studies)
    held = held and confirmed - 1.645 * math.sqrt(0.05 * 0.95 / studies) <= 0.05
    shares = ["-", f"{100 * confirmed:.1f} %", f"{100 * (1.0 - confirmed):.1f} %"]
    rows.append(["32 x 1, an inert option claimed", "100", 0, *shares, f"{spent:.1f}"])
    note = f"{studies} simulated studies per row, 14 options, at most 16 follow-up runs, seed 2026."
    return table("Validation", header, rows, note), held


def main() -> int:
    text, held = result()
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
