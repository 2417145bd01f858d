"""Unpacking: archives that try to leave their folder, and bombs."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from volunteer_server import archive

from hati.volunteer import artefacts
from hati.volunteer.artefacts import unpack
from hati.volunteer.files import EnvelopeError

MOST = 1 << 20


def member(name: str, kind: bytes = tarfile.SYMTYPE, target: str = "", size: int = 0) -> tarfile.TarInfo:
    made = tarfile.TarInfo(name)
    made.type, made.linkname, made.size = kind, target, size
    return made


def unpacked(data: bytes, tmp_path: Path) -> Path:
    (tmp_path / "a.tar.gz").write_bytes(data)
    unpack(tmp_path / "a.tar.gz", tmp_path / "inner" / "tree", MOST)
    return tmp_path / "inner" / "tree"


def test_files_folders_and_inner_links_are_unpacked(tmp_path: Path) -> None:
    files = {
        "bin/run": "#!/bin/sh\n",
        "src/a.c": "int a;",
        "empty": member("empty", tarfile.DIRTYPE),
        "src/link": member("src/link", target="../bin/run"),
        "here": member("here", target="src"),
    }
    tree = unpacked(archive(files, executable=("bin/run",)), tmp_path)
    assert (tree / "here" / "link").read_text() == "#!/bin/sh\n"
    assert os.access(tree / "bin" / "run", os.X_OK)
    assert not os.access(tree / "src" / "a.c", os.X_OK)
    assert (tree / "empty").is_dir()
    assert {path.name for path in tree.parent.iterdir()} == {"tree"}


ESCAPES = {
    "absolute": {"/tmp/escaped": "x"},
    "upwards": {"../escaped": "x"},
    "inner upwards": {"a/../../escaped": "x"},
    "link to an absolute path": {"a": member("a", target="/etc/passwd")},
    "link upwards": {"d/a": member("d/a", target="../../escaped")},
    "a link over a link": {"here": member("here", target="."), "b": member("b", target="here/..")},
    "a file through a link": {"a": member("a", target="."), "a/escaped": "x"},
    "a link in a link": {"p": member("p", target="."), "p/q": member("p/q", target="x")},
    "hard link": {"a": member("a", tarfile.LNKTYPE, "/etc/passwd")},
    "device": {"a": member("a", tarfile.CHRTYPE)},
    "fifo": {"a": member("a", tarfile.FIFOTYPE)},
    "twice": {"a": "1", "./a": "2"},
}


@pytest.mark.parametrize("attack", ESCAPES)
def test_what_leads_out_is_refused(attack: str, tmp_path: Path) -> None:
    with pytest.raises(EnvelopeError, match="the artefact"):
        unpacked(archive(ESCAPES[attack]), tmp_path)
    assert not list(tmp_path.glob("escaped")) + list(tmp_path.glob("inner/escaped"))
    assert not Path("/tmp/escaped").exists()


def test_a_file_of_zeros_is_no_bomb(tmp_path: Path) -> None:
    with pytest.raises(EnvelopeError, match="unpacks to more than 1 MiB"):
        unpacked(archive({"zeros": "\0" * (50 << 20)}), tmp_path)


def test_neither_are_many_members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(artefacts, "MOST_MEMBERS", 100)
    with pytest.raises(EnvelopeError, match="more than 100 members"):
        unpacked(archive({f"{number}": "" for number in range(101)}), tmp_path)


def test_nor_a_header_that_claims_any_size(tmp_path: Path) -> None:
    made = io.BytesIO()
    with gzip.open(made, "wb") as file:
        about = member("x", tarfile.XHDTYPE, size=8 << 30)
        file.write(about.tobuf(tarfile.GNU_FORMAT) + b"\0" * 4096)
    with pytest.raises(EnvelopeError, match="header of more than 1 MiB"):
        unpacked(made.getvalue(), tmp_path)


def test_nor_a_sparse_file(tmp_path: Path) -> None:
    sparse = member("a", tarfile.GNUTYPE_SPARSE)
    with pytest.raises(EnvelopeError, match="neither a file"):
        unpacked(archive({"a": sparse}), tmp_path)


def test_what_is_cut_off_is_refused(tmp_path: Path) -> None:
    whole = archive({"a": "x" * 5000})
    with pytest.raises(EnvelopeError):
        unpacked(whole[:-20], tmp_path)


@given(st.binary(max_size=400), st.booleans())
@settings(max_examples=40, deadline=None)
def test_no_bytes_end_the_client(data: bytes, compressed: bool) -> None:
    with TemporaryDirectory() as folder, suppress(EnvelopeError):
        unpacked(gzip.compress(data) if compressed else data, Path(folder))
