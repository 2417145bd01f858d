"""Rows that are not as they were written are named, whatever is wrong with them."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from hati.core import HatiError, MeasurementError
from hati.store import Selection, SqlStore, open_store, schema, source_store
from hati.store.rows import checksum
from hati.testing.conformance import MACHINE, METRICS, a_run, a_study, an_event

WRONG: tuple[object, ...] = (None, "", "?", "[]", "{", "1e999", "2020-01-01", b"\x01\x00", b"\xff", -1, 2, 0.5, 10**15)


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a row in every table."""
    file = tmp_path_factory.mktemp("whole") / "store.sqlite"
    with closing(open_store(str(file))) as store:
        store.begin(a_study(), METRICS, MACHINE)
        store.keep_choice(a_study(), '{"runs": 8}')
        for repetition in range(3):
            store.record(a_run(a_study(), repetition))
        store.add_events([an_event(1)])
    return file


@pytest.fixture
def file(whole: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copy(whole, tmp_path / "store.sqlite"))


def read_all(store: SqlStore) -> list[object]:
    """All that a store gives back."""
    found: list[object] = [*store.studies(), *store.latest(a_study()), *store.runs(Selection())]
    found += [*store.spans().items(), *store.events(), store.machine(MACHINE.fingerprint)]
    return [*found, *(sample.runs for sample in store.samples(Selection()))]


def contents(file: Path) -> list[object]:
    with closing(open_store(str(file))) as store:
        return read_all(store)


COLUMNS = [
    (table.name, column.name)
    for table in schema.metadata.tables.values()
    for column in table.columns
    if column is not schema.machine.c.fingerprint  # by another name the machine is not known
]


def change(file: Path, table: str, column: str, value: object) -> bool:
    """Write a value into a row of a table; whether the database takes it."""
    with closing(sqlite3.connect(file)) as connection:
        try:
            connection.execute(f"UPDATE {table} SET {column} = ? WHERE rowid = 1", [value])
            connection.commit()
        except sqlite3.Error:
            return False
    return True


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_a_row_that_was_changed_is_named(file: Path, table: str, column: str) -> None:
    before, whole = file.read_bytes(), contents(file)
    taken = 0
    for value in WRONG:
        file.write_bytes(before)
        if not change(file, table, column, value):
            continue
        taken += 1
        try:
            found = contents(file)
        except MeasurementError as error:
            assert "is damaged: " in error.message
            assert "restore the store from a copy" in str(error.fix)
        else:
            assert [repr(each) for each in found] == [repr(each) for each in whole], value
    assert taken


@pytest.mark.parametrize(("table", "column"), COLUMNS)
def test_rows_without_checksums_raise_nothing_else(file: Path, table: str, column: str) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.executescript("UPDATE run SET checksum = NULL; UPDATE study SET checksum = NULL")
    before = file.read_bytes()
    for value in WRONG:
        file.write_bytes(before)
        if change(file, table, column, value):
            try:
                contents(file)
            except HatiError as error:
                assert "damaged" in error.message


@pytest.mark.parametrize("equal", [1.0, True])
def test_a_number_of_another_type_has_another_checksum(equal: float) -> None:
    row = {column.name: None for column in schema.run.columns}
    observed = {"metric": "time", "unit": "s", "warmup": 1, "position": 0, "data": b""}
    assert checksum(schema.run, row, [observed]) != checksum(schema.run, row, [{**observed, "warmup": equal}])


def test_observations_that_are_gone_are_missed(file: Path) -> None:
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("DELETE FROM observations WHERE run = 2")
        connection.commit()
    with pytest.raises(MeasurementError, match=r"run 2 \(task .*checksum differs"):
        contents(file)


def test_a_damaged_run_can_be_forgotten_by_what_the_message_says(file: Path) -> None:
    change(file, "run", "seconds", 17.0)
    with closing(open_store(str(file))) as store:
        with pytest.raises(MeasurementError) as caught:
            store.runs(Selection())
        task = str(caught.value.fix).rpartition("--task ")[2].rstrip("`")
        assert store.forget(Selection(task=task)) == 1
        assert len(store.runs(Selection())) == 2


def test_a_page_that_was_overwritten_is_damage(file: Path) -> None:
    expected = [repr(each) for each in contents(file)]
    whole = bytearray(file.read_bytes())
    for start in range(4096, len(whole), 4096):
        torn = whole.copy()
        torn[start : start + 64] = b"\xa5" * 64
        file.write_bytes(torn)
        try:
            found = contents(file)
        except HatiError as error:
            assert "damaged" in error.message or "cannot be used" in error.message
        else:
            assert [repr(each) for each in found] == expected


def test_a_schema_that_is_not_text_is_damage(file: Path) -> None:
    damaged, changed = re.subn(
        rb"tablestudystudy(.)CREATE", b"tablestudy\x92tudy\\1CREA\x92E", file.read_bytes(), flags=re.S
    )
    assert changed
    file.write_bytes(damaged)
    with pytest.raises(MeasurementError, match="is damaged: its schema"):
        contents(file)
    with pytest.raises(MeasurementError, match="is damaged: its schema"), source_store(str(file)):
        pass


def test_a_damaged_study_without_runs_can_be_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "store.sqlite"
    with closing(open_store(str(file))) as store:
        store.begin(a_study(), METRICS, MACHINE)
    change(file, "study", "parameters", "{}")
    with closing(open_store(str(file))) as store:
        with pytest.raises(MeasurementError):
            store.studies()
        assert store.forget_study(a_study().key)
        assert store.studies() == ()
        assert not store.forget_study(a_study().key)


def test_a_choice_hides_no_damage(file: Path) -> None:
    assert change(file, "study", "kind", "other")
    with closing(open_store(str(file))) as store:
        with pytest.raises(MeasurementError, match="is damaged: "):
            store.keep_choice(a_study(), '{"runs": 16}')
        with pytest.raises(MeasurementError, match="is damaged: "):
            store.studies()
