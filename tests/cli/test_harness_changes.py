"""What answers say where compared revisions differ in the files that measure."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from conftest import Hati

PROJECT = """
[subject]
name = "s"
harness = ["bench.py", "data", "!data/notes.txt"]

[[benchmark]]
name = "b"
command = ["PYTHON", "-S", "bench.py"]
reader = "hati"

[[benchmark.metric]]
name = "units"
unit = "1"
better = "lower"
"""
BENCH = 'import subject\nprint(\'{"metric": "units", "value": %s}\' % (subject.VALUE + OFFSET))\n'


def git(folder: Path, *words: str) -> None:
    who = ("-c", "user.name=me", "-c", "user.email=me@here")
    subprocess.run(("git", *who, *words), cwd=folder, check=True, capture_output=True)


def commit(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        (folder / name.replace("__", "/").replace("_", ".")).write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "--message", " ".join(texts))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project below the top of its repository; commits change the subject, the benchmark, then notes."""
    folder = tmp_path / "within"
    (folder / "data").mkdir(parents=True)
    git(tmp_path, "init", "--quiet")
    (folder / "hati.toml").write_text(PROJECT.replace("PYTHON", sys.executable))
    commit(
        folder, subject_py="VALUE = 1\n", bench_py=BENCH.replace("OFFSET", "0"), data__input_txt="1", _gitignore=".hati"
    )
    commit(folder, subject_py="VALUE = 2\n")
    commit(folder, bench_py=BENCH.replace("OFFSET", "1"), data__input_txt="2")
    commit(folder, subject_py="VALUE = 3\n", data__notes_txt="nothing")
    return folder


def checked(hati: Hati, project: Path, revision: str, reference: str) -> Any:
    words = ("check", revision, "--reference", reference, "--fail-on", "", "--format", "json")
    return hati(*words, folder=project).json.get("harness_changed", [])


def test_a_check_names_the_changed_files_of_the_benchmark(hati: Hati, project: Path) -> None:
    assert checked(hati, project, "HEAD~2", "HEAD~3") == []
    [found] = checked(hati, project, "HEAD", "HEAD~2")
    assert found["files"] == ["bench.py", "data/input.txt"]
    said = " ".join(hati("check", "HEAD", "--reference", "HEAD~2", "--fail-on", "", folder=project).out.split())
    assert (
        f"the benchmark changed too between {found['before']} and {found['after']}: bench.py, data/input.txt; " in said
    )
    assert "may come from the benchmark, and not from the subject" in said


def test_a_check_of_the_working_tree_names_edited_files(hati: Hati, project: Path) -> None:
    (project / "data" / "notes.txt").write_text("edited")
    assert checked(hati, project, ".", "HEAD") == []
    (project / "bench.py").write_text(BENCH.replace("OFFSET", "2"))
    assert [found["files"] for found in checked(hati, project, ".", "HEAD")] == [["bench.py"]]


def test_a_history_names_where_the_benchmark_changed(hati: Hati, project: Path) -> None:
    words = ("history", "--revisions", "HEAD~3..HEAD", "--runs", "2")
    done = hati(*words, "--format", "json", folder=project)
    [found] = done.json["harness_changed"]
    assert found["files"] == ["bench.py", "data/input.txt"]
    assert "the benchmark changed too between" in hati(*words, folder=project).out


def test_without_declared_files_nothing_is_said(hati: Hati, project: Path) -> None:
    file = project / "hati.toml"
    file.write_text("".join(line for line in file.read_text().splitlines(keepends=True) if "harness" not in line))
    assert checked(hati, project, "HEAD", "HEAD~2") == []


def test_a_bisection_names_where_the_benchmark_changed(hati: Hati, project: Path) -> None:
    words = ("bisect", "HEAD~3", "HEAD~2")
    assert "harness_changed" not in hati(*words, "--format", "json", folder=project).json
    words = ("bisect", "HEAD~2", "HEAD~1")
    done = hati(*words, "--format", "json", folder=project)
    assert [len(commit["candidates"]) for commit in done.json["commits"]] == [1]
    [found] = done.json["harness_changed"]
    assert found["files"] == ["bench.py", "data/input.txt"]
    assert "the benchmark changed too between" in hati(*words, folder=project).out


def test_reports_remain_where_git_no_longer_has_the_commits(hati: Hati, project: Path) -> None:
    asked = (
        ("history", "--revisions", "HEAD~3..HEAD", "--runs", "2"),
        ("check", "HEAD", "--reference", "HEAD~2", "--fail-on", ""),
    )
    studies = [hati(*words, "--format", "json", folder=project).json["study"] for words in asked]
    shutil.rmtree(project.parent / ".git")
    git(project.parent, "init", "--quiet")
    commit(project, squashed_txt="")
    for study in studies:
        done = hati("report", "--study", study, folder=project)
        assert done.status == 0, done.err
        assert " ".join(done.out.split()).count("it is not known whether the benchmark changed too between") == 1
        [unknown] = hati("report", "--study", study, "--format", "json", folder=project).json["harness_changed"]
        assert unknown["files"] == []


def test_a_new_file_that_is_measured_counts_as_changed(hati: Hati, project: Path) -> None:
    (project / "data" / "new.txt").write_text("new")
    assert [found["files"] for found in checked(hati, project, ".", "HEAD")] == [["data/new.txt"]]
    file = project / "hati.toml"
    file.write_text(file.read_text().replace('"data", ', '"data/*.txt", '))
    assert checked(hati, project, ".", "HEAD") == [], "files that are left out are not measured"
