"""A reason that several properties have is shown once, after their names."""

from __future__ import annotations

import pytest

from hati.document.document import Table
from hati.studies.probe import ProbeConclusion, Probed, ProbeVerdict, Property
from hati.studies.probe.document import probe_document


def test_a_reason_is_shown_once() -> None:
    none = (Property("cpu.quota", None, "ms", reason="none"), Property("cpu.quota_period", None, "ms", reason="none"))
    found = probe_document(ProbeConclusion("m", "f", (Probed("cpu.limit", "", "1", properties=none),)))
    (table,) = found.sections
    assert isinstance(table, Table)
    assert table.notes == ("cpu.quota, cpu.quota_period: none",)


def test_what_is_contaminated_is_measured_again_by_a_command() -> None:
    rate = Property("cpu.rate", 4e5, "1/ms", None, ProbeVerdict.CONTAMINATED, "others used 40 % of the CPUs meanwhile")
    cost = Property("clock.cost", 20.0, "ns")
    probed = tuple(
        Probed(name, "", "1", properties=(each,)) for name, each in (("cpu.work", rate), ("clock.reading", cost))
    )
    (warning,) = probe_document(ProbeConclusion("m", "f", probed)).warnings
    assert warning.endswith("`hati probe cpu.work`")


@pytest.mark.parametrize("name", ["virt.speed", "net.two"])
def test_what_needs_options_is_measured_again_with_them(name: str) -> None:
    reason = "others used 40 % of the CPUs meanwhile"
    slow = Property("virt.slowdown", 1.1, "1", None, ProbeVerdict.CONTAMINATED, reason)
    (warning,) = probe_document(ProbeConclusion("m", "f", (Probed(name, "", "1", properties=(slow,)),))).warnings
    assert warning.endswith(f"`hati probe {name}`, with the other options of this command")
