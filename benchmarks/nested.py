"""How often an option that does nothing is called important where two options act only under a third.

``python -m benchmarks.nested`` prints a table as Markdown, in a few minutes. A program has 9 to 14 options of two
settings. Two of them act, alone and together, only where a third, which acts too, has its second setting; the others do
nothing. The space declares this (``active_if``) and the default design is used; or it does not, so that the two options
are set but ignored, with the default design and with a two-level fraction.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from benchmarks.markdown import table
from hati.core import Benchmark, Metric, Reader, ReaderKind, Setting, StudyId, Task, generator
from hati.space import Option, Space, parse_formula
from hati.studies.screening import (
    ALPHA,
    AnyChoice,
    FractionRequest,
    ModelScreening,
    asked_fraction,
    choose_design,
    screening,
)
from hati.testing import FakeEngine, MemoryStore

STUDIES = 1_000
OPTIONS = range(9, 15)
NOISE = 0.02
PER_PARAMETER = 4
SHARING = 20
"""The number of successive studies with the same space and design."""
_METRIC = Metric("latency", "s")
_BENCHMARK = Benchmark("simulated", ("true",), Reader(ReaderKind.HATI), (_METRIC,))


@dataclass(frozen=True)
class Program:
    """A program: the parent option, the two nested ones, and the effects of the three and of the two together.

    Effects are differences of logarithms between an option's settings; the last three are those where the parent has
    its second setting.
    """

    options: int
    parent: str
    nested: tuple[str, str]
    effects: tuple[float, float, float, float]

    @property
    def declared(self) -> Space:
        """The space that declares the dependence of the nested options."""
        return self._space(dict.fromkeys(self.nested, self.parent))

    @property
    def plain(self) -> Space:
        """The space without this declaration."""
        return self._space({})

    @property
    def active(self) -> frozenset[str]:
        """The options that have effects."""
        return frozenset((self.parent, *self.nested))

    def log(self, configuration: Mapping[str, Setting]) -> float:
        """The logarithm of the mean latency."""
        if not configuration[self.parent]:
            return 0.0
        first, second = (1.0 if configuration[name] else -1.0 for name in self.nested)
        parent, one, other, both = self.effects
        return parent + (one * first + other * second + both * first * second) / 2.0

    def _space(self, conditions: Mapping[str, str]) -> Space:
        names = [f"x{i}" for i in range(1, self.options + 1)]
        return Space(
            tuple(
                Option(
                    name,
                    (False, True),
                    default=False,
                    active_if=parse_formula(conditions[name]) if name in conditions else None,
                )
                for name in names
            )
        )


@dataclass(frozen=True)
class Rates:
    """Fractions of studies, and their mean runs and seconds.

    The fractions are those of studies that called an inert option, or any effect of one, important, and those that
    found the parent and the nested options.
    """

    studies: int
    inert_option: float
    inert_effect: float
    parent: float
    nested: float
    runs: float
    seconds: float

    @property
    def credible(self) -> bool:
        """Whether false alarms are compatible with the study-wise level, by the 99 % binomial bound."""
        worst = max(self.inert_option, self.inert_effect)
        return worst * self.studies <= stats.binom.ppf(0.99, self.studies, ALPHA)


Planned = Callable[[Program, int, np.random.Generator], tuple[Space, AnyChoice]]
"""Maps a program, a number of runs and a generator to the space that is screened and its design."""


def declared(of: Program, runs: int, rng: np.random.Generator) -> tuple[Space, AnyChoice]:
    """The space that declares the nesting, and the default design."""
    return of.declared, choose_design(of.declared, runs, rng)


def plain(of: Program, runs: int, rng: np.random.Generator) -> tuple[Space, AnyChoice]:
    """The space without the declaration, and the default design."""
    return of.plain, choose_design(of.plain, runs, rng)


def fraction(of: Program, runs: int, rng: np.random.Generator) -> tuple[Space, AnyChoice]:
    """The space without the declaration, and a fraction of resolution IV."""
    return of.plain, asked_fraction(FractionRequest(resolution=4), of.options, runs, rng)


def program(rng: np.random.Generator) -> Program:
    """A random program: effects of 4 to 12 % in either direction."""
    options = int(rng.choice(OPTIONS))
    parent, one, other = (f"x{i + 1}" for i in rng.permutation(options)[:3])
    effects = rng.uniform(0.04, 0.12, 4) * rng.choice([-1.0, 1.0], 4)
    return Program(options, parent, (one, other), (effects[0], effects[1], effects[2], effects[3]))


def important_effects(
    of: Program, space: Space, choice: AnyChoice, rng: np.random.Generator, noise: float = NOISE
) -> set[tuple[str, ...]]:
    """The effects that one screening of a program calls important."""
    study = screening(
        study=StudyId.of("screening", {}, int(rng.integers(2**31)), "simulated"),
        subject="simulated",
        benchmark=_BENCHMARK,
        metric=_METRIC,
        revision="1",
        space=space,
        choice=choice,
    )

    def measure(task: Task) -> dict[str, list[float]]:
        return {"latency": [float(np.exp(of.log(task.configuration) + noise * rng.standard_normal()))]}

    store = MemoryStore()
    for run in FakeEngine(measure).run(study.tasks):
        store.record(run)
    evidence = store.evidence(study.id)
    if isinstance(study, ModelScreening):  # the analysis alone: a conclusion would predict the whole space as well
        found = study.analysis(study.measured(evidence)).effects
        return {tuple(space.names[option] for option in effect.term) for effect in found if effect.important}
    return {effect.options for effect in study.conclude(evidence).effects if effect.shown}


def simulate(planned: Planned, studies: int = STUDIES, per_parameter: int = PER_PARAMETER) -> Rates:
    """Screen many programs."""
    rng = generator(2026, "nested", str(per_parameter))
    counts, runs, started = np.zeros(4), 0, time.perf_counter()
    for number in range(studies):
        if number % SHARING == 0:
            of = program(rng)
            space, choice = planned(of, per_parameter * (of.options + 1), rng)
        found = important_effects(of, space, choice, rng)
        inert = set(space.names) - of.active
        counts += (
            any((name,) in found for name in inert),
            any(inert & set(options) for options in found),
            (of.parent,) in found,
            sum((name,) in found for name in of.nested) / 2.0,
        )
        runs += choice.runs
    inert_option, inert_effect, parent, nested = (float(count) / studies for count in counts)
    seconds = (time.perf_counter() - started) / studies
    return Rates(studies, inert_option, inert_effect, parent, nested, runs / studies, seconds)


def result(studies: int = STUDIES) -> tuple[str, bool]:
    """The table, and whether the screening with declared nesting keeps the study-wise level."""
    rows, held = [], True
    for per_parameter in (PER_PARAMETER, 3 * PER_PARAMETER):
        for name, planned in (
            ("active_if declared, default design", declared),
            ("not declared, default design", plain),
            ("not declared, fraction of resolution IV", fraction),
        ):
            found = simulate(planned, studies, per_parameter)
            held = held and (found.credible or planned is not declared)
            shares = (found.inert_option, found.inert_effect, found.parent, found.nested)
            rows.append([name, f"{found.runs:.0f}", *(f"{100 * share:.1f} %" for share in shares)])
            print(*rows[-1], f"{found.seconds:.3f} s a study", sep=" | ", file=sys.stderr, flush=True)
    header = [
        "space and design",
        "runs",
        "studies that call an inert option important",
        "or any effect of one",
        "find the parent",
        "find a nested option",
    ]
    note = (
        f"{studies} simulated studies per row, {OPTIONS[0]} to {OPTIONS[-1]} options, log-normal noise of "
        f"{100 * NOISE:g} %, effects of 4 to 12 %, study-wise level {100 * ALPHA:g} %, seed 2026. An effect that is "
        "named for its alias set counts as one of the options in its name."
    )
    return table("Nested options", header, rows, note), held


def main() -> int:
    text, held = result()
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
