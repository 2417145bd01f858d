"""The columns of a table: options with their settings, and metrics with the measured values.

The rows are configurations, and the columns of options form a space. The cells of a metric are numbers; noise is drawn
from deviations.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import LARGEST, Better, Configuration, InputError, Metric, Setting, generator, setting_text
from hati.core.wording import listed
from hati.space import Constraint, Option, OptionError, OptionKind, Space, read_setting
from hati.space.constraint import mentioned
from hati.space.evaluation import holds
from hati.subject.table.sheet import Sheet, distinct

ORIGIN = ("revision", "workload", "benchmark", "machine", "study", "stage", "run", "repetition")
"""The columns for the origin of a row."""

Codes = NDArray[np.int32]
"""Indexes of settings."""

BLANK = -1
WRONG = -2
_TRUTH = {"0": False, "1": True, "false": False, "true": True, "": False}


class Cells(Struct, frozen=True, eq=False):
    """An option's cells in the rows of a table.

    ``codes`` has shape (rows,): the index of the setting, ``BLANK`` without one, ``WRONG`` if the text is not one.
    """

    option: Option
    sheet: Sheet
    columns: tuple[str, ...]
    codes: Codes

    def error(self, row: int) -> InputError:
        """The error for a row in which the option is active and has no setting."""
        column = self.columns[0]
        if not _is_own(self.option, self.columns):
            chosen = [name for name in self.columns if _TRUTH.get(self._text(row, name).lower())]
            said = f"{listed(chosen)} are 1" if chosen else f"none of {listed(self.columns)} is 1"
            fix = "let exactly one of them be 1"
            return self.sheet.error(
                f"option {self.option.name!r}: {said}", column=(chosen or [column])[-1], row=row, fix=fix
            )
        text = self._text(row, column)
        if self.codes[row] == BLANK:
            message, fix = f"option {self.option.name!r} is active here and has no setting", "give it one"
            return self.sheet.error(message, column=column, row=row, fix=fix)
        try:
            read_setting(self.option, text)
        except InputError as error:
            return self.sheet.error(error.message, column=column, row=row, fix=error.fix)
        return self.sheet.error(f"{text!r} is neither 0 nor 1", column=column, row=row)

    def _text(self, row: int, column: str) -> str:
        text: str = self.sheet.cells[row, self.sheet.columns.index(column)]
        return text.strip()


def option_columns(sheet: Sheet, option: Option) -> tuple[str, ...]:
    """The columns of an option: its own, or one for each of its settings; empty where there are none.

    Feature models write alternatives as features, each a column of zeros and ones. Such columns are used if the
    option's own column is missing, or has none of its settings: then that column belongs to the feature group.
    """
    own = next((name for name in (f"option {option.name}", option.name) if name in sheet), None)
    features = tuple(setting_text(setting) for setting in option.settings)
    apart = option.kind is OptionKind.ENUMERATION and all(name in sheet for name in features)
    if own is not None and not (apart and _no_setting_in(sheet.texts(own), features)):
        return (own,)
    return features if apart else ()


def space_columns(sheet: Sheet, space: Space) -> dict[str, tuple[str, ...]]:
    """The columns of every option of a space.

    Raises:
        InputError: where an option has no column, with the nearest one, or two options have the same.
    """
    found: dict[str, tuple[str, ...]] = {}
    taken: dict[str, str] = {}
    for option in space.options:
        columns = option_columns(sheet, option)
        if not columns:
            raise _without_column(sheet, option)
        for column in columns:
            if column in taken:
                raise sheet.error(
                    f"the column {column!r} could be a setting of {taken[column]!r} or of {option.name!r}",
                    column=column,
                    fix="give each of them a column of its own name, with its settings",
                )
            taken[column] = option.name
        found[option.name] = columns
    return found


def option_cells(sheet: Sheet, space: Space) -> dict[str, Cells]:
    """The cells of every option of a space, by its name.

    Raises:
        InputError: where an option has no column, with the nearest, or two options have the same.
    """
    found = {}
    for name, columns in space_columns(sheet, space).items():
        option = space.by_name[name]
        codes = _coded(sheet, option, columns[0]) if _is_own(option, columns) else _chosen(sheet, columns)
        found[name] = Cells(option, sheet, columns, codes)
    return found


def _is_own(option: Option, columns: tuple[str, ...]) -> bool:
    return columns in {(option.name,), (f"option {option.name}",)}


def _no_setting_in(texts: Iterable[str], settings: Iterable[str]) -> bool:
    return {text.strip() for text in texts}.isdisjoint(settings)


def _coded(sheet: Sheet, option: Option, column: str) -> Codes:
    texts, codes = distinct(sheet.texts(column))
    by_text: Codes = np.array([_code(option, text) for text in texts], dtype=np.int32)
    return by_text[codes]


def _code(option: Option, text: str) -> int:
    if not text.strip() and "" not in option.settings:
        return BLANK
    try:
        position = option.position(read_setting(option, text))
    except InputError:
        return WRONG
    return WRONG if position is None else position


def _chosen(sheet: Sheet, columns: tuple[str, ...]) -> Codes:
    """The index of the only column with a 1; ``BLANK`` if none has it, ``WRONG`` if several have."""
    chosen = np.stack([_truths(sheet, column) for column in columns], axis=1)
    codes: Codes = np.argmax(chosen, axis=1).astype(np.int32)
    codes[~chosen.any(axis=1)] = BLANK
    codes[chosen.sum(axis=1) > 1] = WRONG
    return codes


def _truths(sheet: Sheet, column: str) -> NDArray[np.bool_]:
    texts, codes = distinct(sheet.texts(column))
    for position, text in enumerate(texts):
        if text.strip().lower() not in _TRUTH:
            row = int(np.flatnonzero(codes == position)[0])
            raise sheet.error(f"{text!r} is neither 0 nor 1", column=column, row=row)
    return np.array([_TRUTH[text.strip().lower()] for text in texts], dtype=bool)[codes]


def _without_column(sheet: Sheet, option: Option) -> InputError:
    features = [setting_text(setting) for setting in option.settings]
    there = [name for name in features if name in sheet]
    if option.kind is OptionKind.ENUMERATION and there:
        missing = next(name for name in features if name not in there)
        return sheet.missing(missing, f"for that setting of option {option.name!r}")
    return sheet.missing(option.name, "for the option of that name")


def encoded(sheet: Sheet, space: Space) -> tuple[Codes, NDArray[np.bool_]]:
    """The index of every option's setting in every row, shape (rows, options), -1 for inactive options.

    Also returns whether the constraints hold in each row. The cells of inactive options are ignored.

    Raises:
        InputError: for a missing column, and for an active option whose cell is not a setting, with its place.
    """
    if not space.options:
        return np.zeros((len(sheet), 0), dtype=np.int32), np.ones(len(sheet), dtype=bool)
    cells = option_cells(sheet, space)
    positions = {option.name: position for position, option in enumerate(space.options)}
    codes = np.stack([cells[name].codes for name in space.names], axis=1)
    for option in space.by_dependence:
        column = codes[:, positions[option.name]]
        active = _holding(option.active_if, codes, space, positions) if option.active_if else np.ones(len(codes), bool)
        _check(cells[option.name], column, active)
        column[~active] = BLANK
    return codes, satisfying(codes, space, space.constraints)


def satisfying(codes: Codes, space: Space, formulas: Sequence[Constraint]) -> NDArray[np.bool_]:
    """Whether all formulas over a space hold in each row of indexes, shape (rows,)."""
    positions = {option.name: position for position, option in enumerate(space.options)}
    valid = np.ones(len(codes), dtype=bool)
    for formula in formulas:
        valid &= _holding(formula, codes, space, positions)
    return valid


def code(configuration: Mapping[str, Setting], space: Space) -> Codes | None:
    """The row of indexes of a configuration; None if it is not one of the space's."""
    if any(name not in space.by_name for name in configuration):
        return None
    places = [_place(option, configuration) for option in space.options]
    return None if None in places else np.array(places, dtype=np.int32)


