"""``python -m benchmarks.joining [TRIALS [VERB ...]]``: how often results of two machines, joined by bridges, change.

A simulated program on two machines, the second of which takes 30 % longer. That ratio is the same for all revisions, or
differs between them with a standard deviation of .5 or 3 %. The level changes by 8 % at the change of machine, or not.
Each trial writes the files and runs the command, in this process: `hati compare` of ten runs a side, and `hati history`
of 40 revisions of three runs, of which the last before the change of machine are bridges. Bridges have ten runs on each
machine. Runs vary by 1 %. A false change is a verdict of slower or faster where nothing changed: in a history one at
the change of machine, or elsewhere, where a ratio that varies between revisions looks like a change on one machine.
"""

from __future__ import annotations

import csv
import json
import math
import sys
import tempfile
from collections.abc import Sequence
from contextlib import redirect_stderr
from io import StringIO
from pathlib import Path

import numpy as np
from msgspec import Struct
from typer.main import get_command

from benchmarks.markdown import table
from hati.cli.app import app
from hati.core import FloatArray, generator

TRIALS = 200
ALPHA = {"compare": 0.01, "history": 0.05}
BRIDGES = (0, 1, 3, 5)
VARYING = (0.0, 0.005, 0.03)
CHANGE = 0.08
RATIO = 1.3
NOISE = 0.01
RUNS = 10
RUNS_OF_POSITIONS = 3
POSITIONS = 40
COMMAND = get_command(app)
_FIRST, _SECOND = "old", "new"


class JoiningCase(Struct, frozen=True):
    """The number of bridges, the standard deviation of the ratio between revisions, and the change."""

    verb: str
    bridges: int
    varying: float
    change: float


class MeasuredPrograms(Struct, frozen=True, eq=False):
    """Draws runs of revisions on the two machines."""

    case: JoiningCase
    rng: np.random.Generator

    def runs(self, machine: str, level: float, ratio: float, number: int = RUNS) -> FloatArray:
        """The values of a revision's runs on a machine, in seconds."""
        noise = NOISE * self.rng.standard_normal(number)
        return np.asarray(level * (ratio if machine == _SECOND else 1.0) * np.exp(noise))

    def ratio(self) -> float:
        """The ratio of the machines for a revision."""
        return RATIO * math.exp(self.case.varying * self.rng.standard_normal())


def compared(folder: Path, programs: MeasuredPrograms) -> str:
    """The verdict of `hati compare`."""
    after = (1.0 + programs.case.change) * 0.1
    bridges = []
    for number in range(programs.case.bridges):
        level, ratio = 0.1 * math.exp(0.05 * programs.rng.standard_normal()), programs.ratio()
        bridges += [
            _sample(f"r{number}", machine, programs.runs(machine, level, ratio)) for machine in (_FIRST, _SECOND)
        ]
    files = {
        "before.json": [_sample("before", _FIRST, programs.runs(_FIRST, 0.1, 1.0))],
        "after.json": [_sample("after", _SECOND, programs.runs(_SECOND, after, programs.ratio()))],
        "bridges.json": bridges,
    }
    for name, samples in files.items():
        (folder / name).write_text(json.dumps({"format": "hati-samples-1", "samples": samples}))
    history = ["--history", str(folder / "bridges.json")] if bridges else []
    reported = _hati(
        folder, "compare", str(folder / "before.json"), str(folder / "after.json"), "--fail-on", "none", *history
    )
    return str(reported["comparisons"][0]["verdict"])


def _sample(revision: str, machine: str, runs: FloatArray) -> dict[str, object]:
    about = {"benchmark": "main", "metric": "time", "unit": "s", "revision": revision, "machine": machine}
    return {**about, "runs": [{"observations": [value]} for value in runs.tolist()]}


def followed(folder: Path, programs: MeasuredPrograms) -> str:
    """The verdict of `hati history` on the change of machine, or "elsewhere" if it reports only another change."""
    case, middle, rows = programs.case, POSITIONS // 2, []
    for place in range(POSITIONS):
        level, ratio = 0.1 * (1.0 + case.change * (place >= middle)), programs.ratio()
        bridge = middle - case.bridges <= place < middle
        runs = RUNS if bridge else RUNS_OF_POSITIONS
        for machine in [_FIRST, _SECOND] if bridge else [_SECOND if place >= middle else _FIRST]:
            rows += [(f"r{place:02}", machine, value) for value in programs.runs(machine, level, ratio, runs).tolist()]
    with (folder / "history.csv").open("w", newline="") as file:
        csv.writer(file).writerows([("revision", "machine", "value"), *rows])
    reported = _hati(folder, "history", str(folder / "history.csv"))
    there = [str(each["verdict"]) for each in reported["change_points"] if each["index"] == middle]
    return there[0] if there else "elsewhere" if reported["change_points"] else "not shown"


def _hati(folder: Path, *words: str) -> dict[str, list[dict[str, object]]]:
    output = folder / "reported.json"
    with redirect_stderr(StringIO()):
        COMMAND.main([*words, "--format", "json", "--output", str(output)], standalone_mode=False)
    found: dict[str, list[dict[str, object]]] = json.loads(output.read_text())
    output.unlink()
    return found


VERBS = {"compare": compared, "history": followed}


def trials(case: JoiningCase, number: int) -> list[str]:
    """The verdicts of that number of trials, each with its own seed."""
    found = []
    with tempfile.TemporaryDirectory() as name:
        for trial in range(number):
            rng = generator(trial, "joining", *(str(each) for each in (case.bridges, case.varying, case.change)))
            found.append(VERBS[case.verb](Path(name), MeasuredPrograms(case, rng)))
    return found


def _row(verb: str, bridges: int, varying: float, number: int) -> tuple[list[str], bool]:
    same = trials(JoiningCase(verb, bridges, varying, 0.0), number)
    false, elsewhere = sum(each in {"slower", "faster"} for each in same), same.count("elsewhere")
    right = trials(JoiningCase(verb, bridges, varying, CHANGE), number).count("slower")
    allowed = number * ALPHA[verb] + 3.0 * math.sqrt(number * ALPHA[verb])
    held = false <= allowed and (bridges > 1 or not right + false)
    cells = [f"`hati {verb}`", str(bridges), f"{100 * varying:g} %", f"{false} of {number}"]
    cells += [str(elsewhere) if verb == "history" else "", f"{right} of {number}"]
    print("|", " | ".join(cells), "|", file=sys.stderr, flush=True)
    return cells, held


def main(words: Sequence[str]) -> int:
    """Print the table; return 1 if a goal is missed."""
    number = int(words[0]) if words else TRIALS
    verbs = words[1:] or list(VERBS)
    rows = [_row(verb, bridges, varying, number) for verb in verbs for bridges in BRIDGES for varying in VARYING]
    header = ("command", "bridges", "ratio varies by", "false changes", "elsewhere", f"{100 * CHANGE:g} % found")
    print(table(f"Two machines, joined by bridges ({number} trials each)", header, [cells for cells, _ in rows]))
    return 0 if all(held for _, held in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
