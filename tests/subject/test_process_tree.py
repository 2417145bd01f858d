"""Ending a process with all that belongs to it."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

from hati.subject.running.supervisor.process_tree import kill


def ended(pid: int) -> bool:
    """Whether a process is gone, or is a zombie that nobody has waited for."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_process_is_killed_with_its_group() -> None:
    command = ["sh", "-c", "sleep 60 & echo $!; wait"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True) as leader:
        assert leader.stdout is not None
        child = int(leader.stdout.readline())
        kill(leader.pid)
    deadline = time.monotonic() + 5.0
    while not ended(child) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert ended(child)


def test_the_own_group_is_spared() -> None:
    with subprocess.Popen(["sleep", "60"]) as alone:
        kill(alone.pid)
    assert alone.returncode == -9
