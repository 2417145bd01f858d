"""Verbs that write, on a disk that is really full: the file, what is free, what to do, and nothing half done."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gate_projects import evolving

if TYPE_CHECKING:
    from conftest import Hati


@pytest.fixture
def full_disk(small_disk: Path) -> Path:
    fill(small_disk)
    return small_disk


def fill(folder: Path) -> None:
    with suppress(OSError), (folder / "filler").open("wb", buffering=0) as file:
        while True:
            file.write(b"x" * 4096)


@pytest.mark.parametrize(
    ("words", "name"),
    [
        (("init", "--output"), "hati.toml"),
        (("init", "--schema", "--output"), "schema.json"),
        (("init", "--ci", "jenkins", "--output"), "Jenkinsfile"),
        (("grid", "key", "--out"), "key"),
        (("space", "count", "--output"), "count.txt"),
        (("design", "--factors", "A-C", "--output"), "design.csv"),
    ],
)
def test_a_file_on_a_full_disk_is_named_and_not_left(
    tmp_path: Path, full_disk: Path, hati_here: Hati, words: tuple[str, ...], name: str
) -> None:
    evolving(tmp_path)
    done = hati_here(*words, str(full_disk / name))
    assert (done.status, done.out) == (4, "")
    reason = "No space left on device (0 B free); free some space there, or name another file"
    assert f"error: {full_disk / name} cannot be written: {reason}" in done.err
    assert [file.name for file in full_disk.iterdir()] == ["filler"]


def test_a_report_on_a_full_disk_is_named_and_the_others_are_written(
    tmp_path: Path, full_disk: Path, hati_here: Hati
) -> None:
    evolving(tmp_path).write()
    reports = ("--report", f"json={full_disk / 'a.json'}", "--report", "json=b.json")
    done = hati_here("run", "--budget", "1", *reports)
    assert done.status == 4
    assert f"error: {full_disk / 'a.json'} cannot be written: No space left on device (0 B free)" in done.err
    assert (tmp_path / "b.json").stat().st_size
    assert [file.name for file in full_disk.iterdir()] == ["filler"]


def test_a_store_on_a_full_disk_keeps_what_it_has_and_goes_on(tmp_path: Path, full_disk: Path, hati_here: Hati) -> None:
    evolving(tmp_path).write()
    store = full_disk / "store.sqlite"
    measure = ("run", "--budget", "2", "--store", str(store))
    reason = f"error: the store {store} cannot be written: its disk is full (0 B free); free some space there and start"
    assert (reason in (done := hati_here(*measure)).err, done.status) == (True, 4)
    (full_disk / "filler").unlink()
    assert hati_here(*measure).status == 0
    fill(full_disk)
    for words in ((*measure, "--fresh"), ("forget", "--all", "--store", str(store))):
        done = hati_here(*words)
        assert reason in done.err
        assert done.status == 4
    (full_disk / "filler").unlink()
    assert [each["runs"] for each in hati_here("studies", "--store", str(store), "--format", "json").json] == [2]


@pytest.mark.parametrize(
    "words", [("studies",), ("runs",), ("report", "--study", "measurement"), ("findings",), ("tree",), ("export",)]
)
def test_a_store_on_a_full_disk_can_be_read(
    tmp_path: Path, small_disk: Path, hati: Hati, words: tuple[str, ...]
) -> None:
    evolving(tmp_path).write()
    store = small_disk / "store.sqlite"
    assert hati("run", "--budget", "2", "--store", str(store)).status == 0
    known = hati(*words, "--store", str(store))
    fill(small_disk)
    assert hati(*words, "--store", str(store)) == known


def test_a_project_on_a_full_disk_is_not_begun(full_disk: Path, hati_here: Hati) -> None:
    (full_disk / "filler").unlink()
    made = evolving(full_disk / "project")
    fill(full_disk)
    done = hati_here("run", "--budget", "1", folder=made.project)
    assert done.status == 4
    assert "cannot be made: No space left on device (0 B free); free some space" in done.err
    assert not (made.project / ".hati").exists()
