"""The JSON of commands, recorded: what programs rely on.

``python golden_json.py FILE FILE PROGRAM...`` writes that of a program. ``golden/504d09d.json`` is that of the commit
of this name, the last before the house was rebuilt, and ``golden/4196a47.json`` that of the other commands. Values that
differ from run to run, such as times and keys, are marks. Later changes that are recorded: the ``source`` of the
configurations of checks and histories is a measured suite, as documented; a stratum of a suite that has two runs has
no interval; effects of screenings are those of runs in the order of ADR 76.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from gate_projects import LISTED, evolving

SERIES = "position,value\n" + "".join(f"{n},{1 + (n > 20)}.{n * 7 % 3}\n" for n in range(40))
SAMPLES = {
    name: "benchmark,metric,unit,run,value\n"
    + "".join(f"{b},time,s,{run},{size + run * 7 % 5 / 100}\n" for b in ("a", "b") for run in range(8))
    for name, size in (("before", 1.0), ("after", 1.5))
} | {
    name: "benchmark,metric,unit,run,value\n" + "".join(f"a,time,s,0,{size + n * 7 % 5 / 100}\n" for n in range(40))
    for name, size in (("one", 1.0), ("other", 1.2))
}
SEVERAL = "benchmark,position,value\n" + "".join(
    f"{b},{n},{1 + (n > 20)}.{n * 7 % 3}\n" for b in ("a", "b") for n in range(40)
)
FILES = {"series": SERIES, "several": SEVERAL, **SAMPLES}
HOLDERS = {
    "hati-compare-1": "comparisons",
    "hati-compare-files-1": "comparisons",
    "hati-compare-effects-1": "effects",
    "hati-findings-1": "findings",
    "hati-harness-runs-1": "samples",
    "hati-harness-steady-1": "runs",
    "hati-table-1": "rows",
}
"""The keys of what were lists before they had a format."""
COMMANDS: dict[str, tuple[str, ...]] = {
    "run": ("run", "--set", "a=on", "--budget", "4"),
    "run --dry-run": ("run", "--budget", "3", "--dry-run"),
    "screen": ("screen", "--budget", "8"),
    "screen --dry-run": ("screen", "--budget", "8", "--dry-run", "--fresh"),
    "validate": ("validate", "--budget", "8"),
    "suite": ("suite", "--options", "a", "--runs", "4"),
    "compare": ("compare", "main", "main", "--set-after", "a=on", "--budget", "16", "--fail-on", "none"),
    "check": ("check", "HEAD", "--reference", "HEAD~2"),
    "bisect": ("bisect", "HEAD~2", "HEAD", "--set", "a=on"),
    "compare-effects": ("compare-effects", "HEAD~2", "HEAD"),
    "history --revisions": ("history", "--revisions", "HEAD~3..HEAD", "--runs", "2"),
    "history": ("history", "series.csv"),
    "compare of files": ("compare", "before.csv", "after.csv"),
    "compare with tests": ("compare", "before.csv", "after.csv", "--tests", "--interval", "bootstrap"),
    "audit": ("audit", "before.csv", "--splits", "4"),
    "assert": ("assert", "--formula", "a < 2 * b", "--samples", "a=before.csv#a,b=after.csv#b"),
    "harness steady": ("harness", "steady", "before.csv"),
    "harness runs": ("harness", "runs", "before.csv"),
    "findings": ("findings",),
    "runs": ("runs", "--last", "3"),
    "space list": ("space", "list"),
    "space check": ("space", "check"),
    "design": ("design", ".", "--optimal", "D", "--runs", "4"),
}
LATER: dict[str, tuple[str, ...]] = {
    "report": ("report",),
    "screen --recommend": ("screen", "--recommend", "--budget", "40", "--fresh"),
    "screen --detect --dry-run": ("screen", "--detect", "20%", "--dry-run", "--fresh"),
    "studies": ("studies",),
    "space count": ("space", "count"),
    "space sample": ("space", "sample", "--count", "2", "--seed", "3"),
    "history of several series": ("history", "several.csv"),
    "compare of one process": ("compare", "one.csv", "other.csv"),
    "assert by measuring": ("assert", "--formula", "latency of main() < 1 us", "--budget", "20"),
    "assert --dry-run": ("assert", "--formula", "latency of main() < 2 us", "--dry-run"),
    "harness observations": ("harness", "observations", "before.csv"),
    "design of two levels": ("design", "--factors", "A-E", "--runs", "8", "--foldover", "all", "--blocks", "2"),
    "design --orthogonal-array": ("design", ".", "--orthogonal-array", "--runs", "4"),
}
"""The rest, as the last commit before JSON was published from declared types wrote it."""
_MARKS = (
    (re.compile(r"\b[a-z]+(?:-[a-z]+)*-[0-9a-f]{8}-\d+(?:-[0-9a-f]{8})?"), "KEY"),
    (re.compile(r"\b(?:regression|improvement)-[0-9a-f]{8}\b"), "FINDING"),
    (re.compile(r"\b[0-9a-f]{64}\b"), "DIGEST"),
    (re.compile(r"\b[0-9a-f]{40}\b"), "REVISION"),
    (re.compile(r"\b[0-9a-f]{12}\b"), "SHORT"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ][0-9:.+]+"), "TIME"),
    (re.compile(r"\b[\d.]+ (?:ns|us|µs|ms|s|min)\b"), "DURATION"),
    (re.compile(r"\b(?:0|1|\d+) (?:seconds?|minutes?) ago|just now"), "AGE"),
)
_TIMES = {"seconds", "took", "started", "wall_time", "user_time", "system_time", "cpu_time"}
_MEASURED = _TIMES | {"peak_memory", "load", "machine", "key", "task"}
_MEASURED |= {"most", "last run", "age_seconds"}
_LEFT_OUT = {"disturbed", "within_process", "format", "joining", "bridges", "machine_ratio", "handovers"}
_LEFT_OUT |= {"screening_made", "most_where"}
"""What is there where other processes disturbed a run, and what later versions add."""
ADDED = {"studies": {"subject", "benchmark"}, "compare-effects": {"fixed"}}
"""The columns that later versions add to the rows of a command's table."""


