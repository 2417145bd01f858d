"""The cost of a run: the time of its own, and that of the builds which some runs need first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import Benchmark, Outcome, Run, Setting

if TYPE_CHECKING:
    from hati.space import Space

RESERVE = 0.05
"""The fraction of a time budget kept in reserve: runs do not all take the same time."""


class RunCost(Struct, frozen=True):
    """The seconds of a run, the additional ones of a build, and the most builds that are left."""

    seconds_per_run: float
    seconds_per_build: float = 0.0
    builds_left: int = 0

    def runs_within(self, seconds: float) -> float:
        """The number of runs, with their builds, that take this time; infinite if a run takes none."""
        run, build = self.seconds_per_run, self.seconds_per_build
        runs = (seconds - self.builds_left * build) / run if run > 0.0 else math.inf
        return runs if runs >= self.builds_left else seconds / (run + build)  # each run may need its own build


def run_cost(runs: Sequence[Run], benchmark: Benchmark, space: Space) -> RunCost | None:
    """The cost of a run by those that worked, in order; None without any.

    It is their mean time, without the time by which the first run of each build exceeds later ones: that pays for the
    build and for cold caches.
    """
    known = space.by_name
    bindings = benchmark.bindings if benchmark.build else ()
    options = [binding.option for binding in bindings if binding.build and binding.option in known]
    costs: dict[tuple[Setting | None, ...], list[float]] = {}
    for run in runs:
        if run.outcome is Outcome.DONE:
            build = tuple(run.task.configuration.get(option) for option in options)
            costs.setdefault(build, []).append(run.seconds)
    if not costs:
        return None
    longer = _first_runs_longer(list(costs.values()))
    return RunCost(
        (sum(map(sum, costs.values())) - sum(longer)) / sum(map(len, costs.values())),
        float(np.mean(longer)) if options else 0.0,
        max(0, math.prod(len(known[name].settings) for name in options) - len(costs)),
    )


def _first_runs_longer(builds: Sequence[Sequence[float]]) -> list[float]:
    """The excess time of each build's first run over its later runs, or over those of other builds if it has none."""
    all_later = [seconds for _, *later in builds for seconds in later]
    known = [(first, later or all_later) for first, *later in builds]
    return [max(0.0, first - float(np.mean(later))) if later else 0.0 for first, later in known]
