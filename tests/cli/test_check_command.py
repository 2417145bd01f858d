"""``hati check`` and ``hati findings`` from outside: what is told, in each format, and what is refused."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from gate_projects import LISTED, evolving, git

from hati.studies.gate import GateRule
from hati.subject.revisions import trees
from hati.subject.revisions.trees import Folder

if TYPE_CHECKING:
    from conftest import Hati


def test_a_slowdown_is_told_once_and_acknowledged(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path, extra=LISTED)
    made.commit(with_a=70)
    made.commit(with_a=90)
    reports = ("--report", "json=out.json", "--report", "junit=out.xml", "--report", "github=out.github")
    first = hati_here("check", "HEAD", "--reference", "HEAD~1", "--format", "markdown", *reports)
    assert first.status == 1, first.err
    assert first.out.startswith("<!-- hati check -->\n**hati check: slower: latency of main +")
    assert "most where a=on (+2" in first.out.splitlines()[1]
    said = json.loads((tmp_path / "out.json").read_text())
    assert (said["verdict"], said["fails"]) == ("slower", True)
    assert said["reference"]["id"] == git(tmp_path, "rev-parse", "HEAD~1")
    assert {one["option"] for one in said["options"]} == {"a"}
    [found] = said["findings"]
    assert (found["state"], found["news"], found["fails"]) == ("new", True, True)
    assert int(ET.parse(tmp_path / "out.xml").getroot().get("failures", "0")) >= 1
    assert (tmp_path / "out.github").read_text().startswith("::error title=main latency::slower")
    assert hati_here("findings", "acknowledge", "regr", "--author", "me", "--reason", "correct now").status == 0
    again = hati_here("check", "HEAD", "--reference", "HEAD~1", "--format", "github", *reports[:4])
    assert again.status == 0
    assert again.out == f"::notice title=hati check::nothing else changed; slower, already known: {found['id']}\n"
    assert ET.parse(tmp_path / "out.xml").getroot().get("failures") == "0"
    said = json.loads((tmp_path / "out.json").read_text())
    assert (said["verdict"], said["fails"], said["benchmarks"][0]["known"]) == ("slower", False, found["id"])
    assert [one["news"] for one in said["findings"]] == [False]
    listed = hati_here("findings", "--state", "acknowledged", "--format", "json")
    assert [(one["id"], one["author"], one["reason"]) for one in listed.json] == [(found["id"], "me", "correct now")]
    assert git(tmp_path, "status", "--porcelain") == "?? out.github\n?? out.json\n?? out.xml"
    made.commit(with_a=40)
    faster = hati_here("check", "HEAD", "--reference", "HEAD~2")
    assert faster.status == 0
    shown = " ".join(faster.out.split())
    assert f"{found['id']} (acknowledged): main latency" in shown
    assert "by me: correct now; this check does not show it again." in shown


def test_only_what_covers_a_findings_range_resolves_it(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    for base in (1_000_000, 1_300_000, 1_300_000, 1_000_000):
        made.commit(base=base)

    def told(revision: str, reference: str) -> list[tuple[str, float]]:
        done = hati_here("check", revision, "--reference", reference, "--fail-on", "inconclusive")
        assert done.status == 0, done.err
        listed = hati_here("findings", "--format", "json").json
        return [(one["state"], round(one["sizes"][0]["ratio"], 1)) for one in listed if one["kind"] == "regression"]

    assert told("HEAD~1", "HEAD~3") == [("new", 1.3)]
    assert told("HEAD~1", "HEAD~2") == [("new", 1.3)]
    assert told("HEAD", "HEAD~3") == [("resolved", 1.3)]


def test_nobody_reading_on_changes_neither_the_status_nor_the_reports(tmp_path: Path) -> None:
    made = evolving(tmp_path)
    made.commit()
    made.commit(base=1_300_000)
    reader, writer = os.pipe()
    os.close(reader)
    program = str(Path(sys.executable).with_name("hati"))
    command = [program, "check", "HEAD", "--reference", "HEAD~1", "--report", "json=out.json"]
    environment = {**os.environ, "HATI_LOCK": str(tmp_path.parent / "lock")}
    done = subprocess.run(
        command, cwd=tmp_path, env=environment, stdout=writer, stderr=subprocess.PIPE, text=True, check=False
    )
    os.close(writer)
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    [found] = json.loads((tmp_path / "out.json").read_text())["findings"]
    assert (found["state"], found["news"]) == ("new", True)


def killed(*_anything: object) -> None:
    raise KeyboardInterrupt


def test_a_check_that_was_killed_before_its_findings_were_told_is_only_concluded(
    tmp_path: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = evolving(tmp_path)
    made.commit()
    made.commit(base=1_300_000)
    made.commit(base=1_300_000)
    keeping, telling = "hati.wiring.known.benchmarks.events_of", "hati.cli.commands._write"
    for name, status, when in (("HEAD~1", 1, keeping), ("HEAD", 0, telling)):  # with findings, and without any
        words = ("check", name, "--reference", "previous", "--format", "json")
        with monkeypatch.context() as patch:
            patch.setattr(when, killed)
            assert hati_here(*words).status == 130
        concluded = hati_here(*words)
        assert concluded.status == status
        assert "nothing is measured" in concluded.err
        assert [one["news"] for one in concluded.json["findings"]] == [True] * status
        again = hati_here(*words)
        assert (again.status, "nothing is measured" in again.err) == (status, False)
        assert again.json["study"] != concluded.json["study"]
        assert [one["news"] for one in again.json["findings"]] == [False] * status


def test_a_check_whose_budget_is_spent_says_that_a_larger_one_goes_on(
    tmp_path: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = evolving(tmp_path)
    for _ in range(12):  # noise of the last is that of the first in another order
        made.commit()
    words = ("check", "HEAD", "--reference", "HEAD~11", "--budget", "18", "--margin", "1%")
    with monkeypatch.context() as patch:
        patch.setattr("hati.wiring.known.benchmarks.events_of", killed)
        assert hati_here(*words).status == 130
    spent = hati_here(*words)
    assert spent.status == 3
    assert "the budget is spent, and a larger one goes on; nothing is measured" in spent.err


def test_a_check_that_an_earlier_version_began_goes_on_with_its_two_stages(
    tmp_path: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = evolving(tmp_path)
    made.commit()
    made.commit(base=1_300_000)
    words = ("check", "HEAD", "--reference", "HEAD~1", "--format", "json", "--budget")
    with monkeypatch.context() as patch:
        patch.setattr("hati.wiring.comparing.RULE", GateRule.TWO_STAGES)
        begun = hati_here(*words, "14").json["study"]
    whole = hati_here(*words, "40")
    assert (whole.status, whole.json["study"]) == (1, begun)
    assert whole.json["rounds"] == {"explored": 5, "confirmed": 5}
    new = hati_here(*words, "40")
    assert (new.status, new.json["rounds"]) == (1, {"explored": 9, "confirmed": 0})
    assert new.json["study"] != begun
    again = hati_here("report", "--study", begun, "--format", "json").json
    assert {key: again[key] for key in ("benchmarks", "rounds")} == {
        key: whole.json[key] for key in ("benchmarks", "rounds")
    }


@pytest.mark.parametrize(("base", "verdict", "status"), [(1_300_000, "slower", 1), (1_000_000, "the same", 4)])
def test_a_report_that_cannot_be_written_hides_nothing(
    tmp_path: Path, hati_here: Hati, base: int, verdict: str, status: int
) -> None:
    made = evolving(tmp_path, extra="\n[check]\nbudget = 32\n")
    made.commit()
    made.commit(base=base)
    words = ("check", "HEAD", "--reference", "HEAD~1")
    done = hati_here(*words, "--report", "junit=/dev/full", "--report", "json=out.json")
    assert (done.status, done.out.startswith("HEAD (")) == (status, True), done.err
    assert "error: /dev/full cannot be written: No space left on device" in done.err
    assert [one["news"] for one in json.loads((tmp_path / "out.json").read_text())["findings"]] == [True] * (
        status == 1
    )
    done = hati_here(*words, "--output", "/dev/full", "--format", "json")
    assert (done.status, done.out) == (status, "")
    assert f"\n1 of 4 configurations: {verdict}" in done.err
    assert "/dev/full cannot be written" in done.err
    listed = hati_here("findings", "--format", "json").json
    assert all("told" in [event["what"] for event in one["events"]] for one in listed)


@pytest.mark.acceptance
def test_standard_output_that_is_full_hides_nothing(tmp_path: Path) -> None:
    made = evolving(tmp_path)
    made.commit()
    made.commit(base=1_300_000)
    command = [str(Path(sys.executable).with_name("hati")), "check", "HEAD", "--reference", "HEAD~1"]
    environment = {**os.environ, "HATI_LOCK": str(tmp_path.parent / "lock")}
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, stdout=full, stderr=subprocess.PIPE, text=True, check=False
        )
    assert (done.returncode, "Traceback" in done.stderr) == (1, False), done.stderr
    assert "\n1 of 4 configurations: slower: latency of main" in done.stderr
    assert "error: standard output cannot be written: No space left on device" in done.stderr
    assert re.search(r"^.*regression-[0-9a-f]{8}", done.stderr, re.MULTILINE), "a finding that was marked as reported"


def test_what_is_here_is_checked_against_the_last_commit(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path / "the re po", "sub ü")
    made.commit()
    made.write(base=800_000)
    done = hati_here("check", "--project", str(made.project))
    assert (done.status, "\n1 of 4 configurations: faster: latency of main -1" in done.out) == (0, True), done.out
    done = hati_here("check", "--project", str(made.project), "--format", "markdown", "--fail-on", "faster")
    assert done.status == 1
    assert done.out.startswith("<!-- hati check sub ü -->\n")
    assert git(made.top, "status", "--porcelain").endswith('tuning"')


def test_a_working_tree_without_changes_is_refused(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path / "repo", "sub")
    made.commit()
    done = hati_here("check", "--project", str(made.project))
    assert (done.status, done.out) == (2, "")
    said = " ".join(done.err.split())
    assert "nothing here differs from the reference, HEAD (" in said
    assert "check the last commit by `hati check HEAD`" in said
    assert hati_here("check", "--dry-run", "--reference", "HEAD", folder=made.project).status == 0
    (made.top / "library").write_text("of the program\n")
    git(made.top, "add", "--all")
    assert hati_here("check", "--dry-run", folder=made.project).status == 0, "a change next to the project"


def test_a_revision_that_does_not_work_is_not_measured(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    made.commit()
    made.commit(broken="yes")
    done = hati_here("check", "HEAD", "--reference", "previous", "--format", "junit")
    assert done.status == 4, done.err
    [case] = ET.fromstring(done.out)
    assert "no such symbol" in str(case[0].text)
    done = hati_here("check", "HEAD~1", "--reference", "HEAD")
    assert (done.status, done.out) == (4, "")
    said = " ".join(done.err.split())
    assert "the reference HEAD" in said
    assert "no such symbol" in said
    assert "name one that works by --reference" in said
    made.commit(broken="yes")
    done = hati_here("check", "HEAD", "--reference", "HEAD~1")
    assert (done.status, "Traceback" in done.err) == (4, False)
    assert git(tmp_path, "worktree", "list").count("\n") == 0
    assert not (tmp_path / ".hati" / "trees").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("check", "mian"), "'mian' is not a revision of"),
        (("check", "HEAD", "--reference", "HEAD"), "is the reference itself"),
        (("check", "HEAD", "--reference", "mian"), "'mian' is not a revision of"),
        (("check", "./nowhere"), "there is no folder"),
        (("check", "HEAD", "--alpha", "0"), "alpha is a probability"),
        (("check", "HEAD", "--alpha", "two"), "is not a percentage"),
        (("check", "HEAD", "--margin", "100%"), "is not a percentage"),
        (("check", "HEAD", "--budget", "3"), "9 are the fewest that can decide at 1 %; give --budget 18 or more"),
        (("check", "HEAD", "--budget", "soon"), "is not a valid budget"),
        (("check", "HEAD", "--fail-on", "sloer"), "is not a verdict that can fail"),
        (("check", "HEAD", "--benchmark", "none"), "there is no benchmark 'none'"),
        (("check", "HEAD", "--report", "pdf=x"), "--report: there is no format"),
        (("check", "HEAD", "--report", "json=nowhere/x"), "cannot be written"),
        (("check", "HEAD", "--report", "json=x", "--report", "junit=./x"), "x is written twice"),
        (("bisect", "HEAD", "HEAD~1"), "does not come after"),
        (("bisect", "HEAD", "HEAD"), "are the same revision"),
        (("bisect", "HEAD~1", "HEAD", "--budget", "1"), "1 run is no pair of both revisions; give --budget 2 or more"),
        (("bisect", "other", "HEAD"), "does not come from"),
        (("bisect", "HEAD~1", "."), "is not a revision of a repository"),
        (("bisect", "HEAD~1", "HEAD", "--set", "a=no"), "is not a setting of option 'a'"),
        (("bisect", "HEAD~1", "HEAD", "--metric", "m"), "has no metric 'm'"),
        (("history", "--revisions", "HEAD"), "is not a range of revisions"),
        (("history", "--revisions", "HEAD..HEAD"), "are the same revision"),
        (("history", "--revisions", "HEAD~1..HEAD", "--every", "week"), "neither a number"),
        (("history", "--revisions", "HEAD~1..HEAD", "--order", "up"), "there is no order 'up'"),
        (("history", "--revisions", "HEAD~1..HEAD", "--runs", "1"), "among 8 revisions or more"),
        (("compare-effects", "HEAD", "HEAD"), "name two revisions"),
        (("compare-effects", "HEAD~1", "HEAD", "--budget", "3"), "give --budget"),
        (("findings", "acknowledge", "x", "--author", "a", "--reason", "b"), "there is no finding 'x'"),
        (("findings", "acknowledge", "x", "--author", "a"), "'--reason'; see `hati findings acknowledge --help`"),
        (("findings", "--nonsense"), "see `hati findings --help`"),
        (("findings", "--state", "old"), "there is no state 'old'"),
    ],
)
def test_what_is_wrong_is_told_in_a_line(
    two_commits: Path, arguments: tuple[str, ...], message: str, hati_here: Hati
) -> None:
    done = hati_here(*arguments, folder=two_commits)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert len(done.err.splitlines()) <= 3
    assert "Traceback" not in done.err


@pytest.fixture(scope="module")
def two_commits(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = evolving(tmp_path_factory.mktemp("two"))
    made.commit()
    made.commit()
    git(made.top, "checkout", "--quiet", "--orphan", "other")
    git(made.top, "commit", "--quiet", "--message", "unrelated")
    git(made.top, "checkout", "--quiet", "main")
    return made.top


def test_without_a_repository_folders_are_left(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    made.write()
    shutil.rmtree(tmp_path / ".git")
    for arguments in (("check", "HEAD"), ("bisect", "a", "b"), ("compare-effects", "a", "b")):
        done = hati_here(*arguments)
        assert (done.status, "in no git or svn repository" in done.err) == (2, True), done.err
    assert "no repository to find the previous revision in" in hati_here("check").err
    assert "no repository with a past" in hati_here("history", "--revisions", "a..b").err
    shutil.copytree(tmp_path, tmp_path / "before", ignore=shutil.ignore_patterns(".hati", "before"))
    made.write(base=1_300_000)
    done = hati_here("check", ".", "--reference", "./before", "--dry-run")
    assert done.status == 0, done.err


def test_a_folder_that_is_edited_meanwhile_is_not_measured(
    tmp_path: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = evolving(tmp_path)
    made.commit()
    made.write(base=1_100_000)
    put = Folder.put

    def late(folder: Folder, name: str, place: Path) -> None:
        made.write(base=1_300_000)
        put(folder, name, place)

    monkeypatch.setattr(Folder, "put", late)
    done = hati_here("check", ".", "--budget", "40")
    assert (done.status, done.out) == (4, "")
    assert done.err.splitlines()[-1].startswith(f"error: {tmp_path} was edited before its files were copied: tuning;")
    assert {run["outcome"] for run in hati_here("runs", "--format", "json").json} <= {"done"}
    monkeypatch.undo()


def test_a_repository_that_is_broken_is_told(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    commit = made.commit()
    made.commit()
    lost = tmp_path / ".git" / "objects" / commit[:2] / commit[2:]
    lost.chmod(0o644)
    lost.write_bytes(b"")
    for arguments in (("check", "HEAD", "--reference", "previous"), ("bisect", "HEAD~1", "HEAD")):
        done = hati_here(*arguments)
        assert (done.status, "git: " in done.err) == (2, True), done.err
        assert "Traceback" not in done.err
    (tmp_path / ".git" / "HEAD").write_text("nothing")
    assert "git cannot read the repository" in hati_here("check").err


def test_without_git_it_is_told(tmp_path: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch) -> None:
    evolving(tmp_path).commit()
    monkeypatch.setenv("PATH", "/nowhere")
    done = hati_here("check", "HEAD")
    assert (done.status, "git is not installed" in done.err) == (2, True)


def test_a_file_that_cannot_be_read_is_told(tmp_path: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(path: Path) -> tuple[str, bytes]:
        raise PermissionError(errno.EACCES, "Permission denied")

    evolving(tmp_path).commit()
    monkeypatch.setattr(trees, "_content", refused)
    done = hati_here("check", ".")
    assert done.status == 2
    assert "cannot read" in done.err
    assert "Permission denied" in done.err


def test_a_pinned_reference_that_is_none_is_told_with_its_place(tmp_path: Path, hati_here: Hati) -> None:
    evolving(tmp_path, extra='\n[check]\nreference = "nope"\n').commit()
    done = hati_here("check", "HEAD")
    assert (done.status, "hati.toml:17:13: 'nope' is not a revision of" in done.err) == (2, True), done.err
    assert "hati.toml" not in hati_here("check", "HEAD", "--reference", "mian").err


def test_a_pinned_folder_is_looked_for_from_the_project(tmp_path: Path, hati_here: Hati) -> None:
    evolving(tmp_path, extra='\n[check]\nreference = "./before"\n').commit()
    (tmp_path / "elsewhere" / "before").mkdir(parents=True)
    done = hati_here("check", "HEAD", "--project", str(tmp_path), folder=tmp_path / "elsewhere")
    assert f"there is no folder {tmp_path}/before" in done.err


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("reference = 3", "17:13: reference: expected text"),
        ('refrence = "main"', "17:1: unknown key 'refrence'; did you mean 'reference'?"),
        ('budget = "soon"', "17:10: 'soon' is not a valid budget"),
        ("budget = -1", "17:10: budget: expected an integer"),
        ("configurations = 1", "17:18: configurations: expected an array"),
        ("configurations = [1]", "17:19: configurations: expected a table"),
        ('configurations = [{ c = "on" }]', "17:19: unknown option 'c'"),
        ('configurations = [{ a = "no" }]', "17:19: 'no' is not a setting of option"),
        ("configurations = [{ a = [] }]", "17:21: a: expected a setting"),
    ],
)
def test_the_table_of_checks_is_read_with_its_places(
    two_commits: Path, table: str, message: str, hati_here: Hati, tmp_path: Path
) -> None:
    text = (two_commits / "hati.toml").read_text()
    (tmp_path / "hati.toml").write_text(f"{text}\n[check]\n{table}\n")
    done = hati_here("check", "HEAD")
    assert done.status == 2
    assert f"hati.toml:{message}" in done.err, done.err


TEMPLATED = """
[[benchmark]]
name = "main"
command = ["python3", "-S", "serve.py", "{file:server.conf}", "{repetition}"]

