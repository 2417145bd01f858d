"""The machines of a study in its report, and their changes during the study."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import Machine, MachineState, replace
from hati.core.wording import counted, listed
from hati.wiring.study_types import StudyReport
from hati.wiring.workplace import Workplace

if TYPE_CHECKING:
    from hati.document import MachineStateJson, StudyMachineJson
    from hati.store import Span


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


def unfit_place(place: Workplace) -> str:
    """A line on what disturbs measurements of a workplace; empty if nothing does, or if other machines measure."""
    if place.table is not None or place.by_workers:
        return ""
    from hati.wiring.probes.experiments import unfit

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
