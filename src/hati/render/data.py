"""Data for other programs: tables as CSV, Parquet and JSON; samples as JSON and in Go's benchmark format."""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO, StringIO
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from hati.core import (
    Assignment,
    Metric,
    NotInstalledError,
    Sample,
    SampledRun,
    Setting,
    conversion,
    guarded,
    parse_unit,
    setting_text,
)
from hati.document import FORMAT, SampledHeadJson, SampledRunHeadJson, Table, TableJson, cell_value, publish, table_rows


def table_csv(table: Table) -> str:
    """The CSV text of a table: the columns' names, then the rows, with unrounded values, empty if missing."""
    lines = [_csv_line([guarded(column.name) for column in table.columns])]
    for row in table.rows:
        values = map(cell_value, row)
        lines.append(_csv_line(["" if value is None else _field(value) for value in values]))
    return "".join(lines)


def _field(value: Setting) -> str:
    """A value's text; a text that a spreadsheet would read as a formula gets an apostrophe in front."""
    return guarded(value) if isinstance(value, str) else setting_text(value)


def _csv_line(fields: list[str]) -> str:
    r"""A record that ends in a newline; written with ``\r\n`` first, so that both characters are quoted in fields."""
    text = StringIO()
    csv.writer(text, lineterminator="\r\n").writerow(fields)
    return text.getvalue().removesuffix("\r\n") + "\n"


def table_parquet(table: Table) -> bytes:
    """A Parquet file with the columns' names; a column with values of several types becomes text.

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


def table_json(table: Table) -> str:
    """The JSON text of a table; numbers unrounded."""
    return to_json(TableJson(table_rows(table)))


def to_json(value: object) -> str:
    """The indented JSON text of a published value: numbers unrounded, null if they are not finite."""
    return msgspec.json.format(msgspec.json.encode(value, enc_hook=_encoded), indent=2).decode() + "\n"


def to_plain(value: object) -> Any:
    """The content of a value's JSON, as dictionaries and lists."""
    return msgspec.json.decode(to_json(value))


def json_schema(kind: type[Struct]) -> str:
    """The JSON Schema (2020-12) of a published type."""
    schema = msgspec.json.schema(kind, schema_hook=_schema)
    return to_json({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema})


def _encoded(value: Any) -> object:
    """A value of a type of Hati or numpy in a type of JSON."""
    if isinstance(value, Assignment):
        return dict(value)
    if hasattr(value, "tolist"):
        return value.tolist()
    raise NotImplementedError(f"{type(value).__name__} has no JSON")


def _schema(kind: type) -> dict[str, Any]:
    if issubclass(kind, Assignment):
        return {"type": "object", "additionalProperties": {"type": ["boolean", "number", "string"]}}
    raise NotImplementedError(f"{kind.__name__} has no JSON Schema")


_PIECE = 4096
"""The number of observations that are written at once."""


def samples_text(samples: Sequence[Sample]) -> Iterator[str]:
    """The text of ``hati-samples-1``, a line for each run; unknown fields are omitted."""
    yield f'{{"format": {json.dumps(FORMAT)},\n "samples": ['
    for number, sample in enumerate(samples):
        yield f'{"," if number else ""}\n  {_opened(publish(sample, SampledHeadJson))}, "runs": ['
        for place, run in enumerate(sample.runs):
            yield f'{"," if place else ""}\n    {_opened(publish(run, SampledRunHeadJson))}, "observations": ['
            yield from _observations(run)
            yield "]}"
        yield "]}"
    yield "]}\n"


def _opened(head: Struct) -> str:
    """The JSON text of the known fields, without the closing brace."""
    known = {key: value for key, value in to_plain(head).items() if value is not None}
    return json.dumps(known, ensure_ascii=False)[:-1]


def _observations(run: SampledRun) -> Iterator[str]:
    values = run.observations.values
    for start in range(0, len(values), _PIECE):
        yield f"{', ' if start else ''}{json.dumps(values[start : start + _PIECE].tolist())[1:-1]}"


_GO = {("time", "ns/op"), ("throughput", "MB/s"), ("memory", "B/op"), ("allocations", "allocs/op")}
_OF_DIMENSION = {"time": "ns", "memory": "B"}
_NAMED_BY_GO = re.compile(r"(?:(\S+?)\.)?(Benchmark.*)", re.DOTALL)
_COUNTED = re.compile(r".*-\d+", re.DOTALL)
_PROCESSORS = "procs"


