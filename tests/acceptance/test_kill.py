"""SIGKILL at random moments: every task once in the store, nothing left running, the same answer in the end."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

HATI = str(Path(sys.executable).with_name("hati"))
KILLS, RUNS = 20, 128

SUBJECT = """
import json, subprocess, sys, time
mark = "MARK"
daemon = "import os, time; os.setsid(); time.sleep(600)"
children = [subprocess.Popen([sys.executable, "-S", "-c", daemon, mark], start_new_session=True) for _ in range(2)]
time.sleep(0.05)
settings = dict(word.split("=") for word in sys.argv[1:])
latency = 0.010 * (1.5 if settings["a"] == "1" else 1) * (0.8 if settings["b"] == "1" else 1)
noise = (sum(ord(c) * (i + 7) for i, c in enumerate(" ".join(sys.argv[1:]))) % 97) / 97
print(json.dumps({"metric": "latency", "values": [latency * (1 + 0.004 * noise)]}))
"""

PROJECT = """
[subject]
name = "deterministic"
[[benchmark]]
name = "main"
command = ["python3", "-S", "subject.py", "repetition={repetition}"]
reader = "hati"
[[benchmark.metric]]
name = "latency"
unit = "s"
""" + "".join(f'[options.{name}]\nsettings = [0, 1]\nargument = "{name}={{}}"\n' for name in "abcdefgh")


def a_project(folder: Path, mark: str) -> Path:
    folder.mkdir()
    (folder / "hati.toml").write_text(PROJECT)
    (folder / "subject.py").write_text(SUBJECT.replace("MARK", mark))
    return folder


def screening(folder: Path) -> subprocess.Popen[bytes]:
    command = [HATI, "screen", str(folder), "--metric", "latency", "--budget", str(RUNS), "--seed", "7"]
    command += ["--format", "json", "--output", str(folder.parent / f"{folder.name}.json")]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def left_running(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if mark in process.cmdline():
                found.append(process)
        except psutil.Error:
            continue
    return found


def await_running(mark: str) -> None:
    deadline = time.monotonic() + 60
    while not left_running(mark):
        assert time.monotonic() < deadline, "no run began within a minute"
        time.sleep(0.01)


def told(folder: Path) -> dict[str, object]:
    """The report without what names the campaign's revision or tells how long it took."""
    conclusion = json.loads((folder.parent / f"{folder.name}.json").read_text())
    return {key: value for key, value in conclusion.items() if key not in {"seconds", "study", "revision"}}


def tasks(folder: Path) -> list[str]:
    listed = subprocess.run([HATI, "runs", str(folder), "--format", "json"], capture_output=True, check=True).stdout
    return [row["task"] for row in json.loads(listed)]


@pytest.mark.acceptance
def test_a_campaign_killed_twenty_times_is_the_same_campaign(tmp_path: Path) -> None:
    rng = random.Random(20)
    mark = f"hati-kill-test-{os.getpid()}"
    undisturbed, killed = a_project(tmp_path / "undisturbed", mark), a_project(tmp_path / "killed", mark)
    assert screening(undisturbed).wait(timeout=120) == 0
    for number in range(KILLS):
        process = screening(killed)
        if number % 2:  # every other one while it measures, however long this machine takes to get there
            await_running(mark)
        time.sleep(rng.uniform(0.0, 1.0))
        assert process.poll() is None, "the campaign ended too early for the test to say anything"
        process.send_signal(signal.SIGKILL)
        process.wait()
        deadline = time.monotonic() + 5
        while left_running(mark) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert left_running(mark) == []
    assert 0 < len(tasks(killed)) < RUNS
    final = screening(killed)
    assert final.wait(timeout=120) == 0
    made = tasks(killed)
    assert len(made) == len(set(made)) == RUNS
    assert told(killed) == told(undisturbed)
    assert [path.name for path in (killed / ".hati" / "work").iterdir()] == ["CACHEDIR.TAG"]
