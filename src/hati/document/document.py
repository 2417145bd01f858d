"""Documents and tables as plain values: the answer, its evidence and its limits. Renderers draw them.

Numbers are formatted for people here: significant digits, thousands separators, tidied units. Values for programs stay
unrounded.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct

from hati.core import Setting, parse_unit, replace


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


_HEADING = re.compile(r"(> )?(.*?)(?: \((.*)\))?")


def columns_of(*headings: str) -> tuple[Column, ...]:
    """Columns by their headings, ``|`` between them: ``>`` is before one of numbers, and its unit in parentheses.

    >>> [(each.name, each.unit, each.align.value) for each in columns_of("effect of | > change (%) | > p ()")]
    [('effect of', None, 'left'), ('change', '%', 'right'), ('p', None, 'right')]
    """
    found = (_HEADING.fullmatch(each) for each in " | ".join(headings).split(" | "))
    return tuple(Column(h[2], h[3] or None, Align.RIGHT if h[1] else Align.LEFT) for h in found if h)


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

    @property
    def shown(self) -> Table:
        """The table for people: without the columns in which no row has a value."""
        filled = [i for i in range(len(self.columns)) if any(cell_text(row[i]) for row in self.rows)]
        if not filled or len(filled) == len(self.columns):
            return self
        rows = tuple(tuple(row[i] for i in filled) for row in self.rows)
        return replace(self, columns=tuple(self.columns[i] for i in filled), rows=rows)


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
    DISTRIBUTION = "distribution"
    TIMELINE = "timeline"
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


DIGITS = 4

_PREFIXES = {
    "time": ("ns", "µs", "ms", "s"),
    "memory": ("B", "kB", "MB", "GB"),
    "energy": ("mJ", "J", "kJ"),
    "power": ("mW", "W", "kW"),
}
_BINARY = ("B", "KiB", "MiB", "GiB")
_NO_UNIT = ("", "1")
_PLAIN = (1e-4, 1e9)
_ABOUT_ONE = 0.9995
"""What rounds to 1 in four digits counts as 1, so that 999.96 µs reads 1 ms and not 1,000 µs."""


class Tidy(NamedTuple):
    """A unit to show values in: a value times ``factor`` is in ``unit``."""

    unit: str
    factor: float


def tidy(unit: str, values: Iterable[float]) -> Tidy:
    """The unit with the prefix in which the largest of the values is a number from 1 to 1000.

    Only the part before ``/`` changes. Units without a known family (``page``) stay as they are;
    ``1`` and the empty unit are not shown.

    >>> tidy("s", [0.0017]).unit
    'ms'
    """
    above, slash, below = unit.strip().partition("/")
    if above in _NO_UNIT:
        return Tidy(slash and f"1/{below}", 1.0)
    known = parse_unit(above)
    symbols = _BINARY if above in _BINARY[1:] else _PREFIXES.get(known.dimension, ())
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if not symbols or largest == 0.0:
        return Tidy(above + slash + below, 1.0)
    scales = [(symbol, parse_unit(symbol).scale) for symbol in symbols]
    fitting = [(symbol, scale) for symbol, scale in scales if largest * known.scale >= scale * _ABOUT_ONE]
    symbol, scale = fitting[-1] if fitting else scales[0]
    return Tidy(symbol + slash + below, known.scale / scale)


def decimals(values: Iterable[float], digits: int = DIGITS) -> int:
    """The decimal places that show the largest of the values with that many significant digits."""
    largest = max((abs(value) for value in values if math.isfinite(value)), default=0.0)
    if largest == 0.0:
        return 0
    return min(12, max(0, digits - 1 - math.floor(math.log10(largest))))


def fixed(value: float, places: int) -> str:
    """The value with that many decimal places and thousands separators; never ``-0``."""
    if not math.isfinite(value):
        return "?"
    text = f"{value:,.{places}f}"
    return text.lstrip("-") if not text.strip("-0.,") else text


def general(value: float, digits: int = DIGITS) -> str:
    """The value with that many significant digits and thousands separators; with an exponent if it is tiny or huge.

    Whole digits are never dropped: 16,384 stays 16,384.

    >>> general(0.0017184), general(16384.0), general(1.5)
    ('0.001718', '16,384', '1.5')
    """
    if not math.isfinite(value):
        return "?"
    if value != 0 and not _PLAIN[0] <= abs(value) < _PLAIN[1]:
        return f"{value:.{digits - 1}e}"
    text = fixed(value, decimals([value], digits))
    return text.rstrip("0").rstrip(".") if "." in text else text


def quantity(value: float, unit: str, digits: int = DIGITS) -> str:
    """The value with its unit tidied.

    >>> quantity(0.0017184, "s"), quantity(5120.0, "1/s")
    ('1.718 ms', '5,120 1/s')
    """
    scale = tidy(unit, [value])
    number = general(value * scale.factor, digits)
    return f"{number} {scale.unit}" if scale.unit else number


def percent(fraction: float, digits: int = 3) -> str:
    """A fraction as a percentage without a sign, such as ``1.9 %``."""
    return f"{general(100 * fraction, digits)} %"


def change(fraction: float) -> str:
    """A relative change with its sign and one decimal place; in whole percents from a tenfold change on.

    >>> change(0.1243), change(-0.5), change(12.5)
    ('+12.4 %', '-50.0 %', '+1,250 %')
    """
    return f"{change_number(fraction)} %"


def change_number(fraction: float) -> str:
    """The number of `change`, in percent; with an exponent from a million percent on.

    >>> change_number(2.0125e7)
    '+2.0e+09'
    """
    if math.isfinite(fraction) and abs(fraction) >= _HUGE:
        return f"{100 * fraction:+.1e}"
    text = fixed(100 * fraction, 1 if abs(fraction) < _TENFOLD else 0)
    return f"+{text}" if fraction > 0 and text.strip("0.,?") else text


def change_range(low: float, high: float, number: Callable[[float], str] = change_number) -> str:
    """The interval of a change as numbers in percent; without an upper end if that is infinite.

    >>> change_range(-0.5, 0.25), change_range(2.0, math.inf)
    ('-50.0 to +25.0', '+200.0 or more')
    """
    return f"{number(low)} or more" if math.isinf(high) else f"{number(low)} to {number(high)}"


_TINY_P = 1e-4


def p_text(p_value: float) -> str:
    """A p-value as people read it, never as zero.

    >>> p_text(0.00031), p_text(0.2), p_text(1e-9)
    ('0.0003', '0.20', '<0.0001')
    """
    if p_value < _TINY_P:
        return f"<{_TINY_P}"
    return f"{p_value:.2f}" if p_value >= 0.1 else f"{p_value:.4f}"


_TENFOLD, _HUGE = 9.9995, 1e4


def duration(seconds: float) -> str:
    """A duration in the units that people use.

    >>> duration(0.0123), duration(75.2), duration(7260.0)
    ('12.3 ms', '1 min 15 s', '2 h 1 min')
    """
    if not math.isfinite(seconds):
        return "?"
    if seconds < 59.95:
        return quantity(seconds, "s", 3)
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(round(seconds / 60), 60)
    return f"{hours:,} h {minutes} min" if minutes else f"{hours:,} h"


def roman(number: int) -> str:
    """A resolution as a Roman numeral."""
    ones = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
    return "X" * (number // 10) + ones[number % 10]
