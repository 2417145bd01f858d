"""Stores elsewhere: imported, and in PostgreSQL."""

from __future__ import annotations

import shutil
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from contents import content
from hati.store import open_store
from hati.testing.conformance import MACHINE, METRICS, a_run, a_study
from postgres import PostgresServer

if TYPE_CHECKING:
    from conftest import Hati


@pytest.fixture
def other(fake_project: Path, tmp_path: Path) -> Path:
    """A store with three runs, in a folder beside the project."""
    (tmp_path / "other").mkdir()
    place = tmp_path / "other" / "store.sqlite"
    with closing(open_store(str(place))) as store:
        store.begin(a_study(), METRICS, MACHINE)
        for repetition in range(3):
            store.record(a_run(a_study(), repetition))
    return place


def test_a_store_is_imported_once(hati: Hati, other: Path, tmp_path: Path) -> None:
    before = content(other)
    foreseen = hati("import", "other/store.sqlite", "--dry-run")
    assert foreseen.out == (
        "other/store.sqlite: 1 study, 3 runs, 0 events would be taken; 0 studies, 0 runs, 0 events there already\n"
    )
    assert not (tmp_path / ".hati" / "store.sqlite").exists()
    done = hati("import", "other/store.sqlite")
    assert (done.status, done.err) == (0, "")
    assert done.out == foreseen.out.replace("would be taken", "taken")
    again = hati("import", "other/store.sqlite", "other/store.sqlite", "--output", "told")
    assert again.out == ""
    line = "other/store.sqlite: 0 studies, 0 runs, 0 events taken; 1 study, 3 runs, 0 events there already\n"
    assert (tmp_path / "told").read_text() == 2 * line
    assert hati("runs").out == hati("runs", "--store", str(other)).out
    assert content(other) == before
    assert [path.name for path in (tmp_path / ".hati").glob("store*")] == ["store.sqlite"]


def test_what_cannot_be_imported_as_a_store(hati: Hati, other: Path, tmp_path: Path) -> None:
    (tmp_path / "go.txt").write_text("BenchmarkA 1 2 ns/op\n")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    shutil.copy(other, elsewhere / "store.sqlite")
    wrong = {
        ("other/store.sqlite", "go.txt"): "stores and files of measurements are not imported at once",
        ("other/store.sqlite", "--from", "go"): "--from is for files of measurements",
        ("go.txt", "--dry-run"): "--dry-run is for stores",
        ("mysql://me:s3cret@host/store",): "stores of kind 'mysql' are not supported",
    }
    for words, said in wrong.items():
        done = hati("import", *words)
        assert (done.status, done.out) == (2, "")
        assert said in done.err
        assert "s3cret" not in done.err
    nowhere = hati("import", "store.sqlite", folder=elsewhere)
    assert nowhere.status == 2
    assert "there is no hati.toml" in nowhere.err
    assert not (elsewhere / ".hati").exists()


def test_files_of_measurements_are_read_whatever_store_the_environment_names(hati: Hati, tmp_path: Path) -> None:
    (tmp_path / "go.txt").write_text("BenchmarkA 1 2 ns/op\n")
    assert hati("import", "go.txt", env={"HATI_STORE": "/none/store"}).status == 0


@pytest.mark.acceptance
@pytest.mark.xdist_group("postgres")
def test_a_campaign_in_postgresql(hati: Hati, other: Path, tmp_path: Path, postgres: PostgresServer) -> None:
    url = postgres.database()
    empty = hati("runs", "--store", url)
    assert (empty.status, empty.err.startswith("error: there is no store postgresql://hati@/hati_")) == (
        2,
        True,
    )
    assert hati("run", "--budget", "4", "--store", url).status == 0
    assert not (tmp_path / ".hati" / "store.sqlite").exists()
    table = hati("runs", "--store", url, "--format", "json").json
    assert len(table) == 4
    assert "1 study, 4 runs" in hati("import", url, "--store", "copy.sqlite").out
    assert hati("runs", "--store", "copy.sqlite", "--format", "json").json == table
    assert hati("import", "--store", url, str(other)).status == 0
    assert "7 runs forgotten" in hati("forget", "--all", "--store", url).out


def test_a_password_is_never_shown(hati: Hati, fake_project: Path) -> None:
    url = "postgresql://me:s3cret@127.0.0.1:1/hati"
    for words in (("run",), ("import", url), ("run", "--help")):
        done = hati(*words, "--store", url)
        assert done.status == (0 if "--help" in words else 4)
        assert "s3cret" not in done.out + done.err
        assert done.err.count("\n") == (0 if "--help" in words else 1)


DELETING = """
[subject]
name = "deleting"

[[benchmark]]
name = "b"
command = ["sh", "-c", "[ {repetition} -lt 3 ] || WHAT"]
reader = "process"

[[benchmark.metric]]
name = "wall_time"
unit = "s"
"""


@pytest.mark.parametrize(
    "what", ["rm .hati/store.sqlite", "rm -r .hati", "mv .hati/store.sqlite away && cp away .hati/store.sqlite"]
)
def test_a_store_that_is_deleted_meanwhile_is_kept_beside_it(hati: Hati, tmp_path: Path, what: str) -> None:
    (tmp_path / "hati.toml").write_text(DELETING.replace("WHAT", what))
    done = hati("run", "--budget", "5")
    assert done.status == 4
    assert "was deleted or replaced while it was measured into; what it held is in " in done.err
    command = done.err.rpartition("`hati ")[2].partition("`")[0].split()
    (tmp_path / "hati.toml").write_text(DELETING.replace("WHAT", "true"))
    assert hati(*command).status == 0
    rows = hati("runs", "--format", "csv").out.splitlines()[1:]
    assert 3 <= len(rows) <= 4


@pytest.mark.parametrize("words", [("studies",), ("space", "count")])
def test_a_folder_in_a_project_names_the_project(tmp_path: Path, hati_here: Hati, words: tuple[str, ...]) -> None:
    (tmp_path / "hati.toml").write_text("")
    inside = tmp_path / "src" / "inner"
    inside.mkdir(parents=True)
    done = hati_here(*words, folder=inside)
    assert done.status == 2
    said = done.err.replace("\n", "")
    assert "there is no hati.toml in this folder" in said
    assert f"run it in the project's folder, {tmp_path}" in said
