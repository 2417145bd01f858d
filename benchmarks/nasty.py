"""``python -m benchmarks.nasty``: programs under test that fail, hang, flood, hide, attack and destroy.

Each is run by ``hati run`` three times, interleaved with a program that works. A try is wrong if a run of the working
program is not done, if a run of the nasty program does not have the expected outcome, if a process or a file of Hati's
is left, if a file outside of the project is gone, if the command takes longer than a minute, shows a traceback or an
escape sequence, or ends with a status other than 0 and 4.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from benchmarks.kills import left_running
from benchmarks.markdown import table

RUNS = 3
SLOWEST = 60.0
"""Seconds."""
_HATI = str(Path(sys.executable).with_name("hati"))
_TAG = "CACHEDIR.TAG"
_GOOD = 'print(\'{"metric": "latency", "value": 1}\', flush=True)'
_PARENT = "os.getppid()"
_GRANDPARENT = "int(open(f'/proc/{os.getppid()}/stat').read().rpartition(')')[2].split()[1])"


class Expected(StrEnum):
    """The expected outcome of a nasty program's runs."""

    DONE = "done"
    FAILED = "failed"
    EITHER = "either"


@dataclass(frozen=True)
class Nasty:
    """A program as Python code; ``work`` is its work folder, ``outside`` a folder outside of the project."""

    name: str
    code: str
    expected: Expected = Expected.FAILED


def works(name: str, code: str) -> Nasty:
    """A program that prints its result in the end; the result must be read."""
    return Nasty(name, f"{code}; {_GOOD}", Expected.DONE)


def may_work(name: str, code: str) -> Nasty:
    """A program that prints its result in the end; the result may or may not be read."""
    return Nasty(name, f"{code}; {_GOOD}", Expected.EITHER)


