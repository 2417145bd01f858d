"""What a gate says, in a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hati.core import setting_text
from hati.report.coverage import partial_coverage
from hati.report.quantities import change, change_number, percent
from hati.studies.comparison import Comparison, Verdict
from hati.studies.findings import Ruling
from hati.studies.gate import Broken, GateConclusion


def gate_answer(ruling: Ruling) -> str:
    """The worst that is not known, the largest of it with its size, and where that is.

    It begins with the number of configurations measured, where nothing is known of the others.
    """
    measured = partial_coverage(ruling.gate.coverage)
    return f"{measured}: {_answer(ruling)}" if measured else _answer(ruling)


def _answer(ruling: Ruling) -> str:
    if ruling.broken:
        works = "works" if len(ruling.broken) == 1 else "work"
        return f"cannot be measured: {_places(ruling.broken)} {works} at the reference alone"
    known = ruling.known_slower
    besides = f"; slower, already known: {', '.join(known)}" if known else ""
    return f"{_worst(ruling)}{besides}"


def gate_verdict(ruling: Ruling) -> str:
    """The verdict in a few words, for a title."""
    if ruling.broken:
        return "not measured"
    if not ruling.known_slower or ruling.verdict is Verdict.SLOWER:
        return ruling.verdict.value
    return "slower, as known" if ruling.verdict is Verdict.SAME else f"{ruling.verdict.value}, and slower as known"


def _worst(ruling: Ruling) -> str:
    found = ruling.gate
    if ruling.verdict is Verdict.SLOWER:
        return f"slower: {_largest(found, ruling.slower)}"
    if ruling.verdict is Verdict.INCONCLUSIVE:
        left = [row for row in found.rows if row.change.verdict is Verdict.INCONCLUSIVE]
        which = _named(left[0]) if len(left) == 1 else f"{len(left)} of {len(found.rows)} comparisons"
        looking = [row for row in _all_rows(found) if _named(row) in found.suspected]
        return f"not decided: {which}{f'; looks changed: {_largest(found, looking)}' if looking else ''}"
    if ruling.verdict is Verdict.FASTER:
        return f"faster: {_largest(found, [row for row in _all_rows(found) if row.change.verdict is Verdict.FASTER])}"
    return "nothing else changed" if ruling.known_slower else f"the same, within {percent(found.question.margin)}"


def _largest(found: GateConclusion, told: Sequence[Comparison]) -> str:
    """Over all configurations, where it shows there; else where it is largest."""
    rows = [row for row in told if not row.configuration] or told
    row = max(rows, key=lambda row: abs(math.log(row.change.ratio)) if row.change.ratio else math.inf)
    more = f", and {len(rows) - 1} more" if len(rows) > 1 else ""
    return f"{_named(row)}{_size(row)}{_because(found, row)}{more}"


def _all_rows(found: GateConclusion) -> list[Comparison]:
    return [*found.rows, *(each.comparison for each in found.strata)]


def _places(broken: Sequence[Broken]) -> str:
    first = " ".join(filter(None, (broken[0].benchmark, str(broken[0].configuration))))
    return first if len(broken) == 1 else f"{first} and {len(broken) - 1} more"


def _named(row: Comparison) -> str:
    where = f" where {row.configuration}" if row.configuration else ""
    return f"{row.metric.name} of {row.benchmark}{where}"


def _size(row: Comparison) -> str:
    told = row.change
    if told.ratio is None or told.interval is None:
        return ""
    low, high = told.interval
    return f" {change(told.ratio - 1.0)} ({change_number(low - 1.0)} to {change(high - 1.0)})"


def _because(found: GateConclusion, row: Comparison) -> str:
    """The setting with the largest change the same way, where the change depends on settings.

    For a stratum without its size, which is that over all configurations.
    """
    ratio = row.change.ratio
    own = [one for one in found.carriers if (one.benchmark, one.metric) == (row.benchmark, row.metric.name)]
    if row.configuration:
        own = [one for one in own if not one.where and one.option not in row.configuration]
    if not own or ratio is None:
        return ""
    most = max(own, key=lambda one: one.ratio if ratio > 1.0 else -one.ratio)
    where = " ".join(f"{name}={setting_text(setting)}" for name, setting in (*most.where, (most.option, most.setting)))
    return f", most where {where}" + ("" if row.configuration else f" ({change(most.ratio - 1.0)})")
