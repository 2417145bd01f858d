"""The self-test as root: what the kernel permits is set, detected and restored."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hati.probing import KernelProgram, Setting
from hati.probing.executing import execute_link
from hati.probing.holding import link_with
from hati.studies.probe import RecoveryOutcome, link_properties
from hati.wiring.probes.selftest import selftest

SLICE = Path("/proc/sys/kernel/sched_rr_timeslice_ms")


@pytest.mark.acceptance
@pytest.mark.alone
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_injected_truths_are_detected_and_settings_restored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATI_LOCK", str(tmp_path / "lock"))
    before = SLICE.read_text()
    found = selftest(lambda _: None)
    assert SLICE.read_text() == before
    assert not Path("/run/netns/hati-probe").exists()
    missed = [each for each in found if each.outcome is RecoveryOutcome.MISSED]
    answered = [each for each in found if each.outcome is not RecoveryOutcome.REFUSED]
    assert len(answered) >= 20
    assert len(missed) <= 1, missed
    assert all(each.reason for each in found if each.outcome is RecoveryOutcome.REFUSED)


@pytest.mark.acceptance
@pytest.mark.alone
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_the_rate_of_a_link_that_loses_packets_is_found() -> None:
    """The first packets overflow the queue: bytes beyond a lost one have arrived before it is repeated."""
    setting = Setting(KernelProgram(), Path())
    with link_with("tbf", "rate", "10mbit", "burst", "32kbit", "latency", "50ms") as (address, namespace):
        found = [link_properties(execute_link(setting, address, namespace, 10)) for _ in range(4)]
    rates = [each["net.link_bandwidth"].value for each in found]
    assert rates == pytest.approx([10e6 / 8 * 1448 / 1514] * 4, rel=0.01)
