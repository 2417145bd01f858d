"""Pipelines that ``hati init --ci`` writes: as their services want them, and with steps that do what they say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from ci_services import GitHub, Machine, Strict, gitlab_job, groovy_text, jenkins_steps, parsed
from gate_projects import Evolving, evolving, git

from hati.project import pipelines

if TYPE_CHECKING:
    from conftest import Hati

ROOT = Path(__file__).resolve().parents[2]
SLOWER = 1_300_000
SERVICES = ("github", "gitlab", "jenkins")
PINNED = "hati==1.2.3"

GH = """#!PYTHON
import json, os, sys
words = sys.argv[1:]
assert words.pop(0) == "api", words
method, fields, jq, url = None, {}, "", ""
while words:
    word = words.pop(0)
    if word == "--method":
        method = words.pop(0)
    elif word in {"-f", "-F"}:
        name, _, value = words.pop(0).partition("=")
        fields[name] = open(value[1:]).read() if word == "-F" and value.startswith("@") else value
    elif word == "--jq":
        jq = words.pop(0)
    elif word not in {"--paginate", "--silent"}:
        url = word
method = method or ("POST" if fields else "GET")
kept = json.load(open(os.environ["COMMENTS"]))
if url == "repos/me/it/pulls":
    assert (method, fields["state"]) == ("GET", "open")
    assert jq == "[.[] | select(.head.sha == env.COMMIT)][0].number // empty"
    heads = [one for one in kept["pulls"] if one["head"] == fields["head"] and one["sha"] == os.environ["COMMIT"]]
    print(heads[0]["number"] if heads else "")
elif method == "GET":
    assert url == "repos/me/it/issues/7/comments", url
    assert jq == '.[] | select(.user.login == "github-actions[bot]" and (.body | startswith(env.MARK))) | .url'
    for one in kept["comments"]:
        if one["login"] == "github-actions[bot]" and one["body"].startswith(os.environ["MARK"]):
            print(one["url"])
elif method == "PATCH":
    [known] = [one for one in kept["comments"] if one["url"] == url]
    known["body"] = fields["body"]
else:
    assert (method, url) == ("POST", "repos/me/it/issues/7/comments")
    kept["comments"].append({"url": f"https://x/{len(kept['comments'])}", "login": "github-actions[bot]", **fields})
