"""SIGKILL while revisions are measured: nothing measured twice, nothing left behind, the same answer in the end."""

from __future__ import annotations

import hashlib
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
from typing import Any

import psutil
import pytest
from evolving import git

pytestmark = pytest.mark.acceptance

HATI = str(Path(sys.executable).with_name("hati"))

SUBJECT = """
import json, random, subprocess, sys, time
mark = "MARK"
daemon = "import os, time; os.setsid(); time.sleep(600)"
subprocess.Popen([sys.executable, "-S", "-c", daemon, mark], start_new_session=True)
time.sleep(0.05)
noise = random.Random(" ".join(sys.argv[1:]) + str(LEVEL)).gauss(1, 0.01)
print(json.dumps({"metric": "latency", "value": LEVEL * noise}))
"""

PROJECT = """
[subject]
name = "deterministic"
[[benchmark]]
name = "main"
build = ["python3", "-S", "-c", "open('built', 'w').write('{revision}')"]
command = ["python3", "-S", "subject.py", "repetition={repetition}"]
[[benchmark.metric]]
name = "latency"
unit = "s"
[options.a]
settings = [0, 1]
argument = "a={}"
[check]
configurations = [{ a = 1 }]
"""

COMMITS = 8
COMMANDS = {
    "check": ("check", "HEAD", "--reference", "HEAD~7"),
    "bisect": ("bisect", "HEAD~7", "HEAD"),
    "history": ("history", "--revisions", "HEAD~7..HEAD", "--runs", "4"),
}
KILLS = {"check": 7, "bisect": 7, "history": 6}


def a_repository(folder: Path, mark: str) -> Path:
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / ".gitignore").write_text(".hati/\n")
    (folder / "hati.toml").write_text(PROJECT)
    for number in range(COMMITS):
        level = 0.01 * (1.3 if number >= 5 else 1.0)
        (folder / "subject.py").write_text(SUBJECT.replace("MARK", mark).replace("LEVEL", repr(level)))
        (folder / "number").write_text(str(number))
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--date", f"2026-01-0{number + 1}T00:00:00Z", "--message", f"change {number}")
    return folder


def measuring(folder: Path, words: tuple[str, ...]) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "HATI_LOCK": str(folder.parent / "lock")}
    whole = [HATI, *words, "--seed", "3", "--format", "json", "--output", str(folder.parent / f"{folder.name}.json")]
    return subprocess.Popen(whole, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def tasks(folder: Path) -> list[str]:
    try:
        with closing(sqlite3.connect(f"file:{folder}/.hati/store.sqlite?mode=ro", uri=True)) as store:
            return [task for (task,) in store.execute("SELECT task FROM run")]
    except sqlite3.OperationalError:  # not made yet
        return []


def checksum(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".hati" not in path.relative_to(folder).parts:
            whole.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return whole.hexdigest()


def left_running(mark: str) -> list[psutil.Process]:
    found = []
    for process in psutil.process_iter():
        try:
            if any(mark in word for word in process.cmdline()):
                found.append(process)
        except psutil.Error:
            continue
    return found


def told(folder: Path) -> Any:
    """The report without what differs between two repositories, names the campaign, or tells of time or the machine."""
    left_out = {"seconds", "disturbed", "findings", "warnings", "since", "machine", "study"}

    def kept(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: kept(each) for name, each in value.items() if name not in left_out}
        return [kept(each) for each in value] if isinstance(value, list) else value

    return kept(json.loads((folder.parent / f"{folder.name}.json").read_text()))


@pytest.mark.parametrize("command", COMMANDS)
def test_a_killed_campaign_over_revisions_goes_on(tmp_path: Path, command: str) -> None:
    mark = f"hati-kill-{command}-{os.getpid()}"
    rng = random.Random(6)
    undisturbed = a_repository(tmp_path / "undisturbed", mark)
    killed = tmp_path / "killed"
    subprocess.run(["cp", "-a", str(undisturbed), str(killed)], check=True)
    tree = checksum(killed)
    words = COMMANDS[command]
    status = measuring(undisturbed, words).wait(timeout=300)
    for _ in range(KILLS[command]):
        process, before = measuring(killed, words), len(tasks(killed))
        deadline = time.monotonic() + 60
        while len(tasks(killed)) == before and process.poll() is None:
            assert time.monotonic() < deadline, "no run was recorded within a minute"
            time.sleep(0.005)
        time.sleep(rng.uniform(0.0, 0.15))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert 0 < len(tasks(killed)) < len(tasks(undisturbed)), "it ended too early for the test to say anything"
    assert measuring(killed, words).wait(timeout=300) == status
    assert len(tasks(killed)) == len(set(tasks(killed))) == len(tasks(undisturbed))
    assert told(killed) == told(undisturbed)
    deadline = time.monotonic() + 10
    while left_running(mark) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not left_running(mark)
    assert checksum(killed) == tree
    assert not (killed / ".hati" / "trees").exists()
    assert [path.name for path in (killed / ".hati" / "work").iterdir()] == ["CACHEDIR.TAG"]
