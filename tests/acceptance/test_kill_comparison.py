"""A comparison that is killed while it measures goes on where it was, and comes to the same end."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest

HATI = str(Path(sys.executable).with_name("hati"))
KILLS = 6

SUBJECT = """
import json, random, sys, time
time.sleep(0.05)
rng = random.Random(" ".join(sys.argv[1:]))
print(json.dumps({"metric": "time", "values": [float(sys.argv[1]) * rng.gauss(1, 0.03)]}))
"""

PROJECT = """
[subject]
name = "tiny"
""" + "".join(
    f"""
[[benchmark]]
name = "{name}"
command = ["python3", "-S", "subject.py", "{mean}", "{{repetition}}"]
[[benchmark.metric]]
name = "time"
unit = "s"
"""
    for name, mean in (("old", 1.0), ("new", 1.03))
)


def a_project(folder: Path) -> Path:
    folder.mkdir()
    (folder / "hati.toml").write_text(PROJECT)
    (folder / "subject.py").write_text(SUBJECT)
    return folder


def comparing(folder: Path) -> subprocess.Popen[bytes]:
    command = [HATI, "compare", "old", "new", "--budget", "200", "--seed", "3", "--format", "json"]
    environment = {**os.environ, "HATI_LOCK": str(folder.parent / "lock")}
    words = [*command, "--output", str(folder.parent / f"{folder.name}.json")]
    return subprocess.Popen(words, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def tasks(folder: Path) -> list[str]:
    """Those that the store has a run of, read beside it: ``hati runs`` would take longer than a run."""
    try:
        with closing(sqlite3.connect(f"file:{folder}/.hati/store.sqlite?mode=ro", uri=True)) as store:
            return [task for (task,) in store.execute("SELECT task FROM run")]
    except sqlite3.OperationalError:  # not made yet
        return []


def told(folder: Path) -> dict[str, object]:
    """The report without what names the campaign, tells how long it took, or what else the machine did meanwhile."""
    (found,) = json.loads((folder.parent / f"{folder.name}.json").read_text())
    for side in ("before", "after"):
        found[side] = {key: value for key, value in found[side].items() if key not in {"revision", "disturbed"}}
    return {key: value for key, value in found.items() if key not in {"seconds", "study"}}


@pytest.mark.acceptance
def test_a_comparison_killed_while_it_measures_is_the_same_comparison(tmp_path: Path) -> None:
    rng = random.Random(6)
    undisturbed, killed = a_project(tmp_path / "undisturbed"), a_project(tmp_path / "killed")
    status = comparing(undisturbed).wait(timeout=120)
    for _ in range(KILLS):
        process, before = comparing(killed), len(tasks(killed))
        deadline = time.monotonic() + 60
        while len(tasks(killed)) == before and process.poll() is None:
            assert time.monotonic() < deadline, "no run was recorded within a minute"
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.1))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert 0 < len(tasks(killed)) < len(tasks(undisturbed)), "it ended too early for the test to say anything"
    assert comparing(killed).wait(timeout=120) == status
    assert len(tasks(killed)) == len(set(tasks(killed))) == len(tasks(undisturbed))
    assert told(killed) == told(undisturbed)
