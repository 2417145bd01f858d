"""A package adds a format of reports in one file, and changes none of Hati's."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages import Hati, installed, write_entry_points

PROJECT = """
[[benchmark]]
name = "main"
command = ["true"]
reader = "process"
"""


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the package of the documentation is installed."""
    return installed(tmp_path_factory.mktemp("site"), "add-a-format.md", "hati.renderers")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "hati.toml").write_text(PROJECT)
    return tmp_path


def test_every_report_can_be_written_so(hati: Hati, package: Path, project: Path) -> None:
    made = hati(package, project, "run", "--budget", "2", "--format", "line", "--report", "line=line.txt")
    assert made.status == 0, made.err
    assert made.out == (project / "line.txt").read_text()
    assert made.out.startswith("Benchmark main")
    assert made.out.count("\n") == 1
    told = hati(package, project, "report", "--study", "measurement", "--format", "line")
    assert told.out == made.out, told.err
    (project / "a.csv").write_text("benchmark,metric,unit,run,value\nsort,time,s,1,0.5\nsort,time,s,2,0.6\n")
    compared = hati(package, project, "compare", "a.csv", "a.csv", "--fail-on", "none", "--format", "line")
    assert (compared.status, compared.out.count("\n")) == (0, 1), compared.err


def test_a_wrong_format_is_told_with_those_that_there_are(hati: Hati, package: Path, project: Path) -> None:
    for words in (("--format", "lime"), ("--report", "lime=x")):
        wrong = hati(package, project, "run", *words)
        assert (wrong.status, wrong.out) == (2, "")
        assert "the formats are text, json, markdown, html, line" in wrong.err


def test_one_that_cannot_be_loaded_is_named(
    hati: Hati, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    package = tmp_path_factory.mktemp("broken")
    write_entry_points(package, "hati.renderers", "broken = nowhere:write\n")
    for words in (("--format", "broken"), ("--report", "broken=x")):
        wrong = hati(package, project, "run", "--budget", "2", *words)
        assert (wrong.status, wrong.out) == (2, "")
        assert "the format 'broken' of nowhere:write cannot be used: ModuleNotFoundError" in wrong.err
    assert not (project / ".hati").exists(), "nothing is measured before"


def test_one_that_fails_hides_no_other_report(
    hati: Hati, project: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    package = tmp_path_factory.mktemp("failing")
    (package / "failing.py").write_text("def write(document):\n    raise ValueError('no')\n")
    write_entry_points(package, "hati.renderers", "failing = failing:write\n")
    made = hati(package, project, "run", "--budget", "2", "--report", "failing=x")
    assert (made.status, "Benchmark main" in made.out) == (2, True)
    assert "error: the format 'failing' fails: ValueError: no" in made.err
