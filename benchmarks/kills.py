"""``python -m benchmarks.kills``: every command that measures, killed repeatedly, compared with itself undisturbed.

A repository has eight commits, and is 30 % slower from the sixth on; the output of its program follows from its
arguments and the commit. Each command is killed (SIGKILL) at random moments, half of them soon after a run was
recorded, and started again until it ends by itself; further campaigns follow until the number of kills is reached. A
kill is wrong if a recorded run is lost or duplicated, or if a process is left after five seconds. An end is wrong if
the status or the answer differs from the undisturbed one, or if files were left or changed. 500 kills take about a
quarter of an hour.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from benchmarks.markdown import table

KILLS = 500
COMMITS, SLOWER = 8, 5
LONGEST = 300.0
"""Seconds that a command may take."""
_HATI = str(Path(sys.executable).with_name("hati"))
_LEFT_SECONDS = 5.0
_TAG = "CACHEDIR.TAG"
_VARYING = {
    "seconds",
    "disturbed",
    "mean_undisturbed",
    "findings",
    "warnings",
    "since",
    "machine",
    "study",
    "revision",
    "age_seconds",
    "options_from",
}
"""Keys of values that name the campaign, or depend on time or the machine."""
_STUDY = re.compile(r"[a-z-]+-[0-9a-f]{8}-[0-9]+-[0-9a-f]{8}")
_VERDICTS = {0, 1, 3}

SUBJECT = """\
import json, random, subprocess, sys, time
daemon = "import os, time; os.setsid(); time.sleep(600)"
subprocess.Popen([sys.executable, "-S", "-c", daemon, "MARK"], start_new_session=True)
time.sleep(0.03)
settings = dict(word.split("=") for word in sys.argv[1:])
level = LEVEL * float(settings["level"]) * (1.4 if settings["a"] == "1" else 1) * (0.8 if settings["b"] == "1" else 1)
noise = random.Random(" ".join(sys.argv[1:]) + str(LEVEL)).gauss(1, 0.01)
print(json.dumps({"metric": "latency", "value": level * noise}))
"""

PROJECT = (
    """\
[subject]
name = "deterministic"
[check]
configurations = [{ a = 1 }]
"""
    + "".join(
        f"""
[[benchmark]]
name = "{name}"
build = ["python3", "-S", "-c", "open('built', 'w').write('{{revision}}')"]
command = ["python3", "-S", "subject.py", "repetition={{repetition}}", "level={level}"]
[[benchmark.metric]]
name = "latency"
unit = "s"
"""
        for name, level in (("main", 1.0), ("other", 1.02))
    )
    + "".join(f'\n[options.{name}]\nsettings = [0, 1]\nargument = "{name}={{}}"\n' for name in "abcdef")
)

_ONE = ("--benchmark", "main")
_RANGE = (f"HEAD~{COMMITS - 1}", "HEAD")
SCREEN = ("screen", *_ONE, "--budget", "32")


@dataclass(frozen=True)
class Command:
    """A command that measures, and the commands that run in its project before."""

    words: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()


COMMANDS = (
    Command(("run", *_ONE, "--budget", "30")),
    Command(SCREEN),
    Command(("screen", *_ONE, "--recommend", "--budget", "40"), (SCREEN,)),
    Command(("screen", *_ONE, "--recalibrate", "--budget", "32"), (SCREEN,)),
    Command(("suite", *_ONE, "--runs", "16"), (SCREEN,)),
    Command(("validate", "--budget", "40", "--mode", "confirm"), (("screen", *_ONE, "--budget", "24"),)),
    Command(("check", *_ONE, "HEAD", "--reference", _RANGE[0])),
    Command(("bisect", *_ONE, *_RANGE)),
    Command(("history", *_ONE, "--revisions", "..".join(_RANGE), "--runs", "3")),
    Command(("compare", "main", "other", "--stop", "fixed", "--budget", "32")),
    Command(("compare-effects", *_ONE, *_RANGE)),
    Command(("audit", *_ONE, "--budget", "30")),
    Command(("assert", "--formula", "main <= 1.3 * other", "--budget", "60")),
)


def git(folder: Path, *words: str) -> None:
    identity = ("-c", "user.name=me", "-c", "user.email=me@here")
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def repository(folder: Path, mark: str) -> None:
    """Make the repository; programs of its benchmarks leave processes that have the mark among their arguments."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / ".gitignore").write_text(".hati/\n")
    (folder / "hati.toml").write_text(PROJECT)
    for number in range(COMMITS):
        level = repr(0.01 * (1.3 if number >= SLOWER else 1.0))
        (folder / "subject.py").write_text(SUBJECT.replace("MARK", mark).replace("LEVEL", level))
        (folder / "number").write_text(str(number))
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--date", f"2026-01-0{number + 1}T00:00:00Z", "--message", f"change {number}")


