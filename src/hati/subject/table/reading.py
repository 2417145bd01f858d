"""Recognise tables by their file names, and read them by their first bytes, also SPL Conqueror's measurements."""

from __future__ import annotations

import gzip
import hashlib
import re
import zlib
from collections.abc import Callable
from pathlib import Path
from xml.parsers import expat

import numpy as np
from msgspec import Struct

from hati.core import InputError, Place
from hati.file_errors import read_error
from hati.subject.samples.source import ignore_warning
from hati.subject.table.options import SEPARATOR
from hati.subject.table.sheet import Sheet, parse_delimited, parse_parquet

ENDINGS = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".parquet")
"""The suffixes of tables' file names; those of SPL Conqueror's measurements end with ``.xml``."""

_XML = ".xml"
_RESULTS = re.compile(rb"<results[\s>/]")
_HEAD = 1 << 12

LARGEST = 1_000_000_000
"""The largest size of a table, in bytes, after decompression."""

_GZIP = b"\x1f\x8b"
_PARQUET = b"PAR1"


def is_table(path: Path) -> bool:
    """Whether a path is a table: by its suffix, or for XML, as feature models are too, by its root element."""
    name = path.name.lower()
    return (name.endswith(ENDINGS) and not path.is_dir()) or (name.endswith(_XML) and _has_results(path))


