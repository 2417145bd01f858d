"""A probed machine as a resource environment of the Palladio Component Model, version 5.2."""

from __future__ import annotations

from decimal import Decimal
from xml.etree import ElementTree as ET

from hati.core import digest
from hati.prediction import ProbedMachine, Resource, Scheduling

_NAMESPACE = "http://palladiosimulator.org/PalladioComponentModel/ResourceEnvironment/5.2"
_XMI = "http://www.omg.org/XMI"
_TYPES = "pathmap://PCM_MODELS/Palladio.resourcetype#"
_CPU, _HDD = "_oro4gG3fEdy4YaaT-RYrLQ", "_BIjHoQ3KEdyouMqirZIhzQ"
"""Resource types that come with Palladio."""
_POLICIES = {Scheduling.PS: "ProcessorSharing", Scheduling.FCFS: "FCFS", Scheduling.DELAY: "Delay"}


def resource_environment(machine: ProbedMachine, disk: float | None = None) -> str:
    """The XML of a ``.resourceenvironment``: a container with a processor, and with a disk if its rate is known.

    The processing rate of the processor is its speed relative to the machine on which demands were measured: a demand
    in seconds takes that time divided by the speed. The rate of the disk is in bytes a second.
    """
    ET.register_namespace("xmi", _XMI)
    ET.register_namespace("resourceenvironment", _NAMESPACE)
    root = ET.Element(f"{{{_NAMESPACE}}}ResourceEnvironment", {f"{{{_XMI}}}version": "2.0", "entityName": machine.name})
    identity = f"_{digest([machine.name], length=16)}"
    container = ET.SubElement(
        root, "resourceContainer_ResourceEnvironment", {"id": identity, "entityName": machine.name}
    )
    _specify(container, f"{identity}-cpu", _CPU, Resource("cpu").on(machine))
    if disk is not None:
        _specify(container, f"{identity}-disk", _HDD, Resource("disk", Scheduling.FCFS, speed=disk))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def _number(value: float) -> str:
    """A decimal with a point: Palladio's parser takes a number without one as a 32-bit integer, even ``2e+08``."""
    text = f"{Decimal(f'{value:.6g}'):f}"
    return text if "." in text else f"{text}.0"


def _specify(container: ET.Element, identity: str, kind: str, resource: Resource) -> None:
    own = ET.SubElement(
        container,
        "activeResourceSpecifications_ResourceContainer",
        {"id": identity, "numberOfReplicas": str(resource.cores)},
    )
    ET.SubElement(own, "schedulingPolicy", {"href": f"{_TYPES}{_POLICIES[resource.policy]}"})
    ET.SubElement(own, "activeResourceType_ActiveResourceSpecification", {"href": f"{_TYPES}{kind}"})
    rate = resource.speed * resource.capacity / resource.cores  # Palladio has whole replicas only
    ET.SubElement(own, "processingRate_ProcessingResourceSpecification", {"specification": _number(rate)})
