"""A git repository made from examples/sqlite: 40 commits, of which each kind does something to the performance.

The program does real work on SQLite. What a commit makes slower is made so by an operation that goes on
spinning until it has taken so many times as long as it did.
"""

from __future__ import annotations

import os
import random
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "sqlite"

TUNING = '''"""How long operations take."""

EVERYTHING = {everything!r}
WITH = {with_settings!r}


def factor(pragmas):
    found = EVERYTHING
    for (name, setting), times in WITH.items():
        if pragmas.get(name) == setting:
            found *= times
    return found
'''

PROJECT = """
[subject]
name = "evolving"

[[benchmark]]
name    = "orders"
build   = ["python3", "-m", "compileall", "-q", "."]
command = ["python3", "orders.py", "--database", "{work}/orders.db", "--pragmas", "{file:pragmas.json}"]
timeout = "30s"
warmup  = 3

[[benchmark.metric]]
name = "latency"
unit = "s"

[[benchmark.file]]
path     = "pragmas.json"
template = "pragmas.json.j2"

[options.journal_mode]
settings = ["MEMORY", "OFF"]

[options.cache_size]
settings = [-2000, -64000]

[options.temp_store]
settings = ["FILE", "MEMORY"]

[check]
configurations = [
  { cache_size = -64000, temp_store = "MEMORY" },
  { journal_mode = "OFF", cache_size = -64000 },
  { journal_mode = "OFF", temp_store = "MEMORY" },
]
"""

TEMPLATE = """{
  "synchronous": "OFF",
  "journal_mode": {{ journal_mode | tojson }},
  "cache_size": {{ cache_size | tojson }},
  "temp_store": {{ temp_store | tojson }}
}
"""

PATCHES = (
    ("from pathlib import Path\n", "from pathlib import Path\n\nimport tuning\n"),
    ("    seconds = []\n", "    times = tuning.factor(json.loads(arguments.pragmas.read_text()))\n    seconds = []\n"),
    ("        start = time.perf_counter()\n", "        start = time.process_time()\n"),
    (
        "        seconds.append(time.perf_counter() - start)\n",
        "        end = start + times * (time.process_time() - start)\n"
        "        while time.process_time() < end:\n"
        "            pass\n"
        "        seconds.append(time.process_time() - start)\n",
    ),
)
"""It counts time of the processor: what else a machine does is not what this is about."""

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


def an_evolving_repository(folder: Path, seed: int) -> list[Commit]:
    """Make the repository in a folder that is not there yet."""
    folder.mkdir()
    git(folder, "init", "--quiet")
    (folder / ".gitignore").write_text(".hati/\n__pycache__/\n")
    (folder / "hati.toml").write_text(PROJECT)
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
