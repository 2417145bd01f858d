"""Tables in Parquet files."""

from __future__ import annotations

import numpy as np

from hati.core import InputError, NotInstalledError, Place
from hati.subject.table.sheet import Sheet


def parse_parquet(data: bytes, file: str, content: str) -> Sheet:
    """The table in a Parquet file, its values as text; nulls are empty.

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