def outputs(hati: Callable[[tuple[str, ...], Path], str]) -> dict[str, Any]:
    """What each command writes as JSON, in a project whose program is a function of its settings."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "project"
        made = evolving(folder, extra=LISTED)
        for number in range(4):
            made.commit(with_a=150 if number >= 2 else 120)
        for file, text in FILES.items():
            (folder / f"{file}.csv").write_text(text)
        return {name: json.loads(hati(_as_json(words), folder)) for name, words in (COMMANDS | LATER).items()}


def _as_json(words: tuple[str, ...]) -> tuple[str, ...]:
    return words if "--format" in words else (*words, "--format", "json")


def as_recorded(value: Any) -> Any:
    """With marks, and without what later versions add: the format, and the object that holds a list."""
    return _marked(held(value))


def held(value: Any) -> Any:
    """The list that an object holds that was a list before it had a format; of others the value."""
    return value[HOLDERS[value["format"]]] if isinstance(value, Mapping) and value.get("format") in HOLDERS else value


def _marked(value: Any, key: str = "") -> Any:
    if isinstance(value, Mapping):
        return {_text(name): _marked(item, name) for name, item in value.items() if name not in _LEFT_OUT}
    if isinstance(value, list):
        return [_marked(item, key) for item in value]
    if key in _MEASURED and value is not None:
        return "MEASURED"
    if isinstance(value, float):
        return float(f"{value:.9g}")
    return _text(value) if isinstance(value, str) else value


def _text(text: str) -> str:
    for pattern, mark in _MARKS:
        text = pattern.sub(mark, text)
    return text


def by_program(program: list[str]) -> Callable[[tuple[str, ...], Path], str]:
    """Commands by a program."""

    def hati(words: tuple[str, ...], folder: Path) -> str:
        own = {**os.environ, "HATI_LOCK": str(folder.parent / "lock")}
        done = subprocess.run([*program, *words], cwd=folder, env=own, capture_output=True, text=True, check=False)
        if done.returncode not in {0, 1, 3}:
            raise SystemExit(f"{words}: {done.returncode}: {done.stderr}")
        return done.stdout

    return hati


if __name__ == "__main__":
    found = {name: as_recorded(value) for name, value in outputs(by_program(sys.argv[3:])).items()}
    for file, names in zip(sys.argv[1:3], (COMMANDS, LATER), strict=True):
        Path(file).write_text(json.dumps({name: found[name] for name in names}, indent=1, sort_keys=True) + "\n")