def decoded(codes: Codes, space: Space) -> Configuration:
    """The configuration of a row of indexes."""
    settings = zip(space.options, codes.tolist(), strict=True)
    return Configuration({option.name: option.settings[index] for option, index in settings if index >= 0})


def _place(option: Option, configuration: Mapping[str, Setting]) -> int | None:
    return option.position(configuration[option.name]) if option.name in configuration else BLANK


def _holding(formula: Constraint, codes: Codes, space: Space, positions: Mapping[str, int]) -> NDArray[np.bool_]:
    """Whether a formula holds in each row; it is evaluated once for each combination of the settings of its options."""
    options: Sequence[Option] = [space.by_name[name] for name in sorted(mentioned(formula))]
    if not options:
        return np.full(len(codes), holds(formula, {}))
    combinations, rows = np.unique(codes[:, [positions[o.name] for o in options]], axis=0, return_inverse=True)
    truths = [
        holds(formula, {o.name: o.settings[i] for o, i in zip(options, row, strict=True) if i >= 0})
        for row in combinations.tolist()
    ]
    return np.array(truths, dtype=bool)[rows.reshape(-1)]


def _check(cells: Cells, column: Codes, active: NDArray[np.bool_]) -> None:
    wrong = np.flatnonzero(active & (column < 0))
    if wrong.size:
        raise cells.error(int(wrong[0]))