class _Series(NamedTuple):
    """A sample with the name and unit in the lines of its runs, and the factor for its values."""

    sample: Sample
    name: str
    unit: str
    factor: float


def benchstat_text(samples: Sequence[Sample]) -> Iterator[str]:
    """The text, piece by piece: for each run the number of its observations after warm-up, and their mean.

    Configuration and workload are in the name, as ``/key=value``; ``procs`` of the workload is the number at its end.
    The line ``commit`` has the revision, ``machine`` the machine. Times are in ns, memory in B; a metric that is not
    one of Go's own is named in the unit, as in ``latency-ns``.
    """
    series = [_series(sample) for sample in samples]
    directions = {each.unit: each.sample.metric.better for each in series}
    yield from (f"Unit {unit} better={better}\n" for unit, better in directions.items())
    groups = defaultdict[tuple[tuple[str, str], ...], list[_Series]](list)
    for each in series:
        groups[_settings(each.sample)].append(each)
    written: set[str] = set()
    for settings, found in groups.items():
        opening = "".join(f"{key}: {value}".rstrip() + "\n" for key, value in settings if value or key in written)
        named = list(_numbered(found))
        for run in range(max(len(each.sample.runs) for each in named)):
            yield opening
            yield from (_line(each, run) for each in named if run < len(each.sample.runs))
            yield "PASS\n"
        written |= {key for key, value in settings if value}


def _series(sample: Sample) -> _Series:
    unit, factor = _unit(sample.metric)
    return _Series(sample, _name(sample), unit, factor)


def _line(series: _Series, place: int) -> str:
    observed = series.sample.runs[place].observations
    return f"{series.name} {len(observed.steady)} {series.factor * observed.mean!r} {series.unit}\n"


def _settings(sample: Sample) -> tuple[tuple[str, str], ...]:
    found = _NAMED_BY_GO.fullmatch(sample.benchmark)
    package = found[1] if found and found[1] else ""
    of_line = (" ".join(_printable(text).split()) for text in (package, sample.revision, sample.machine))
    return tuple(zip(("pkg", "commit", "machine"), of_line, strict=True))


def _name(sample: Sample) -> str:
    """The benchmark's name with all settings; ``-1`` is appended if its end looks like a number of processors."""
    found = _NAMED_BY_GO.fullmatch(sample.benchmark)
    own = found[2] if found else f"Benchmark{sample.benchmark}"
    workload: Mapping[str, Setting] = sample.workload
    processors = workload.get(_PROCESSORS)
    counted = isinstance(processors, int) and not isinstance(processors, bool) and processors >= 0
    settings = [*sample.configuration.items()]
    settings += [(key, value) for key, value in workload.items() if not (counted and key == _PROCESSORS)]
    name = _word(own) + "".join(f"/{_part(key)}={_part(setting_text(value))}" for key, value in settings)
    if counted:
        return f"{name}-{processors}"
    return f"{name}-1" if _COUNTED.fullmatch(name) else name


def _numbered(found: Iterable[_Series]) -> Iterator[_Series]:
    """The series with equal names numbered from the second on."""
    seen: set[tuple[str, str]] = set()
    for each in found:
        name, number = each.name, 0
        own, hyphen, processors = name.rpartition("-") if _COUNTED.fullmatch(name) else (name, "", "")
        while (name, each.unit) in seen:
            number += 1
            name = f"{own}#{number:02d}{hyphen}{processors}"
        seen.add((name, each.unit))
        yield each._replace(name=name)


def _unit(metric: Metric) -> tuple[str, float]:
    """The unit to write, with the metric's name, and the conversion factor."""
    above, slash, below = metric.unit.strip().partition("/")
    target = _OF_DIMENSION.get(parse_unit(above).dimension, above)
    if (metric.name, metric.unit) in _GO:
        return metric.unit, 1.0
    symbol = f"{target}{slash}{below}"
    factor = conversion(metric.unit, symbol)
    if (metric.name, symbol) in _GO:
        return symbol, factor
    return _word(metric.name if symbol in {"", "1"} else f"{metric.name}-{symbol}"), factor


def _word(text: str) -> str:
    """Text with blanks replaced and unprintable characters escaped."""
    return _printable("".join("_" if c.isspace() else c for c in text))


def _part(text: str) -> str:
    return _word(text).replace("/", "\\x2f")


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() or c.isspace() else c.encode("unicode_escape").decode() for c in text)
