"""``hati bisect``, ``compare-effects`` and ``history --revisions`` from outside, in git and in Subversion."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gate_projects import LISTED, PROGRAM, PROJECT, evolving, git

if TYPE_CHECKING:
    from conftest import Hati


def test_the_commit_is_found_past_one_that_does_not_work(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    for with_a in (100, 100, 130, 130, 130):
        made.commit(with_a=with_a, broken="yes" if made.commits == 3 else "no")
    words = ("bisect", "HEAD~4", "HEAD", "--set", "a=on", "--format", "json")
    done = hati_here(*words)
    assert done.status == 0, done.err
    [found] = done.json["commits"]
    assert found["revision"] == git(tmp_path, "rev-parse", "HEAD~2")
    assert found["ratio"] == pytest.approx(1.3, abs=0.03)
    assert 0.9 < found["confidence"] <= 1.0
    assert {"commits", "probes", "seconds"} <= set(done.json)
    again = hati_here(*words)
    assert (again.json["runs"], "was measured before" in again.err) == (done.json["runs"], True)


def test_it_looks_where_a_check_found_the_change(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path, extra=LISTED)
    for with_a in (100, 100, 130, 130):
        made.commit(with_a=with_a)
    assert hati_here("check", "HEAD", "--reference", "HEAD~3").status == 1
    done = hati_here("bisect", "HEAD~3", "HEAD", "--format", "json")
    assert "at a=on" in done.err
    assert [found["revision"] for found in done.json["commits"]] == [git(tmp_path, "rev-parse", "HEAD~1")]


def test_where_nothing_is_said_there_are_three_runs_of_a_revision_and_four_rounds_of_a_design(
    tmp_path: Path, hati_here: Hati
) -> None:
    made = evolving(tmp_path)
    for _ in range(5):
        made.commit()
    replayed = hati_here("history", "--revisions", "HEAD~4..HEAD", "--dry-run").out
    assert f"5 runs of about {3 * 5}; their results determine the others" in " ".join(replayed.split())
    compared = hati_here("compare-effects", "HEAD~1", "HEAD", "--dry-run", "--format", "json").json["tasks"]
    sides, configurations = 2, 4
    assert len(compared) == 4 * sides * configurations


def test_too_small_a_budget_decides_nothing(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    made.commit()
    made.commit(base=1_300_000)
    words = ("bisect", "HEAD~1", "HEAD", "--budget", "2")
    done = hati_here(*words)
    assert done.status == 3
    assert "Too few runs to decide whether the two revisions differ" in " ".join(done.out.split())
    assert "a larger --budget goes on" in " ".join(done.out.split())
    done = hati_here(*words, "--format", "json")
    assert (done.json["commits"], len(done.json["open"])) == ([], 1)


def test_the_option_whose_effect_changed_is_named(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    made.commit(with_a=120)
    made.commit(with_a=150)
    done = hati_here("compare-effects", "HEAD~1", "HEAD", "--format", "json")
    assert done.status == 0, done.err
    found = {one["options"][0]: one for one in done.json}
    assert {name: one["changed"] for name, one in found.items()} == {"a": True, "b": False}
    assert found["a"]["ratio"] == pytest.approx(2.2, abs=0.2)  # ln 1.5 / ln 1.2
    assert set(found["a"]) >= {"options", "before", "after", "ratio", "interval", "changed"}


def test_the_past_is_measured_and_its_change_found(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    for number in range(16):
        made.commit(base=1_000_000 if number < 8 else 1_300_000)
    words = ("history", "--revisions", "HEAD~15..HEAD", "--runs", "2", "--format", "json")
    done = hati_here(*words)
    assert done.status == 0, done.err
    [series] = done.json["series"]
    assert [change["position"] for change in series["change_points"]] == [git(tmp_path, "rev-parse", "HEAD~7")[:12]]
    again = hati_here(*words)
    assert again.json["runs"] == done.json["runs"] == 32


def test_the_ends_of_a_range_have_their_names_in_text_and_not_in_json(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    ends = {}
    for number in (1, 2, 3):
        made.commit(base=1_000_000 if number < 3 else 1_300_000)
        git(tmp_path, "tag", f"v{number}")
        ends[f"v{number}"] = git(tmp_path, "rev-parse", "HEAD")[:12]
    first, last = (f"{name} ({ends[name]})" for name in ("v1", "v3"))
    for words in (("history", "--revisions", "v1..v3"), ("bisect", "v1", "v3")):
        done = hati_here(*words)
        assert done.status == 0, done.err
        stored = hati_here("report", "--study", {"history": "replay", "bisect": "bisection"}[words[0]]).out
        for text in (done.out, stored):
            assert f"rom {first} to {last}" in " ".join(text.split())
    assert f"at {last}" in " ".join(hati_here("history", "--revisions", "v1..v3").out.split())
    found = hati_here("bisect", "v1", "v3", "--format", "json").json
    assert (found["good"]["name"], found["bad"]["name"]) == ("v1", "")


def test_a_commit_with_a_tag_is_shown_with_it_and_json_is_the_same(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    commits = []
    for number in range(3):
        made.commit(base=1_000_000 if number == 0 else 1_300_000)
        commits.append(git(tmp_path, "rev-parse", "HEAD")[:12])
    first, second, _ = commits
    words = ("history", "--revisions", f"{first}..")
    before = hati_here(*words, "--format", "json")
    git(tmp_path, "tag", "-m", "a release", "v2", second)
    assert hati_here(*words, "--format", "json").json == before.json
    for form in ("text", "markdown", "html"):
        assert f"at v2 ({second})" in " ".join(hati_here(*words, "--format", form).out.split()), form
    assert f"v2 ({second})" in hati_here("bisect", first, "HEAD").out


def test_the_past_is_measured_from_two_revisions_on(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    made.commit(base=1_000_000)
    made.commit(base=1_300_000)
    done = hati_here("history", "--revisions", "HEAD~1..HEAD", "--runs", "3", "--format", "json")
    assert done.status == 0, done.err
    [series] = done.json["series"]
    assert [change["position"] for change in series["change_points"]] == [git(tmp_path, "rev-parse", "HEAD")[:12]]


@pytest.mark.acceptance
def test_in_subversion_too(tmp_path: Path, subversion: None, hati_here: Hati, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sixteen revisions, the ninth of which is slower; the project is in a folder of its own."""
    monkeypatch.setenv("HOME", str(tmp_path))
    project = subversion_project(tmp_path, slower_from=9)
    done = hati_here("check", "r10", "--reference", "r9", "--format", "json", folder=project)
    assert done.status == 1, done.err
    assert (done.json["reference"]["id"], done.json["revision"]["kind"]) == ("r9", "svn")
    done = hati_here("check", "--dry-run", folder=project)
    assert (done.status, "against BASE (r17)" in done.out) == (0, True), done.err
    done = hati_here("bisect", "r2", "HEAD", "--format", "json", folder=project)
    assert [one["revision"] for one in done.json["commits"]] == ["r10"], done.err
    done = hati_here("history", "--revisions", "r2..HEAD", "--runs", "2", "--format", "json", folder=project)
    [series] = done.json["series"]
    assert [change["position"] for change in series["change_points"]] == ["r10"]
    assert hati_here("bisect", "HEAD", "r2", folder=project).status == 2


