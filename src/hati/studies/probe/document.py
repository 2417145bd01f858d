"""Properties of a machine as plain values, as a document, and compared with those of another one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Struct

from hati.document.document import Align, Column, Document, Shown, Table, general, percent, quantity
from hati.document.publishing import Interval, Of
from hati.studies.probe import ProbeConclusion, Probed, ProbeVerdict, Property

_KIBIBYTE = 1024.0
_FRACTIONS = {
    "noise.interrupted",
    "noise.detectable",
    "noise.spread",
    "noise.drift",
    "noise.cpu_time_cv",
    "noise.stolen",
    "noise.burst",
    "noise.taken",
}


class PropertyJson(Struct, frozen=True):
    """A property; value null: there is none, or it is not detected, for the reason."""

    name: str
    value: float | None
    unit: str
    interval: Interval | None
    verdict: ProbeVerdict
    reason: str


class NeighbourJson(Struct, frozen=True):
    """Another process on a measured CPU, and the fraction of the CPU's time that it had."""

    name: str
    pid: int
    cpu: int
    share: float


class ProbedJson(Struct, frozen=True):
    """An experiment; ``refused`` is why it has no properties."""

    experiment: str
    method: str
    measured_at: Annotated[str | None, Of(lambda one: one.at and one.at.isoformat())]
    reused: bool
    refused: str
    properties: list[PropertyJson]
    neighbours: list[NeighbourJson]


class ProbeJson(Struct, frozen=True, tag_field="format", tag="hati-probe-1"):
    """What experiments say of a machine."""

    machine: str
    fingerprint: str
    experiments: Annotated[list[ProbedJson], Of("probed")]


def probe_document(found: ProbeConclusion) -> Document:
    """Properties by their domains, with their intervals and verdicts."""
    properties = found.properties.values()
    sure = sum(each.verdict is ProbeVerdict.MEASURED for each in properties)
    rest = [f"{sum(each.verdict is verdict for each in properties)} are {verdict}" for verdict in _DOUBTFUL]
    answer = f"{sure} of {len(properties)} properties are measured; {' and '.join(rest)}."
    domains = dict.fromkeys(each.experiment.partition(".")[0] for each in found.probed)
    tables = tuple(_table(domain, found) for domain in domains)
    refused = tuple(f"{each.experiment}: {each.refused}" for each in found.probed if each.refused)
    return Document(
        f"Properties of {found.machine}",
        answer,
        (("machine", f"{found.machine} ({found.fingerprint})"), ("age", _age(found))),
        tuple(table for table in tables if table.rows),
        refused,
        _warnings(found),
    )


_DOUBTFUL = (ProbeVerdict.INCONCLUSIVE, ProbeVerdict.CONTAMINATED)


def property_text(one: Property) -> str:
    """A value with its unit, as people read it."""
    return "none" if one.value is None else _amount(one, one.value)


def _table(domain: str, found: ProbeConclusion) -> Table:
    columns = (
        Column("property"),
        Column("value", align=Align.RIGHT),
        Column("95 % interval", align=Align.RIGHT),
        Column("verdict"),
    )
    own = [each for each in found.probed if each.experiment.startswith(f"{domain}.")]
    rows = [_row(each) for probed in own for each in probed.properties]
    return Table(domain, columns, tuple(rows), tuple(_reasons(own)))


def _reasons(own: Sequence[Probed]) -> Iterator[str]:
    """Each reason once, after the names of the properties that have it."""
    named: dict[str, list[str]] = {}
    for each in (one for probed in own for one in probed.properties if one.reason):
        named.setdefault(each.reason, []).append(each.name)
    yield from (f"{', '.join(dict.fromkeys(names))}: {reason}" for reason, names in named.items())


def _row(one: Property) -> tuple[str, Shown, str, str]:
    interval = "" if one.interval is None else f"{_amount(one, one.interval[0])} to {_amount(one, one.interval[1])}"
    return one.name, Shown(property_text(one), one.value), interval, one.verdict.value


def _amount(one: Property, value: float) -> str:
    return amount_text(one.name, value, one.unit)


def amount_text(name: str, value: float, unit: str) -> str:
    """A value of the property of that name, in that unit, as people read it."""
    if name in _FRACTIONS:
        return percent(value)
    if unit == "B":
        kibibytes = value / _KIBIBYTE
        return f"{general(kibibytes)} KiB" if kibibytes < _KIBIBYTE else f"{general(kibibytes / _KIBIBYTE)} MiB"
    return quantity(value, "µs" if unit == "us" else unit)


def _age(found: ProbeConclusion) -> str:
    times = [each.at for each in found.probed if each.at]
    if not times:
        return "nothing was measured"
    reused = sum(each.reused for each in found.probed)
    return f"measured {min(times):%Y-%m-%d %H:%M} to {max(times):%H:%M} UTC; {reused} of {len(times)} reused"


def _warnings(found: ProbeConclusion) -> tuple[str, ...]:
    doubtful = [each for each in found.probed if any(one.verdict in _DOUBTFUL for one in each.properties)]
    return tuple(
        f"{each.experiment} was disturbed by {neighbours}" for each in doubtful if (neighbours := _neighbours(each))
    )


def _neighbours(probed: Probed) -> str:
    return ", ".join(
        f"{each.name} (process {each.pid}, {each.share:.0%} of CPU {each.cpu})" for each in probed.neighbours[:3]
    )
