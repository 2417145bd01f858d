"""A table of measured configurations in the place of a program: its runs are looked up.

``read_sheet`` reads a file into a ``Sheet`` of texts whose cells know their places, ``selected`` takes rows by what
their cells say, ``assembled`` finds options and metrics in it: a ``MeasuredTable`` that knows the runs of every
configuration. ``infer_space`` goes the other way: from the columns of a table to a space.
"""

from hati.subject.table.measured import MeasuredTable, RowCondition, assembled, read_series, selected
from hati.subject.table.options import (
    Inferred,
    MetricColumn,
    RunDeviations,
    infer_space,
    metric_column,
    read_deviations,
    same_everywhere,
    space_columns,
)
from hati.subject.table.reading import ENDINGS, is_table, read_sheet
from hati.subject.table.sheet import Sheet

__all__ = [
    "ENDINGS",
    "Inferred",
    "MeasuredTable",
    "MetricColumn",
    "RowCondition",
    "RunDeviations",
    "Sheet",
    "assembled",
    "infer_space",
    "is_table",
    "metric_column",
    "read_deviations",
    "read_series",
    "read_sheet",
    "same_everywhere",
    "selected",
    "space_columns",
]
