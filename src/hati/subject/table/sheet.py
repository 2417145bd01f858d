"""Read tables of texts, whose cells have places, from CSV or Parquet files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import InputError, NotInstalledError, Place, replace, unguarded
from hati.core.wording import suggestion
from hati.subject.samples.source import cut_off_warning, ignore_warning

Cells = NDArray[np.object_]
Locate = Callable[[int | None, int], Place]
"""The place of a cell by its row in the file, from 0 (None: the header), and its column, from 0."""


class Sheet(Struct, frozen=True, eq=False):
    """The rows of a table, or some of them.

    ``cells`` holds texts, shape (rows, columns); ``numbers`` the rows' places in the file, from 0; ``content``
    is a hash of the whole file's bytes.

    Raises:
        InputError: for two columns with one name, with the place.
    """

    file: str
    columns: tuple[str, ...]
    cells: Cells
    numbers: NDArray[np.intp]
    content: str
    locate: Locate

    def __post_init__(self) -> None:
        for position, name in enumerate(self.columns):
            if name and name in self.columns[:position]:
                raise self.error(f"there are two columns {name!r}", column=name, at=position, fix="rename one")

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, column: str) -> bool:
        return column in self.columns

    def texts(self, column: str) -> list[str]:
        """The cells of a column, from top to bottom."""
        texts: list[str] = self.cells[:, self.columns.index(column)].tolist()
        return texts

    def only(self, rows: NDArray[np.intp] | NDArray[np.bool_]) -> Sheet:
        """The table with these rows, in this order."""
        return replace(self, cells=self.cells[rows], numbers=self.numbers[rows])

    def error(
        self, message: str, *, column: str, row: int | None = None, fix: str | None = None, at: int | None = None
    ) -> InputError:
        """An error that points at a cell: ``row`` is this table's row, from 0, None is the header."""
        number = None if row is None else int(self.numbers[row])
        position = self.columns.index(column) if at is None else at
        return InputError(message, place=self.locate(number, position), fix=fix)

    def missing(self, column: str, meant: str, candidates: Iterable[str] | None = None) -> InputError:
        """The error for a missing column, with its purpose ``meant`` and the nearest existing column."""
        known = [name for name in (self.columns if candidates is None else candidates) if name]
        return InputError(
            f"there is no column {column!r} {meant}", place=self.locate(None, 0), fix=suggestion(column, known)
        )


def distinct(texts: Iterable[str]) -> tuple[tuple[str, ...], NDArray[np.intp]]:
    """The distinct texts in order of occurrence, and for each text its index among them."""
    places: dict[str, int] = {}
    codes = [places.setdefault(text, len(places)) for text in texts]
    return tuple(places), np.array(codes, dtype=np.intp)


_DELIMITERS = ",;\t"


def parse_delimited(text: str, file: str, content: str, warn: Callable[[str], None] = ignore_warning) -> Sheet:
    """The table in a text: its first line names the columns; the delimiter is the most frequent one in this line.

    It warns of a last line that may be cut off.

    Raises:
        InputError: for a text without a header or rows, or a row with more or fewer cells than the header, with its
            place.
    """
    first = re.split(r"[\r\n]", text, maxsplit=1)[0]
    delimiter = max(_DELIMITERS, key=first.count)
    header, rows, starts = _records(text, file, delimiter)
    places = _Places(file, text, delimiter, starts)
    for number, row in enumerate(rows):
        if len(row) != len(header):
            place = places.cell(number, min(len(row), len(header)) - (len(row) < len(header)))
            raise InputError(f"cells in the row: {len(row)}, in the header: {len(header)}", place=place)
    if not rows:
        raise InputError("the table has no rows", place=Place(file, 1))
    columns = tuple(name.strip() for name in header)
    if not text.endswith(("\n", "\r")):
        warn(cut_off_warning(Place(file, starts[-1])))
    return Sheet(file, columns, np.array(rows, dtype=object), np.arange(len(rows)), content, places.cell)


def _records(text: str, file: str, delimiter: str) -> tuple[list[str], list[list[str]], list[int]]:
    """The header, the non-blank rows, and the line, from 1, on which each of these starts, header first."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    records: list[list[str]] = []
    starts: list[int] = []
    line = 1
    try:
        for record in reader:
            if record and record != [""]:
                records.append(list(map(unguarded, record)))
                starts.append(line)
            line = reader.line_num + 1
    except csv.Error as error:
        raise InputError(f"this is not a table: {error}", place=Place(file, reader.line_num)) from None
    if not records:
        raise InputError("the file is empty", place=Place(file), fix="its first line names the columns")
    return records[0], records[1:], starts


class _Places(Struct, frozen=True, dict=True):
    """Finds the places of cells in the text, for errors."""

    file: str
    text: str
    delimiter: str
    starts: Sequence[int]

    def cell(self, row: int | None, column: int) -> Place:
        line, offset = self._spot(self.starts[0 if row is None else row + 1] - 1, column)
        return Place(self.file, line + 1, offset + 1, self._lines[line])

    @cached_property
    def _lines(self) -> list[str]:
        return re.split(r"\r\n|\r|\n", self.text)

    def _spot(self, line: int, column: int) -> tuple[int, int]:
        """The line and the offset in it, both from 0, at which a cell of the record that starts on ``line`` begins."""
        offset, quoted = 0, False
        while column:
            if offset >= len(self._lines[line]):
                if not quoted or line + 1 == len(self._lines):
                    break
                line, offset = line + 1, 0  # a line break within quotes
                continue
            character = self._lines[line][offset]
            quoted ^= character == '"'
            column -= character == self.delimiter and not quoted
            offset += 1
        return line, offset


def parse_parquet(data: bytes, file: str, content: str) -> Sheet:
    """The table in a Parquet file, with its values as text; nulls are empty.

    Raises:
        InputError: where it cannot be read or has no rows.
        NotInstalledError: without the extra ``parquet``.
    """
    try:
        from pyarrow import ArrowException, BufferReader, parquet
    except ImportError:
        raise NotInstalledError(
            "Parquet files are read by pyarrow, which is not installed",
            fix='install it with: pip install "hati[parquet]"',
        ) from None
    try:
        read = parquet.read_table(BufferReader(data))
    except (ArrowException, OSError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"this is not a Parquet file that can be read: {reason}", place=Place(file)) from None
    if not read.num_rows:
        raise InputError("the table has no rows", place=Place(file))
    columns = tuple(str(name).strip() for name in read.column_names)
    cells = np.empty((read.num_rows, len(columns)), dtype=object)
    for position in range(len(columns)):
        cells[:, position] = [_text(value) for value in read.column(position).to_pylist()]

    def locate(row: int | None, column: int) -> Place:
        return Place(f"{file}, {'' if row is None else f'row {row + 1}, '}column {columns[column]!r}")

    return Sheet(file, columns, cells, np.arange(len(cells)), content, locate)


def _text(value: object) -> str:
    match value:
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case float() if value.is_integer():
            return str(int(value))
        case bytes():
            return value.decode(errors="replace")
        case _:
            return str(value)
