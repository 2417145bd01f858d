"""Pipelines that ``hati init --ci`` writes: as their services want them, and with commands that do what they say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from gate_projects import evolving, git

if TYPE_CHECKING:
    from conftest import Hati

GH = """#!PYTHON
import json, os, sys
words = sys.argv[1:]
assert words.pop(0) == "api", words
method = "GET"
options = {}
while words:
    word = words.pop(0)
    if word in {"--method", "--jq", "-F"}:
        options[word] = words.pop(0)
    elif word != "--paginate":
        url = word
place = os.environ["COMMENTS_FILE"]
comments = json.load(open(place))
if "-F" in options:
    name, _, file = options["-F"].partition("=@")
    assert name == "body"
    text = open(file).read()
    if options.get("--method") == "PATCH":
        [known] = [one for one in comments if one["url"] == url]
        known["body"] = text
    else:
        assert url == "repos/me/it/issues/7/comments", url
        comments.append({"url": f"https://x/{len(comments)}", "user": {"type": "Bot"}, "body": text})
    json.dump(comments, open(place, "w"))
else:
    assert options["--jq"] == '.[] | select(.user.type == "Bot" and (.body | startswith(env.MARK))) | .url'
    mark = os.environ["MARK"]
    for one in comments:
        if one["user"]["type"] == "Bot" and one["body"].startswith(mark):
            print(one["url"])
"""


class Strict(yaml.SafeLoader):
    """``on`` is a name, not a truth."""


Strict.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in known if tag != "tag:yaml.org,2002:bool"]
    for first, known in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def parsed(text: str) -> Any:
    return yaml.load(text, Strict)


def test_a_pipeline_is_written_at_the_top_of_the_repository(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path / "re po", "it's ü/b")
    done = hati_here("init", "--ci", "github", str(made.project))
    assert done.status == 0, done.err
    file = made.top / ".github" / "workflows" / "hati-it's ü-b.yml"
    workflow = parsed(file.read_text())
    assert workflow["on"] == "pull_request"
    assert workflow["permissions"] == {"contents": "read", "pull-requests": "write"}
    steps = workflow["jobs"]["check"]["steps"]
    assert steps[0]["with"]["fetch-depth"] == 0
    restore, save = (one["with"] for one in steps if "cache" in one.get("uses", ""))
    assert restore["path"] == save["path"] == "it's ü/b/.hati/store.sqlite"
    assert save["key"].startswith(restore["restore-keys"])
    assert save["key"] != restore["key"]
    assert any("--project 'it'\"'\"'s ü/b'" in one.get("run", "") for one in steps)


def test_a_file_that_is_there_stays_unless_forced(tmp_path: Path, hati_here: Hati) -> None:
    evolving(tmp_path)
    file = tmp_path / ".gitlab-ci.yml"
    file.write_text("own: {}\n")
    refused = hati_here("init", "--ci", "gitlab")
    assert (refused.status, file.read_text()) == (2, "own: {}\n")
    assert "--output -" in refused.err
    printed = hati_here("init", "--ci", "gitlab", "--output", "-")
    assert hati_here("init", "--ci", "gitlab", "--force").status == 0
    assert file.read_text() == printed.out
    assert (
        hati_here("init", "--ci", "gitlap").err.strip().endswith("did you mean gitlab?")
        or "gitlab" in hati_here("init", "--ci", "gitlap").err
    )


def test_the_pipeline_of_gitlab_reports_junit(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    base = made.commit()
    made.commit(base=1_300_000)
    job = parsed(hati_here("init", "--ci", "gitlab", "--output", "-").out)["hati"]
    assert job["artifacts"] == {"when": "always", "reports": {"junit": "hati.xml"}}
    assert job["cache"]["paths"] == [".hati/store.sqlite"]
    assert job["cache"]["when"] == "always"
    done = shell(job["script"][1], tmp_path, {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base})
    assert done.returncode == 1, done.stderr
    assert 'failures="1"' in (tmp_path / "hati.xml").read_text()


def test_the_workflow_of_github_keeps_one_comment_up_to_date(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path / "repo")
    made.commit()
    git(tmp_path, "clone", "--quiet", "--bare", "repo", "origin")
    git(made.top, "remote", "add", "origin", str(tmp_path / "origin"))
    git(made.top, "fetch", "--quiet", "origin")
    git(made.top, "checkout", "--quiet", "-b", "change")
    made.commit(base=1_300_000)
    comments = tmp_path / "comments.json"
    others = [
        {"url": "https://x/0", "user": {"type": "User"}, "body": "<!-- hati check -->\nquoted"},
        {"url": "https://x/1", "user": {"type": "Bot"}, "body": "<!-- hati check other -->\n"},
    ]
    comments.write_text(json.dumps(others))
    gh = tmp_path / "bin" / "gh"
    gh.parent.mkdir()
    gh.write_text(GH.replace("PYTHON", sys.executable))
    gh.chmod(0o755)
    workflow = parsed(hati_here("init", "--ci", "github", "--output", "-", folder=made.top).out)
    check, comment = (one for one in workflow["jobs"]["check"]["steps"] if "\n" in one.get("run", ""))
    around = {
        "GITHUB_BASE_REF": "main",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "COMMENTS_FILE": str(comments),
        "PATH": f"{gh.parent}{os.pathsep}{os.environ['PATH']}",
    }
    done = shell(check["run"], made.top, around)
    assert done.returncode == 1, done.stderr
    assert "::error title=main latency::slower: +3" in done.stdout
    for text in ("", "measured again\n"):
        with (made.top / "hati.md").open("a") as file:
            file.write(text)
        assert shell(comment["run"], made.top, around | filled(comment["env"])).returncode == 0
    known = json.loads(comments.read_text())
    assert known[:2] == others
    assert [one["body"] for one in known[2:]] == [(made.top / "hati.md").read_text()]
    assert known[2]["body"].endswith("measured again\n")
    assert "**hati check: 1 of 4 configurations: slower: " in (tmp_path / "summary.md").read_text()


def filled(environment: dict[str, str]) -> dict[str, str]:
    """What GitHub puts in the place of its expressions."""
    known = {"github.token": "t", "github.repository": "me/it", "github.event.number": "7"}
    return {
        name: re.sub(r"\$\{\{ (.*?) \}\}", lambda found: known[found[1]], value) for name, value in environment.items()
    }


def shell(script: str, folder: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """As both services run scripts: any command that fails ends them."""
    own = {**os.environ, "HATI_LOCK": str(folder.parent / "lock"), **environment}
    own.pop("HATI_STORE", None)
    return subprocess.run(
        ["bash", "-e", "-c", script], cwd=folder, env=own, capture_output=True, text=True, check=False
    )
