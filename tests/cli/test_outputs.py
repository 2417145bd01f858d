"""What commands write is no edit of what they measure, wherever in its repository it lies."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gate_projects import evolving, git

from contents import content
from hati.cli.output import TableFormat, write_table
from hati.document import Column, Table

if TYPE_CHECKING:
    from conftest import Hati
    from forked import Server


BENCH = """
[subject]
name = "s"

[[benchmark]]
name = "main"
command = ["python3", "-S", "bench.py", "{n}"]
reader = "hati"
workload = { n = 1 }
metric = [{ name = "steps", unit = "1" }]
"""


@pytest.fixture
def bench(tmp_path: Path) -> Path:
    """A project in a repository, with a file of samples that nobody tracks."""
    (tmp_path / "hati.toml").write_text(BENCH)
    (tmp_path / "bench.py").write_text('print(\'{"metric": "steps", "value": 3}\')')
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    sample = {"benchmark": "a", "metric": "time", "unit": "s", "better": "lower", "runs": [{"observations": [1.0]}] * 9}
    for name in ("a.json", "h.json"):
        (tmp_path / name).write_text(json.dumps({"format": "hati-samples-1", "samples": [sample]}))
    return tmp_path


BY_SAMPLES = ("assert", "--formula", "a <= 2", "--samples", "a=a.json#a", "--history", "a=h.json")
BY_MEASURING = ("assert", "--formula", "main(1) <= 4", "--budget", "13")


@pytest.mark.parametrize(
    ("words", "file", "reason"),
    [
        (BY_SAMPLES, "a.json", "it is an input"),
        (BY_SAMPLES, "h.json", "it is an input"),
        (BY_SAMPLES, "hati.toml", "it is an input"),
        (BY_MEASURING, "hati.toml", "it is an input"),
        (BY_MEASURING, "bench.py", "it is a source of the measured project"),
        (BY_MEASURING, ".hati/store.sqlite", "that folder is Hati's own"),
        (BY_MEASURING, "runs.sqlite", "it is a database"),
        (("run",), "bench.py", "it is a source of the measured project"),
        (("check",), "bench.py", "it is a source of the measured project"),
        (("export",), ".hati/store.sqlite", "that folder is Hati's own"),
        (("export",), "runs.sqlite", "it is a database"),
        (("runs",), "runs.sqlite", "it is a database"),
    ],
)
def test_what_is_read_measured_or_kept_is_not_written_over(
    hati_here: Hati, bench: Path, words: tuple[str, ...], file: str, reason: str
) -> None:
    hati_here("run", "--budget", "1")
    hati_here("run", "--budget", "1", "--store", "runs.sqlite")
    before, runs = content(bench / file), hati_here("export").out
    options = ["--output"] if words[0] != "assert" else ["--output", "--report"]
    for option in options:
        done = hati_here(*words, option, file if option == "--output" else f"json={file}")
        assert (done.status, done.out) == (2, "")
        assert f"{file} cannot be written: {reason}; name another file by {option}" in done.err
    assert content(bench / file) == before
    assert hati_here("export").out == runs


@pytest.mark.usefixtures("bench")
def test_a_result_that_is_tracked_may_be_written_again_where_the_project_leaves_it_out(
    hati_here: Hati, tmp_path: Path
) -> None:
    assert hati_here(*BY_MEASURING, "--output", "verdict.txt").status == 0
    again = hati_here(*BY_MEASURING, "--output", "verdict.txt")
    assert (again.status, "was measured before" in again.err) == (0, True)
    git(tmp_path, "add", "verdict.txt")
    refused = hati_here(*BY_MEASURING, "--output", "verdict.txt")
    assert refused.status == 2
    assert 'or exclude it: [subject] sources = ["!verdict.txt"]' in refused.err
    (tmp_path / "hati.toml").write_text(BENCH.replace('name = "s"', 'name = "s"\nsources = ["!verdict.txt"]'))
    done = hati_here(*BY_MEASURING, "--output", "verdict.txt")
    assert (done.status, "was measured before" in done.err) == (0, True)
    assert hati_here(*BY_MEASURING, "--output", ".hati/reports").status == 2
    (tmp_path / ".hati" / "reports").mkdir(exist_ok=True)
    assert hati_here(*BY_MEASURING, "--output", ".hati/reports/verdict.txt").status == 0


@pytest.mark.acceptance
@pytest.mark.parametrize("version_control", ["git", "none"])
def test_what_is_sent_to_a_file_in_the_project_is_no_edit(
    hati_here: Hati, hati_server: Server, tmp_path: Path, version_control: str
) -> None:
    """By a process whose streams are files of the project, and by a shell where a file is both streams or a pipe's."""
    options = "".join(f'[options.{name}]\nsettings = ["off", "on"]\n' for name in "abc")
    (tmp_path / "hati.toml").write_text(BENCH + options)
    (tmp_path / "bench.py").write_text('print(\'{"metric": "steps", "value": 3}\')')
    if version_control == "git":
        git(tmp_path, "init", "--quiet")
        git(tmp_path, "add", "--all")
    screen = ["screen", "--budget", "8", "--metric", "steps"]
    program = f"{Path(sys.executable).with_name('hati')} {' '.join(screen)}"

    def made() -> int:
        return len(hati_here("runs", "--format", "json").json)

    def into(folder: Path) -> int:
        done = hati_server.run(screen, tmp_path, os.environ, folder)
        assert (done.status, "error" in done.err) == (0, False)
        return made()

    def typed(words: str) -> int:
        done = subprocess.run(["sh", "-c", words], cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (done.returncode, "error" in done.stderr) == (0, False)
        return made()

    first = into(tmp_path)
    assert first >= 4
    assert typed(f"{program} > first.txt 2>&1") == first
    assert typed(f"{program} | tee second.txt") == first
    assert into(tmp_path / "third") == first
    with (tmp_path / "bench.py").open("a") as source:
        source.write("#\n")
    again = into(tmp_path)
    assert again >= 2 * first
    assert into(tmp_path) == again


def test_a_new_file_is_told_where_nothing_says_what_it_is(hati_here: Hati, tmp_path: Path) -> None:
    (tmp_path / "hati.toml").write_text(BENCH)
    (tmp_path / "bench.py").write_text('print(\'{"metric": "steps", "value": 3}\')')
    assert "warning" not in hati_here("run", "--budget", "1").err
    (tmp_path / "new.py").touch()
    told = hati_here("run", "--budget", "1").err
    said = "warning: new.py is not part of the measured revision, as "
    assert f"{said}new, until another file changes; add sources to `[subject] sources`, and exclude results" in told
    for command in (["init", "-q"], ["add", "bench.py"]):
        subprocess.run(["git", *command], cwd=tmp_path, check=True)
    told = hati_here("run", "--budget", "1").err
    assert f"{said}untracked or new; add sources to git or to `[subject] sources`" in told
    key = hati_here("studies", "--format", "json").json[0]["study"]
    reported = hati_here("report", "--study", key)
    assert (reported.status, "new.py" in reported.err) == (0, False)


@pytest.mark.parametrize("here", ["tools", "."])
def test_a_verdict_of_a_project_far_from_here_is_no_edit(hati_here: Hati, tmp_path: Path, here: str) -> None:
    project = tmp_path / "projects" / "group" / "service"
    project.mkdir(parents=True)
    (tmp_path / "tools").mkdir()
    (project / "hati.toml").write_text(BENCH)
    (project / "bench.py").write_text('print(\'{"metric": "steps", "value": 3}\')')
    (project / "r.spl").write_text("main(1) <= 4\n")
    git(tmp_path, "init", "--quiet")
    words = "assert", str(project / "r.spl"), "--budget", "13", "--output", "verdict.txt"
    assert hati_here(*words, folder=tmp_path / here).status == 0
    for again in (words, words[:-2]):
        assert "was measured before" in hati_here(*again, folder=tmp_path / here).err


@pytest.mark.parametrize(("columns", "width"), [("120", 120), ("50", 50), ("0", 20), ("many", 80), ("", 80)])
def test_text_is_as_wide_as_columns_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: str, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    write_table(Table("word " * 100, (Column("a"),), (("word " * 50,),)), TableFormat.TEXT)
    assert width - 5 <= max(map(len, capsys.readouterr().out.splitlines())) <= width


def test_a_folder_whose_name_is_not_utf8_is_measured(tmp_path: Path, hati_here: Hati) -> None:
    folder = tmp_path / os.fsdecode(b"caf\xe9")
    evolving(folder).write()
    done = hati_here("run", "--budget", "1", folder=folder)
    assert done.status == 0, done.err
    assert hati_here("studies", folder=folder).status == 0
