"""What hati.toml says of Python reaches the interpreters; past revisions run in what they say they need."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from hati.core import Configuration, InputError, Job, Outcome, Run, Task
from hati.engine import LocalEngine
from hati.studies.assertion import MeasuredMethod, Standard
from hati.subject import machine
from hati.wiring import formulas_of, prepare_assertion, workplace_around
from hati.wiring.formulas.measuring import AssertionCampaign

GIT = ["git", "-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
TOOL = "import sys\nimport dep\nsys.stderr.write(f'NAME with dep {dep.VERSION}\\n')\ndef get(n): return n\n"
WHEEL = "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"


def wheel(folder: Path, version: str) -> None:
    folder.mkdir(exist_ok=True)
    about = f"dep-{version}.dist-info"
    with zipfile.ZipFile(folder / f"dep-{version}-py3-none-any.whl", "w") as file:
        file.writestr("dep.py", f"VERSION = '{version}'\ndef get(n): return n\n")
        file.writestr(f"{about}/METADATA", f"Metadata-Version: 2.1\nName: dep\nVersion: {version}\n")
        file.writestr(f"{about}/WHEEL", WHEEL)
        file.writestr(f"{about}/RECORD", "")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository whose revisions need other versions of a package, and one that needs none."""
    root = tmp_path / "project"
    for version in ("1.0", "2.0"):
        wheel_folder = root / "wheels"
        root.mkdir(exist_ok=True)
        wheel(wheel_folder, version)
    (root / "tool.py").write_text("def get(n): return n\n")
    committed(root, "bare")
    for name, version in (("old", "1.0"), ("missing", "3.0"), ("new", "2.0")):
        (root / "requirements.txt").write_text(f"--no-index\n--find-links wheels\ndep=={version}\n")
        (root / "tool.py").write_text(TOOL.replace("NAME", name))
        committed(root, name)
    (root / "tool.py").write_text(TOOL.replace("NAME", "today"))
    return root


def committed(root: Path, tag: str) -> None:
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", tag], ["tag", tag]):
        subprocess.run([*GIT, *words], cwd=root, check=True)


def prepared(root: Path, *formulas: str) -> AssertionCampaign:
    asked = [requirement for text in formulas for requirement in formulas_of(text)]
    return prepare_assertion(workplace_around(root, None), asked, Standard(), "1000", fresh=False)


def points(root: Path, *revisions: str) -> list[MeasuredMethod]:
    formulas = [f"tool:get{revision}(1) <= 1 s" for revision in revisions]
    return list(prepared(root, *formulas).study.points.values())


def own(point: MeasuredMethod) -> bool:
    return bool(point.benchmark.build)


def test_a_past_revision_has_an_environment_where_it_needs_another_than_today(project: Path) -> None:
    found = points(project, "@old", "@new", "@bare", "", "@'.'")
    assert [own(point) for point in found] == [True, False, False, False, False]
    assert found[0].benchmark.name == "tool:get(1) in its own environment"
    assert {point.benchmark.name for point in found[1:]} == {"tool:get(1)"}
    assert "network=refused" in found[0].benchmark.build[0]


def test_the_project_file_says_how_python_is_measured(project: Path) -> None:
    (project / "hati.toml").write_text(
        "[python]\nhash_seed = 7\nroots = ['.']\nfrozen_modules = true\n[python.recording]\nobservations = 3\n"
        "timeout = '5s'\ncollector = 'off'\n[python.environment]\nnetwork = true\nextra = ['numpy']\n"
    )
    here, old = points(project, "", "@old")
    told = {"roots=.", "hash_seed=7", "frozen=on", "observations=3", "collector=off", "overhead=0.01"}
    assert told <= set(here.benchmark.command) & set(old.benchmark.command)
    assert here.benchmark.timeout == old.benchmark.timeout == 5
    assert {"network=allowed", "extra=numpy"} <= set(old.benchmark.build[0])
    before = here.benchmark.definition
    (project / "hati.toml").write_text("[python.environment]\npast = 'today'\n")
    here, old = points(project, "", "@old")
    assert here.benchmark.definition == old.benchmark.definition != before


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("project = 3\n", "pyproject.toml of poetic ("),
        (
            "[tool.poetry.dependencies]\ndep = '1.0'\n",
            "neither uv nor pip can install the requirements from [tool.poetry] of",
        ),
    ],
)
def test_what_a_past_revision_needs_is_never_passed_over(text: str, wrong: str, project: Path) -> None:
    (project / "requirements.txt").unlink()
    (project / "pyproject.toml").write_text(text)
    committed(project, "poetic")
    (project / "pyproject.toml").unlink()
    with pytest.raises(InputError) as told:
        points(project, "@poetic")
    assert wrong in str(told.value)
    assert 'past = "today" below [python.environment] of hati.toml' in str(told.value)
    (project / "hati.toml").write_text("[python.environment]\npast = 'today'\n")
    assert not own(points(project, "@poetic")[0])


def first_run(prepared: AssertionCampaign, tmp_path: Path) -> Run:
    [point] = prepared.study.points.values()
    benchmark, root = point.benchmark, prepared.place.project.root
    task = Task("study", "stage", benchmark.name, Configuration(), point.revision.id, benchmark.workload, 0)
    trees = prepared.revisions.trees(root)
    with LocalEngine(root, (benchmark,), machine(), lock=tmp_path / "lock", trees=trees) as engine:
        [run] = engine.run((Job(task, benchmark, ""),))
    return run


def broken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ``python3`` on the search path is none."""
    folder.mkdir()
    (folder / "python3").write_text("#!/bin/sh\nexit 3\n")
    (folder / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:/usr/bin:/bin")


def test_a_release_is_installed_for_what_measures_it(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (project / "hati.toml").write_text(f"[python]\ninterpreter = '{sys.executable}'\n")
    broken(tmp_path / "bin", monkeypatch)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(project / "wheels"))
    run = first_run(prepared(project, "dep:get@dep==1.0(1) <= 1 s"), tmp_path)
    assert run.outcome is Outcome.DONE, run.detail + run.output


def test_folders_in_formulas_count_from_the_project(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place, text in ((project.parent / "before", "right"), (tmp_path / "elsewhere" / "before", "wrong")):
        place.mkdir(parents=True)
        (place / "tool.py").write_text(f"def get(n): return '{text}'\n")
    (tmp_path / "elsewhere" / "project").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere" / "project")
    [absolute] = points(project, f"@'{project.parent}/before'")
    [relative] = points(project, "@'../before'")
    assert relative.revision.id == absolute.revision.id
    monkeypatch.chdir(tmp_path)
    assert points(project, "@'../before'")[0].revision.id == absolute.revision.id
    with pytest.raises(InputError, match=f"there is no folder {project}/before"):
        points(project, "@'./before'")


@pytest.mark.acceptance
def test_a_past_revision_is_measured_with_the_packages_that_it_names(project: Path, tmp_path: Path) -> None:
    run = first_run(prepared(project, "tool:get@old(1) <= 1 s"), tmp_path)
    assert run.outcome is Outcome.DONE, run.detail + run.output
    assert "old with dep 1.0" in run.output.splitlines()  # a slow clock adds a line


@pytest.mark.acceptance
def test_an_environment_that_cannot_be_made_is_a_failed_run_that_says_what_to_do(project: Path, tmp_path: Path) -> None:
    run = first_run(prepared(project, "tool:get@missing(1) <= 1 s"), tmp_path)
    assert run.outcome is Outcome.NOT_BUILT
    assert "dep==3.0" in run.detail
    assert "nothing may be downloaded here: network = true below [python.environment] of hati.toml" in run.detail