_ENDINGS = (
    Nasty("exits with 3", "sys.exit(3)"),
    Nasty("is killed", "os.kill(os.getpid(), 9)"),
    Nasty("has a segmentation fault", "os.kill(os.getpid(), 11)"),
    Nasty("never ends", "time.sleep(600)"),
    Nasty("ignores every signal", "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15)]; time.sleep(600)"),
    Nasty("stops itself", "os.kill(os.getpid(), 19)"),
    Nasty("is busy for ever", "while True: pass"),
    Nasty("executes what is not there", "os.execv('/nonexistent', ['x'])"),
    Nasty("closes its outputs and lives on", "os.close(1); os.close(2); time.sleep(600)"),
    works("reads its input", "assert sys.stdin.read() == ''"),
    works("lets a child hold its output", "left('time.sleep(600)')"),
)
_OUTPUTS = (
    Nasty("prints nothing", "pass"),
    Nasty("prints NaN", """print('{"metric": "latency", "value": NaN}')"""),
    Nasty("prints 1e999", """print('{"metric": "latency", "value": 1e999}')"""),
    Nasty("prints a value of 5,000 digits", """print('{"metric": "latency", "value": ' + '9' * 5000 + '}')"""),
    Nasty("prints null", """print('{"metric": "latency", "value": null}')"""),
    Nasty("prints half of a line", """print('{"metric": "latency", "val')"""),
    Nasty("nests too deeply", "print('[' * 100_000)"),
    Nasty("names another metric", """print('{"metric": "throughput", "value": 1}')"""),
    Nasty("prints a list of lists", """print('{"metric": "latency", "values": [[1], [2]]}')"""),
    Nasty("prints no UTF-8", "sys.stdout.buffer.write(bytes(range(128, 256)))"),
    Nasty("prints zeros", "sys.stdout.buffer.write(bytes(1 << 20))"),
    Nasty("prints without end", "while True: sys.stdout.write('y' * 65536)"),
    Nasty("ends with escape sequences", "sys.exit('\\x1b[31mred\\x1b]0;title\\x07\\r\\x00')"),
    works("floods its errors", "[sys.stderr.write('e' * 65536) for _ in range(2000)]"),
    works("prints a million values", """print(json.dumps({"metric": "latency", "values": [1.0] * 1_000_000}))"""),
)
_PROCESSES = (
    works("leaves a daemon", "left('os.setsid(); os.fork() and os._exit(0); time.sleep(600)')"),
    works("leaves fifty", "[left('time.sleep(600)') for _ in range(50)]"),
    works("leaves what forks", "left('while not os.fork(): time.sleep(.001)')"),
    works("leaves what ignores signals", "left('signal.signal(15, signal.SIG_IGN); time.sleep(600)')"),
    Nasty("ends its group", "os.killpg(0, 9)"),
    Nasty("kills the supervisor", f"os.kill({_PARENT}, 9); time.sleep(600)"),
    Nasty("stops the supervisor", f"os.kill({_PARENT}, 19); time.sleep(600)"),
    Nasty("interrupts the supervisor", f"os.kill({_PARENT}, 2); time.sleep(600)"),
    Nasty("kills what watches over it", f"os.kill({_GRANDPARENT}, 9); time.sleep(600)"),
    works("stops what watches over it", f"os.kill({_GRANDPARENT}, 19)"),
    Nasty("kills both", f"g = {_GRANDPARENT}; os.kill({_PARENT}, 19); os.kill(g, 9); time.sleep(600)"),
    Nasty("joins the supervisor's group", f"os.setpgid(0, os.getpgid({_PARENT})); time.sleep(600)"),
    works("floods the supervisor with signals", f"[os.kill({_PARENT}, 17) for _ in range(100_000)]"),
)
_FILES = (
    works("removes its folder", "shutil.rmtree(work)"),
    works("links to a folder of others", "os.symlink(outside, work + '/x')"),
    works("makes folders 500 deep", "os.chdir(work); [(os.mkdir('d'), os.chdir('d')) for _ in range(500)]"),
    works("makes a pipe and a locked folder", "os.mkfifo(work + '/p'); os.mkdir(work + '/d', 0)"),
    works("names files badly", "[open(os.path.join(os.fsencode(work), n), 'w') for n in (b'a\\nb', b'\\xff', b'-rf')]"),
    may_work("makes its folder a file", "shutil.rmtree(work); open(work, 'w').close()"),
    may_work("makes its folder a link", "shutil.rmtree(work); os.symlink(outside, work)"),
    may_work("changes the project", "open('hati.toml', 'a').write('\\n# changed')"),
    may_work("removes Hati's folder", "shutil.rmtree('.hati', ignore_errors=True)"),
    may_work("writes into the store", "open('.hati/store.sqlite', 'r+b').write(b'x' * 100)"),
)
SUBJECTS = (*_ENDINGS, *_OUTPUTS, *_PROCESSES, *_FILES)

PROGRAM = """\
import json, os, shutil, signal, subprocess, sys, time
how, work, outside, _ = sys.argv[1:]
def left(code):
    subprocess.Popen([sys.executable, "-S", "-c", "import os, signal, time; " + code, {mark!r}])
if how == "well":
    print('{{"metric": "latency", "value": 1}}')
    sys.exit()
{code}
"""
PROJECT = """\
[subject]
name = "nasty"

[[benchmark]]
name = "main"
command = ["python3", "-S", "program.py", "{how}", "{work}", "../outside", "MARK"]
reader = "hati"
timeout = "LIMIT"

[[benchmark.metric]]
name = "latency"
unit = "s"

[options.how]
settings = ["well", "nasty"]
"""


@dataclass(frozen=True)
class Tried:
    """A command's exit status, output and time, and the outcomes of its runs."""

    status: int
    said: str
    seconds: float
    well: dict[str, int]
    nasty: dict[str, int]


