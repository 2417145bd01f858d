"""Formulas found in files, samples by their names, and the project around them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from hati.core import InputError
from hati.wiring import NamedFile, formulas_in, project_around, split_samples


def test_the_nearest_project_file_comes_before_a_nearer_repository(tmp_path: Path) -> None:
    inner = tmp_path / "outer" / "inner"
    inner.mkdir(parents=True)
    (inner / "r.spl").write_text("a <= b\n")
    assert project_around(inner / "r.spl") == inner
    (tmp_path / "outer" / "pyproject.toml").touch()
    assert project_around(inner) == tmp_path / "outer"
    (tmp_path / "hati.toml").touch()
    assert project_around(inner / "r.spl") == tmp_path


def test_commas_in_names_do_not_part_them() -> None:
    parts = split_samples("f[g, h](1, 2)=x.json, b = y.json#of a,")
    assert [NamedFile.parse(part) for part in parts] == [
        NamedFile("f[g, h](1, 2)", Path("x.json"), None),
        NamedFile("b", Path("y.json"), "of a"),
    ]


def test_files_below_a_folder_are_read_once_in_order(tmp_path: Path) -> None:
    for name, text in (("b.spl", "one: a <= b\n"), ("a.spl", "a <= c\na <= d\n"), (".hidden/x.spl", "a <=\n")):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = formulas_in([tmp_path, tmp_path / "b.spl"])
    assert [(each.name, str(each.formula), each.place.line) for each in found] == [
        ("", "a <= c", 1),
        ("", "a <= d", 2),
        ("one", "a <= b", 1),
    ]


def test_a_folder_that_cannot_be_listed_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a.spl", "sub/b.spl", ".git/c.spl"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("a <= b\n")
    listed = os.scandir

    def refusing(folder: Path) -> object:
        if Path(folder).name in {"sub", ".git"}:
            raise PermissionError(errno.EACCES, "Permission denied", str(folder))
        return listed(folder)

    monkeypatch.setattr("os.scandir", refusing)
    with pytest.raises(InputError, match="sub cannot be read: Permission denied; see its rights"):
        formulas_in([tmp_path])


def test_a_byte_order_mark_is_no_part_of_a_formula(tmp_path: Path) -> None:
    (tmp_path / "a.spl").write_text("a <= b\n", encoding="utf-8-sig")
    assert [(str(each.formula), each.place.column) for each in formulas_in([tmp_path])] == [("a <= b", 1)]


def test_formulas_are_bounded_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hati.wiring.formulas.loading.MOST_ATOMS", 20)
    half = "for all n in {1..10}: a(n) <= n * 1 s\n"
    (tmp_path / "a.spl").write_text(2 * half)
    assert len(formulas_in([tmp_path])) == 2
    (tmp_path / "a.spl").write_text(f"{2 * half}\none: a <= b\na <= c\n")
    with pytest.raises(InputError, match="have 21 relations") as caught:
        formulas_in([tmp_path])
    assert caught.value.place is not None
    assert (caught.value.place.file, caught.value.place.line) == (str(tmp_path / "a.spl"), 4)


def test_what_is_no_file_of_formulas_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"there is no \.spl file below"):
        formulas_in([tmp_path])
    (tmp_path / "x.spl").write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not UTF-8 text"):
        formulas_in([tmp_path / "x.spl"])


def test_what_a_folder_has_of_that_name_and_is_no_file_is_refused_unread(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def waits(_: Path, **__: object) -> None:
        raise AssertionError("a pipe that nobody writes to is read")

    monkeypatch.setattr(Path, "read_text", waits)
    monkeypatch.setattr(Path, "read_bytes", waits)
    os.mkfifo(tmp_path / "p.py")
    with pytest.raises(InputError, match=r"there is no \.spl file below"):
        formulas_in([tmp_path])
    os.mkfifo(tmp_path / "p.spl")
    with pytest.raises(InputError, match=r"p\.spl is not a file; remove it"):
        formulas_in([tmp_path])
    (tmp_path / "b.spl").symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match=r"b\.spl is a link that leads nowhere; remove it"):
        formulas_in([tmp_path])


def test_folders_that_vanish_while_a_folder_is_read_are_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.spl").write_text("a <= b\n")
    (tmp_path / "gone").mkdir()
    walk = os.walk

    def walking(*arguments: Any, **named: Any) -> Iterator[Any]:
        for each in walk(*arguments, **named):
            yield each
            if (tmp_path / "gone").exists():
                (tmp_path / "gone").rmdir()

    monkeypatch.setattr("os.walk", walking)
    assert len(formulas_in([tmp_path])) == 1
