"""What commands write is no edit of what they measure, wherever in its repository it lies."""

from __future__ import annotations

from pathlib import Path

import pytest
from gate_projects import git

from hati.cli.output import write
from hati.subject import Revisions


@pytest.mark.parametrize("here", [".", "services", "services/db"])
@pytest.mark.parametrize("output", ["report.json", "services/report.json", "services/db/report.json"])
def test_a_result_beside_its_project_is_no_edit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str, output: str
) -> None:
    project = tmp_path / "services" / "db"
    (project / ".hati").mkdir(parents=True)
    (tmp_path / ".gitignore").write_text(".hati\n")
    git(tmp_path, "init", "--quiet")
    git(tmp_path, "add", "--all")
    git(tmp_path, "commit", "--quiet", "--message", "first")
    before = Revisions(project).find(".").id
    monkeypatch.chdir(tmp_path / here)
    write("{}", str(tmp_path / output))
    assert Revisions(project).find(".").id == before
    (tmp_path / "another.json").write_text("{}")
    assert Revisions(project).find(".").id != before
