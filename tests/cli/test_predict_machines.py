"""`hati predict --resources`, on results of probes in files."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from hati.store import open_store
from hati.studies.probe import LIBRARY

if TYPE_CHECKING:
    from conftest import Hati

MODEL = """
measured_on = "old.json"

[resources.server]
cores = 4
overhead = "5%"
[resources.disk]
policy = "fcfs"

[components]
web.demands = { server = "20ms", disk = "1ms" }

[workloads.users]
rate = "10/s"
mix = { web = 1 }
"""


def probe(file: Path, **properties: float | dict[str, Any]) -> None:
    """Write what `hati probe` would say of a machine; a number is measured within 1 %."""
    whole: dict[str, Any] = {"verdict": "measured", "reason": ""}
    units = {name: unit for each in LIBRARY for name, unit in each.outputs.items()}
    found = []
    for key, given in properties.items():
        name = key.replace("_", ".", 1)
        own = given if isinstance(given, dict) else {"value": given, "interval": [0.99 * given, 1.01 * given]}
        found.append({**whole, "name": name, "unit": units[name], **own})
    experiment = {"experiment": "cpu.work", "method": "1", "measured_at": None, "reused": False, "refused": ""}
    values = {"format": "hati-probe-1", "machine": file.stem, "fingerprint": "f"}
    file.write_text(json.dumps(values | {"experiments": [experiment | {"properties": found, "neighbours": []}]}))


@pytest.fixture(autouse=True)
def _files(tmp_path: Path) -> None:
    (tmp_path / "model.toml").write_text(MODEL)
    probe(tmp_path / "old.json", cpu_rate=400.0, cpu_cores=4.02)
    probe(tmp_path / "new.json", cpu_rate=500.0, cpu_cores=1.97, mem_bandwidth=1e10)
    probe(tmp_path / "quota.json", cpu_rate=400.0, cpu_cores=1.5)


def test_cores_and_speed_are_those_of_the_machine(hati_here: Hati) -> None:
    values = hati_here("predict", "model.toml", "--resources", "new.json", "--format", "json").json
    (machine,) = values["machines"]
    assert machine["resource"] == "server"
    assert machine["cores"] == 2
    assert machine["speed"] == machine["measured_speed"]["value"] == pytest.approx(1.25)
    off = math.hypot(math.log(1.01), math.log(0.99))
    assert machine["measured_speed"]["interval"] == pytest.approx(
        [1.25 / math.exp(off), 1.25 * math.exp(off)], rel=1e-4
    )
    low, high = values["requests"][0]["response"]["interval"]
    assert 0.98 < low / values["requests"][0]["response"]["value"] < 0.99 < 1.01 < high / low < 1.04
    assert values["confidence"] == 0.95
    assert values["resources"][0]["utilisation"]["value"] == pytest.approx(10 * 0.02 / 1.25 / 2)
    text = hati_here("predict", "model.toml", "--resources", "new.json").out
    assert "server     new: 1.97 usable cores, 1.25 (1.232 to 1.268) times as fast as" in text
    assert "In brackets: the 95 % interval, from the machines' measured cores and speeds." in text
    curve = hati_here("predict", "model.toml", "--resources", "new.json", "--over", "users.rate=1..9", "--points", "2")
    assert "server  new: 1.97 usable cores" in curve.out


def test_a_simulation_on_the_reference_itself_names_its_replications_alone(hati_here: Hati, tmp_path: Path) -> None:
    """The speed is exactly 1, so nothing is uncertain but the simulation."""
    pytest.importorskip("simpy")
    model = tmp_path / "model.toml"
    model.write_text(MODEL.replace("mix =", 'arrivals = "constant"\nmix ='))
    text = hati_here("predict", "model.toml", "--resources", "old.json", "--requests", "300").out
    assert "In brackets: the 95 % interval over 10 replications." in text


def test_a_speed_that_may_overload_is_said_to_have_no_limit(hati_here: Hati, tmp_path: Path) -> None:
    slow = {"value": 100.0, "interval": [50.0, 150.0]}
    probe(tmp_path / "slow.json", cpu_rate=slow, cpu_cores=1.0)
    asked = ("predict", "model.toml", "--resources", "slow.json")
    (request,) = hati_here(*asked, "--format", "json").json["requests"]
    assert request["response"]["interval"][1] is None
    text = hati_here(*asked).out
    assert "to no limit)" in text
    assert "No limit: a resource is overloaded at an end of a measured interval." in text
    curve = hati_here(*asked, "--over", "users.rate=1..11", "--points", "2", "--format", "json").json
    low, high = curve["saturation"]["interval"]
    assert low == pytest.approx(6.25, rel=0.01)
    assert high == pytest.approx(18.75, rel=0.01)


def test_a_fraction_of_a_core_keeps_the_capacity(hati_here: Hati) -> None:
    done = hati_here("predict", "model.toml", "--resources", "server=quota.json", "--format", "json").json
    assert done["machines"][0]["cores"] == 2
    assert done["resources"][0]["utilisation"]["value"] == pytest.approx(10 * 0.02 / 1.5)


def test_a_named_resource_has_its_own_machine(hati_here: Hati) -> None:
    done = hati_here(
        "predict", "model.toml", "--resources", "disk=quota.json", "--resources", "new.json", "--format", "json"
    )
    assert [each["machine"] for each in done.json["machines"]] == ["new", "quota"]


def test_memory_of_another_speed_is_warned_of(hati_here: Hati, tmp_path: Path) -> None:
    probe(tmp_path / "old.json", cpu_rate=400.0, cpu_cores=4.02, mem_bandwidth=1e10)
    done = hati_here("predict", "model.toml", "--resources", "new.json")
    assert "by mem.bandwidth the memory of new is 1 times as fast as that of old, its processor 1.25 times" in done.err


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        ("nowhere", "'nowhere' is neither a file nor a date nor one machine"),
        ("sever=new.json", "there is no resource 'sever'; did you mean 'server'?"),
        ("noisy.json", "cpu.rate of noisy is contaminated: others ran"),
        ("part.json", "cpu.cores of part is not known; run `hati probe cpu --max-age 0` on part"),
        ("here", "has no results of"),
    ],
)
def test_what_the_probes_do_not_say_is_refused(hati_here: Hati, tmp_path: Path, machine: str, message: str) -> None:
    noisy = {"value": 1.0, "interval": None, "verdict": "contaminated", "reason": "others ran"}
    probe(tmp_path / "noisy.json", cpu_rate=noisy, cpu_cores=2.0)
    probe(tmp_path / "part.json", cpu_rate=300.0)
    open_store(str(tmp_path / "store.sqlite")).close()
    done = hati_here("predict", "model.toml", "--resources", machine, "--store", "store.sqlite")
    assert done.status == 2
    assert message in done.err


def test_the_machine_of_the_demands_is_needed(hati_here: Hati, tmp_path: Path) -> None:
    (tmp_path / "model.toml").write_text(MODEL.replace('measured_on = "old.json"', ""))
    done = hati_here("predict", "model.toml", "--resources", "new.json")
    assert done.status == 2
    assert 'add measured_on = "MACHINE" before its first table' in done.err


def test_a_machine_is_a_resource_environment_of_palladio(hati_here: Hati, tmp_path: Path) -> None:
    """The elements and attributes of PCM 5.2, with its own identities of resource types."""
    probe(tmp_path / "quota.json", cpu_rate=400.0, cpu_cores=1.5, disk_durable=2e8)
    done = hati_here("probe", "export", "quota.json", "--measured-on", "new.json", "-o", "m.resourceenvironment")
    assert done.status == 0, done.err
    root = ET.parse(tmp_path / "m.resourceenvironment").getroot()
    assert root.tag == (
        "{http://palladiosimulator.org/PalladioComponentModel/ResourceEnvironment/5.2}ResourceEnvironment"
    )
    assert root.get("{http://www.omg.org/XMI}version") == "2.0"
    (container,) = root
    assert (container.tag, container.get("entityName")) == ("resourceContainer_ResourceEnvironment", "quota")
    assert {each.tag for each in container} == {"activeResourceSpecifications_ResourceContainer"}
    found = []
    for each in container:
        assert [part.tag for part in each] == [
            "schedulingPolicy",
            "activeResourceType_ActiveResourceSpecification",
            "processingRate_ProcessingResourceSpecification",
        ]
        assert all(part.get("href", "pathmap").startswith("pathmap") for part in each)
        policy = (each[0].get("href") or "").partition("#")[2]
        found.append((policy, each.get("numberOfReplicas"), each[2].get("specification")))
    assert found == [("ProcessorSharing", "2", "0.6"), ("FCFS", "1", "200000000.0")]
    assert len({each.get("id") for each in root.iter() if each.get("id")}) == 3
    assert 'specification="1.0"' in hati_here("probe", "export", "new.json").out
