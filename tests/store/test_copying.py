"""Reading another store without a change to it."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from earlier import bring_back

from contents import content
from hati.core import HatiError, InputError, MeasurementError
from hati.store import merging, open_store, source_store
from hati.testing.conformance import MACHINE, METRICS, a_run, a_study
from postgres import PostgresServer


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A store with one run."""
    with closing(open_store(str(tmp_path / "with space ü%.sqlite"))) as store:
        store.begin(a_study(), METRICS, MACHINE)
        store.record(a_run(a_study()))
    return tmp_path / "with space ü%.sqlite"


def execute(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)


def test_a_store_of_before_is_upgraded_on_a_copy(file: Path) -> None:
    bring_back(file, "0001")
    before = content(file)
    with source_store(str(file)) as store:
        assert len(store.evidence(a_study()).runs) == 1
        assert store.name == str(file)
        assert store.events() == ()
    assert content(file) == before
    assert list(file.parent.iterdir()) == [file]


def test_what_a_writer_has_committed_is_read_while_it_is_open(file: Path) -> None:
    with closing(open_store(str(file))) as writer:
        writer.record(a_run(a_study(), 1))
        with source_store(str(file)) as store:
            assert len(store.evidence(a_study()).runs) == 2
            writer.record(a_run(a_study(), 2))
        with source_store(str(file)) as store:
            assert len(store.evidence(a_study()).runs) == 3


def test_a_folder_that_may_not_be_written_to(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    connect = sqlite3.connect

    def refusing(place: object, **named: object) -> sqlite3.Connection:
        if "mode=rw" in str(place):
            raise sqlite3.OperationalError("unable to open database file")
        return connect(place, **named)  # type: ignore[call-overload, no-any-return]  # arguments are handed on as they are

    monkeypatch.setattr(merging.sqlite3, "connect", refusing)
    with source_store(str(file)) as store:
        assert len(store.evidence(a_study()).runs) == 1


REFUSED: dict[str, tuple[Callable[[Path], object], str]] = {
    "nothing": (lambda file: file.unlink(), "there is no store"),
    "empty": (lambda file: file.write_bytes(b""), "is empty"),
    "prose": (lambda file: file.write_text("no database at all, but some text that is long enough"), "not a database"),
    "folder": (lambda file: (file.unlink(), file.mkdir()), "is a folder"),
    "torn": (lambda file: file.write_bytes(file.read_bytes()[:5000]), "malformed"),
    "newer": (lambda file: execute(file, "UPDATE alembic_version SET version_num = '9999'"), "newer Hati"),
    "another's": (lambda file: execute(file, "ALTER TABLE study RENAME TO theirs"), "no store of Hati's"),
}


@pytest.mark.parametrize("what", REFUSED)
def test_what_is_no_store_is_refused_and_left_as_it_is(file: Path, what: str) -> None:
    make, words = REFUSED[what]
    make(file)
    before = file.read_bytes() if file.is_file() else b""
    with pytest.raises(HatiError, match=words) as caught, source_store(str(file)):
        pass
    assert str(file) in str(caught.value)
    assert (file.read_bytes() if file.is_file() else b"") == before


def test_a_store_that_another_program_locks_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merging, "_BUSY_SECONDS", 0.05)
    with closing(sqlite3.connect(file, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode=DELETE")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(MeasurementError, match="stays locked"), source_store(str(file)):
            pass


@pytest.mark.xdist_group("postgres")
def test_a_servers_store_of_before_is_not_upgraded(postgres: PostgresServer) -> None:
    url = postgres.database()
    with pytest.raises(InputError, match="is empty"), source_store(url):
        pass
    open_store(url).close()
    with source_store(url) as store:
        assert store.studies() == ()
    postgres.execute("UPDATE alembic_version SET version_num = '0002'", url)
    with pytest.raises(InputError, match="is of an older Hati; upgrade it by `hati runs"), source_store(url):
        pass


def test_a_copy_beside_a_journal_of_a_dead_writer_is_whole(file: Path, tmp_path: Path) -> None:
    with closing(open_store(str(file))) as writer:
        writer.record(a_run(a_study(), 1))
        dead = tmp_path / "dead"
        for end in ("", "-wal"):
            shutil.copy(f"{file}{end}", f"{dead}{end}")
    with source_store(str(dead)) as store:
        assert len(store.evidence(a_study()).runs) == 2
