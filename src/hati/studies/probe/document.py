"""Properties of machines, their fitness for benchmarks and the self-test, as plain values and as documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from msgspec import Struct

from hati.core import Machine
from hati.document.document import Document, Facts, Shown, Table, columns_of, general, percent, quantity
from hati.document.publishing import Interval, Of
from hati.studies.probe import (
    LIBRARY,
    Conditions,
    DisturbanceKind,
    Fitness,
    ProbeConclusion,
    Probed,
    ProbeVerdict,
    Property,
    PropertyChange,
    PropertyDifference,
    Recovery,
    RecoveryOutcome,
)

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
    "sched.evenness",
    "virt.steal",
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
    refused = tuple(f"{each.experiment}: {each.refused}" for each in found.probed if each.refused and not _asks(each))
    asking = tuple(f"{each.experiment} is not measured: {each.refused}" for each in found.probed if _asks(each))
    return Document(
        f"Properties of {found.machine}",
        answer,
        (("machine", f"{found.machine} ({found.fingerprint})"), ("age", _age(found))),
        tuple(table for table in tables if table.rows),
        refused,
        (*_warnings(found), *asking),
    )


_ASKS = {each.name: each.asks for each in LIBRARY if each.asks}


def _asks(each: Probed) -> bool:
    """Whether an experiment was left out as the user has to name something."""
    return bool(each.refused) and each.refused == _ASKS.get(each.experiment)


_DOUBTFUL = (ProbeVerdict.INCONCLUSIVE, ProbeVerdict.CONTAMINATED)


def property_text(one: Property) -> str:
    """A value with its unit, as people read it."""
    return "none" if one.value is None else _amount(one, one.value)


def _table(domain: str, found: ProbeConclusion) -> Table:
    columns = columns_of("property | > value | > 95 % interval | verdict")
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
    if name in _FRACTIONS or name.endswith("_loss"):
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
    first, last = (f"{time:%Y-%m-%d %H:%M}" for time in (min(times), max(times)))
    until = "" if first == last else f" to {last.removeprefix(first[:11])}"
    return f"measured {first}{until} UTC; {reused} of {len(times)} reused"


def _warnings(found: ProbeConclusion) -> tuple[str, ...]:
    doubtful = [each for each in found.probed if any(one.verdict in _DOUBTFUL for one in each.properties)]
    disturbed = (
        f"{each.experiment} was disturbed by {neighbours}" for each in doubtful if (neighbours := _neighbours(each))
    )
    return (*disturbed, *_repetition(found))


def _repetition(found: ProbeConclusion) -> Iterator[str]:
    """How to measure again what is contaminated."""
    names = [each.experiment for each in found.probed if each.contaminated]
    if names:
        alone = {each.name for each in LIBRARY if not each.asks}.issuperset(names)
        options = "" if alone else ", with the other options of this command"
        yield f"to measure again what is contaminated: `hati probe {' '.join(names)}`{options}"


def _neighbours(probed: Probed) -> str:
    return ", ".join(
        f"{each.name} (process {each.pid}, {100 * each.share:.0f} % of CPU {each.cpu})"
        for each in probed.neighbours[:3]
    )


class DisturbanceJson(Struct, frozen=True):
    """What disturbs; ``share`` is the fraction of a CPU's time that it takes, null for a setting."""

    kind: DisturbanceKind
    share: float | None
    evidence: str
    remedy: str
    command: str


class VisibleChangeJson(Struct, frozen=True):
    """The smallest relative change that this number of interleaved runs a side shows."""

    runs: int
    change: float


class FitnessJson(Struct, frozen=True, tag_field="format", tag="hati-probe-fit-1"):
    """Whether benchmarks can be measured on a machine; disturbances, the largest first.

    ``counter`` says what counts instructions there, if times with 10 runs a side do not show changes of 5 %.
    """

    machine: str
    fingerprint: str
    visible: list[VisibleChangeJson]
    reason: str
    counter: str
    disturbances: list[DisturbanceJson]


class RecoveryJson(Struct, frozen=True):
    """An injected truth and what was detected, in the same unit; null: none."""

    name: str
    truth: float | None
    detected: float | None
    unit: str
    tolerance: float
    outcome: RecoveryOutcome
    reason: str


class SelftestJson(Struct, frozen=True, tag_field="format", tag="hati-probe-selftest-1"):
    """Whether injected truths are detected."""

    recoveries: list[RecoveryJson]


class PropertyDifferenceJson(Struct, frozen=True):
    """A property before and after; ``ratio`` is after over before."""

    name: str
    change: PropertyChange
    ratio: float | None
    reason: str
    before: PropertyJson
    after: PropertyJson


class ProbeDiffJson(Struct, frozen=True, tag_field="format", tag="hati-probe-diff-1"):
    """How the properties of two machines, or of two times, differ."""

    before: str
    after: str
    properties: Annotated[list[PropertyDifferenceJson], Of("differences")]


class ConditionsJson(Struct, frozen=True):
    """Settings that change or scatter times; ``quota``: in cores, null where there is no limit."""

    governor: str
    turbo: bool
    smt: bool
    randomised: bool
    clocksource: str
    quota: float | None
    stolen: float


class FingerprintJson(Struct, frozen=True, tag_field="format", tag="hati-probe-fingerprint-1"):
    """The identity of a machine: ``fingerprint`` is that of its present state, which every run carries."""

    id: Annotated[str, Of("machine.id")]
    fingerprint: Annotated[str, Of("machine.fingerprint")]
    properties: Annotated[dict[str, str], Of(lambda each: dict(each.machine.properties))]
    conditions: ConditionsJson


