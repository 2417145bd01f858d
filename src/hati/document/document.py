"""Documents and tables as plain values: the answer, its evidence and its limits. Renderers draw them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct

from hati.core import Setting, replace
from hati.document.quantities import general


class Align(StrEnum):
    """The side on which a column's cells stand."""

    LEFT = "left"
    RIGHT = "right"


class Shown(Struct, frozen=True):
    """A cell whose text says less than its value: ``text`` is for people, ``value`` for programs."""

    text: str
    value: str | int | float | bool | None


Cell = str | int | float | bool | None | Shown
"""One cell: a plain value, or one with a text of its own. None is an empty cell."""


class Column(Struct, frozen=True):
    """A column's heading, the unit of its numbers (None: none), and its side."""

    name: str
    unit: str | None = None
    align: Align = Align.LEFT

    @property
    def heading(self) -> str:
        """The name with its unit."""
        return f"{self.name} ({self.unit})" if self.unit else self.name


class Table(Struct, frozen=True):
    """A titled table; every row has one cell for each column. ``notes`` are sentences that belong under it."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for number, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(f"row {number} of {self.title!r} has {len(row)} cells for {len(self.columns)} columns")

    def first(self, most: int, others: str) -> Table:
        """The first rows, and a note of how many more there are, with what to do to see the ``others``."""
        left = len(self.rows) - most
        if left <= 0:
            return self
        return replace(self, rows=self.rows[:most], notes=(f"... and {left:,} more; {others}", *self.notes))


def cell_text(cell: Cell) -> str:
    """The text of a cell: ``true`` and ``false``, numbers with thousands separators, empty for None."""
    if isinstance(cell, Shown):
        return cell.text
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else general(cell)


def cell_value(cell: Cell) -> str | int | float | bool | None:
    """The value of a cell, unrounded; None for a number that is not finite."""
    value = cell.value if isinstance(cell, Shown) else cell
    return None if isinstance(value, float) and not math.isfinite(value) else value


class TableJson(Struct, frozen=True, tag_field="format", tag="hati-table-1"):
    """A table: an object for each row, keyed by the columns' names, a column's unit under its name and `` unit``."""

    rows: list[dict[str, Setting | None]]


def table_rows(table: Table) -> list[dict[str, Setting | None]]:
    """The values of each row by the columns' names, each followed by its column's unit."""
    return [dict(_named_cells(table.columns, row)) for row in table.rows]


def _named_cells(columns: Sequence[Column], row: Sequence[Cell]) -> Iterator[tuple[str, Setting | None]]:
    for column, cell in zip(columns, row, strict=True):
        yield column.name, cell_value(cell)
        if column.unit:
            yield f"{column.name} unit", column.unit


Fact = tuple[str, str]
"""A name and a text."""


class Facts(Struct, frozen=True):
    """Texts that each have a name, under a title."""

    title: str
    lines: tuple[Fact, ...]


class Prose(Struct, frozen=True):
    """Sentences, each a paragraph of its own."""

    sentences: tuple[str, ...]


class ChartKind(StrEnum):
    """How figure data are drawn."""

    PARETO = "pareto"
    HALF_NORMAL = "half_normal"
    MAIN_EFFECTS = "main_effects"
    INTERACTIONS = "interactions"
    RUN_ORDER = "run_order"
    QUANTILES = "quantiles"
    BOXES = "boxes"
    HISTORY = "history"
    RELATION = "relation"
    HISTOGRAM = "histogram"
    LOADS = "loads"
    TREE = "tree"


class Chart(Struct, frozen=True):
    """Figure data, drawn if the output can have charts; ``name`` is unique in a document."""

    kind: ChartKind
    name: str
    caption: str
    figure: Any


class Folded(Struct, frozen=True):
    """Details: shown in full on a console, behind their title where a document can be unfolded."""

    title: str
    sections: tuple[Table, ...]


class Brief(Struct, frozen=True):
    """A summary of folded details: shown where these are folded."""

    table: Table


class Aside(Struct, frozen=True):
    """Sections for interactive documents only, shown behind their title."""

    title: str
    sections: tuple[Section, ...]


class Part(Struct, frozen=True):
    """A part of a document with an answer of its own, which may be empty."""

    title: str
    answer: str
    sections: tuple[Section, ...]


Section = Table | Facts | Prose | Chart | Folded | Brief | Aside | Part


class Case(NamedTuple):
    """A test case; ``failure``, ``skipped`` or ``error`` gives the reason, and all are None if it passes.

    An error is a missing measurement; ``note`` is a remark on a case that passes; ``seconds`` is the time of its
    runs, None if unknown. The time of runs that several cases share is divided equally.
    """

    suite: str
    name: str
    failure: str | None = None
    skipped: str | None = None
    error: str | None = None
    note: str | None = None
    seconds: float | None = None


class Document(Struct, frozen=True):
    """A study's result, for people.

    ``answer`` gives it in one or two sentences. ``facts`` describe the study; ``failures`` are runs that
    failed, with their reasons; ``warnings`` limit the answer and name remedies; ``reading`` explains terms.
    ``cases`` are verdicts as test cases of a ``suite``, for continuous integration. ``study`` is its key,
    shown where a document outlives its console. A bot finds its own comment by ``mark``.
    """

    title: str
    answer: str
    facts: tuple[Fact, ...] = ()
    sections: tuple[Section, ...] = ()
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reading: tuple[Fact, ...] = ()
    cases: tuple[Case, ...] = ()
    suite: str = ""
    study: str = ""
    mark: str = ""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that a console shows, those of its parts included."""
        return _tables(self.sections)


def _tables(sections: tuple[Section, ...]) -> tuple[Table, ...]:
    found: list[Table] = []
    for section in sections:
        if isinstance(section, Table):
            found.append(section)
        elif isinstance(section, Folded):
            found += section.sections
        elif isinstance(section, Part):
            found += _tables(section.sections)
    return tuple(found)
