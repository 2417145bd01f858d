"""Tables as text: columns apart by commas, semicolons or tabs."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from functools import cached_property

import numpy as np
from msgspec import Struct

from hati.core import InputError, Place, unguarded
from hati.subject.table.sheet import Sheet

_DELIMITERS = ",;\t"


def parse_delimited(text: str, file: str, content: str) -> Sheet:
    """The table in a text: its first line names the columns; the delimiter is the one that this line has most of.

    Raises:
        InputError: for a text without a header or rows, or a row with other than the header's cells, with its place.
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
    return Sheet(file, columns, np.array(rows, dtype=object), np.arange(len(rows)), content, places.cell)


def _records(text: str, file: str, delimiter: str) -> tuple[list[str], list[list[str]], list[int]]:
    """The header, the rows that are not blank, and the line, from 1, on which each of these starts, header first."""
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
    """Finds cells again in the text, when there is something to say about one."""

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
        """The line and the offset in it, both from 0, where a cell of the record from that line on starts."""
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
