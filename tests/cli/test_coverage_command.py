"""``hati coverage``: the lines that the runs of a C program executed, from its build to the report."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conftest import Hati

PROJECT = """
[[benchmark]]
name    = "lines"
build   = ["cc", "--coverage", "program.c", "-c", "-o", "program.o"]
command = ["sh", "-c", '''
cc --coverage program.o -o {work}/program && {work}/program "$@" && cp program.gcno {work} &&
cd {work} && gcov --json-format --stdout program.gcda
''', "program"]
env     = { GCOV_PREFIX = "{work}", GCOV_PREFIX_STRIP = "99" }
reader  = "coverage"

[options.mode]
settings = ["none", "a", "b"]
argument = "{}"
"""
PROGRAM = """#include <stdio.h>
int main(int count, char **words) {
    if (words[1][0] == 'a')
        puts("first");
    if (words[1][0] == 'b')
        puts("second");
    if (count > 2)
        puts("never");
    return 0;
}
"""
needs_gcov = pytest.mark.skipif(shutil.which("gcov") is None, reason="gcov is not installed")


PRINTED = """
[options.mode]
settings = ["a", "b"]
env = "MODE"

[[benchmark]]
name    = "lines"
command = ["cat", "lines.json"]
reader  = "coverage"
"""


@pytest.mark.parametrize("chosen", ["samples", "csv", "benchstat"])
def test_numbers_of_lines_are_not_exported_as_measurements(hati_here: Hati, tmp_path: Path, chosen: str) -> None:
    (tmp_path / "hati.toml").write_text(PRINTED)
    (tmp_path / "lines.json").write_text('{"files": {"a.py": {"executed_lines": [1, 2], "missing_lines": [3]}}}')
    assert hati_here("run", "--budget", "2").status == 0
    done = hati_here("export", "--format", chosen)
    assert (done.status, "lines" in done.out) == (0, True), done.err
    assert "a.py" not in done.out
    assert "a.py" in hati_here("coverage").out


@needs_gcov
def test_lines_are_merged_over_configurations(hati_here: Hati, tmp_path: Path) -> None:
    (tmp_path / "hati.toml").write_text(PROJECT)
    (tmp_path / "program.c").write_text(PROGRAM)
    every = [word for mode in ("none", "a", "b") for word in ("--set", f"mode={mode}")]
    assert hati_here("run", *every, "--budget", "3").status == 0
    done = hati_here("coverage", "--format", "json")
    assert done.status == 0, done.err
    assert (done.json["runs"], done.json["lines"], done.json["executed"]) == (3, 8, 7)
    assert [(each["configuration"], each["added"]) for each in done.json["adding"]] in (
        [({"mode": "a"}, 6), ({"mode": "b"}, 1)],
        [({"mode": "b"}, 6), ({"mode": "a"}, 1)],
    )
    assert done.json["files"] == [{"file": "program.c", "lines": 8, "executed": 7, "missed": [8]}]
    assert "lines of" not in hati_here("runs").out


def test_without_lines_it_says_how_to_measure_them(hati_here: Hati, fake_project: Path) -> None:
    assert hati_here("run", "--budget", "1").status == 0
    done = hati_here("coverage")
    assert (done.status, 'measure a benchmark with reader = "coverage"' in done.err) == (2, True)
