"""Formulas of the events of Python functions: what is counted, what is said, and what cannot be asked together."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Hati

PAGES = """
def touch(pages):
    import mmap
    memory = mmap.mmap(-1, 4096 * pages)
    for page in range(pages):
        memory[4096 * page] = 1
"""
FAULTS = "page_faults of pages:touch(1000)"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "pages.py").write_text(PAGES)
    recording = "[python.recording]\nobservations = 3\nwarmup = 1\nseconds = 0.1\n"
    (tmp_path / "hati.toml").write_text(f'[python]\nroots = ["."]\n{recording}')
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.acceptance
@pytest.mark.usefixtures("project")
def test_page_faults_of_calls_are_asserted(hati: Hati) -> None:
    done = hati("assert", "--formula", f"{FAULTS} >= 900")
    assert done.status == 0, done.err
    assert done.out.startswith("HOLDS")
    assert "pages:touch(1000): page_faults is counted by the kernel" in done.err
    assert "in the calls, with the processes that they start" in done.err


@pytest.mark.usefixtures("project")
def test_times_and_counts_are_asked_for_apart(hati: Hati) -> None:
    done = hati("assert", "--formula", f"{FAULTS} >= 900 and pages:touch(1000) <= 1 s")
    assert done.status == 2
    assert "a run cannot record both page_faults and wall_time of a function" in done.err
    assert "assert them in two calls of `hati assert`" in done.err
