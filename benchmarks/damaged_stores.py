"""``python -m benchmarks.damaged_stores``: how Hati handles a store whose file is damaged.

A screening's store is damaged: bytes are changed, pages are emptied, the file is cut off, values and rows are changed
by SQL. Then it is listed, reported and exported. A try is wrong if a command ends with an internal fault (70), shows a
traceback, ends with 1, or prints something else than before without an error, except after a row was deleted.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import chdir, closing
from pathlib import Path

from benchmarks.markdown import table
from benchmarks.mutations import ended

STORES = 300
STORE = Path(".hati") / "store.sqlite"
_AGE = re.compile(r'"age_seconds": [0-9.e-]+')
_FAULT = 70
_PAGE = 4096
PROJECT = """\
[subject]
name = "shop"

[[benchmark]]
name    = "main"
command = ["sh", "-c", "echo t: {a}{b}1"]
reader  = "regex"
metric  = [{ name = "t", unit = "s", pattern = "t: ([0-9]+)" }]
"""
OPTIONS = "".join(f"\n[options.{name}]\nsettings = [1, 2]\n" for name in "abcd")
LOOKING = (("runs", "--format", "csv"), ("report", "--format", "json"), ("export",))
_VALUES = (None, "", "x", -1, 0, 1e300, b"\x00\xff", "9" * 50, "{}", "[]")

Damage = Callable[[Path, random.Random], None]


def _bytes(file: Path, rng: random.Random) -> None:
    data = bytearray(file.read_bytes())
    for _ in range(rng.choice((1, 8, 64))):
        data[rng.randrange(len(data))] = rng.randrange(256)
    file.write_bytes(data)


def _emptied(file: Path, rng: random.Random) -> None:
    data = bytearray(file.read_bytes())
    start = _PAGE * rng.randrange(max(1, len(data) // _PAGE))
    data[start : start + _PAGE] = bytes(_PAGE)
    file.write_bytes(data)


def _cut(file: Path, rng: random.Random) -> None:
    data = file.read_bytes()
    file.write_bytes(data[: rng.randrange(len(data))])


def _by_sql(statement: str, file: Path, *values: object) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("PRAGMA ignore_check_constraints=ON")
        try:
            connection.execute(statement, values)
            connection.commit()
        except sqlite3.Error:  # the database does not take it
            return


def _value(file: Path, rng: random.Random) -> None:
    with closing(sqlite3.connect(file)) as connection:
        name = rng.choice(("run", "observations", "study"))
        columns = [row[1] for row in connection.execute(f"PRAGMA table_info({name})")]
        rows = [row[0] for row in connection.execute(f"SELECT rowid FROM {name}")]
    column, row = rng.choice(columns), rng.choice(rows)
    _by_sql(f"UPDATE {name} SET {column} = ? WHERE rowid = ?", file, rng.choice(_VALUES), row)


def _row(file: Path, rng: random.Random) -> None:
    name = rng.choice(("run", "observations", "study", "machine"))
    _by_sql(f"DELETE FROM {name} WHERE rowid = (SELECT max(rowid) FROM {name})", file)


DAMAGES: dict[str, Damage] = {
    "bytes changed": _bytes,
    "a page emptied": _emptied,
    "cut off": _cut,
    "a value changed": _value,
    "a row deleted": _row,
}


def looked_at() -> list[tuple[int, str]]:
    """The statuses and outputs of the read-only commands in this folder, without ages, which always change."""
    return [(status, _AGE.sub("", said)) for status, said in map(ended, LOOKING)]


def tried(name: str, seed: int, whole: Path, before: Sequence[tuple[int, str]]) -> tuple[Counter[int], list[str]]:
    """The statuses of commands on a damaged copy of a project, and what was wrong."""
    statuses, wrong = Counter[int](), []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "project"
        shutil.copytree(whole, copy)
        DAMAGES[name](copy / STORE, random.Random(f"{name} {seed}"))
        with chdir(copy):
            for words, (status, said), (_, original) in zip(LOOKING, looked_at(), before, strict=True):
                statuses[status] += 1
                silent = status == 0 and said != original and name != "a row deleted"
                if status in {_FAULT, 1} or "Traceback" in said or silent:
                    wrong.append(f"{name}, seed {seed}: hati {' '.join(words)}: status {status}: {said[-200:]!r}")
    return statuses, wrong


def result(stores: int = STORES) -> tuple[str, bool]:
    """The table, and whether nothing was wrong; ``stores`` are divided among the kinds of damage."""
    each = -(-stores // len(DAMAGES))
    rows, found = [], list[str]()
    with tempfile.TemporaryDirectory() as folder:
        whole = Path(folder)
        (whole / "hati.toml").write_text(PROJECT + OPTIONS)
        with chdir(whole):
            status, said = ended(("screen", "--budget", "16"))
            if status != 0:
                raise RuntimeError(said)
            before = looked_at()
            with closing(sqlite3.connect(STORE)) as connection:
                connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        for name in DAMAGES:
            tries = [tried(name, seed, whole, before) for seed in range(1, each + 1)]
            statuses = sum((one for one, _ in tries), Counter[int]())
            wrong = [text for _, texts in tries for text in texts]
            rows.append([name, str(each), *(str(statuses[status]) for status in (0, 2, 4)), str(len(wrong))])
            found += wrong
    header = ["damage", "stores", "status 0", "status 2", "status 4", "wrong"]
    note = f"Each store is looked at by {len(LOOKING)} commands."
    listed = "".join(f"- {text}\n" for text in found[:20])
    return table("What Hati says of a damaged store", header, rows, note) + listed, not found


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stores", type=int, default=STORES)
    text, held = result(parser.parse_args(words).stores)
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