json.dump(kept, open(os.environ["COMMENTS"], "w"))
"""


class Release:
    """A distribution from an index."""

    version = "1.2.3"

    def read_text(self, name: str) -> None:
        assert name == "direct_url.json"


@pytest.fixture
def released(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pipelines, "distribution", lambda _: Release())


def workflows(made: Evolving, hati_here: Hati) -> tuple[dict[str, Any], dict[str, Any]]:
    done = hati_here("init", "--ci", "github", str(made.project), folder=made.top)
    assert done.status == 0, done.err
    name = "-".join(("hati", *made.project.relative_to(made.top).parts))
    folder = made.top / ".github" / "workflows"
    check, comment = (parsed((folder / f"{name}{suffix}.yml").read_text()) for suffix in ("", "-comment"))
    return check, comment


def pull_request(made: Evolving, base: int) -> dict[str, Any]:
    """The event of a pull request with one commit."""
    git(made.top, "checkout", "--quiet", "-b", "change")
    commit = made.commit(base=base)
    git(made.top, "checkout", "--quiet", "main")
    return {"pull_request": {"number": 7, "head": {"sha": commit}}}


@pytest.mark.usefixtures("released")
def test_the_pull_request_reads_the_store_that_the_main_branch_wrote(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path / "origin", "it's ü/b")
    first, second = made.commit(), made.commit()
    check, _ = workflows(made, hati_here)
    github = GitHub(made.top, Machine.beside(tmp_path))
    summary = tmp_path / "summary.md"
    around = {"GITHUB_STEP_SUMMARY": str(summary)}
    push = {"event_name": "push", "sha": second, "ref": "refs/heads/main", "event": {"before": first}}
    assert github.run(check, push, around) == "success", github.output
    assert github.machine.installed == [PINNED]
    assert len(github.cache) == 1
    assert "against " + first[:7] in summary.read_text()
    asked = {"event_name": "pull_request", "event": pull_request(made, base=SLOWER), "base_ref": "main"}
    assert github.run(check, asked, {**around, "GITHUB_BASE_REF": "main"}) == "failure"
    assert "::error title=main latency::slower: +" in github.output[-2], github.output
    assert len(github.cache) == 1, "pull requests write none"
    assert "**hati check it's ü/b: 1 of 4 configurations: slower: " in summary.read_text()
    assert github.artifacts["hati"].read_text() in summary.read_text()
    project = github.machine.folder / made.project.relative_to(made.top)
    revisions = {sample["revision"] for sample in hati_here("export", str(project)).json["samples"]}
    assert len(revisions) == 3, "two of the main branch and one of the pull request"


@pytest.mark.usefixtures("released")
def test_a_first_push_is_checked_against_the_commit_before(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path / "origin")
    first, second = made.commit(), made.commit(base=SLOWER)
    check, _ = workflows(made, hati_here)
    github = GitHub(made.top, Machine.beside(tmp_path))
    push = {"event_name": "push", "sha": second, "event": {"before": "0" * 40}}
    assert github.run(check, push, {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md")}) == "failure"
    assert "against " + first[:7] in github.artifacts["hati"].read_text()
    assert len(github.cache) == 1, "the finding is kept although the check failed"


COUNTING = """
[[benchmark]]
name = "count"
command = ["sh", "program.sh"]
reader = "process"
[[benchmark.metric]]
name = "instructions"
"""


@pytest.mark.parametrize("service", SERVICES)
def test_a_pipeline_installs_what_counts(tmp_path: Path, hati_here: Hati, service: str) -> None:
    timed, counted = (evolving(tmp_path / name, extra=extra) for name, extra in (("timed", ""), ("counted", COUNTING)))
    without = hati_here("init", "--ci", service, str(timed.project), "--output", "-")
    done = hati_here("init", "--ci", service, str(counted.project), "--output", "-")
    assert (without.status, done.status) == (0, 0), done.err
    assert "valgrind" not in without.out
    assert "a benchmark of `instructions` (reader `process`) finds smaller changes" in without.err
    assert re.search(r"apt-get install --yes valgrind$|packages, too: valgrind\.$", done.out, re.MULTILINE)
    assert "smaller changes" not in done.err
    assert len(done.out.splitlines()) == len(without.out.splitlines()) + 1


def test_the_workflow_has_limits_and_no_rights_to_write(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    git(tmp_path, "checkout", "--quiet", "-b", "trunk")
    made.commit()
    check, comment = workflows(made, hati_here)
    assert check["on"] == {"pull_request": None, "push": {"branches": ["trunk"]}}
    assert check["permissions"] == {"contents": "read"}
    assert comment["permissions"] == {"actions": "read", "pull-requests": "write"}
    assert comment["on"]["workflow_run"]["workflows"] == [check["name"]]
    assert not any("checkout" in step.get("uses", "") for step in comment["jobs"]["comment"]["steps"])
    assert all(job["timeout-minutes"] <= 60 for workflow in (check, comment) for job in workflow["jobs"].values())
    assert check["concurrency"]["cancel-in-progress"] == "${{ github.event_name == 'pull_request' }}"


@pytest.mark.usefixtures("released")
def test_one_comment_of_a_fork_s_pull_request_is_kept_up_to_date(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path / "origin", "sub")
    made.commit()
    _, comment = workflows(made, hati_here)
    github = GitHub(made.top, Machine.beside(tmp_path))
    github.machine.add("gh", GH.replace("PYTHON", sys.executable))
    others = [
        {"url": "https://x/0", "login": "someone", "body": "<!-- hati check sub -->\nquoted"},
        {"url": "https://x/1", "login": "github-actions[bot]", "body": "<!-- hati check other -->\n"},
    ]
    pulls = [{"head": "them:change", "sha": "c0ffee", "number": 7}]
    comments = tmp_path / "comments.json"
    comments.write_text(json.dumps({"comments": others, "pulls": pulls}))
    fork = {"owner": {"login": "them"}, "full_name": "them/it"}
    ended = {"id": 5, "event": "pull_request", "head_sha": "c0ffee", "head_branch": "change", "head_repository": fork}

    def outcome(**changed: object) -> str:
        event = {"workflow_run": {**ended, **changed}}
        known = {"token": "t", "repository": "me/it", "event": event}
        return github.run(comment, known, {"COMMENTS": str(comments)})

    def comments_after(**changed: object) -> list[str]:
        assert outcome(**changed) in {"success", "skipped"}, github.output
        kept = json.loads(comments.read_text())["comments"]
        assert kept[:2] == others
        return [one["body"] for one in kept[2:]]

    assert comments_after() == [], "nothing was uploaded"
    report = tmp_path / "report.md"
    github.artifacts["hati"] = report
    for text in ("<!-- hati check sub -->\nmeasured\n", "<!-- hati check sub -->\nmeasured again\n"):
        report.write_text(text)
        assert comments_after() == [text]
    report.write_text("<!-- hati check sub -->\nof an older commit\n")
    assert comments_after(head_sha="abad1dea") == [text]
    assert comments_after(event="push") == [text]
    report.write_text("<!-- hati check other -->\nof another project\n")
    assert outcome() == "failure"


@pytest.mark.usefixtures("released")
def test_the_pipeline_of_gitlab_reports_junit_and_keeps_the_store(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path / "workspace")
    first, _ = made.commit(), made.commit(base=SLOWER)
    pipeline = parsed(hati_here("init", "--ci", "gitlab", "--output", "-", folder=made.top).out)
    machine = Machine.beside(tmp_path)
    merge, main = gitlab_job(pipeline, "hati"), gitlab_job(pipeline, "hati-main")
    kept = {"key": "hati", "paths": [".hati/store.sqlite"], "unprotect": "true", "when": "always"}
    for job, policy in ((merge, "pull"), (main, "pull-push")):
        assert job["cache"] == {**kept, "policy": policy}
        assert job["artifacts"]["reports"] == {"junit": "hati.xml"}
        assert job["timeout"] == "1h"
        assert str(job["variables"]["GIT_DEPTH"]) == "0"
    assert merge["interruptible"] == "true"
    assert main["resource_group"] == "hati"
    for job, given in ((merge, {"CI_MERGE_REQUEST_DIFF_BASE_SHA": first}), (main, {"CI_COMMIT_BEFORE_SHA": "0" * 40})):
        (made.top / "hati.xml").unlink(missing_ok=True)
        done = run_all(machine, [*job["before_script"], *job["script"]], {**variables(job), **given})
        assert done.returncode == 1, done.stderr
        assert 'failures="1"' in (made.top / "hati.xml").read_text()
    assert machine.installed == [PINNED, PINNED]


@pytest.mark.usefixtures("released")
def test_gitlab_measures_the_source_and_not_the_merged_result(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path / "workspace")
    first, source = made.commit(), made.commit()
    made.commit(base=SLOWER)  # the merged result
    pipeline = parsed(hati_here("init", "--ci", "gitlab", "--output", "-", folder=made.top).out)
    job = gitlab_job(pipeline, "hati")
    given = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": first, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": source}
    done = run_all(Machine.beside(tmp_path), job["script"], {**variables(job), **given})
    assert done.returncode == 0, done.stderr


def variables(job: dict[str, Any]) -> dict[str, str]:
    return {name: str(value) for name, value in job["variables"].items()}


def run_all(machine: Machine, scripts: list[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    for script in scripts:
        done = machine.run(script, environment)
        if done.returncode:
            break
    return done


@pytest.mark.usefixtures("released")
def test_the_jenkinsfile_runs_and_reads_the_store_of_the_target_branch(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path / "origin", "it's ü/b")
    made.commit()
    changed = pull_request(made, base=SLOWER)["pull_request"]["head"]["sha"]
    text = hati_here("init", "--ci", "jenkins", "--output", "-", str(made.project), folder=made.top).out
    assert_balanced(text)
    machine = Machine.beside(tmp_path)
    git(tmp_path, "clone", "--quiet", "origin", "workspace")
    git(machine.folder, "checkout", "--quiet", changed)
    own = machine.folder / "it's ü" / "b" / ".hati"
    own.mkdir()
    (own / "store.sqlite-wal").write_text("of an earlier build")
    around = {"WORKSPACE_TMP": str(tmp_path / "work space"), "CHANGE_TARGET": "main"}
    around["HATI_REQUIREMENT"] = groovy_text(re.findall(r"HATI_REQUIREMENT = '(.*)'", text)[0])
    kinds = []
    for kind, content in jenkins_steps(text):
        kinds.append(kind)
        if kind == "sh":
            done = machine.run(content, around, ("sh", "-xe"))
        else:
            assert content == "it's ü/b/.hati/store.sqlite"
            assert not own.exists()
    assert kinds == ["sh", "copyArtifacts", "sh"]
    assert done.returncode == 1, done.stderr
    assert machine.installed == [PINNED]
    assert 'failures="1"' in (machine.folder / "hati.xml").read_text()
    assert "slower" in (machine.folder / "hati.md").read_text()


def assert_balanced(jenkinsfile: str) -> None:
    """Brackets close in order, outside of strings and comments."""
    code = re.sub(r"'''.*?(?<!\\)'''|'(?:\\.|[^'\\\n])*'|//[^\n]*", "", jenkinsfile, flags=re.DOTALL)
    assert "'" not in code
    opened = []
    for character in code:
        if character in "{(":
            opened.append(character)
        elif character in "})":
            assert opened.pop() == {"}": "{", ")": "("}[character]
    assert not opened


@pytest.mark.parametrize("service", SERVICES)
def test_what_is_not_pinned_is_to_be_filled_in(service: str, tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path / "workspace")
    made.commit()
    done = hati_here("init", "--ci", service, "--output", "-", folder=made.top)
    assert "cannot install this Hati: it is installed from a folder; set HATI_REQUIREMENT in the" in done.err
    assert "FILL IN" in done.out
    assert str(ROOT) not in done.out
    [line] = re.findall(r"^.*-m pip install .*$", done.out, re.MULTILINE)
    script = line.split("run: ")[-1].strip().removeprefix("- ")
    refused = Machine.beside(tmp_path).run(script, {"HATI_REQUIREMENT": "", "WORKSPACE_TMP": str(tmp_path)})
    assert refused.returncode != 0
    assert "to the Hati to install" in refused.stderr


@pytest.mark.usefixtures("released")
@pytest.mark.parametrize("service", SERVICES)
def test_a_pinned_pipeline_asks_for_nothing(service: str, tmp_path: Path, hati_here: Hati) -> None:
    evolving(tmp_path).commit()
    done = hati_here("init", "--ci", service, "--output", "-")
    assert "HATI_REQUIREMENT" not in done.err
    assert [line.partition(":")[0] for line in done.err.splitlines()] == ["note"]
    assert f"'{PINNED}'" in done.out
    assert "FILL IN" not in done.out


def test_a_file_that_is_there_stays_unless_forced(tmp_path: Path, hati_here: Hati) -> None:
    evolving(tmp_path)
    file = tmp_path / ".github" / "workflows" / "hati-comment.yml"
    file.parent.mkdir(parents=True)
    file.write_text("own: {}\n")
    refused = hati_here("init", "--ci", "github")
    assert (refused.status, file.read_text()) == (2, "own: {}\n")
    assert not file.with_name("hati.yml").exists(), "none is written where one cannot be"
    assert "--output -" in refused.err
    printed = hati_here("init", "--ci", "github", "--output", "-")
    assert hati_here("init", "--ci", "github", "--force").status == 0
    written = [parsed(file.with_name(name).read_text()) for name in ("hati.yml", file.name)]
    assert [*yaml.load_all(printed.out, Strict)] == written


def test_two_files_are_not_written_into_one(tmp_path: Path, hati_here: Hati) -> None:
    evolving(tmp_path)
    refused = hati_here("init", "--ci", "github", "--output", "own.yml")
    assert (refused.status, (tmp_path / "own.yml").exists()) == (2, False)
    assert "has 2 files" in refused.err
    assert hati_here("init", "--ci", "jenkins", "--output", "own").status == 0
    assert "pipeline {" in (tmp_path / "own").read_text()


def test_an_unknown_service_is_named(tmp_path: Path, hati_here: Hati) -> None:
    evolving(tmp_path)
    refused = hati_here("init", "--ci", "gitlap")
    assert refused.status == 2
    assert refused.err == "error: there is no pipeline for 'gitlap'; did you mean 'gitlab'?\n"


@pytest.mark.usefixtures("released")
def test_actionlint_finds_nothing(actionlint: str, tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path, "it's ü/b")
    made.commit()
    workflows(made, hati_here)
    release = ROOT / ".github" / "workflows" / "release.yml"
    files = [*(tmp_path / ".github" / "workflows").iterdir(), release]
    assert len(files) == 3
    done = subprocess.run([actionlint, *map(str, files)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_release_has_attestations_and_the_tag_s_version(tmp_path: Path) -> None:
    workflow = parsed((ROOT / ".github" / "workflows" / "release.yml").read_text())
    build = workflow["jobs"]["build"]
    assert build["permissions"] == {"contents": "read", "id-token": "write", "attestations": "write"}
    actions = [step.get("uses", "").partition("@")[0] for step in build["steps"]]
    assert actions.index("actions/attest-build-provenance") < actions.index("actions/upload-artifact")
    uv = re.findall(r"uv==[\d.]+", (ROOT / "scripts" / "setup").read_text())[0]
    scripts = [step["run"] for step in build["steps"] if "run" in step]
    assert uv in scripts[0], "the lock is read by the version that wrote it"
    machine = Machine.beside(tmp_path)
    (machine.folder / "dist").mkdir(parents=True)
    (machine.folder / "dist" / "hati-1.2.3-py3-none-any.whl").touch()
    assert machine.run(scripts[1], {"GITHUB_REF_NAME": "v1.2.3"}).returncode == 0
    wrong = machine.run(scripts[1], {"GITHUB_REF_NAME": "v1.2.4"})
    assert wrong.returncode == 1
    assert "hati-1.2.3-py3-none-any.whl" in wrong.stdout
