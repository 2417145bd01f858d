"""Predict for probed machines: their usable cores and speeds replace those of a model's resources."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from hati.core import InputError
from hati.core.wording import suggestion
from hati.prediction import ProbedMachine, Scheduling, ServiceModel
from hati.studies.probe import ProbeConclusion, ProbeVerdict, Property
from hati.wiring.probes.results import measured_number, side_of

_ALIKE = 0.1
_OTHERWISE = ", or write cores and speed into the model"
_MEMORY = (("mem.last_latency", -1), ("mem.bandwidth", 1))
"""The properties of memory that are compared with the processor's speed, and the sign: less latency is faster."""


def on_machines(
    model: ServiceModel, asked: Sequence[str], file: Path, place: str | None
) -> tuple[ServiceModel, tuple[str, ...]]:
    """The model with the resources of probed machines, and warnings.

    Args:
        model: names the machine that its demands were measured on.
        asked: a machine, for all resources that share their processor, or ``RESOURCE=MACHINE``.
        file: the file of the model, for errors.
        place: the store of probes [default: this user's].

    Raises:
        InputError: for an unknown resource or machine, and where its probes do not determine its speed.
    """
    if not model.measured_on:
        raise InputError(
            f"{file} does not say on which machine its demands were measured",
            fix='add measured_on = "MACHINE" before its first table, as `hati probe diff` names machines',
        )
    reference = side_of(model.measured_on, place)[1]
    wanted = _wanted(model, asked)
    probes = {name: side_of(name, place)[1] for name in dict.fromkeys(wanted.values())}
    machines = {name: _measured(probe, reference) for name, probe in probes.items()}
    resources = tuple(each.on(machines[wanted[each.name]]) if each.name in wanted else each for each in model.resources)
    warnings = (
        warning for name, probe in probes.items() for warning in _memory_warnings(machines[name], probe, reference)
    )
    return msgspec.structs.replace(model, resources=resources), tuple(warnings)


def exported_environment(machine: str, reference: str | None, place: str | None) -> str:
    """A probed machine as a resource environment of Palladio, its speed relative to a reference [default: itself].

    Raises:
        InputError: for an unknown machine, and where its probes do not determine its speed.
    """
    from hati.prediction.palladio import resource_environment

    own = side_of(machine, place)[1]
    other = own if reference is None else side_of(reference, place)[1]
    return resource_environment(_measured(own, other), _value(own.properties, "disk.durable"))


def _memory_warnings(machine: ProbedMachine, own: ProbeConclusion, reference: ProbeConclusion) -> Iterator[str]:
    """Warn where memory is faster or slower by another factor than the processor."""
    for memory, power in _MEMORY:
        before, after = _value(reference.properties, memory), _value(own.properties, memory)
        if before and after and abs((after / before) ** power / machine.speed - 1.0) > _ALIKE:
            yield (
                f"by {memory} the memory of {machine.name} is {(after / before) ** power:.3g} times as fast as that of "
                f"{reference.machine}, its processor {machine.speed:.3g} times: demands that wait for memory take "
                "another time than predicted"
            )


def _wanted(model: ServiceModel, asked: Sequence[str]) -> dict[str, str]:
    """The requested machine of each resource that has one."""
    known = [each.name for each in model.resources]
    found: dict[str, str] = {}
    for text in asked:
        resource, equals, machine = text.rpartition("=")
        if not equals:
            found |= {each.name: text for each in model.resources if each.policy is Scheduling.PS} | found
        elif resource in known:
            found[resource] = machine
        else:
            raise InputError(f"--resources {text}: there is no resource {resource!r}", fix=suggestion(resource, known))
    return found


def _measured(machine: ProbeConclusion, reference: ProbeConclusion) -> ProbedMachine:
    wanted = ((machine, "cpu.cores"), (machine, "cpu.rate"), (reference, "cpu.rate"))
    return ProbedMachine(machine.machine, *(measured_number(*each, otherwise=_OTHERWISE) for each in wanted))


def _value(properties: Mapping[str, Property], name: str) -> float | None:
    found = properties.get(name)
    return found.value if found is not None and found.verdict is ProbeVerdict.MEASURED else None
