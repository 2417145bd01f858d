"""Read a benchmark's metrics, how its reader finds them, and numbers within bounds."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import TypeVar

from hati.core import (
    Better,
    InputError,
    Metric,
    Place,
    Reader,
    ReaderKind,
    SampleFormat,
    conversion,
    is_tool,
    parse_duration,
)
from hati.core.benchmark import COUNT, COUNTERS, LINES
from hati.core.wording import suggestion
from hati.packages import added
from hati.project.document import TomlTable, Value
from hati.project.schema import keys_of

_Number = TypeVar("_Number", int, float)


def number(value: Value) -> float:
    """A value as a number.

    Raises:
        InputError: where it is not a number.
    """
    if isinstance(value.data, bool) or not isinstance(value.data, int | float):
        raise value.error(f"{value.name}: expected a number", fix="write a number above 0")
    return float(value.data)


def positive_number(value: Value) -> float:
    """A value as a number above zero.

    Raises:
        InputError: where it is not.
    """
    return _positive(value, number(value))


def positive_natural(value: Value) -> int:
    """A value as a whole number above zero.

    Raises:
        InputError: where it is not.
    """
    return _positive(value, value.natural())


def _positive(value: Value, found: _Number) -> _Number:
    if not 0 < found < float("inf"):
        raise value.error(f"{value.name}: expected a number above 0, found {found:g}")
    return found


def duration(value: Value) -> float:
    """Seconds, of a text such as ``"30s"``.

    Raises:
        InputError: for a malformed duration.
    """
    try:
        return parse_duration(value.text())
    except InputError as error:
        if error.place:
            raise
        raise value.error(error.message, fix=error.fix) from None


def share(value: Value) -> float:
    """A fraction such as ``"1%"`` or 0.01.

    Raises:
        InputError: for a malformed number, or one that is not between 0 and 1.
    """
    text = value.data.strip() if isinstance(value.data, str) else ""
    try:
        found = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1) if text else number(value)
    except ValueError:
        found = -1.0
    if not 0.0 < found < 1.0:
        raise value.error(f"{value.name}: expected a share between 0 and 100 %", fix='write it as "1%" or 0.01')
    return found


_USED = {"wall_time": "s", "user_time": "s", "system_time": "s", "cpu_time": "s", "peak_memory": "B"}
_PROCESS = {**_USED, **dict.fromkeys(sorted(COUNTERS), COUNT)}
_PATH = re.compile(r"""(?:(?:^|\.)[^.\[\]"]+|\[-?\d{1,9}\]|\[\*\]|\["[^"]*"\])+""")
_WHERE: dict[str, str] = {ReaderKind.JSON: "path", ReaderKind.REGEX: "pattern"}
_FOR: dict[str, tuple[str, Callable[[str], bool]]] = {
    "path": ("reader 'json'", lambda kind: kind == ReaderKind.JSON),
    "pattern": (
        "reader 'regex' and those of tools, such as 'jmh'",
        lambda kind: kind == ReaderKind.REGEX or is_tool(kind),
    ),
    "field": ("readers of tools, such as 'jmh'", is_tool),
}
"""The readers that a key of a metric applies to."""
_EXAMPLES = {"path": 'path = "results[*].latency"', "pattern": "pattern = 'latency: ([0-9.]+) s'"}


def read_metrics(benchmark: TomlTable) -> tuple[Reader, tuple[Metric, ...]]:
    """The reader and the metrics of a benchmark.

    Raises:
        InputError: for invalid entries, with their place.
    """
    kind = benchmark.read("reader", _kind, ReaderKind.HATI)
    tables = benchmark.read("metric", Value.tables, [])
    if not tables and kind == ReaderKind.COVERAGE:
        return Reader(kind), (Metric(LINES, "1", Better.HIGHER),)
    if not tables and kind == ReaderKind.PROCESS:
        return Reader(kind), tuple(Metric(name, unit) for name, unit in _USED.items())
    if not tables:
        raise benchmark.error(
            "the benchmark has no metric", fix="add a [[benchmark.metric]] with name, unit and better"
        )
    metrics: dict[str, Metric] = {}
    patterns, fields = [], []
    for table in tables:
        metric = _metric(table, kind)
        if metric.name in metrics:
            raise table.need("name", "").error(f"metric {metric.name!r} is there twice", fix="rename or remove one")
        metrics[metric.name] = metric
        if kind in _WHERE:
            patterns.append((metric.name, _pattern(table, _WHERE[kind])))
        if is_tool(kind):
            patterns += [(metric.name, _filter(table.need("pattern", "")))] if "pattern" in table else []
            fields += [(metric.name, table.need("field", "").line())] if "field" in table else []
    return Reader(kind, tuple(patterns), tuple(fields)), tuple(metrics.values())


def metric_places(benchmark: TomlTable, reader: Reader) -> tuple[tuple[str, Place], ...]:
    """The place of the key by which the reader finds each metric."""
    key = _WHERE.get(reader.kind, "name")
    return tuple(
        (table.need("name", "").text(), (table.get("field") or table.need(key, "")).place)
        for table in benchmark.read("metric", Value.tables, [])
    )


def reader_names() -> tuple[str, ...]:
    """The names of all readers: Hati's own, and those that packages add by entry points of ``hati.readers``."""
    own = [each.value for kinds in (ReaderKind, SampleFormat) for each in kinds]
    return tuple(dict.fromkeys([*own, *(entry.name for entry in added("hati.readers"))]))


def _kind(value: Value) -> str:
    if value.text() not in {*ReaderKind, *SampleFormat} and value.text() not in (known := reader_names()):
        raise value.error(f"unknown reader {value.text()!r}", fix=suggestion(value.text(), known))
    return value.text()


def _metric(table: TomlTable, kind: str) -> Metric:
    table.only(*keys_of("metric"))
    for key, (readers, may) in _FOR.items():
        if key in table and not may(kind):
            raise table.error(f"{key} is for {readers}, this is reader {str(kind)!r}", key=key)
    name = table.need("name", 'name = "latency"')
    if kind == ReaderKind.PROCESS:
        unit = _process_unit(table, name)
    else:
        unit = table.need("unit", 'unit = "s" (or "1" where it has none)').text()
    return Metric(name.line(), unit, table.read("better", _better, Better.LOWER))


def _process_unit(table: TomlTable, name: Value) -> str:
    if name.text() not in _PROCESS:
        raise name.error(f"reader 'process' has no metric {name.text()!r}", fix=suggestion(name.text(), _PROCESS))
    known, unit = _PROCESS[name.text()], table.get("unit")
    if unit is None:
        return known
    try:
        conversion(known, unit.text())
    except InputError as error:
        raise unit.error(error.message, fix=f'write unit = "{known}"') from None
    return unit.text()


def _better(value: Value) -> Better:
    words = [word.value for word in Better]
    if value.text() not in words:
        raise value.error(f"better is {value.text()!r}", fix="write lower or higher")
    return Better(value.text())


def _pattern(table: TomlTable, key: str) -> str:
    value = table.need(key, _EXAMPLES[key])
    text = value.line()
    if key == "path":
        if not _PATH.fullmatch(text):
            raise value.error(
                f"{text!r} is not a valid path", fix="write keys and indexes, as in results[*].latency or a.b[0]"
            )
        return text
    groups = _expression(value)
    if groups != 1:
        raise value.error(
            f"the pattern has {groups} groups", fix="put one group ( ) around the number; others as (?: )"
        )
    return text


def _filter(value: Value) -> str:
    """A regular expression that finds a benchmark's name."""
    _expression(value)
    return value.line()


def _expression(value: Value) -> int:
    """The number of groups of a regular expression.

    Raises:
        InputError: where the text is not a regular expression.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return re.compile(value.line(), re.MULTILINE).groups
    except (re.error, OverflowError, RecursionError) as error:
        position = error.pos if isinstance(error, re.error) else None
        message = error.msg if isinstance(error, re.error) else str(error)
        raise value.error(f"this is not a valid regular expression: {message}", within=position) from None
