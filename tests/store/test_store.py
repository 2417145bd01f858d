"""The store on SQLite: conformance, codec, migrations, errors."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path

import numpy as np
import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from earlier import bring_back
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sqlalchemy import Inspector, create_engine, inspect
from sqlalchemy.engine.interfaces import ReflectedIndex
from store_conformance import StoreConformance

import hati.store
from contents import content
from hati.core import HatiError, InputError, Resources, replace
from hati.store import SqlStore, open_store, read_store
from hati.store.opening import database, migrate, upgrade
from hati.store.rows import decode, encode
from hati.store.schema import HEAD, complete_metadata
from hati.testing.conformance import MACHINE, METRICS, a_run, a_study


class TestSqlite(StoreConformance):
    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path) -> None:
        self.file = tmp_path / "store.sqlite"

    def open(self) -> SqlStore:
        return open_store(str(self.file))


@given(arrays(np.float64, st.integers(0, 300), elements=st.floats(width=64)))
def test_codec_keeps_every_bit(values: np.ndarray) -> None:
    assert decode(encode(values)).tobytes() == values.tobytes()


@given(st.binary(max_size=60))
def test_codec_refuses_what_it_did_not_write(data: bytes) -> None:
    with suppress(ValueError):
        decode(data)


def test_codec_compresses_measurements() -> None:
    values = np.random.default_rng(1).normal(0.002, 1e-5, 10_000).round(9)
    assert len(encode(values)) < 0.8 * values.nbytes


def test_migrations_make_the_schema(tmp_path: Path) -> None:
    described = []
    for name, make in (("migrated", upgrade), ("new", None)):
        engine = create_engine(f"sqlite:///{tmp_path / name}")
        with engine.connect() as connection:
            if make is None:
                migrate(engine, database(str(tmp_path / name)))
            else:
                make(connection)
                connection.commit()
            assert compare_metadata(MigrationContext.configure(connection), complete_metadata()) == []
            described.append(as_described(inspect(connection)))
        engine.dispose()
    assert described[0] == described[1]


def as_described(tables: Inspector) -> dict[str, object]:
    """Columns, keys and indexes of all tables, without the order of columns, which migrations may change."""
    return {
        name: (
            sorted((c["name"], str(c["type"]), c["nullable"], c["default"]) for c in tables.get_columns(name)),
            tables.get_pk_constraint(name),
            sorted(map(str, tables.get_foreign_keys(name))),
            sorted(map(_index, tables.get_indexes(name))),
            sorted(map(str, tables.get_unique_constraints(name))),
        )
        for name in tables.get_table_names()
    }


def _index(found: ReflectedIndex) -> str:
    options = {key: str(value) for key, value in found.get("dialect_options", {}).items()}
    return str({**found, "dialect_options": options})


def test_a_store_of_before_knows_nothing_of_contention(tmp_path: Path) -> None:
    file = tmp_path / "s.sqlite"
    store, study = open_store(str(file)), a_study()
    store.begin(study, METRICS, MACHINE)
    store.record(a_run(study))
    store.close()
    bring_back(file, "0001")
    (found,) = open_store(str(file)).evidence(study).runs
    assert found.resources == Resources(0.2, 0.1, 0.05, 10_000_000, 3, 4, 0.5, None, None)


def test_campaigns_of_a_store_of_before_keep_their_keys_and_have_no_token(tmp_path: Path) -> None:
    file = tmp_path / "s.sqlite"
    begun = [a_study(seed=2), a_study(), a_study(2)]
    with closing(open_store(str(file))) as store:
        for study in begun:
            store.begin(study, METRICS, MACHINE)
            store.record(a_run(study))
        store.keep_choice(begun[1], "{}")
    bring_back(file, "0003")
    with closing(open_store(str(file))) as store:
        assert [record.id for record in store.studies()] == begun
        assert [record.choice for record in store.studies()] == [None, "{}", None]
        assert [store.evidence(study).runs for study in begun] == [
            (replace(a_run(study), reset=None),) for study in begun
        ]
        again = a_study(2, token="t")
        store.begin(again, METRICS, MACHINE)
        assert [record.id for record in store.latest(a_study())] == [again, a_study(2)]
        with pytest.raises(HatiError, match="FOREIGN KEY"):
            store.record(a_run(a_study(seed=9)))


def test_checksums_from_before_resets_hold(tmp_path: Path) -> None:
    file = tmp_path / "s.sqlite"
    run = replace(a_run(a_study()), reset=None)
    with closing(open_store(str(file))) as store:
        store.begin(a_study(), METRICS, MACHINE)
        store.record(run)
    bring_back(file, "0005")
    with closing(open_store(str(file))) as store:
        assert store.evidence(a_study()).runs == (run,)


def test_head_is_the_newest_migration() -> None:
    config = Config()
    config.set_main_option("script_location", str(Path(hati.store.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == HEAD


def test_a_store_of_a_newer_hati_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "s.sqlite"
    open_store(str(file)).close()
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.close()
    with pytest.raises(InputError, match="newer Hati"):
        open_store(str(file))


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda p: p.write_text("this is no database, surely, of any kind at all"), "not a database"),
        (lambda p: p.mkdir(), "is a folder"),
    ],
)
def test_what_is_no_store_is_refused(tmp_path: Path, make: Callable[[Path], object], words: str) -> None:
    file = tmp_path / "s.sqlite"
    make(file)
    with pytest.raises(HatiError, match=words):
        open_store(str(file))


def test_another_programs_database_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "other.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE theirs (a)")
    connection.close()
    before = content(file)
    with pytest.raises(InputError, match="no store of Hati's"):
        open_store(str(file))
    assert content(file) == before


@pytest.mark.parametrize("place", ["mysql://h/d", "nonsense://x", "://"])
def test_urls_that_are_none(place: str) -> None:
    with pytest.raises(InputError):
        open_store(place)


def test_reading_needs_a_store(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no store"):
        read_store(str(tmp_path / "none.sqlite"))


def test_an_empty_file_is_called_empty(tmp_path: Path) -> None:
    (tmp_path / "empty.sqlite").touch()
    with pytest.raises(InputError, match=r"the file .*/empty\.sqlite is empty"):
        read_store(str(tmp_path / "empty.sqlite"))


def test_a_full_database_keeps_what_it_has_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "s.sqlite"
    store, study = open_store(str(file)), a_study()
    store.begin(study, METRICS, MACHINE)
    store.record(a_run(study, 0))
    with store._engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count={pages}")
        connection.commit()
    recorded = 1
    with pytest.raises(HatiError, match="free some space"):
        for repetition in range(1, 10_000):
            store.record(a_run(study, repetition))
            recorded += 1
    store.close()
    assert len(open_store(str(file)).evidence(study).runs) == recorded


def test_runs_survive_a_killed_writer(tmp_path: Path) -> None:
    file = tmp_path / "s.sqlite"
    script = f"""
import os, signal
from hati.store import open_store
from hati.testing.conformance import MACHINE, METRICS, a_run, a_study
store, study = open_store({str(file)!r}), a_study()
store.begin(study, METRICS, MACHINE)
for repetition in range(5):
    store.record(a_run(study, repetition))
os.kill(os.getpid(), signal.SIGKILL)
"""
    subprocess.run([sys.executable, "-c", script], check=False)
    assert len(open_store(str(file)).evidence(a_study()).runs) == 5


def test_runs_of_one_configuration_and_workload_share_them(tmp_path: Path) -> None:
    with closing(open_store(str(tmp_path / "s.sqlite"))) as store:
        store.begin(a_study(), METRICS, MACHINE)
        for repetition in range(2):
            store.record(a_run(a_study(), repetition))
        first, second = (run.task for run in store.evidence(a_study()).runs)
    assert first.configuration is second.configuration
    assert first.workload is second.workload
