"""How often the most important options of a real system are named by 128 of its 16,384 configurations.

``python -m benchmarks.fractions`` prints two tables as Markdown, with the goals of the first, in about two minutes;
``--quick`` leaves out the default designs. Each choice of signs for a fraction's generators gives other configurations
of the same complete table. TAO's important options are B, J and C; F, with a true effect of -0.7 %, is ignored.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from itertools import product

from examples.study.screenings import DESIGNS, screen
from examples.study.systems import LETTERS, TAO, System, system

from benchmarks.markdown import table
from hati.core import StudyId, generator
from hati.engine import TableEngine
from hati.studies.screening import ModelScreening, ScreeningConclusion, choose_design, screening
from hati.testing import MemoryStore

RUNS = 128
IMPORTANT = {"B": 0.99, "J": 0.94, "C": 0.81}
"""TAO's important options, each with the part of all fractions that must name it."""
EXACT = 0.76
INERT = 0.05
_PASSED_OVER = "F"
_DEFAULTS = 128
LOST = 0.03


@dataclass(frozen=True)
class Named:
    """The options that some screenings of a system named, by letters."""

    studies: tuple[frozenset[str], ...]

    def share(self, letter: str) -> float:
        """The fraction of studies that named an option."""
        return sum(letter in named for named in self.studies) / len(self.studies)

    @property
    def exact(self) -> float:
        """The fraction of studies that named exactly the important options, whether or not they named F."""
        return sum(named - {_PASSED_OVER} == set(IMPORTANT) for named in self.studies) / len(self.studies)

    @property
    def inert(self) -> float:
        """The fraction of studies that named any other option."""
        return sum(bool(named - set(IMPORTANT) - {_PASSED_OVER}) for named in self.studies) / len(self.studies)

    @property
    def row(self) -> list[str]:
        """The fractions as a row of a table."""
        return [*(f"{self.share(letter):.3f}" for letter in IMPORTANT), f"{self.exact:.3f}", f"{self.inert:.3f}"]


def fractions(of: System, name: str = "Scr128", number: int | None = None) -> Named:
    """The options that fractions with a design's generators name, all or the first, concluded as by the command."""
    generators = DESIGNS[name].split()
    signed = [
        [text.replace("=", sign) for text, sign in zip(generators, signs, strict=True)]
        for signs in product(("=", "=-"), repeat=len(generators))
    ]
    return Named(tuple(_letters(of, screen(of, one)) for one in signed[:number]))


def defaults(of: System, studies: int = _DEFAULTS) -> Named:
    """The options that default designs of the same number of runs name, with seeds from 1."""
    return Named(tuple(_by_default(of, seed) for seed in range(1, studies + 1)))


def _letters(of: System, found: ScreeningConclusion) -> frozenset[str]:
    return frozenset(LETTERS[of.names.index(name)] for name in (*found.important, *found.important_or_aliased))


def _by_default(of: System, seed: int) -> frozenset[str]:
    own = of.place
    space = own.project.space
    plan = screening(
        study=StudyId.of("screening", {}, seed, "table"),
        subject=own.project.name,
        benchmark=of.benchmark,
        metric=of.metric,
        revision=own.revision,
        space=space,
        choice=choose_design(space, RUNS, generator(seed, "design"), most=own.repetitions),
    )
    assert isinstance(plan, ModelScreening)
    assert own.table is not None
    store = MemoryStore()
    for run in TableEngine(own.table, own.machine).run(plan.tasks):
        store.record(run)
    analysis = plan.analysis(plan.measured(store.evidence(plan.id)))  # a conclusion ranks as well, which takes longer
    return frozenset(LETTERS[e.term[0]] for e in analysis.effects if e.important and len(e.term) == 1)


def result(studies: int = _DEFAULTS, number: int | None = None) -> tuple[str, bool]:
    """The table, and whether its goals are reached; ``studies`` is the number of studies with default designs."""
    of = system(TAO)
    found = fractions(of, number=number)
    goals: list[tuple[str, bool]] = [
        *((f"{letter} in {part:.0%}", found.share(letter) >= part) for letter, part in IMPORTANT.items()),
        (f"exactly these in {EXACT:.0%}", found.exact >= EXACT),
        (f"an inert option in no more than {INERT:.0%}", found.inert <= INERT),
    ]
    rows = [["Scr128 with all signs", str(len(found.studies)), *found.row]]
    if studies:
        chosen = defaults(of, studies)
        rows.append(["chosen by default", str(studies), *chosen.row])
        lost = [found.share(letter) - chosen.share(letter) for letter in IMPORTANT] + [found.exact - chosen.exact]
        goals.append((f"by default designs at most {100 * LOST:.0f} points less", max(lost) <= LOST))
    note = "\n".join(f"- {'met' if held else 'MISSED'}: {text}" for text, held in goals)
    head = ["128 runs of TAO", "studies", *(f"{letter} named" for letter in IMPORTANT), "exactly these", "an inert one"]
    return table("The options that matter, from one run in 128", head, rows, note), all(held for _, held in goals)


def main() -> int:
    text, reached = result(0 if "--quick" in sys.argv[1:] else _DEFAULTS)
    print(text)
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
