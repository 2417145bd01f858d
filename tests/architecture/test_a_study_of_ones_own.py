"""A package adds a kind of study in one file, and changes none of Hati's."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from msgspec import Struct
from packages import Hati, installed, write_entry_points

from hati.testing.conformance import StudyTypeConformance
from hati.wiring.study_types import AnyStudyType

PROJECT = """
[subject]
name = "a"
[[benchmark]]
name = "main"
command = ["true"]
reader = "process"
"""


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the package of the documentation is installed."""
    return installed(tmp_path_factory.mktemp("site"), "add-a-study.md", "hati.studies")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "hati.toml").write_text(PROJECT)
    return tmp_path


def test_it_is_a_command_like_others(hati: Hati, package: Path, project: Path) -> None:
    assert re.search(r"Measure.*\n  spread +Show how far .*\n.*Decide", hati(package, project, "--help").out, re.DOTALL)
    told = hati(package, project, "spread", "--help").out
    for flag in ("--runs", "--benchmark", "--seed", "--fresh", "--dry-run", "--store", "--report", "--format"):
        assert flag in told
    planned = hati(package, project, "spread", "--runs", "3", "--dry-run", "--format", "json")
    assert len(json.loads(planned.out)["tasks"]) == 3, planned.err
    made = hati(package, project, "spread", "--runs", "3", "--format", "json", "--report", "html=page.html")
    assert made.status == 0, made.err
    assert set(json.loads(made.out)) == {"format", "study", "fastest", "slowest"}
    schema = hati(package, project, "studies", "--schema", "spread").out
    Draft202012Validator(json.loads(schema)).validate(json.loads(made.out))
    assert "Spread of runs" in (project / "page.html").read_text()
    again = hati(package, project, "spread", "--runs", "3", "--format", "json")
    assert (again.out, "was measured before" in again.err) == (made.out, True)
    wrong = hati(package, project, "spread", "--runs", "1")
    assert (wrong.status, "--runs" in wrong.err) == (2, True)


def test_a_process_that_loads_the_program_has_it(package: Path, project: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(package), os.environ.get("PYTHONPATH", "")])}
    words = (sys.executable, "-m", "hati", "spread", "--runs", "3", "--dry-run", "--format", "json")
    made = subprocess.run(words, cwd=project, env=environment, capture_output=True, text=True, check=True)
    assert len(json.loads(made.stdout)["tasks"]) == 3


def test_it_is_listed_and_reported(hati: Hati, package: Path, project: Path) -> None:
    assert hati(package, project, "spread").status == 0
    [listed] = json.loads(hati(package, project, "studies", "--format", "json").out)["rows"]
    assert (listed["command"], listed["runs"]) == ("spread", 5)
    told = hati(package, project, "report", "--study", "spread")
    assert "times as long as the fastest" in told.out, told.err
    without = hati(project, project, "report", "--study", "spread")
    assert (without.status, without.out) == (2, "")
    assert "it is a 'spread'; install the package that adds this kind of study" in without.err


def test_one_that_cannot_be_loaded_disturbs_no_other(hati: Hati, package: Path, project: Path, tmp_path: Path) -> None:
    write_entry_points(tmp_path, "hati.studies", "broken = nowhere:Broken\n")
    told = hati(tmp_path, project, "--help")
    assert (told.status, "Measure" in told.out) == (0, True)
    assert "the study 'broken' of nowhere:Broken cannot be used: ModuleNotFoundError" in told.err
    assert hati(tmp_path, project, "run", "--budget", "2").status == 0


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            ('name, kind, section, request = "spread", "spread"', 'name, kind, section, request = "run", "spread"'),
            "already",
        ),
        (('request = "spread", "spread"', 'request = "spread", "gate"'), "already"),
        (('"Measure", SpreadRequest', '"Masure", SpreadRequest'), "its section 'Masure' is not one of Model, "),
        (('tag_field="format", tag="spread-1"', 'tag="spread-1"'), 'not a msgspec Struct with tag_field="format"'),
        (("    published = Spread\n", ""), "it names no published type: the Struct of its JSON"),
        (('"Measure", SpreadRequest', '"Measure", dict'), "is not a msgspec Struct"),
        (("    runs: Annotated", "    fresh: Annotated"), "a field 'fresh', which all commands have"),
        (("    seed: Seed = 1", "    seed: int = 1"), "the field 'seed' of its request has neither a FlagField"),
        (("class SpreadType(StudyType):", "class SpreadType:"), "is not a StudyType"),
    ],
)
def test_one_that_is_of_no_use_is_named(
    hati: Hati,
    package: Path,
    project: Path,
    tmp_path_factory: pytest.TempPathFactory,
    change: tuple[str, str],
    message: str,
) -> None:
    wrong = tmp_path_factory.mktemp("wrong")
    source = (package / "spread.py").read_text()
    assert change[0] in source
    (wrong / "spread.py").write_text(source.replace(*change))
    write_entry_points(wrong, "hati.studies", "spread = spread:SpreadType\n")
    told = hati(wrong, project, "--help")
    assert (told.status, "Measure" in told.out, "spread" in told.out) == (0, True, False)
    assert message in told.err
    assert hati(wrong, project, "spred").status == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("lambda: found", 'lambda: {"study": found.study}'), "the study 'spread' publishes a dict, not a Spread"),
        (
            ("return Plan.of(task for", "return Plan(self.tasks) if self.tasks else Plan.of(task for"),
            "a plan has batches of tasks; write Plan.of(tasks)",
        ),
    ],
)
def test_a_mistake_of_one_is_an_error_that_says_how_to_correct_it(
    hati: Hati,
    package: Path,
    project: Path,
    tmp_path_factory: pytest.TempPathFactory,
    change: tuple[str, str],
    message: str,
) -> None:
    wrong = tmp_path_factory.mktemp("wrong")
    source = (package / "spread.py").read_text()
    assert change[0] in source
    (wrong / "spread.py").write_text(source.replace(*change))
    write_entry_points(wrong, "hati.studies", "spread = spread:SpreadType\n")
    told = hati(wrong, project, "spread", "--format", "json")
    assert (told.status, told.out) == (2, "")
    assert message in " ".join(told.err.split())


class TestSpread(StudyTypeConformance):
    """The kind of the documentation."""

    @pytest.fixture
    def kind(self, package: Path, monkeypatch: pytest.MonkeyPatch) -> AnyStudyType:
        monkeypatch.syspath_prepend(str(package))
        found: AnyStudyType = import_module("spread").SpreadType()
        monkeypatch.setattr("hati.wiring.stored_studies.study_type", lambda _: found)
        return found

    @pytest.fixture
    def request_(self, kind: AnyStudyType) -> Struct:
        asked: Struct = kind.request(runs=2)
        return asked

    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        (tmp_path / "hati.toml").write_text(PROJECT)
        return tmp_path
