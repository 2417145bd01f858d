"""What a repository's users would ask of its 40 commits, measured on the real program."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from evolving import OPTION, SETTING, Commit, Kind, an_evolving_repository

pytestmark = pytest.mark.acceptance

HATI = str(Path(sys.executable).with_name("hati"))
EXPECTED = {Kind.SLOWER_SETTING: 1, Kind.BROKEN: 4}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Commit]]:
    folder = tmp_path_factory.mktemp("evolving") / "repo"
    return folder, an_evolving_repository(folder, seed=1)


def hati(folder: Path, *words: str) -> tuple[int, Any]:
    environment = {**os.environ, "HATI_LOCK": str(folder.parent / "lock")}
    done = subprocess.run(
        [HATI, *words, "--format", "json"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout) if done.stdout.strip() else done.stderr


def of_kind(commits: list[Commit], kind: Kind) -> Commit:
    return next(commit for commit in commits if commit.kind is kind)


def before(commits: list[Commit], commit: Commit) -> Commit:
    """The newest one before that builds."""
    return next(c for c in reversed(commits[: commit.number]) if c.kind is not Kind.BROKEN)


def checksum(folder: Path) -> str:
    whole = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_file() and ".hati" not in path.relative_to(folder).parts:
            whole.update(str(path.relative_to(folder)).encode() + path.read_bytes())
    return whole.hexdigest()


def test_each_change_is_checked_rightly(repository: tuple[Path, list[Commit]]) -> None:
    folder, commits = repository
    tree = checksum(folder)
    wrong = []
    for commit in commits[1:]:
        reference = before(commits, commit).revision
        status, found = hati(folder, "check", commit.revision, "--reference", reference)
        if status != EXPECTED.get(commit.kind, 0):
            wrong.append((commit, status, found))
        elif commit.kind is Kind.SLOWER_SETTING:
            assert {carrier["option"] for carrier in found["options"]} == {OPTION}
            ratios = {carrier["setting"]: carrier["ratio"] for carrier in found["options"]}
            assert ratios[SETTING] == pytest.approx(1.3, abs=0.1)
        elif commit.kind is Kind.FASTER:
            assert found["verdict"] == "faster"
    assert not wrong
    assert checksum(folder) == tree
    assert not (folder / ".hati" / "trees").exists()


def test_the_option_whose_effect_changed_is_named(repository: tuple[Path, list[Commit]]) -> None:
    folder, commits = repository
    commit = of_kind(commits, Kind.SLOWER_SETTING)
    status, found = hati(
        folder, "compare-effects", before(commits, commit).revision, commit.revision, "--metric", "latency"
    )
    assert status == 0
    assert [option["options"] for option in found if option["changed"]] == [[OPTION]]


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("kind", [Kind.SLOWER_SETTING, Kind.FASTER])
def test_the_commit_is_found(repository: tuple[Path, list[Commit]], kind: Kind, seed: int) -> None:
    folder, commits = repository
    commit = of_kind(commits, kind)
    good = commits[max(0, commit.number - 4 - seed)]
    bad = commits[min(len(commits) - 1, commit.number + 3 + seed)]
    words = ["--set", f"{OPTION}={SETTING}", "--metric", "latency", "--seed", str(seed)]
    _, found = hati(folder, "bisect", good.revision, bad.revision, *words)
    assert commit.revision in {candidate for one in found["commits"] for candidate in one["candidates"]}


def test_drift_and_steps_show_in_the_past(repository: tuple[Path, list[Commit]]) -> None:
    folder, commits = repository
    span = f"{commits[0].revision}..{commits[-1].revision}"
    status, found = hati(folder, "history", "--revisions", span, "--runs", "3", "--metric", "latency")
    assert status == 0
    [whole] = [one for one in found["series"] if one["benchmark"] == "orders latency"]
    steps = {change["verdict"] for change in whole["change_points"]}
    assert {"slower", "faster"} <= steps
    assert whole["trend"]["verdict"] == "slower"
    assert len(found["skipped"]) == 1