[[benchmark.file]]
path = "server.conf"
template = "server.conf.j2"

[[benchmark.metric]]
name = "latency"
unit = "s"
"""
SERVE = """import json, random, sys
value = float(open(sys.argv[1]).read()) * random.Random(sys.argv[2]).gauss(1, 0.005)
print(json.dumps({"metric": "latency", "value": value}))
"""


def test_each_revision_has_its_own_templates(tmp_path: Path, hati_here: Hati) -> None:
    (tmp_path / "hati.toml").write_text(TEMPLATED)
    (tmp_path / "serve.py").write_text(SERVE)
    git(tmp_path, "init", "--quiet")
    for cost in ("0.02", "0.03"):
        (tmp_path / "server.conf.j2").write_text(f"{cost}\n")
        git(tmp_path, "add", "hati.toml", "serve.py", "server.conf.j2")
        git(tmp_path, "-c", "user.name=me", "-c", "user.email=me@here", "commit", "--quiet", "--message", cost)
    done = hati_here("check", "HEAD", "--reference", "HEAD~1", "--format", "json")
    assert (done.status, done.json["verdict"]) == (1, "slower"), done.err
    back = hati_here("check", "HEAD~1", "--reference", "HEAD", "--format", "json")
    assert (back.status, back.json["verdict"]) == (0, "faster"), back.err


def test_a_revision_before_a_template_has_todays(tmp_path: Path, hati_here: Hati) -> None:
    (tmp_path / "hati.toml").write_text(TEMPLATED)
    (tmp_path / "serve.py").write_text(SERVE)
    git(tmp_path, "init", "--quiet")
    for names in (("hati.toml", "serve.py"), ("server.conf.j2",)):
        (tmp_path / "server.conf.j2").write_text("0.02\n")
        git(tmp_path, "add", *names)
        git(tmp_path, "-c", "user.name=me", "-c", "user.email=me@here", "commit", "--quiet", "--message", names[0])
    done = hati_here("check", "HEAD", "--reference", "HEAD~1", "--format", "json")
    assert (done.status, done.json["verdict"]) == (0, "same"), done.err
