"""A space from the columns of a table."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from msgspec import Struct

from hati.core import Setting
from hati.space import Option, OptionError, Space
from hati.subject.table.metrics import ORIGIN
from hati.subject.table.options import encoded
from hati.subject.table.sheet import Sheet, distinct

MOST_SETTINGS = 64
"""A column with more different values is taken for something measured."""

MOST_FRACTIONS = 8
"""The same for numbers that are no integers; also where more than half of the rows have one of their own."""


class Inferred(Struct, frozen=True):
    """A space without constraints, and the columns that are no options, each with the reason."""

    space: Space
    others: tuple[tuple[str, str], ...]

    def configurations(self, sheet: Sheet) -> int:
        """How many different configurations the table has."""
        return len(np.unique(encoded(sheet, self.space)[0], axis=0))


def infer_space(sheet: Sheet, metrics: Collection[str]) -> Inferred:
    """The options that a table's columns are, with the values that occur as settings.

    Columns of 0 and 1 become booleans. Numbers are put in order, texts are taken in the order in which they come; the
    first is the default. No options are: ``metrics``, columns that say where a row comes from, columns with one value
    only, and columns with so many that they look measured.

    Raises:
        InputError: for a metric that is no column, with the nearest; where no option is left.
    """
    for name in metrics:
        if name not in sheet:
            raise sheet.missing(name, "for --metric")
    options: list[Option] = []
    others: list[tuple[str, str]] = []
    for column in sheet.columns:
        texts, _ = distinct(text.strip() for text in sheet.texts(column))
        reason = _reason(column, texts, len(sheet), metrics)
        if reason:
            others.append((column, reason))
        else:
            options.append(_option(sheet, column, texts))
    if not options:
        raise sheet.error("no column of the table can be an option", column=sheet.columns[0])
    return Inferred(Space(tuple(options)), tuple(others))


def _reason(column: str, texts: Sequence[str], rows: int, metrics: Collection[str]) -> str:
    if column in metrics:
        return "a metric"
    if not column or column in ORIGIN:
        return "it says where a row comes from" if column else "it has no name"
    if len(texts) == 1:
        return f"always {texts[0]!r:.40}"
    many = len(texts) > (MOST_FRACTIONS if _fractions(texts) else MOST_SETTINGS)
    many |= 2 * len(texts) > rows and _fractions(texts)
    return f"{len(texts):,} different values" if many else ""


def _fractions(texts: Sequence[str]) -> bool:
    """Whether these are numbers, and not all integers."""
    try:
        return not all(float(text).is_integer() for text in texts)
    except ValueError:
        return False


def _option(sheet: Sheet, column: str, texts: Sequence[str]) -> Option:
    settings = _settings(texts)
    try:
        return Option(column, settings, settings[0])
    except OptionError as error:
        raise sheet.error(error.message, column=column, fix=error.fix) from None


def _settings(texts: Sequence[str]) -> tuple[Setting, ...]:
    if {text.lower() for text in texts} <= {"0", "1"} or {text.lower() for text in texts} <= {"false", "true"}:
        return (False, True)
    for kind in (int, float):
        try:
            return tuple(sorted({kind(text) for text in texts}))
        except ValueError:
            continue
    return tuple(texts)
