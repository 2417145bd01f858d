"""Prepare samples for a comparison: remove warm-up, and warn of interference, different sessions and machines."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from hati.core import Sample, SampledRun, replace
from hati.core.run import WARM_UP
from hati.core.wording import listed
from hati.harness import State, disturbances, steadiness
from hati.studies.comparison.conclusion import Comparisons, Side, WarmUp
from hati.studies.comparison.matching import SamplePair

_NAMED = 3


class SteadyPair(NamedTuple):
    """A pair without the warm-up of its runs, and the detected warm-up."""

    pair: SamplePair
    before: WarmUp
    after: WarmUp


def without_warm_up(sample: Sample) -> tuple[Sample, WarmUp]:
    """The sample, each run from its first steady observation on, and the detected warm-up.

    Each run is judged alone (`hati.harness.steadiness`), by the observations that its file does not mark as warm-up.
    Runs that are never steady keep all of these, as do pooled runs, runs of fewer than 30 observations, and runs whose
    warm-up was remarked on when they were recorded.
    """
    runs, found, left_out, unsteady = [], 0, 0, []
    for run in sample.runs:
        start, reason = _start(run)
        runs.append(_from(run, start))
        found += start > 0
        left_out += start
        unsteady += [reason] if reason else []
    return replace(sample, runs=tuple(runs)), WarmUp(found, left_out, tuple(unsteady))


def steady_pair(pair: SamplePair) -> SteadyPair:
    """Both samples of a pair without warm-up."""
    (before, found_before), (after, found_after) = without_warm_up(pair.before), without_warm_up(pair.after)
    return SteadyPair(replace(pair, before=before, after=after), found_before, found_after)


def with_warm_up(compared: Comparisons, found: Sequence[SteadyPair]) -> Comparisons:
    """The comparisons of those pairs, with their detected warm-up, and a warning if runs are not steady."""
    rows = tuple(
        replace(
            row,
            before=replace(row.before, warm_up=each.before),
            after=replace(row.after, warm_up=each.after),
        )
        for row, each in zip(compared.rows, found, strict=True)
    )
    sides = (
        ("before", [(row.benchmark, row.before) for row in rows]),
        ("after", [(row.benchmark, row.after) for row in rows]),
    )
    return replace(
        compared, rows=rows, warnings=(*compared.warnings, *filter(None, (_warning(*side) for side in sides)))
    )


def _start(run: SampledRun) -> tuple[int, str]:
    """The first steady observation after the marked warm-up; 0 and the reason if the run is not steady."""
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


def interference_warnings(found: Sequence[SamplePair]) -> tuple[str, ...]:
    """A sentence for each side that has disturbed runs: how many, of which benchmarks, and one of the reasons."""
    sides = (("before", [pair.before for pair in found]), ("after", [pair.after for pair in found]))
    return tuple(text for name, samples in sides if (text := _sentence(name, samples)))


def _sentence(side: str, samples: Iterable[Sample]) -> str:
    judged = [(sample, disturbances([run.usage for run in sample.runs])) for sample in samples]
    marked = [(sample, list(filter(None, reasons))) for sample, reasons in judged if any(reasons)]
    if not marked:
        return ""
    number, runs = sum(len(reasons) for _, reasons in marked), sum(len(reasons) for _, reasons in judged)
    names = list(dict.fromkeys(sample.benchmark for sample, _ in marked))
    return (
        f"{side}: {number} of {runs} runs {'was' if number == 1 else 'were'} disturbed ({listed(names, _NAMED)}"
        f"; the first: {marked[0][1][0]}); {'it is' if number == 1 else 'they are'} counted nevertheless,"
        " and repeating them may decide more"
    )


_FEWEST = 2
_UNITS = (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1)))


def session_warnings(found: Sequence[SamplePair]) -> tuple[str, ...]:
    """A warning if all runs of one side started before all of the other: the number of pairs and the gap."""
    gaps = [(gap, pair.before.benchmark) for pair in found if (gap := _gap(pair)) is not None]
    if not gaps:
        return ()
    longest, name = max(gaps)
    of = "the comparison" if len(found) == 1 else f"{len(gaps):,} of {len(found):,} comparisons"
    return (
        f"in {of} all runs of one side started before those of the other ({name}: {_text(longest)} apart): how much"
        " the machine differs between sessions is not known, and counts as a change; `hati check` and `hati compare`"
        " of two benchmarks interleave the runs of both sides",
    )


def machine_warnings(found: Sequence[SamplePair]) -> tuple[str, ...]:
    """A warning for each reason why sides of different machines cannot be compared, with the runs that would help."""
    apart = [pair for pair in found if pair.on_other_machines]
    texts = [
        (_same_revision_text, [pair for pair in apart if not pair.across]),
        (_no_bridge_text, [pair for pair in apart if pair.across and not pair.bridges]),
        (_one_bridge_text, [pair for pair in apart if len(pair.bridges) == 1]),
    ]
    return tuple(text(pairs[0], _number_of(pairs, found)) for text, pairs in texts if pairs)


def _number_of(pairs: Sequence[SamplePair], found: Sequence[SamplePair]) -> str:
    return "the comparison" if len(found) == 1 else f"{len(pairs):,} of {len(found):,} comparisons"


def _same_revision_text(pair: SamplePair, of: str) -> str:
    return f"in {of} the sides were measured on different machines ({_machines(pair)}): these are what is compared"


def _no_bridge_text(pair: SamplePair, of: str) -> str:
    revision = pair.before.revision or "the revision before"
    return (
        f"in {of} the sides were measured on different machines ({_machines(pair)}): what the machines differ by cannot"
        f" be distinguished from a change, and revisions are not decided; measure {revision} on {pair.after.machine} as"
        " well, as by `hati check AFTER --reference BEFORE`; or measure three or more revisions with several runs each"
        " on both machines, and name their files after --history"
    )


def _one_bridge_text(pair: SamplePair, of: str) -> str:
    revision = pair.bridges[0][0].revision
    other = pair.before.revision or "the revision before"
    direct = f"compare {revision} and the revision after on {pair.after.machine}, or " if revision == other else ""
    return (
        f"in {of} the machines ({_machines(pair)}) are joined by one revision, {revision}: the interval does not"
        f" include how the ratio of machines varies between revisions, and nothing is decided; {direct}measure another"
        " revision on both machines, with several runs"
    )


def _machines(pair: SamplePair) -> str:
    return f"{pair.before.machine} before, {pair.after.machine} after"


def without_clusters_across_machines(comparisons: Comparisons) -> Comparisons:
    """The comparisons without clusters where machine and revision differ together: clusters have no machine ratio."""
    rows = tuple(row if row.joining is None else replace(row, clusters=()) for row in comparisons.rows)
    return replace(comparisons, rows=rows)


def _gap(pair: SamplePair) -> timedelta | None:
    """The time from the last start of one side to the first of the other; None if they overlap or are unknown."""
    sides = [_starts(sample) for sample in (pair.before, pair.after)]
    if min(map(len, sides)) < _FEWEST:
        return None
    first, second = sorted(sides, key=min)
    return min(second) - max(first) if max(first) < min(second) else None


def _starts(sample: Sample) -> list[datetime]:
    """The start times of all runs; empty if one is unknown."""
    known = [run.started for run in sample.runs if run.started is not None]
    return known if len(known) == len(sample.runs) else []


def _text(gap: timedelta) -> str:
    name, size = next((unit for unit in _UNITS if gap >= unit[1]), ("second", timedelta(seconds=1)))
    number = gap // size
    return f"{number:,} {name}{'' if number == 1 else 's'}"
