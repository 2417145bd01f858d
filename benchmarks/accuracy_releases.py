"""``python -m benchmarks.accuracy_releases``: follow a program's releases with few runs, and compare with the truth.

The data are 19 releases of hsqldb, each with all 864 configurations measured five times. A seed is a life: the first
release is screened and gets a suite. Every later release is compared with its predecessor by a regression check over
the suite, with noise drawn for each run from the measured deviations. If the check advises a recalibration, by the
residuals alone, the release is screened again and gets another suite.

The means of all configurations give the truth. A release's distribution *changed* if the geometric mean over the
configurations with any one setting of an option changed by more than 2 %. Its best three options *changed* since
another release if that release's best three explain, here, less than 98 % of what this release's best three explain.
An option is important if the geometric means at its settings differ by more than 1 %.

An argument gives the number of lives, 20 by default.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np

from benchmarks.accuracy import DATA, FIRST, PER_PARAMETER, System, imported, revisions
from benchmarks.markdown import table
from hati.campaign import campaign
from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    FloatArray,
    Revision,
    RevisionKind,
    Run,
    StudyId,
    Task,
    generator,
)
from hati.design.suite import Suite, leading_options, screening_suite
from hati.engine import SerialEngine, TableEngine
from hati.stats import explained
from hati.studies.comparison import Question
from hati.studies.gate import Cell, Gate, GateConclusion, gate_id
from hati.studies.recalibration import ResidualShift, residual_shift, values_of
from hati.studies.screening import AnyChoice, ScreeningConclusion, choose_design, screening
from hati.testing import MemoryStore
from hati.wiring.table import TableRequest, table_workplace

SEEDS = range(1, 21)
MARGIN = 0.02
KEPT = 0.98
LEVEL = 0.01
SUITE = 16
ROUNDS = 24
RELEVANT = 0.01
LARGE = 0.05
DECIDED = {"log_or_noLog", "defrag_or_noDefrag"}
"""Options that the settings of logSize and defragLimit determine."""
METRIC = "performance"
SYSTEM = DATA / "hsqldb"


@dataclass(frozen=True, eq=False)
class Release:
    """A release with all its configurations, and a way to run some of them."""

    system: System

    @property
    def revision(self) -> Revision:
        """The release as a revision of a regression check."""
        return Revision(self.system.place.revision, RevisionKind.PACKAGE)

    @cached_property
    def best(self) -> tuple[int, ...]:
        """The three options that explain most."""
        return max(combinations(range(self.system.levels.shape[1]), FIRST), key=self.explained)

    def explained(self, options: Sequence[int]) -> float:
        """The share of variance that options explain."""
        return explained(self.system.levels, self.system.logs, options)

    def outdated(self, other: Release) -> bool:
        """Whether the best three options of another release are no longer those of this one."""
        return bool(self.explained(other.best) < KEPT * self.explained(self.best))

    def changed(self, before: Release) -> bool:
        """Whether the distribution changed since another release."""
        by = self.system.logs - before.system.logs
        levels = self.system.levels
        masks = [
            levels[:, option] == level for option in range(levels.shape[1]) for level in np.unique(levels[:, option])
        ]
        return bool(max(abs(float(by[mask].mean())) for mask in masks) > np.log1p(MARGIN))

    @cached_property
    def effects(self) -> FloatArray:
        """For each option, the largest ratio minus 1 between means at its settings, where it is active."""
        levels, logs = self.system.levels, self.system.logs
        means = [
            [logs[levels[:, option] == level].mean() for level in np.unique(levels[:, option]) if level >= 0]
            for option in range(levels.shape[1])
        ]
        return np.array([np.expm1(max(own) - min(own)) for own in means])


class Releases(SerialEngine[Task]):
    """An engine that looks each task up in the table of its revision."""

    def __init__(self, releases: Sequence[Release]) -> None:
        super().__init__()
        self._engines = {
            release.revision.id: TableEngine(release.system.table, release.system.place.machine) for release in releases
        }

    def execute(self, task: Task, /) -> Run:
        """One run."""
        return self._engines[task.revision].execute(task)


class Kept(MemoryStore):
    """A store without a search for recorded tasks: none is repeated here."""

    def record(self, run: Run) -> bool:
        """Keep the run."""
        self.kept.append(run)
        return True


@dataclass(frozen=True, eq=False)
class Calibration:
    """A screening of a release, its suite and the suite's values there; ``runs`` is the number of runs of both."""

    release: Release
    screened: ScreeningConclusion
    suite: Suite
    before: Mapping[Configuration, float]
    runs: int


