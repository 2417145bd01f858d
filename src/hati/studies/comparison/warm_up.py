"""Samples without the warm-up of their runs, as steady-state detection finds it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from hati.core import Sample, SampledRun, replace
from hati.core.run import WARM_UP
from hati.core.wording import listed
from hati.harness import State, steadiness
from hati.studies.comparison.conclusion import Comparisons, Side, WarmUp
from hati.studies.comparison.matching import Pair

_NAMED = 3


class SteadyPair(NamedTuple):
    """A pair without the warm-up of its runs, and what was found of that."""

    pair: Pair
    before: WarmUp
    after: WarmUp


def without_warm_up(sample: Sample) -> tuple[Sample, WarmUp]:
    """The sample, each run from its first steady observation on, and what was found.

    Each run is judged alone (`hati.harness.steadiness`), by what its file does not mark as warm-up. Runs that are never
    steady keep all of that, as do pooled ones, those of fewer than 30 observations, and those that were remarked on
    when they were recorded.
    """
    runs, found, left_out, unsteady = [], 0, 0, []
    for run in sample.runs:
        start, reason = _start(run)
        runs.append(_from(run, start))
        found += start > 0
        left_out += start
        unsteady += [reason] if reason else []
    return replace(sample, runs=tuple(runs)), WarmUp(found, left_out, tuple(unsteady))


def steady_pair(pair: Pair) -> SteadyPair:
    """Both samples of a pair without warm-up."""
    (before, found_before), (after, found_after) = without_warm_up(pair.before), without_warm_up(pair.after)
    return SteadyPair(Pair(before, after), found_before, found_after)


def with_warm_up(told: Comparisons, found: Sequence[SteadyPair]) -> Comparisons:
    """The comparisons of those pairs, with what was found of their warm-up; a warning where runs are not steady."""
    rows = tuple(
        replace(
            row,
            before=replace(row.before, warm_up=each.before),
            after=replace(row.after, warm_up=each.after),
        )
        for row, each in zip(told.rows, found, strict=True)
    )
    sides = (
        ("before", [(row.benchmark, row.before) for row in rows]),
        ("after", [(row.benchmark, row.after) for row in rows]),
    )
    return replace(told, rows=rows, warnings=(*told.warnings, *filter(None, (_warning(*side) for side in sides))))


def _start(run: SampledRun) -> tuple[int, str]:
    """The first steady observation after what is marked as warm-up; 0 and why where the run is not steady."""
    if run.pooled or run.remark.startswith(WARM_UP):
        return 0, ""
    found = steadiness(run.steady)
    return found.start or 0, found.reason if found.state is State.NEVER else ""


def _from(run: SampledRun, start: int) -> SampledRun:
    observed = run.observations
    return replace(run, observations=replace(observed, warmup=observed.warmup + start)) if start else run


def _warning(name: str, sides: Iterable[tuple[str, Side]]) -> str:
    of = list(sides)
    marked = [(benchmark, side.warm_up.unsteady) for benchmark, side in of if side.warm_up.unsteady]
    if not marked:
        return ""
    number, runs = sum(len(reasons) for _, reasons in marked), sum(side.runs for _, side in of)
    names = list(dict.fromkeys(benchmark for benchmark, _ in marked))
    are = "is" if number == 1 else "are"
    return (
        f"{name}: {number} of {runs} runs {are} not steady ({listed(names, _NAMED)}; the first:"
        f" {marked[0][1][0]}); a change may be that of their warm-up: let runs last longer, or see"
        " `hati harness steady`"
    )