def subversion_project(tmp_path: Path, slower_from: int) -> Path:
    def svn(*words: str, at: Path = tmp_path) -> None:
        subprocess.run(["svn", "--non-interactive", "--quiet", *words], cwd=at, check=True)

    subprocess.run(["svnadmin", "create", "repository"], cwd=tmp_path, check=True)
    url = (tmp_path / "repository").as_uri()
    svn("mkdir", f"{url}/trunk", "-m", "the trunk")
    svn("checkout", f"{url}/trunk", "work")
    project = tmp_path / "work" / "project"
    project.mkdir()
    (project / "program.sh").write_text(PROGRAM)
    (project / "hati.toml").write_text(PROJECT)
    for number in range(1, 17):
        base = 1_300_000 if number >= slower_from else 1_000_000
        (project / "tuning").write_text(f"base={base}\nwith_a=100\nbroken=no\nsalt={number}\n")
        if number == 1:
            svn("add", "project", at=project.parent)
        svn("commit", "-m", f"change {number}", at=project.parent)
    return project


@pytest.mark.acceptance
def test_ten_thousand_commits_are_planned_for(tmp_path: Path, hati_here: Hati) -> None:
    """The project is in a folder whose path has spaces, quotes and letters of several alphabets."""
    within = 'sub folder/it\'s "the" prüject 狼'
    made = evolving(tmp_path, within)
    files = {f"{within}/program.sh": PROGRAM, f"{within}/hati.toml": PROJECT}
    subprocess.run(
        ["git", "fast-import", "--quiet"], cwd=tmp_path, input=fast_import(within, files, 10_000), check=True
    )
    git(tmp_path, "reset", "--quiet", "--hard", "main")
    planned = hati_here("bisect", "main~9999", "main", "--dry-run", folder=made.project)
    assert planned.status == 0, planned.err
    assert "9,999 revisions" in " ".join(planned.out.split())
    planned = hati_here(
        "history", "--revisions", "main~9999..main", "--every", "1000", "--dry-run", folder=made.project
    )
    assert planned.status == 0, planned.err
    done = hati_here("check", "main", "--reference", "main~5000", "--format", "json", folder=made.project)
    assert (done.status, done.json["verdict"]) == (1, "slower"), done.err
    assert git(tmp_path, "status", "--porcelain") == ""


def fast_import(within: str, files: dict[str, str], commits: int) -> bytes:
    """Commits to ``main``, each with a tuning of its own; the later half is slower."""

    def blob(path: str, text: str) -> str:
        quoted = path.replace('"', '\\"')
        return f'M 100644 inline "{quoted}"\ndata {len(text.encode())}\n{text}\n'

    parts = []
    for number in range(commits):
        base = 1_000_000 if number < commits // 2 else 1_300_000
        own = {f"{within}/tuning": f"base={base}\nwith_a=100\nbroken=no\nsalt={number}\n"}
        parts.append(f"commit refs/heads/main\ncommitter t <t@t> {1_600_000_000 + number} +0000\ndata 1\nc\n")
        parts += [blob(path, text) for path, text in ({**files, **own} if number == 0 else own).items()]
    return "".join(parts).encode()
