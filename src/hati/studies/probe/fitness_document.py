"""The fitness of a machine for benchmarks, the self-test and differences of properties, as values and documents."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from hati.core import Machine
from hati.document.document import Align, Column, Document, Facts, Shown, Table, percent
from hati.document.publishing import Of
from hati.studies.probe import (
    Conditions,
    DisturbanceKind,
    Fitness,
    PropertyChange,
    PropertyDifference,
    Recovery,
    RecoveryOutcome,
)
from hati.studies.probe.document import PropertyJson, amount_text, property_text

_RIGHT = Align.RIGHT


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
    """An injected truth and what was detected, in the same unit."""

    name: str
    truth: float
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
    return "on" if on else "off"


def fitness_document(found: Fitness) -> Document:
    """The smallest visible changes, what disturbs, and what to do."""
    changes = Table(
        "Smallest visible change",
        (Column("runs a side", align=_RIGHT), Column("change", align=_RIGHT)),
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
    columns = (Column("disturbance"), Column("share of a CPU", align=_RIGHT), Column("evidence"), Column("what to do"))
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
        f"Smaller changes: measure `instructions` (reader `process`), which vary by less than .1 %: {found.counter}.",
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
    columns = (
        Column("injected"),
        Column("truth", align=_RIGHT),
        Column("detected", align=_RIGHT),
        Column("tolerance", align=_RIGHT),
        Column("outcome"),
    )
    rows = tuple(
        (
            each.name,
            Shown(amount_text("", each.truth, each.unit), each.truth),
            Shown("" if each.detected is None else amount_text("", each.detected, each.unit), each.detected),
            Shown(percent(each.tolerance), each.tolerance),
            each.outcome.value,
        )
        for each in found
    )
    reasons = tuple(f"{each.name}: {each.reason}" for each in found if each.reason)
    counts = ", ".join(f"{sum(each.outcome is outcome for each in found)} {outcome}" for outcome in RecoveryOutcome)
    return Document("Self-test", f"Of {len(found)} truths: {counts}.", (), (Table("Truths", columns, rows, reasons),))


def probe_diff_document(before: str, after: str, found: Sequence[PropertyDifference]) -> Document:
    """The properties of two machines or times, those that differ first."""
    columns = (
        Column("property"),
        Column("before", align=_RIGHT),
        Column("after", align=_RIGHT),
        Column("ratio", align=_RIGHT),
        Column("change"),
    )
    rows = tuple(
        (
            each.name,
            Shown(property_text(each.before), each.before.value),
            Shown(property_text(each.after), each.after.value),
            Shown("" if each.ratio is None else f"{each.ratio:.3g}", each.ratio),
            each.change.value,
        )
        for each in found
    )
    differing = [each for each in found if each.change is PropertyChange.DIFFERS]
    shown = "; ".join(
        f"{each.name} {property_text(each.before)} -> {property_text(each.after)}" for each in differing[:3]
    )
    answer = f"{len(differing)} of {len(found)} properties differ{': ' if shown else ''}{shown}."
    reasons = tuple(f"{each.name}: {each.reason}" for each in found if each.reason)
    facts = (("before", before), ("after", after))
    return Document("Difference of properties", answer, facts, (Table("Properties", columns, rows, reasons),))
