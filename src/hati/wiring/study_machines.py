"""What the reports of studies say of the machines that measured, and of what disturbed them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hati.core import Machine, MachineState, replace
from hati.core.wording import counted, listed

if TYPE_CHECKING:
    from hati.core import Run
    from hati.document import MachineStateJson, StudyMachineJson
    from hati.store import Span
    from hati.wiring.campaigns import Prepared
    from hati.wiring.study_types import StudyReport
    from hati.wiring.workplace import Workplace


def with_machines(place: Workplace, report: StudyReport, study: str) -> StudyReport:
    """The report of the study with a key, with its machines if its runs have more than one fingerprint."""
    spans = place.store.machine_spans(study)
    if len(spans) < 2:
        return report
    known = (machine for machine in place.store.machines() if _measured(machine, spans))
    machines = sorted(known, key=lambda machine: spans[_measured(machine, spans)[0].fingerprint].first)
    of = [f"{machine.name} ({_runs(machine, spans)})" for machine in machines]
    facts = [("machines", listed(of))] if of[1:] else []
    facts += [("changed machine", text) for machine in machines for text in changes(machine, spans)]
    values = report.values

    def with_them() -> Struct:
        from hati.document import StudyJson

        known = values()
        return replace(known, measured_on=_json(machines, spans)) if isinstance(known, StudyJson) else known

    document = replace(report.document, facts=(*report.document.facts, *facts))
    return replace(report, document=document, values=with_them)


_UNREAD: Mapping[str, Sequence[Run]] = {}


def with_load(
    place: Workplace, report: StudyReport, *studies: str, known: Mapping[str, Sequence[Run]] = _UNREAD
) -> StudyReport:
    """The report with a warning if other programs disturbed many runs of the studies with these keys.

    ``known`` has the runs that were read before, by the keys of their studies.
    """
    if place.table is not None:
        return report
    from hati.harness.interference import load_warning_of
    from hati.store import Selection

    runs = (known.get(key) or place.store.runs(Selection(study=key)) for key in studies)
    warning = load_warning_of(chain.from_iterable(runs))
    if not warning:
        return report
    document = replace(report.document, warnings=(*report.document.warnings, warning))
    return replace(report, document=document, unshown=(*report.unshown, warning))


def disturbed(prepared: Prepared[Any, Any]) -> str:
    """A line on what disturbs measurements that are still to be made; empty if nothing does, or if others measure."""
    place = prepared.place
    if place.table is not None or place.by_workers or prepared.finished:
        return ""
    from hati.wiring.probes.disturbances import unfit

    return unfit(place.machine)


def changes(machine: Machine, spans: Mapping[str, Span]) -> Iterator[str]:
    """The changes between successive states in which a machine ran something: the property, and the day."""
    for before, after in pairwise(_measured(machine, spans)):
        for change in before.changes(after):
            yield f"{machine.name}: {change} on {spans[after.fingerprint].first:%Y-%m-%d}"


def _measured(machine: Machine, spans: Mapping[str, Span]) -> list[MachineState]:
    """The states in which a machine ran something, each once, by the time of its first run."""
    states = {state.fingerprint: state for state in machine.states if state.fingerprint in spans}
    return sorted(states.values(), key=lambda state: spans[state.fingerprint].first)


def _runs(machine: Machine, spans: Mapping[str, Span]) -> str:
    """The number of runs of a machine under each fingerprint."""
    return listed(f"{counted(spans[s.fingerprint].runs, 'run')} as {s.fingerprint}" for s in _measured(machine, spans))


def _json(machines: Sequence[Machine], spans: Mapping[str, Span]) -> list[StudyMachineJson]:
    from hati.document import MachineStateJson, StudyMachineJson

    def state_json(state: MachineState) -> MachineStateJson:
        span = spans[state.fingerprint]
        return MachineStateJson(state.fingerprint, span.runs, span.first, dict(state.properties))

    return [
        StudyMachineJson(machine.id, machine.name, [state_json(state) for state in _measured(machine, spans)])
        for machine in machines
    ]