MOST_SETTINGS = 64
"""A column with more distinct values is considered measured."""

MOST_FRACTIONS = 8
"""The same limit for non-integers; also, more distinct values than half of the rows count as measured."""


class Inferred(Struct, frozen=True):
    """A space without constraints, and the columns that are not options, each with the reason."""

    space: Space
    others: tuple[tuple[str, str], ...]

    def configurations(self, sheet: Sheet) -> int:
        """The number of distinct configurations in the table."""
        return len(np.unique(encoded(sheet, self.space)[0], axis=0))


def infer_space(sheet: Sheet, metrics: Collection[str]) -> Inferred:
    """The options in a table's columns, with the values that occur as settings.

    Columns of 0 and 1 become booleans. Numbers are sorted, texts are kept in order of occurrence; the first is the
    default. Not options are: ``metrics``, columns for the origin of a row, columns with only one value, and columns
    that look measured: they have too many distinct values.

    Raises:
        InputError: for a metric that is not a column, with the nearest; where no option is left.
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
    """Whether all texts are numbers, and not all are integers."""
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


SEPARATOR = "@"
"""The separator of several values in one cell: repetitions, each a separate run."""

_WITH_UNIT = re.compile(r"(.+) \((.+)\)")
_MISSING = frozenset({"", "nan", "na", "n/a", "null", "none"})


class MetricColumn(Struct, frozen=True):
    """A metric and the name of its column."""

    metric: Metric
    name: str


def metric_column(
    sheet: Sheet,
    name: str | None,
    others: Collection[str],
    known: Mapping[str, Metric],
    *,
    unit: str | None = None,
    better: Better | None = None,
) -> MetricColumn:
    """The column of a metric; without a name, the only possible one.

    The columns ``others`` are options. ``unit`` and ``better`` take precedence over a heading such as
    ``latency (ms)``, and that over the ``known`` metrics; without any, the unit is 1 and lower is better.

    Raises:
        InputError: where the column does not exist, or more than one fits.
    """
    candidates = [column for column in sheet.columns if column and column not in others and column not in ORIGIN]
    column = _only(sheet, candidates) if name is None else _named(sheet, name, candidates)
    split = _WITH_UNIT.fullmatch(column)
    plain = (split[1] if split else column).removeprefix("metric ")
    defined = known.get(column) or known.get(plain) or Metric(plain, "1")
    written = split[2] if split else None
    return MetricColumn(Metric(plain, unit or written or defined.unit, better or defined.better), column)


def numbers(sheet: Sheet, column: str) -> list[tuple[float, ...]]:
    """The values of each row in a column, in order; none if the cell is empty or marked as missing.

    Raises:
        InputError: for a cell that is not a finite number, with its place.
    """
    return [_values(sheet, column, row, text) for row, text in enumerate(sheet.texts(column))]


def _values(sheet: Sheet, column: str, row: int, text: str) -> tuple[float, ...]:
    if text.strip().lower() in _MISSING:
        return ()
    values = []
    for part in text.split(SEPARATOR):
        try:
            value = float(part)
        except ValueError:
            value = math.inf
        if not math.isfinite(value) or "_" in part:
            raise sheet.error(
                f"{text!r} is not a valid number" if part == text else f"{part!r} in {text!r} is not a valid number",
                column=column,
                row=row,
                fix="write it as in 0.25 or 1e-3; leave the cell empty where nothing was measured",
            )
        if abs(value) > LARGEST:
            fix = f"give values of at most {LARGEST:g}, in a larger unit"
            raise sheet.error(f"{part!r} is too large to compute with", column=column, row=row, fix=fix)
        values.append(value)
    return tuple(values)


def _only(sheet: Sheet, candidates: Sequence[str]) -> str:
    numeric = [name for name in candidates if _numeric(sheet.texts(name))]
    if len(numeric) == 1:
        return numeric[0]
    if not numeric:
        raise sheet.error("the table has no numeric column other than its options", column=sheet.columns[0])
    fix = f"say which by --metric: {listed(numeric)}"
    raise sheet.error("several columns could be the metric", column=numeric[0], fix=fix)


def _numeric(texts: Sequence[str]) -> bool:
    """Whether a column may be a metric: its first value is a number, and it is neither constant nor binary."""
    if len(set(texts)) == 1 or set(texts) <= {"0", "1"}:
        return False
    first = next((text for text in texts if text.strip().lower() not in _MISSING), "")
    try:
        return all(math.isfinite(float(part)) for part in first.split(SEPARATOR))
    except ValueError:
        return False


def _named(sheet: Sheet, name: str, candidates: Sequence[str]) -> str:
    if name in candidates:
        return name
    for candidate in candidates:
        split = _WITH_UNIT.fullmatch(candidate)
        if name in {split[1] if split else candidate, candidate.removeprefix("metric ")}:
            return candidate
    if name in sheet:
        raise sheet.error(
            f"the column {name!r} is not a metric but an option, or says where rows come from", column=name
        )
    raise sheet.missing(name, "for --metric", candidates)


class RunDeviations(Struct, frozen=True):
    """A standard deviation for each configuration and metric, as a fraction of its value.

    ``by_row`` maps a configuration's row of indexes, as bytes, to the metrics' deviations; ``everywhere`` is the
    default.
    """

    by_row: Mapping[bytes, Mapping[str, float]]
    everywhere: float | None = None

    def of(self, key: bytes, metric: str) -> float | None:
        """The deviation of a configuration's metric; None if unknown."""
        return self.by_row.get(key, {}).get(metric, self.everywhere)


