"""What is said of samples that were not measured at the same time, or on the same machine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from hati.core import Sample
from hati.studies.comparison.matching import Pair

_FEWEST = 2
_UNITS = (("day", timedelta(days=1)), ("hour", timedelta(hours=1)), ("minute", timedelta(minutes=1)))


def session_warnings(found: Sequence[Pair]) -> tuple[str, ...]:
    """A sentence where all runs of one side started before all of the other: how many pairs, and how far apart."""
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


def machine_warnings(found: Sequence[Pair]) -> tuple[str, ...]:
    """A sentence where the machines of both sides are known and are not the same: for how many pairs, and which."""
    machines = [(pair.before.machine, pair.after.machine) for pair in found]
    apart = [(first, second) for first, second in machines if first and second and first != second]
    if not apart:
        return ()
    of = "the comparison" if len(found) == 1 else f"{len(apart):,} of {len(found):,} comparisons"
    return (
        f"in {of} the sides were measured on different machines ({apart[0][0]} before, {apart[0][1]} after): what the"
        " machines differ by counts as a change; measure both on one machine to compare revisions",
    )


def _gap(pair: Pair) -> timedelta | None:
    """Between the last start of one side and the first of the other; None where they overlap or are not known."""
    sides = [_starts(sample) for sample in (pair.before, pair.after)]
    if min(map(len, sides)) < _FEWEST:
        return None
    first, second = sorted(sides, key=min)
    return min(second) - max(first) if max(first) < min(second) else None


def _starts(sample: Sample) -> list[datetime]:
    """Of all runs; none where one is not known."""
    known = [run.started for run in sample.runs if run.started is not None]
    return known if len(known) == len(sample.runs) else []


def _text(gap: timedelta) -> str:
    name, size = next((unit for unit in _UNITS if gap >= unit[1]), ("second", timedelta(seconds=1)))
    number = gap // size
    return f"{number:,} {name}{'' if number == 1 else 's'}"
