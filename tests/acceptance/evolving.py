"""A git repository made from examples/sqlite: 40 commits, of which each kind does something to the performance.

The program does real work on SQLite, other orders in every run. What a commit makes slower is made so by further work
after each operation. Two metrics tell: the processor's time, and the steps of SQLite's virtual machine, which vary with
the orders alone, whatever else a machine does.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sqlite"

TUNING = '''"""How much work operations take."""

EVERYTHING = {everything!r}
WITH = {with_settings!r}


def factor(pragmas):
    found = EVERYTHING
    for (name, setting), times in WITH.items():
        if pragmas.get(name) == setting:
            found *= times
    return found
'''

SLOWED = '''"""Operations that take so many times the work."""

import sqlite3
import time


class Slowed:
    def __init__(self, connection, times):
        self.times, self.steps = times, 0
        self.other = sqlite3.connect(":memory:")
        connection.set_progress_handler(self._count, 1)

    def __call__(self, operation):
        before, start = self.steps, time.process_time()
        operation()
        made, took = self.steps - before, time.process_time() - start
        more = round((self.times - 1.0) * made)
        self._burn(more)
        while time.process_time() < start + self.times * took:
            pass
        return time.process_time() - start, made + more

    def _count(self):
        self.steps += 1

    def _burn(self, steps):
        left = iter(range(steps))
        self.other.set_progress_handler(lambda: next(left, None) is None, 1)
        try:
            self.other.execute("WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT sum(n) FROM c")
        except sqlite3.OperationalError:
            pass
'''

PROJECT = """
[subject]
name = "evolving"

[[benchmark]]
name    = "orders"
build   = ["PYTHON", "-m", "compileall", "-q", "."]
command = ["PYTHON", "-S", "orders.py", "--database", "{work}/orders.db", "--pragmas", "{file:pragmas.json}"]
timeout = "30s"

[[benchmark.metric]]
name = "METRIC"
unit = "UNIT"

[[benchmark.file]]
path     = "pragmas.json"
template = "pragmas.json.j2"

[options.automatic_index]
settings = ["ON", "OFF"]

[options.foreign_keys]
settings = ["OFF", "ON"]

[options.cache_size]
settings = [-2000, -64000]

[check]
configurations = [
  { foreign_keys = "ON", cache_size = -64000 },
  { automatic_index = "OFF", cache_size = -64000 },
  { automatic_index = "OFF", foreign_keys = "ON" },
]
"""

TEMPLATE = """{
  "synchronous": "OFF",
  "automatic_index": {{ automatic_index | tojson }},
  "foreign_keys": {{ foreign_keys | tojson }},
  "cache_size": {{ cache_size | tojson }}
}
"""

PATCHES = (
    (
        "TRANSACTIONS, PURCHASES, ITEMS, CUSTOMERS = 12, 4, 4, 60",
        "TRANSACTIONS, PURCHASES, ITEMS, CUSTOMERS = 8, 4, 4, 60",
    ),
    ("from pathlib import Path\n", "from pathlib import Path\n\nimport slowed\nimport tuning\n"),
    ("    rng = random.Random(1)\n", "    rng = random.Random()\n"),
    (
        "    seconds = []\n",
        "    pragmas = json.loads(arguments.pragmas.read_text())\n"
        "    take = slowed.Slowed(connection, tuning.factor(pragmas))\n"
        "    seconds, steps = [], []\n",
    ),
    ("        start = time.perf_counter()\n", "        took, made = take(operation)\n"),
    ("        operation()\n", "        steps.append(made)\n"),
    ("        seconds.append(time.perf_counter() - start)\n", "        seconds.append(took)\n"),
    (
        "    connection.close()\n",
        '    connection.close()\n    print(json.dumps({"metric": "steps", "values": steps}))\n',
    ),
)

STEPS, LATENCY = ("steps", "1"), ("latency", "s")
OPTION, SETTING = "cache_size", -64000


class Kind(StrEnum):
    """What a commit does."""

    BEGIN = "begin"
    NOISE = "noise"
    SLOWER_SETTING = "one setting 30 % slower"
    FASTER = "everything 10 % faster"
    BROKEN = "does not build"
    MENDED = "builds again"
    DRIFT = "half a per cent slower"


@dataclass(frozen=True)
class Commit:
    """One commit, counted from 0."""

    number: int
    kind: Kind
    revision: str


def kinds(seed: int) -> list[Kind]:
    """40 of them: the first begins, and the one after a broken one mends it."""
    rng = random.Random(seed)
    drawn = [Kind.NOISE] * 15 + [Kind.DRIFT] * 20 + [Kind.SLOWER_SETTING, Kind.FASTER, Kind.BROKEN]
    rng.shuffle(drawn)
    drawn.insert(drawn.index(Kind.BROKEN) + 1, Kind.MENDED)
    return [Kind.BEGIN, *drawn]


def git(folder: Path, *words: str) -> str:
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    who = (
        "-c",
        "user.name=t",
        "-c",
        "user.email=t@here",
        "-c",
        "init.defaultBranch=main",
        "-c",
        "commit.gpgsign=false",
    )
    done = subprocess.run(["git", *who, *words], cwd=folder, env=own, check=True, capture_output=True, text=True)
    return done.stdout.strip()


def an_evolving_repository(folder: Path, seed: int, metric: tuple[str, str] = STEPS) -> list[Commit]:
    """Make the repository in a folder that is not there yet; its project measures that metric."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / ".gitignore").write_text(".hati/\n__pycache__/\n")
    # Without what finds an interpreter, which takes longer than the program does.
    words = {"METRIC": metric[0], "UNIT": metric[1], "PYTHON": str(Path(sys.executable).resolve())}
    project = PROJECT
    for word, instead in words.items():
        project = project.replace(word, instead)
    (folder / "hati.toml").write_text(project)
    (folder / "slowed.py").write_text(SLOWED)
    (folder / "pragmas.json.j2").write_text(TEMPLATE)
    program = (EXAMPLE / "orders.py").read_text()
    for found, instead in PATCHES:
        assert program.count(found) == 1
        program = program.replace(found, instead)
    (folder / "orders.py").write_text(program)
    everything, with_settings = 1.25, dict[tuple[str, object], float]()
    commits = []
    for number, kind in enumerate(kinds(seed)):
        if kind is Kind.DRIFT:
            everything *= 1.005
        elif kind is Kind.FASTER:
            everything *= 0.9
        elif kind is Kind.SLOWER_SETTING:
            with_settings[OPTION, SETTING] = 1.3
        (folder / "tuning.py").write_text(TUNING.format(everything=everything, with_settings=with_settings))
        (folder / "NOTES").write_text(f"{number}: {kind}\n")
        broken = folder / "broken.py"
        if kind is Kind.BROKEN:
            broken.write_text("def (:\n")
        elif kind is Kind.MENDED:
            broken.unlink()
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", f"{number}: {kind}")
        commits.append(Commit(number, kind, git(folder, "rev-parse", "HEAD")))
    return commits
