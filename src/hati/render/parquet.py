"""Tables as Parquet files."""

from __future__ import annotations

from io import BytesIO

from hati.core import NotInstalledError, setting_text
from hati.report import Table, cell_value


def table_parquet(table: Table) -> bytes:
    """A Parquet file with the columns' names; a column whose values are of several types becomes text.

    Raises:
        NotInstalledError: without pyarrow.
    """
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise NotInstalledError("Parquet needs pyarrow", fix="install it: pip install 'hati[parquet]'") from error
    columns = {}
    for position, column in enumerate(table.columns):
        values = [cell_value(row[position]) for row in table.rows]
        kinds = {
            "number" if type(value) in {int, float} else type(value).__name__ for value in values if value is not None
        }
        mixed = len(kinds) > 1
        columns[column.name] = [None if v is None else setting_text(v) for v in values] if mixed else values
    out = BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), out)
    return out.getvalue()