def _has_results(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return _RESULTS.search(file.read(_HEAD)) is not None
    except OSError:
        return False


def read_sheet(path: Path, warn: Callable[[str], None] = ignore_warning) -> Sheet:
    """Read a table: CSV (with semicolons or tabs too) or SPL Conqueror's measurements, compressed or not, or Parquet.

    It warns of a last line that may be cut off.

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
    return parse_delimited(text, str(path), content, warn)


def _unpacked(path: Path) -> bytes:
    place = Place(str(path))
    try:
        with path.open("rb") as stream:
            packed = stream.read(2) == _GZIP
        with gzip.open(path) if packed else path.open("rb") as stream:
            data: bytes = stream.read(LARGEST + 1)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"the file cannot be unpacked: {error}", place=place) from None
    except (OSError, ValueError) as error:
        raise read_error(path, error) from None
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


_LEVELS = _ROOT, _ROW, _DATA = "results", "row", "data"
_SHAPE = '<results><row><data columname="Configuration">...</data></row></results>'
_BINARY = frozenset({"Configuration", "BinaryOptions"})
_NUMERIC = frozenset({"Variable Features", "NumericOptions"})
_BY_ID = "ConfigID"
_ABOUT = frozenset(
    {"CompilerOptions", "ConfigFileOptions", "ParameterOptions", "ProgramName", "StartupBegin", "StartupEnd"}
)
_FAILED = "-1"


class _Row(Struct, frozen=True):
    """A row: the selected options, the numeric options, and the measured values as cells of a table."""

    selected: tuple[str, ...]
    numeric: dict[str, str]
    values: dict[str, str]


def parse_measurements(text: str, file: str, content: str) -> Sheet:
    """The table in a ``measurements.xml``: 1 and 0 for binary options, numbers for numeric ones, and measured values.

    Several values of a row (``<row multiple="true">``) are its runs, without failed ones (-1).

    Raises:
        InputError: for malformed XML, other elements than SPL Conqueror's, or no rows, with their place.
    """
    rows = _Reader(text, file).read()
    if not rows:
        raise InputError("the file has no rows", place=Place(file, 1), fix="write a <row> for each configuration")
    binary = dict.fromkeys(name for row in rows for name in row.selected)
    numeric = dict.fromkeys(name for row in rows for name in row.numeric)
    values = dict.fromkeys(name for row in rows for name in row.values)
    columns = (*binary, *numeric, *values)
    cells = np.empty((len(rows), len(columns)), dtype=object)
    for number, row in enumerate(rows):
        selected = set(row.selected)
        cells[number] = [
            *("1" if name in selected else "0" for name in binary),
            *(row.numeric.get(name, "") for name in numeric),
            *(row.values.get(name, "") for name in values),
        ]

    def locate(row: int | None, column: int) -> Place:
        return Place(file, 1) if row is None else _Reader(text, file, row).place_of(columns[column])

    return Sheet(file, columns, cells, np.arange(len(rows)), content, locate)


class _Reader:
    """Collects rows while expat parses, and the places of the elements of the row ``wanted``."""

    def __init__(self, text: str, file: str, wanted: int | None = None) -> None:
        self._text, self._file, self._wanted = text, file, wanted
        self._rows: list[_Row] = []
        self._open: list[str] = []
        self._root: dict[str, str] = {}
        self._row: dict[str, str] = {}
        self._several = False
        self._name = ""
        self._pieces: list[str] = []
        self._places: dict[str, Place] = {}
        self._parser = expat.ParserCreate("utf-8")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._pieces.append
        self._parser.StartDoctypeDeclHandler = self._doctype

    def read(self) -> list[_Row]:
        """All rows.

        Raises:
            InputError: for malformed XML, with its place.
        """
        try:
            self._parser.Parse(self._text.encode(), True)  # noqa: FBT003 - expat's signature
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise InputError(
                f"this is not well-formed XML: {reason}", place=self._at(error.lineno, error.offset)
            ) from None
        return self._rows

    def place_of(self, column: str) -> Place:
        """The place of a column's cell in the wanted row: its element, that of the options, or the row."""
        self.read()
        return self._places.get(column, self._places[_ROW])

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        expected = _LEVELS[len(self._open)] if len(self._open) < len(_LEVELS) else ""
        if tag != expected:
            raise InputError(
                f"<{tag}> stands where {f'<{expected}>' if expected else 'text'} is expected",
                place=self._here(),
                fix="`hati space import` reads feature models" if tag == "vm" else f"write {_SHAPE}",
            )
        self._open.append(tag)
        if tag == _ROOT:
            self._root = self._delimiters(attributes)
        elif tag == _ROW:
            self._row, self._several = {}, "true" in {value.lower() for value in attributes.values()}
        else:
            self._name = self._named(attributes)
            self._pieces.clear()
        if self._wanted == len(self._rows) and tag != _ROOT:
            self._places[_ROW if tag == _ROW else self._name] = self._here()

    def _end(self, tag: str) -> None:
        self._open.pop()
        if tag == _DATA:
            self._row[self._name] = "".join(self._pieces).strip()
        elif tag == _ROW:
            self._rows.append(self._finished())
            if self._wanted == len(self._rows) - 1:
                self._name_places()

    def _finished(self) -> _Row:
        selected: dict[str, None] = {}
        numeric: dict[str, str] = {}
        for name in sorted((_BINARY | _NUMERIC) & set(self._row)):
            for word in filter(None, map(str.strip, self._row[name].split(","))):
                if name in _NUMERIC or ";" in word:
                    option, number = self._numeric(word)
                    if numeric.setdefault(option, number) != number:
                        raise InputError(f"{option!r} has two values in this row", place=self._here())
                else:
                    selected[word] = None
        others = {name: text for name, text in self._row.items() if name not in _BINARY | _NUMERIC | _ABOUT}
        if not (_BINARY | _NUMERIC) & set(self._row):
            raise InputError(
                "the row has no configuration",
                place=self._here(),
                fix='write <data columname="Configuration">OPTION,OPTION</data>',
            )
        return _Row(tuple(selected), numeric, {name: self._cell(text) for name, text in others.items()})

    def _numeric(self, word: str) -> tuple[str, str]:
        """An option and its number in a text such as ``threads;4``, also with ``=`` or a blank."""
        for delimiter in (";", "=", " "):
            option, _, number = (part.strip() for part in word.partition(delimiter))
            if option and number:
                return option, number
        raise InputError(f"{word[:80]!r} is not an option and its value", place=self._here(), fix="write threads;4")

    def _cell(self, text: str) -> str:
        """The measured values as a cell of a table; empty if all failed."""
        decimal, separator = self._root["decimalDelimiter"], self._root["separator"]
        if not self._several:
            return text if "." in text else text.replace(decimal, ".")
        parts = [part.strip() for part in text.split(separator)]
        return SEPARATOR.join(part.replace(decimal, ".") for part in parts if part and part != _FAILED)

    def _delimiters(self, attributes: dict[str, str]) -> dict[str, str]:
        found = {"decimalDelimiter": ",", "separator": ",", **attributes}
        for name in ("decimalDelimiter", "separator"):
            if len(found[name]) != 1:
                raise InputError(f"{name} {found[name]!r} is not one character", place=self._here())
        return found

    def _named(self, attributes: dict[str, str]) -> str:
        name = (attributes.get("columname") or attributes.get("column") or "").strip()
        if not name:
            raise InputError("a <data> has no name", place=self._here(), fix='write <data columname="Performance">')
        if name == _BY_ID:
            raise InputError(
                f"configurations by {_BY_ID} are not supported",
                place=self._here(),
                fix='write <data columname="BinaryOptions"> and <data columname="NumericOptions">',
            )
        if name in self._row:
            raise InputError(f"the row has two elements of {name!r}", place=self._here(), fix="remove one")
        return name

    def _name_places(self) -> None:
        """Give the options of the wanted row the place of the element that lists them."""
        row = self._rows[-1]
        for kinds, options in ((_BINARY, row.selected), (_NUMERIC, row.numeric)):
            place = next((self._places[name] for name in sorted(kinds) if name in self._places), None)
            if place is not None:
                self._places |= {option: place for option in options if option not in self._places}

    def _here(self) -> Place:
        return self._at(self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber)

    def _at(self, line: int, column: int) -> Place:
        lines = self._text.split("\n", line)
        text = lines[line - 1] if line <= len(lines) else ""
        return Place(self._file, line, len(text.encode()[:column].decode(errors="ignore")) + 1, text)

    def _doctype(self, name: str, *_rest: object) -> None:
        raise InputError(
            f"document type {name!r}: measurements need none, and entities are not expanded",
            place=self._here(),
            fix="remove the <!DOCTYPE ...>",
        )
