"""A reason that several properties have is shown once, after their names."""

from __future__ import annotations

from hati.document.document import Table
from hati.studies.probe import ProbeConclusion, Probed, Property
from hati.studies.probe.document import probe_document


def test_a_reason_is_shown_once() -> None:
    none = (Property("cpu.quota", None, "ms", reason="none"), Property("cpu.quota_period", None, "ms", reason="none"))
    found = probe_document(ProbeConclusion("m", "f", (Probed("cpu.limit", "", "1", properties=none),)))
    (table,) = found.sections
    assert isinstance(table, Table)
    assert table.notes == ("cpu.quota, cpu.quota_period: none",)
