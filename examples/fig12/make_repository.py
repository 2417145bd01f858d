"""Build the repository of ten daily revisions: ``python3 make_repository.py FOLDER [--seed SEED] [--unchanged]``.

The program prints a latency that follows from its cost on that day, its options, and noise of 2 % that follows from
the seed, the day, the options and the number of the run: it measures no time, so that every machine prints the same.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

EVERYWHERE = (1.00, 1.00, 1.10, 1.12, 1.14, 1.50, 1.00, 1.00, 1.00, 1.00)
"""The cost of each day in all configurations: stable, drifting on days 3 to 5, half as much again on day 6."""

WITH_CACHE = (1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.00, 1.30)
"""The factor of each day's cost if the cache is on: 30 % more on the last day."""

FIRST_DAY = 9  # of December 2003, so that day 6 is the 14th

PROJECT = """\
[[benchmark]]
name    = "main"
command = ["python3", "-I", "-S", "program.py", "{cache}", "{pool}", "{queue}", "{repetition}"]

[[benchmark.metric]]
name = "latency"
unit = "us"

[options.cache]
settings = ["off", "on"]

[options.pool]
settings = ["off", "on"]

[options.queue]
settings = ["off", "on"]

[check]
configurations = [
    { cache = "on" }, { pool = "on" }, { queue = "on" },
    { cache = "on", pool = "on" }, { cache = "on", queue = "on" }, { pool = "on", queue = "on" },
    { cache = "on", pool = "on", queue = "on" },
]
"""

PROGRAM = """\
import json
import random
import sys

cache, pool, queue, run = sys.argv[1:]
cost = 250.0 * {everywhere} * ({with_cache} if cache == "on" else 1.0)
cost *= 1.1 if pool == "on" else 1.0
cost *= 0.9 if queue == "on" else 1.0
noise = random.Random(" ".join(["{seed}", "{day}", *sys.argv[1:]])).gauss(1.0, 0.02)
print(json.dumps({{"metric": "latency", "value": cost * noise}}))
"""


def make_repository(folder: Path, seed: int = 1, *, unchanged: bool = False) -> None:
    """Make ten commits, one a day, tagged day-1 to day-10; ``unchanged`` ones differ only in the noise.

    Raises:
        FileExistsError: if the folder exists already.
    """
    folder.mkdir(parents=True)
    _git(folder, "init", "--quiet")
    (folder / "hati.toml").write_text(PROJECT)
    (folder / ".gitignore").write_text(".hati/\n")
    for number, (everywhere, with_cache) in enumerate(zip(EVERYWHERE, WITH_CACHE, strict=True)):
        cost = (1.0, 1.0) if unchanged else (everywhere, with_cache)
        text = PROGRAM.format(everywhere=cost[0], with_cache=cost[1], seed=seed, day=number + 1)
        (folder / "program.py").write_text(text)
        _git(folder, "add", "--all")
        _git(folder, "commit", "--quiet", "--message", f"Day {number + 1}", day=FIRST_DAY + number)
        _git(folder, "tag", f"day-{number + 1}")


def _git(folder: Path, *words: str, day: int = FIRST_DAY) -> None:
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    when = f"2003-12-{day:02d}T12:00:00+00:00"
    own |= {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when, "GIT_CONFIG_NOSYSTEM": "1"}
    own |= {"GIT_CONFIG_GLOBAL": os.devnull}
    who = ("-c", "user.name=Example", "-c", "user.email=example@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *words], cwd=folder, env=own, check=True, capture_output=True)


def main() -> int:
    """Build the repository; return 1 if the folder exists already."""
    parser = argparse.ArgumentParser(description="Build the repository of ten daily revisions.")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seed", type=int, default=1, help="of the noise [default: 1]")
    parser.add_argument("--unchanged", action="store_true", help="let no day differ from the others")
    given = parser.parse_args()
    try:
        make_repository(given.folder, given.seed, unchanged=given.unchanged)
    except FileExistsError:
        print(f"{given.folder} exists: name a folder that does not", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