def fingerprint_document(machine: Machine, conditions: Conditions) -> Document:
    """The identity of a machine, and its settings that are not part of it."""
    quota = "none" if conditions.quota is None else f"{conditions.quota:.3g} CPUs"
    settings = (
        ("governor", conditions.governor or "not shown"),
        ("turbo", _state(conditions.turbo)),
        ("SMT", _state(conditions.smt)),
        ("ASLR", _state(conditions.randomised)),
        ("clock source", conditions.clocksource or "not shown"),
        ("quota", quota),
        ("stolen time", f"{percent(conditions.stolen)} of the CPU time since the start"),
    )
    return Document(
        f"Fingerprint of {machine.name}",
        f"Runs on {machine.name} carry {machine.fingerprint}.",
        (("identity", machine.id), ("fingerprint", machine.fingerprint), *machine.properties),
        (Facts("Settings, not part of the fingerprint", settings),),
    )


def _state(on: bool) -> str:  # noqa: FBT001 - a value to show
    return "on" if on else "off or not shown"


def fitness_document(found: Fitness) -> Document:
    """The smallest visible changes, what disturbs, and what to do."""
    changes = Table(
        "Smallest visible change",
        columns_of("> runs a side | > change"),
        tuple((each.runs, Shown(percent(each.change), each.change)) for each in found.visible),
        ("Of interleaved runs of 50 ms or more, at a level of 1 % with a power of 80 %.", *_counting(found)),
    )
    rows = tuple(
        (
            each.kind.value,
            Shown("" if each.share is None else percent(each.share), each.share),
            each.evidence,
            each.remedy,
        )
        for each in found.disturbances
    )
    columns = columns_of("disturbance | > share of a CPU | evidence | what to do")
    notes = tuple(f"{each.kind}: {each.command}" for each in found.disturbances)
    disturbances = Table("Disturbances, the largest first", columns, rows, notes)
    sections = tuple(table for table in (changes, disturbances) if table.rows)
    return Document(
        f"Fitness of {found.machine} for benchmarks",
        _answer(found),
        (("machine", f"{found.machine} ({found.fingerprint})"),),
        sections,
        warnings=(found.reason,) if found.reason else (),
    )


def _counting(found: Fitness) -> tuple[str, ...]:
    if not found.counter:
        return ()
    return (
        f"Smaller changes: measure `instructions` (reader `process`), which vary by less than 0.1 %: {found.counter}.",
    )


def _answer(found: Fitness) -> str:
    measured = [each for each in found.disturbances if each.share is not None]
    largest = (
        f"the largest disturbance is a {measured[0].kind} ({percent(measured[0].share or 0.0)} of a CPU)"
        if measured
        else "nothing disturbs the CPUs now"
    )
    if not found.visible:
        return f"It is not known which changes are visible here; {largest}."
    middle = found.visible[len(found.visible) // 2]
    return f"With {middle.runs} runs a side, changes from {percent(middle.change)} on are visible here; {largest}."


def selftest_document(found: Sequence[Recovery]) -> Document:
    """The injected and the detected values."""
    columns = columns_of("injected | > truth | > detected | > tolerance | outcome")
    rows = tuple(
        (
            each.name,
            Shown("none" if each.truth is None else amount_text("", each.truth, each.unit), each.truth),
            Shown("" if each.detected is None else amount_text("", each.detected, each.unit), each.detected),
            Shown(percent(each.tolerance), each.tolerance),
            each.outcome.value,
        )
        for each in found
    )
    reasons = tuple(f"{each.name}: {each.reason}" for each in found if each.reason)
    counts = ", ".join(f"{sum(each.outcome is outcome for each in found)} {outcome}" for outcome in RecoveryOutcome)
    return Document("Self-test", f"Of {len(found)} truths: {counts}.", (), (Table("Truths", columns, rows, reasons),))


def probe_diff_document(before: str, after: str, found: Sequence[PropertyDifference], *warnings: str) -> Document:
    """The properties of two machines or times that differ or are undecided; the number of those that are alike."""
    listed_rows = [each for each in found if each.change is not PropertyChange.ALIKE]
    columns = columns_of("property | > before | > after | > ratio | change")
    rows = tuple(
        (
            each.name,
            Shown(property_text(each.before), each.before.value),
            Shown(property_text(each.after), each.after.value),
            Shown("" if each.ratio is None else f"{each.ratio:.3g}", each.ratio),
            each.change.value,
        )
        for each in listed_rows
    )
    differing = [each for each in found if each.change is PropertyChange.DIFFERS]
    shown = "; ".join(
        f"{each.name} {property_text(each.before)} -> {property_text(each.after)}" for each in differing[:3]
    )
    answer = f"{len(differing)} of {len(found)} properties differ{': ' if shown else ''}{shown}."
    alike = len(found) - len(listed_rows)
    reasons = tuple(f"{each.name}: {each.reason}" for each in found if each.reason)
    facts = (("before", before), ("after", after), *((("alike", f"{alike:,}, not listed"),) if alike else ()))
    tables = (Table("Properties that differ or are undecided", columns, rows, reasons),) if rows else ()
    return Document("Difference of properties", answer, facts, tables, warnings=warnings)
