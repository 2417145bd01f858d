"""A package adds a strategy in one file, and changes none of Hati's."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest
from packages import Hati, installed, write_entry_points

from hati.steering import Requirements
from hati.store import open_store
from ledgers import a_batch

PROJECT = """
[[benchmark]]
name = "main"
command = ["true"]
reader = "process"
metric = [{ name = "wall_time", unit = "s" }]
"""


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the package of the documentation is installed."""
    return installed(tmp_path_factory.mktemp("site"), "add-a-strategy.md", "hati.strategies")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a waiting batch that needs one CPU, and a later one that needs two."""
    (tmp_path / "hati.toml").write_text(PROJECT)
    (tmp_path / ".hati").mkdir()
    with closing(open_store(str(tmp_path / ".hati" / "store.sqlite"))) as store:
        for cpus in (1, 2):
            store.ledger.release(a_batch(cpus), Requirements(cpus=cpus))
    return tmp_path


def chosen(project: Path) -> list[str | None]:
    """The reasons of the first attempts at both batches."""
    with closing(open_store(str(project / ".hati" / "store.sqlite"))) as store:
        attempts = [attempt for number in (1, 2) for attempt in store.ledger.attempts(number)]
    return [attempt.choice for attempt in sorted(attempts, key=lambda attempt: attempt.began)]


def test_a_worker_names_it(hati: Hati, package: Path, project: Path) -> None:
    assert "<fair|oldest|newest|large-first>" in hati(package, project, "worker", "--help").out
    assert "large-first" not in hati(project, project, "worker", "--help").out
    hati(package, project, "worker", "--once", "--strategy", "large-first")
    assert chosen(project)[0] == "needs 2 CPUs"


def test_the_default_takes_what_was_released_first(hati: Hati, package: Path, project: Path) -> None:
    hati(package, project, "worker", "--once")
    assert chosen(project)[0] == "released first"


def test_one_that_is_unknown_is_named(hati: Hati, project: Path) -> None:
    unknown = hati(project, project, "worker", "--once", "--strategy", "newset")
    assert (unknown.status, "there is no strategy 'newset'; did you mean 'newest'?" in unknown.err) == (2, True)


@pytest.mark.parametrize(
    "decision", ["99", "SteeringDecision([1], 'x')", "SteeringDecision(1, 5)", "SteeringDecision(None, None)"]
)
def test_a_wrong_decision_names_its_strategy(
    hati: Hati, project: Path, tmp_path_factory: pytest.TempPathFactory, decision: str
) -> None:
    site = tmp_path_factory.mktemp("wrong")
    code = (
        f"from hati.steering import SteeringDecision\n\ndef other(queues, under_way, client):\n    return {decision}\n"
    )
    (site / "wrong.py").write_text(code)
    write_entry_points(site, "hati.strategies", "wrong = wrong:other\n")
    wrong = hati(site, project, "worker", "--once", "--strategy", "wrong")
    assert (wrong.status, "the strategy 'wrong' chose " in wrong.err) == (2, True), wrong.err


def test_one_with_a_name_of_hati_is_named(hati: Hati, project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    site = tmp_path_factory.mktemp("taken")
    (site / "taken.py").write_text("def other(queues, under_way, client):\n    raise AssertionError\n")
    write_entry_points(site, "hati.strategies", "newest = taken:other\n")
    taken = hati(site, project, "worker", "--once", "--strategy", "newest")
    assert (taken.status, "'newest' of taken:other has the name of one of Hati's" in taken.err) == (2, True)
    hati(site, project, "worker", "--once")
    assert chosen(project)[0] == "released first"