@dataclass(frozen=True)
class Campaign:
    """A command in a folder of its own, with the project and the answer."""

    folder: Path
    words: tuple[str, ...]

    @property
    def project(self) -> Path:
        """The folder with hati.toml."""
        return self.folder / "project"

    def start(self) -> subprocess.Popen[bytes]:
        """Start the command, or resume it."""
        environment = {**os.environ, "HATI_LOCK": str(self.folder / "lock")}
        environment.pop("HATI_STORE", None)
        words = [_HATI, *self.words, "--format", "json", "--output", str(self.folder / "answer.json")]
        quiet = subprocess.DEVNULL
        return subprocess.Popen(words, cwd=self.project, env=environment, stdout=quiet, stderr=quiet)

    def tasks(self) -> list[str]:
        """The tasks of recorded runs, read while the command runs."""
        store = f"file:{self.project}/.hati/store.sqlite?mode=ro"
        try:
            with closing(sqlite3.connect(store, uri=True)) as connection:
                return [task for (task,) in connection.execute("SELECT task FROM run")]
        except sqlite3.OperationalError:  # not made yet
            return []

    def complete(self, undisturbed: Campaign) -> bool:
        """Whether it has as many runs as the one that was not disturbed."""
        return len(self.tasks()) == len(undisturbed.tasks())

    def answer(self) -> object:
        """The JSON that the command wrote, without values that vary."""
        return _kept(json.loads((self.folder / "answer.json").read_text()))

    def files(self) -> str:
        """A digest of the project's files except Hati's own, and the names of files that Hati should have removed."""
        whole = hashlib.sha256()
        for path in sorted(self.project.rglob("*")):
            if path.is_file() and ".hati" not in path.relative_to(self.project).parts:
                whole.update(str(path.relative_to(self.project)).encode() + path.read_bytes())
        left = {path.name for path in (self.project / ".hati" / "work").glob("*")} - {_TAG}
        trees = [".hati/trees"] if (self.project / ".hati" / "trees").exists() else []
        return " ".join([whole.hexdigest(), *sorted(left), *trees])


def _kept(value: object) -> object:
    if isinstance(value, dict):
        return {name: _kept(each) for name, each in value.items() if name not in _VARYING}
    if isinstance(value, str) and _STUDY.fullmatch(value):
        return "a study"
    return [_kept(each) for each in value] if isinstance(value, list) else value


@dataclass
class Killed:
    """The outcome of a command: numbers of kills, recorded runs and ended campaigns, and what was wrong."""

    kills: int = 0
    runs: int = 0
    ends: int = 0
    wrong: list[str] = field(default_factory=list)


def left_running(mark: str) -> list[int]:
    """The processes of benchmarks that still run after the time to end."""
    deadline = time.monotonic() + _LEFT_SECONDS
    while found := [p.pid for p in psutil.process_iter(["cmdline"]) if mark in " ".join(p.info["cmdline"] or ())]:
        if time.monotonic() > deadline:
            break
        time.sleep(0.02)
    return found


def wait_for_run(process: subprocess.Popen[bytes], campaign: Campaign, before: int) -> None:
    deadline = time.monotonic() + LONGEST
    while process.poll() is None and len(campaign.tasks()) == before and time.monotonic() < deadline:
        time.sleep(0.005)