@dataclass(frozen=True, eq=False)
class Step:
    """The claims about a release, and the truth."""

    release: Release
    says_changed: bool
    changed: bool
    shift: ResidualShift | None
    outdated: bool
    runs: int

    @property
    def advised(self) -> bool:
        """Whether a recalibration is advised."""
        return self.shift is not None and self.shift.p_value <= LEVEL


@dataclass
class Count:
    """Counts of claims and of their truth; ``wrong`` counts false and missed ones by subject."""

    right: int = 0
    false: int = 0
    missed: int = 0
    neither: int = 0
    wrong: Counter[str] = field(default_factory=Counter)

    def add(self, *, said: bool, true: bool, about: str) -> None:
        """Count one claim."""
        self.right += said and true
        self.false += said and not true
        self.missed += true and not said
        self.neither += not said and not true
        if said != true:
            self.wrong[f"{about} {'missed' if true else 'false'}"] += 1

    @property
    def precision(self) -> float:
        """The fraction of claims that are true."""
        return self.right / max(1, self.right + self.false)

    @property
    def recall(self) -> float:
        """The fraction of true changes that are claimed."""
        return self.right / max(1, self.right + self.missed)

    def row(self, name: str) -> list[object]:
        """Its row of the table."""
        most = ", ".join(f"{about} {number}" for about, number in self.wrong.most_common(4))
        rates = [f"{rate:.3f}" for rate in (self.precision, self.recall)]
        return [name, self.right, self.false, self.missed, self.neither, *rates, most]


def calibrated(release: Release, choice: AnyChoice, seed: int) -> Calibration:
    system, store = release.system, Kept()
    (benchmark,) = system.place.project.benchmarks
    space = system.place.project.space
    study = screening(
        study=StudyId.of("screening", {"system": system.name}, seed, "table"),
        subject=system.name,
        benchmark=benchmark,
        metric=benchmark.metric(METRIC),
        revision=system.place.revision,
        space=space,
        choice=choice,
    )
    engine = TableEngine(system.table, system.place.machine)
    found = campaign(study, engine, store, Budget())
    options = leading_options(space, found.influential or found.ranking[:1], SUITE)
    suite = screening_suite(space, options, SUITE, generator(seed, "suite"), found.ranking)
    before = {c: system.table.run(c, 0, f"suite {seed} {system.name} {c.key}") for c in suite.configurations}
    measured = {c: value[METRIC] for c, value in before.items() if not isinstance(value, str)}
    return Calibration(release, found, suite, measured, choice.runs + len(measured))


def checked(now: Release, before: Release, known: Calibration, engine: Releases, seed: int) -> Step:
    """A regression check over the suite, and the test of its residuals."""
    (benchmark,) = now.system.place.project.benchmarks
    cells = cells_of(known.suite, benchmark)
    question = Question(LEVEL, MARGIN)
    study = gate_id(cells, before.revision, now.revision, question, seed, known.screened.study)
    budget = Budget(runs=ROUNDS * 2 * len(cells))
    gate = Gate(study, before.revision, now.revision, cells, question, budget)
    store = Kept()
    found = campaign(gate, engine, store, budget)
    runs = [run for run in store.kept if run.observations and run.task.revision == now.revision.id]
    values = values_of(runs, known.screened.metric, known.suite.configurations)
    shift = residual_shift(known.screened, known.suite.configurations, values, known.before)
    return Step(
        release=now,
        says_changed=says_changed(found),
        changed=now.changed(before),
        shift=shift,
        outdated=now.outdated(known.release),
        runs=len(store.kept),
    )


def cells_of(suite: Suite, benchmark: Benchmark) -> tuple[Cell, ...]:
    return tuple(
        Cell(benchmark, configuration, suite.strata[owner].setting, float(weight))
        for configuration, owner, weight in zip(suite.configurations, suite.owners, suite.weights, strict=True)
    )


def says_changed(found: GateConclusion) -> bool:
    """Whether a reported change is estimated beyond the margin, overall or at a setting of an affected option.

    Strata are left out, as they are in the truth: a suite has two configurations of each.
    """
    told = [row.change.ratio for row in found.rows if row.change.changed] + [
        carrier.ratio for carrier in found.affected_options
    ]
    return any(ratio is not None and abs(np.log(ratio)) > np.log1p(MARGIN) for ratio in told)


def life(releases: Sequence[Release], choice: AnyChoice, seed: int) -> Iterator[tuple[Step, int]]:
    """All releases in order, each with the runs that a recalibration after it cost."""
    engine = Releases(releases)
    known = calibrated(releases[0], choice, seed)
    for before, now in pairwise(releases):
        step = checked(now, before, known, engine, seed)
        if step.advised:
            known = calibrated(now, choice, seed)
        yield step, known.runs if step.advised else 0