def hati(folder: Path, *words: str) -> tuple[int, str, str]:
    environment = {name: value for name, value in os.environ.items() if name != "HATI_STORE"}
    environment["HATI_LOCK"] = str(folder.parent / "lock")
    command = [_HATI, *words]
    try:
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, timeout=SLOWEST, check=False)
    except subprocess.TimeoutExpired:
        return -1, "", "no end"
    return done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")


def attempt(subject: Nasty, folder: Path, mark: str) -> Tried:
    """Run the nasty program, interleaved with one that works."""
    project = folder / "project"
    project.mkdir()
    (folder / "outside").mkdir()
    (folder / "outside" / "kept").write_text("kept")
    limit = "30s" if subject.expected is Expected.DONE else "2s"  # a busy machine must not end what works
    (project / "hati.toml").write_text(PROJECT.replace("MARK", mark).replace("LIMIT", limit))
    (project / "program.py").write_text(PROGRAM.format(mark=mark, code=subject.code))
    began = time.monotonic()
    sets = ("--set", "how=well", "--set", "how=nasty")
    status, out, err = hati(project, "run", *sets, "--budget", str(2 * RUNS))
    seconds = time.monotonic() - began
    return Tried(status, out + err, seconds, *(outcomes(project, how) for how in ("well", "nasty")))


def outcomes(project: Path, how: str) -> dict[str, int]:
    """The number of a program's runs with each outcome; empty if the store cannot be read."""
    query = "SELECT outcome, count(*) FROM run WHERE configuration LIKE ? GROUP BY outcome"
    try:
        with closing(sqlite3.connect(f"file:{project}/.hati/store.sqlite?mode=ro", uri=True)) as store:
            return dict(store.execute(query, (f'%"{how}"%',)).fetchall())
    except sqlite3.Error:
        return {}


def wrong(subject: Nasty, tried: Tried, folder: Path, mark: str) -> list[str]:
    """What is wrong with a try."""
    found = []
    if tried.status not in {0, 4}:
        found.append(f"status {tried.status}")
    if "Traceback" in tried.said or "\x1b]" in tried.said or "\x1b[31m" in tried.said:
        found.append("a traceback or an escape sequence")
    if subject.expected is not Expected.EITHER:
        done = RUNS if subject.expected is Expected.DONE else 0
        if tried.well.get("done", 0) != RUNS:
            found.append(f"the program that works: {tried.well}")
        if tried.nasty.get("done", 0) != done or sum(tried.nasty.values()) != RUNS:
            found.append(f"runs: {tried.nasty}")
    if left := left_running(mark):
        found.append(f"{len(left)} processes left")
    if not (folder / "outside" / "kept").exists():
        found.append("a file beyond the project is gone")
    if left_files := {path.name for path in (folder / "project" / ".hati" / "work").glob("*")} - {_TAG}:
        found.append(f"left in .hati/work: {sorted(left_files)}")
    return [f"{subject.name}: {text}: {tried.said[-300:]!r}" for text in found]


def result(subjects: Sequence[Nasty] = SUBJECTS) -> tuple[str, bool]:
    """The table, and whether nothing was wrong."""
    rows, texts = [], list[str]()
    for number, subject in enumerate(subjects):
        mark = f"hati-nasty-{os.getpid()}-{number}"
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            tried = attempt(subject, Path(folder), mark)
            found = wrong(subject, tried, Path(folder), mark)
        runs = ", ".join(f"{count} {outcome}" for outcome, count in sorted(tried.nasty.items()))
        rows.append([subject.name, str(tried.status), runs, f"{tried.seconds:.1f}", str(len(found))])
        texts += found
    header = ["a program that ...", "status", "its runs", "seconds", "wrong"]
    listed = "".join(f"- {text}\n" for text in texts[:20])
    return table(f"{len(rows)} nasty programs", header, rows) + listed, not texts


def main(words: Sequence[str] | None = None) -> int:
    argparse.ArgumentParser(description=__doc__).parse_args(words)
    text, held = result()
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
