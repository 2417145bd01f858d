"""Files of tables: by their names, and read by what they begin with."""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from pathlib import Path

from hati.core import InputError, Place
from hati.subject.table.measurements_xml import parse_measurements
from hati.subject.table.sheet import Sheet, parse_delimited, parse_parquet

ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
"""How the names of tables end; those of SPL Conqueror's measurements end with ``.xml``."""

_XML = ".xml"
_RESULTS = re.compile(rb"<results[\s>/]")
_HEAD = 1 << 12

LARGEST = 1_000_000_000
"""The greatest size of a table, in bytes, after unpacking."""

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"


def is_table(path: Path) -> bool:
    """Whether a path names a table, by its ending; a file of XML by its root: feature models are XML too."""
    name = path.name.lower()
    return (name.endswith(ENDINGS) and not path.is_dir()) or (name.endswith(_XML) and _has_results(path))


def _has_results(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _RESULTS.search(file.read(_HEAD)) is not None
    except OSError:
        return False


def read_sheet(path: Path) -> Sheet:
    """Read a table: CSV (with semicolons or tabs too), SPL Conqueror's measurements, both also packed, or Parquet.

    Raises:
        InputError: where it cannot be read, with its place.
        NotInstalledError: for Parquet, where pyarrow is not installed.
    """
    data = _unpacked(path)
    content = hashlib.sha256(data).hexdigest()[:12]
    if data.startswith(_PARQUET):
        return parse_parquet(data, str(path), content)
    text = _decoded(data, str(path))
    if text.lstrip().startswith("<"):
        return parse_measurements(text, str(path), content)
    return parse_delimited(text, str(path), content)


def _unpacked(path: Path) -> bytes:
    place = Place(str(path))
    try:
        with path.open("rb") as stream:
            packed = stream.read(2) == _GZIP
        with gzip.open(path) if packed else path.open("rb") as stream:
            data: bytes = stream.read(LARGEST + 1)
    except FileNotFoundError:
        raise InputError("there is no such file", place=place) from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"the file cannot be unpacked: {error}", place=place) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise InputError(f"the file cannot be read: {reason}", place=place) from None
    if len(data) > LARGEST:
        raise InputError(f"the table is larger than {LARGEST:,} bytes", place=place, fix="is it the right file?")
    return data


def _decoded(data: bytes, file: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise InputError(
            f"byte 0x{data[error.start]:02x} is not UTF-8", place=Place(file, line), fix="save the file as UTF-8"
        ) from None
