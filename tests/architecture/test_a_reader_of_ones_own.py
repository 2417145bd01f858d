"""A package adds a reader in one file, and changes none of Hati's."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from packages import Hati, installed, write_entry_points

PROJECT = """
[[benchmark]]
name = "main"
command = ["sh", "-c", "echo BENCH sort 0.25 ms; echo BENCH sort 0.26 ms; echo BENCH other 1 ms"]
reader = "bench-lines"
metric = [{ name = "time", unit = "us", pattern = "sort" }]
"""


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the package of the documentation is installed."""
    return installed(tmp_path_factory.mktemp("site"), "add-a-reader.md", "hati.readers")


def test_its_files_are_imported_and_compared(hati: Hati, package: Path, tmp_path: Path) -> None:
    for name, number in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.txt").write_text(f"BENCH sort {number}.5 ms\nBENCH sort {number}.6 ms\n")
    for words in (("a.txt",), ("a.txt", "--from", "bench-lines")):
        found = json.loads(hati(package, tmp_path, "import", *words).out)
        assert [run["observations"] for sample in found["samples"] for run in sample["runs"]] == [[1.5, 1.6]]
    told = hati(package, tmp_path, "compare", "a.txt", "b.txt", "--fail-on", "none")
    assert (told.status, "sort" in told.out) == (0, True), told.err
    for line in ("BENCH sort", "BENCH sort abc ms"):
        (tmp_path / "c.txt").write_text(f"BENCH sort 1 ms\n\n{line}\n")
        wrong = hati(package, tmp_path, "import", "c.txt")
        assert (wrong.status, wrong.out) == (2, "")
        assert f"c.txt:3: {line!r} is not a measurement; write BENCH NAME VALUE UNIT" in wrong.err


def test_a_benchmark_may_print_it(hati: Hati, package: Path, tmp_path: Path) -> None:
    (tmp_path / "hati.toml").write_text(PROJECT)
    made = hati(package, tmp_path, "run", "--budget", "2", "--format", "json")
    assert made.status == 0, made.err
    assert json.loads(made.out)["summaries"][0]["mean"] == pytest.approx(255.0)
    without = hati(tmp_path, tmp_path, "run", "--budget", "2", "--fresh")
    assert (without.status, "unknown reader 'bench-lines'" in without.err) == (2, True)


def test_one_that_cannot_be_loaded_is_named(hati: Hati, tmp_path: Path) -> None:
    write_entry_points(tmp_path, "hati.readers", "broken = nowhere:FORMAT\n")
    (tmp_path / "a.txt").write_text("what?\n")
    for words in (("import", "a.txt"), ("import", "a.txt", "--from", "broken")):
        wrong = hati(tmp_path, tmp_path, *words)
        assert (wrong.status, wrong.out) == (2, "")
        assert "the reader 'broken' of nowhere:FORMAT cannot be used: ModuleNotFoundError" in wrong.err
    wrong = hati(tmp_path, tmp_path, "import", "a.txt", "--from", "jhm")
    assert "there is no reader 'jhm'; did you mean 'jmh'?" in wrong.err


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("FORMAT = 1", "1 is not a FileFormat"),
        ("FORMAT = FileFormat(lambda source, book: 1 / 0, lambda head: True)", "fails: ZeroDivisionError"),
        ("FORMAT = FileFormat(lambda source, book: None, lambda head: 1 / 0)", "fails: ZeroDivisionError"),
    ],
)
def test_one_that_fails_is_named(hati: Hati, tmp_path: Path, source: str, message: str) -> None:
    (tmp_path / "wrong.py").write_text(f"from hati.subject.samples.reading import FileFormat\n{source}\n")
    write_entry_points(tmp_path, "hati.readers", "wrong = wrong:FORMAT\n")
    (tmp_path / "a.txt").write_text("what?\n")
    (tmp_path / "b.csv").write_text("benchmark,metric,unit,run,value\nsort,time,s,1,0.5\n")
    wrong = hati(tmp_path, tmp_path, "import", "a.txt")
    assert (wrong.status, wrong.out) == (2, "")
    assert message in wrong.err
    assert hati(tmp_path, tmp_path, "import", "b.csv").status == 0