def noisy(value: float, deviation: float, seed: int, *purpose: str) -> float:
    """A value with the noise of one run: log-normal with mean ``value`` and relative standard deviation ``deviation``.

    The same seed and purpose give the same value. With z standard normal it is value exp(s z - s^2 / 2),
    s^2 = ln(1 + deviation^2): mean and variance of the log-normal distribution, solved for its parameters.
    """
    scale = math.sqrt(math.log1p(deviation**2))
    normal = float(generator(seed, *purpose).standard_normal())
    return value * math.exp(scale * normal - scale**2 / 2)


def read_deviations(sheet: Sheet, space: Space, columns: Mapping[str, str]) -> RunDeviations:
    """The deviations in a table: ``columns`` maps a metric's name to the column of its deviations.

    Several rows of a configuration are combined by their root mean square.

    Raises:
        InputError: for cells that are not settings, or not fractions from 0 on, with their places.
    """
    codes, _ = encoded(sheet, space)
    squares: dict[bytes, dict[str, list[float]]] = {}
    keys = [row.tobytes() for row in codes]
    for metric, column in columns.items():
        for row, values in enumerate(numbers(sheet, column)):
            if any(value < 0 for value in values):
                raise sheet.error("a deviation is a fraction from 0 on", column=column, row=row, fix="0.02 for 2 %")
            squares.setdefault(keys[row], {}).setdefault(metric, []).extend(value**2 for value in values)
    means = {key: {m: _root(found) for m, found in by.items() if found} for key, by in squares.items()}
    return RunDeviations(means)


def same_everywhere(share: float) -> RunDeviations:
    """One relative standard deviation for all configurations.

    Raises:
        InputError: where it is not a fraction from 0 on.
    """
    if not 0.0 <= share < math.inf:
        raise InputError(f"{share} is not a valid relative deviation", fix="write a fraction such as 0.02, or 2%")
    return RunDeviations({}, share)


def _root(squares: Sequence[float]) -> float:
    return math.sqrt(float(np.mean(squares)))