def read_releases(folder: Path) -> list[Release]:
    file = next(SYSTEM.glob("measurements.csv*"))
    deviations = next(SYSTEM.glob("deviations.csv*"))
    space = imported(folder / "space", SYSTEM / "FeatureModel.xml")
    requests = [
        (name, TableRequest(file, space, (METRIC,), (f"revision={name}",), deviation=str(deviations)))
        for name in revisions(file)
    ]
    return [Release(System(name, table_workplace(request), METRIC)) for name, request in requests]


@dataclass
class Tally:
    """All counts, and the runs of checks and calibrations."""

    changes: Count = field(default_factory=Count)
    advice: Count = field(default_factory=Count)
    important: Count = field(default_factory=Count)
    large: Count = field(default_factory=Count)
    checks: list[int] = field(default_factory=list)
    calibrations: list[int] = field(default_factory=list)

    def add(self, releases: Sequence[Release], choice: AnyChoice, seed: int) -> None:
        """Add one life, and a screening of each release."""
        for step, runs in life(releases, choice, seed):
            name = step.release.system.name
            self.changes.add(said=step.says_changed, true=step.changed, about=name)
            self.advice.add(said=step.advised, true=step.outdated, about=name)
            self.checks.append(step.runs)
            self.calibrations += [runs] if runs else []
        for release in releases:
            known = calibrated(release, choice, seed).screened
            self.screened(release, {*known.important, *known.important_or_aliased})

    def screened(self, release: Release, found: set[str]) -> None:
        """Count the important options of a release, without those that other options determine."""
        options = release.system.place.project.space.names
        for option, effect in zip(options, release.effects.tolist(), strict=True):
            if option in DECIDED:
                continue
            self.important.add(said=option in found, true=effect > RELEVANT, about=option)
            if effect > LARGE or option in found:
                self.large.add(said=option in found, true=effect > LARGE, about=option)


def result(seeds: Sequence[int] = SEEDS) -> tuple[str, bool]:
    """The table, and whether the goals are met."""
    if not SYSTEM.is_dir():
        return f"Releases: skipped, there is no {SYSTEM.name}; HATI_DATA names the folder of the data.\n", True
    tally = Tally()
    with tempfile.TemporaryDirectory() as name:
        releases = read_releases(Path(name))
        first = releases[0].system
        for seed in seeds:
            runs = PER_PARAMETER * first.parameters
            choice = choose_design(first.place.project.space, runs, generator(seed, "design"), most=1)
            tally.add(releases, choice, seed)
            counted = [tally.changes, tally.advice, tally.important, tally.large]
            print(seed, *(f"{c.right}+{c.false}-{c.missed}" for c in counted), file=sys.stderr, flush=True)
    return told(tally, releases, len(seeds))


def told(tally: Tally, releases: Sequence[Release], lives: int) -> tuple[str, bool]:
    population = len(releases[0].system.logs)
    checks, again = np.array(tally.checks), np.array(tally.calibrations)
    rows = [
        tally.changes.row("releases whose distribution changed"),
        tally.advice.row("recalibration advised where the best three change"),
        tally.important.row(f"important options (effect above {RELEVANT:.0%})"),
        tally.large.row(f"options with effects above {LARGE:.0%}"),
    ]
    goals = [
        (f"precision of changes {tally.changes.precision:.3f} (>= .7)", tally.changes.precision >= 0.7),
        (f"their recall {tally.changes.recall:.3f} (>= .8)", tally.changes.recall >= 0.8),
        (f"precision of the advice {tally.advice.precision:.3f} (>= .9)", tally.advice.precision >= 0.9),
        (f"its recall {tally.advice.recall:.3f} (>= .9)", tally.advice.recall >= 0.9),
        (f"precision of important options {tally.important.precision:.3f} (>= .95)", tally.important.precision >= 0.95),
        (f"recall of the large ones {tally.large.recall:.3f} (>= .9)", tally.large.recall >= 0.9),
    ]
    note = (
        f"{lives} lives of {len(releases)} releases. A check took {checks.mean():.0f} runs in the mean (at most "
        f"{ROUNDS} rounds of {SUITE} configurations at two releases), a recalibration {again.mean():.0f}; all "
        f"configurations of two releases, once, are {2 * population}, and five times {10 * population}. There were "
        f"{len(again) / lives:.2f} recalibrations in a life. Wrong: by what, and how often.\n\n"
        + "\n".join(f"- {'met' if held else 'MISSED'}: {text}" for text, held in goals)
    )
    header = ["what", "right", "false", "missed", "neither", "precision", "recall", "wrong"]
    return table("hsqldb's releases followed", header, rows, note), all(held for _, held in goals)


def main(wanted: list[str]) -> int:
    text, held = result(range(1, int(wanted[0]) + 1) if wanted else SEEDS)
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