def kill_once(campaign: Campaign, rng: random.Random, mark: str, found: Killed) -> int | None:
    """Start a command and kill it; return its exit status if it ended by itself before, else None."""
    before = campaign.tasks()
    process = campaign.start()
    if rng.random() < 0.5:
        wait_for_run(process, campaign, len(before))
        time.sleep(rng.uniform(0.0, 0.15))
    else:
        time.sleep(rng.uniform(0.0, 2.0))
    if process.poll() is not None:
        return process.returncode
    process.send_signal(signal.SIGKILL)
    process.wait()
    found.kills += 1
    if left := left_running(mark):
        found.wrong.append(f"left running: {left}")
    after = campaign.tasks()
    found.runs += len(after) - len(before)
    if missing := set(before) - set(after):
        found.wrong.append(f"{len(missing)} runs lost")
    if len(set(after)) < len(after):
        found.wrong.append(f"{len(after) - len(set(after))} runs twice")
    return None


def killed(command: Command, kills: int, folder: Path, mark: str, rng: random.Random) -> Killed:
    """Kill a command that number of times, each campaign until its end."""
    whole = Campaign(folder / "prepared", command.words)
    whole.folder.mkdir(parents=True)
    repository(whole.project, mark)
    for words in command.before:
        if (status := Campaign(whole.folder, words).start().wait(LONGEST)) not in _VERDICTS:
            raise RuntimeError(f"hati {' '.join(words)}: status {status}")
    undisturbed = Campaign(folder / "undisturbed", command.words)
    shutil.copytree(whole.folder, undisturbed.folder)
    status = undisturbed.start().wait(LONGEST)
    if status not in _VERDICTS:
        raise RuntimeError(f"hati {' '.join(command.words)}: status {status}")
    found = Killed()
    while found.kills < kills:
        campaign = Campaign(folder / f"killed-{found.ends}", command.words)
        shutil.copytree(whole.folder, campaign.folder)
        ended: int | None = None
        while ended is None and found.kills < kills and not campaign.complete(undisturbed):
            ended = kill_once(campaign, rng, mark, found)
        if ended is not None or not campaign.complete(undisturbed):  # some commands repeat a complete campaign
            ended = campaign.start().wait(LONGEST) if ended is None else ended
            found.wrong += [] if ended == status else [f"status {ended}, not {status}"]
            found.wrong += different(campaign, undisturbed)
        found.ends += 1
        if left := left_running(mark):
            found.wrong.append(f"left running at the end: {left}")
    return found


def different(campaign: Campaign, undisturbed: Campaign) -> list[str]:
    """The differences between the ended campaign and the undisturbed one."""
    wrong = []
    if not campaign.complete(undisturbed):
        wrong.append(f"{len(campaign.tasks())} runs, not {len(undisturbed.tasks())}")
    if campaign.files() != undisturbed.files():
        wrong.append("other files")
    return wrong + list(_differences(campaign.answer(), undisturbed.answer()))


def _differences(one: object, other: object, place: str = "answer") -> Iterator[str]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for name, value in one.items():
            yield from _differences(value, other[name], f"{place}.{name}")
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (value, another) in enumerate(zip(one, other, strict=True)):
            yield from _differences(value, another, f"{place}[{number}]")
    elif one != other:
        yield f"{place}: {one!r:.60}, not {other!r:.60}"


def result(kills: int = KILLS, commands: Sequence[Command] = COMMANDS) -> tuple[str, bool]:
    """The table, and whether nothing was wrong; ``kills`` are divided among the commands."""
    each = -(-kills // len(commands))
    rows, wrong = [], list[str]()
    for number, command in enumerate(commands):
        name = " ".join(command.words)
        with tempfile.TemporaryDirectory() as folder:
            found = killed(command, each, Path(folder), f"hati-kill-{os.getpid()}-{number}", random.Random(number))
        rows.append([f"`{name}`", *map(str, (found.kills, found.runs, found.ends, len(found.wrong)))])
        wrong += [f"{name}: {text}" for text in found.wrong]
    header = ["command", "kills", "runs recorded before", "campaigns ended", "wrong"]
    listed = "".join(f"- {text}\n" for text in wrong[:20])
    return table("Commands that are killed while they measure", header, rows) + listed, not wrong


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=KILLS)
    text, held = result(parser.parse_args(words).kills)
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
