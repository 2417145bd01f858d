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
from evolving import LATENCY, OPTION, SETTING, Commit, Kind, an_evolving_repository

pytestmark = pytest.mark.acceptance

HATI = str(Path(sys.executable).with_name("hati"))
EXPECTED = {Kind.SLOWER_SETTING: 1, Kind.BROKEN: 4}
TRIES = 5
HALVES = 2
CHECKED = (*range(1, 12), *range(29, 33))
"""Numbers of commits, with each kind among them."""


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Commit]]:
    folder = tmp_path_factory.mktemp("evolving") / "repo"
    return folder, an_evolving_repository(folder, seed=0)


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


def named(found: Any) -> dict[str, dict[Any, float]]:
    """Of each option that carries a change the ratio at each of its settings."""
    options: dict[str, dict[Any, float]] = {}
    for carrier in found["options"]:
        options.setdefault(carrier["option"], {})[carrier["setting"]] = carrier["ratio"]
    return options


@pytest.mark.parametrize("half", range(HALVES))
def test_each_change_is_checked_rightly(repository: tuple[Path, list[Commit]], half: int) -> None:
    folder, commits = repository
    tree = checksum(folder)
    wrong = []
    for commit in [commits[number] for number in CHECKED[half::HALVES]]:
        reference = before(commits, commit).revision
        status, found = hati(folder, "check", commit.revision, "--reference", reference)
        if status != EXPECTED.get(commit.kind, 0):
            wrong.append((commit, status, found))
        elif commit.kind is Kind.SLOWER_SETTING:
            assert named(found) == {OPTION: {-2000: pytest.approx(1.0, abs=0.15), SETTING: pytest.approx(1.3, abs=0.2)}}
        elif commit.kind is Kind.FASTER:
            assert (found["verdict"], named(found)) == ("faster", {})
    # An A/A check errs in one of a hundred at most.
    assert len(wrong) <= 1, wrong
    assert all(commit.kind is not Kind.SLOWER_SETTING for commit, _, _ in wrong)
    assert checksum(folder) == tree
    assert not (folder / ".hati" / "trees").exists()


def test_time_tells_as_well(tmp_path: Path) -> None:
    """However much it varies on this machine: there are rounds enough for a fifth of a run's value."""
    folder = tmp_path / "repo"
    commits = an_evolving_repository(folder, 0, LATENCY)
    commit = of_kind(commits, Kind.SLOWER_SETTING)
    words = ["--reference", before(commits, commit).revision, "--budget", "800"]
    status, found = hati(folder, "check", commit.revision, *words)
    assert (status, found["verdict"]) == (1, "slower")


def test_the_option_whose_effect_changed_is_named(repository: tuple[Path, list[Commit]]) -> None:
    folder, commits = repository
    commit = of_kind(commits, Kind.SLOWER_SETTING)
    status, found = hati(folder, "compare-effects", before(commits, commit).revision, commit.revision)
    assert status == 0
    effects = found["effects"]
    changed = [option for option in effects if option["changed"]]
    assert [option["options"] for option in changed] == [[OPTION]], changed
    assert {"automatic_index", "foreign_keys"} < {name for option in effects for name in option["options"]}


@pytest.mark.parametrize("kind", [Kind.SLOWER_SETTING, Kind.FASTER])
def test_commits_are_found(repository: tuple[Path, list[Commit]], kind: Kind) -> None:
    folder, commits = repository
    commit = of_kind(commits, kind)
    hits = 0
    for attempt in range(TRIES):
        good = commits[max(0, commit.number - 4 - attempt)]
        bad = commits[min(len(commits) - 1, commit.number + 3 + attempt)]
        words = ["--set", f"{OPTION}={SETTING}", "--seed", str(attempt)]
        _, found = hati(folder, "bisect", good.revision, bad.revision, *words)
        hits += commit.revision in {candidate for one in found["commits"] for candidate in one["candidates"]}
    assert hits >= TRIES - 1


def test_the_commit_that_cannot_be_built_is_passed_over(repository: tuple[Path, list[Commit]]) -> None:
    folder, commits = repository
    commit = of_kind(commits, Kind.SLOWER_SETTING)
    _, found = hati(
        folder, "bisect", commits[0].revision, commits[-1].revision, "--set", f"{OPTION}={SETTING}", "--fresh"
    )
    assert commit.revision in {candidate for one in found["commits"] for candidate in one["candidates"]}


def test_drift_and_steps_show_in_the_past(repository: tuple[Path, list[Commit]]) -> None:
    folder, commits = repository
    span = f"{commits[0].revision}..{commits[-1].revision}"
    # The median of steps does not vary between runs: by it each commit of the drift is a step, and nothing drifts.
    status, found = hati(folder, "history", "--revisions", span, "--runs", "3", "--statistic", "mean")
    assert status == 0
    [whole] = [one for one in found["series"] if one["benchmark"] == "orders steps"]
    steps = [change["verdict"] for change in whole["change_points"]]
    assert {"slower", "faster"} <= set(steps)
    # Of 38 positions a line does clearly better than steps in four histories of five; else the drift is several steps.
    assert whole["trend"]["verdict"] == "slower" or steps.count("slower") > 1
    assert len(found["skipped"]) == 1
