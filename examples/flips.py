"""Estimate the effect of each option of a project alone, by flips in random configurations until it is known.

``python -m examples.flips examples/nginx --metric requests`` writes ``examples/nginx/flips.csv``. A flip is two runs,
one after the other, of a uniformly drawn valid configuration with the option at its first and at its last setting.
An option is decided if the interval of its mean change excludes 0, or extends at most 2 % to either side. Looks are
after an eighth, a quarter, half and all of the flips; the intervals of all looks hold together with 95 % confidence.
An interrupted study is resumed.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from scipy import stats

from hati.campaign import campaign
from hati.core import (
    Batch,
    Benchmark,
    Budget,
    Configuration,
    Evidence,
    HatiError,
    Metric,
    Plan,
    StudyId,
    Task,
    generator,
)
from hati.space import Space
from hati.studies.screening import flipped
from hati.subject import remember_output
from hati.wiring import workplace

CONFIDENCE = 0.95
NARROW = math.log(1.02)
"""An interval that extends no farther to either side decides, too."""
LOOKS = 4


@dataclass(frozen=True)
class Change:
    """The change of a metric from an option's first to its last setting, in logarithms.

    ``half_width`` is that of the interval, None for a single flip.
    """

    option: str
    flips: int
    mean: float
    half_width: float | None

    @property
    def decided(self) -> bool:
        """Whether the interval excludes 0 or is narrow."""
        return self.half_width is not None and (abs(self.mean) > self.half_width or self.half_width <= NARROW)


@dataclass(frozen=True)
class Flips:
    """The study: ``most`` flips of each option."""

    id: StudyId
    benchmark: Benchmark
    metric: Metric
    revision: str
    space: Space
    most: int

    def plan(self, evidence: Evidence) -> Plan:
        """The flips of the next look at each option that is not decided yet, interleaved."""
        ahead = [pair for option in self.space.names for pair in self._ahead(option, evidence)]
        order = generator(self.id.seed, f"order {len(evidence.runs)}").permutation(len(ahead))
        return Plan(tuple(Batch(ahead[place]) for place in order))

    def conclude(self, evidence: Evidence) -> tuple[Change, ...]:
        """The change by each option."""
        return tuple(self._change(option, evidence) for option in self.space.names)

    @cached_property
    def _looks(self) -> tuple[int, ...]:
        return tuple(max(2, self.most // 2**halving) for halving in reversed(range(LOOKS)))

    def _ahead(self, option: str, evidence: Evidence) -> Iterator[tuple[Task, ...]]:
        for look in self._looks:
            left = [tuple(t for t in self._pair(option, n) if t.id not in evidence.known) for n in range(look)]
            if any(left):
                yield from filter(None, left)
                return
            if self._change(option, evidence).decided:
                return

    def _pair(self, option: str, number: int) -> tuple[Task, ...]:
        rng = generator(self.id.seed, f"{option} {number}")
        settings = self.space.option(option).settings
        pair = flipped(self.space, option, (settings[0], settings[-1]), rng)
        return tuple(self._task(option, number, pair[int(place)]) for place in rng.permutation(2)) if pair else ()

    def _task(self, option: str, number: int, configuration: Configuration) -> Task:
        return Task(
            self.id.key, option, self.benchmark.name, configuration, self.revision, self.benchmark.workload, number
        )

    def _change(self, option: str, evidence: Evidence) -> Change:
        last = self.space.option(option).settings[-1]
        pairs: dict[int, dict[bool, float]] = {}
        for run in evidence.stage(option).done:
            found = run.of(self.metric.name)
            if found is not None:
                pairs.setdefault(run.task.repetition, {})[run.task.configuration[option] == last] = math.log(found.mean)
        ratios = [pair[True] - pair[False] for pair in pairs.values() if len(pair) == 2]
        mean = float(np.mean(ratios)) if ratios else math.nan
        if len(ratios) < 2:
            return Change(option, len(ratios), mean, None)
        level = (1 - CONFIDENCE) / len(self._looks)
        half = float(stats.t.isf(level / 2, len(ratios) - 1) * stats.sem(ratios))
        return Change(option, len(ratios), mean, half)


def measure(
    path: Path, metric: str | None, most: int, seed: int, budget: Budget, store: str | None
) -> tuple[Change, ...]:
    """Run the flips that are left, and write the table."""
    place = workplace(path, store)
    benchmark = place.project.benchmark(None)
    chosen = benchmark.metrics[0] if metric is None else benchmark.metric(metric)
    parameters = {
        "definition": benchmark.definition, "space": place.project.space.digest, "most": most, "metric": chosen.name,
    }  # fmt: skip
    study = Flips(
        StudyId.of("flips", parameters, seed, place.machine.fingerprint),
        benchmark,
        chosen,
        place.revision,
        place.project.space,
        most,
    )
    place.store.begin(study.id, benchmark.metrics, place.machine)
    with place.engine((benchmark,)) as engine:
        changes = campaign(study, engine, place.store, budget)
    file = place.project.root / "flips.csv"
    write(file, study, changes)
    remember_output(file)
    return changes


def write(file: Path, study: Flips, changes: tuple[Change, ...]) -> None:
    """Write a row for each option; changes are in percent."""
    with file.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow(["option", "from", "to", "flips", "change %", "low %", "high %", "decided"])
        for change in changes:
            settings = study.space.option(change.option).settings
            low, high = (
                (math.nan, math.nan)
                if change.half_width is None
                else (change.mean - change.half_width, change.mean + change.half_width)
            )
            shown = [f"{100 * math.expm1(each):.1f}" for each in (change.mean, low, high)]
            rows.writerow([change.option, settings[0], settings[-1], change.flips, *shown, change.decided])


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.flips", description=__doc__)
    parser.add_argument("project", type=Path)
    parser.add_argument("--metric")
    parser.add_argument("--most", type=int, default=150, help="flips of an option")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", help="runs or time of this call; the next goes on; default: no limit")
    parser.add_argument("--store")
    given = parser.parse_args()
    budget = Budget.parse(given.budget) if given.budget else Budget()
    try:
        measure(given.project, given.metric, given.most, given.seed, budget, given.store)
    except HatiError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
