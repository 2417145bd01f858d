"""Data for other programs: tables as CSV, Parquet and JSON; samples as JSON, and in formats of other tools.

Bencher and github-action-benchmark keep one value for each benchmark and metric. The formats:
https://bencher.dev/docs/reference/bencher-metric-format (BMF), and the custom JSON of
https://github.com/benchmark-action/github-action-benchmark.
"""

from __future__ import annotations

import csv
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO, StringIO
from typing import Any, NamedTuple

import msgspec
import numpy as np
from msgspec import Struct

from hati.core import (
    Assignment,
    Better,
    InputError,
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
from hati.core.wording import counted, listed
from hati.document import FORMAT, SampledHeadJson, SampledRunHeadJson, Table, TableJson, cell_value, publish, table_rows
from hati.document.document import general


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
    return msgspec.json.decode(to_json(value))  # noqa: TID251 - of no type


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


_LATENCY = "latency"
_MEASURES = {_LATENCY: "ns", "throughput": "1/s", "build-time": "s", "file-size": "B"}
"""Bencher's built-in measures, which have units."""
_AS_LATENCY = (_LATENCY, "time", "real_time")
"""A benchmark's latency is the first of these metrics that it has, if that is a time."""
_PER_OPERATION = {"", "op"}
_TOOLS = {Better.LOWER: "customSmallerIsBetter", Better.HIGHER: "customBiggerIsBetter"}


class SingleValue(Struct, frozen=True):
    """A sample as one number: the mean of the means of its ``runs``, in the metric's unit.

    ``deviation`` is the standard deviation of the runs' means, None for a single run.
    """

    name: str
    metric: Metric
    value: float
    deviation: float | None
    runs: int
    revision: str
    machine: str

    def times(self, factor: float) -> SingleValue:
        """The value in another unit; ``metric`` keeps the old one, so that the caller must state the new one."""
        deviation = None if self.deviation is None else factor * self.deviation
        return SingleValue(
            self.name, self.metric, factor * self.value, deviation, self.runs, self.revision, self.machine
        )


def single_values(samples: Sequence[Sample]) -> tuple[SingleValue, ...]:
    """Each sample as one number; its name has the benchmark, ``/option=setting`` and ``/parameter=value``.

    Raises:
        InputError: where several samples would have one name: those of several revisions or machines.
    """
    found = tuple(map(_single, samples))
    seen = defaultdict[tuple[str, str], list[SingleValue]](list)
    for each in found:
        seen[each.name, each.metric.name].append(each)
    for (name, metric), same in seen.items():
        if len(same) > 1:
            raise _several(name, metric, same)
    return found


class BencherValue(Struct, frozen=True, omit_defaults=True):
    """A value of Bencher's metric format, and a standard deviation below and above it."""

    value: float
    lower_value: float | None = None
    upper_value: float | None = None


def bencher_json(samples: Sequence[Sample]) -> dict[str, dict[str, BencherValue]]:
    """Bencher's metric format: by benchmark and measure the value, and one standard deviation below and above it.

    A time that is the benchmark's ``latency``, ``time`` or ``real_time`` is the built-in measure ``latency``, in ns.
    Metrics of other units have these in their names: the format has none.

    Raises:
        InputError: as ``single_values``.
    """
    groups = defaultdict[str, list[SingleValue]](list)
    for each in single_values(samples):
        groups[each.name].append(each)
    return {name: dict(_measures(own)) for name, own in groups.items()}


def action_json(samples: Sequence[Sample]) -> list[ActionEntry]:
    """Custom JSON for github-action-benchmark: an object for each benchmark and metric, both in its name.

    Raises:
        InputError: as ``single_values``, and as ``action_tool``.
    """
    action_tool(samples)
    return [_action(each) for each in single_values(samples)]


def action_tool(samples: Sequence[Sample]) -> str:
    """The ``tool`` of github-action-benchmark that reads these samples' custom JSON.

    Raises:
        InputError: if lower values are better for some metrics and higher ones for others: a file has one direction.
    """
    metrics = {each.metric.name: each.metric.better for each in samples}
    names = [[name for name, better in metrics.items() if better is one] for one in Better]
    if all(names):
        both = [f"{one} is better of {listed(own)}" for one, own in zip(Better, names, strict=True)]
        raise InputError(
            f"a file for github-action-benchmark has one direction, and {', '.join(both)}",
            fix=f"export them one by one: --metric {names[0][0]}",
        )
    return _TOOLS[Better(next(iter(metrics.values())))]


def _single(sample: Sample) -> SingleValue:
    means = np.array([values.mean() for values in sample.steady])
    settings = (*sample.configuration.items(), *sample.workload.items())
    return SingleValue(
        name="/".join([sample.benchmark, *(f"{key}={setting_text(value)}" for key, value in settings)]),
        metric=sample.metric,
        value=float(means.mean()),
        deviation=float(means.std(ddof=1)) if len(means) > 1 else None,
        runs=len(means),
        revision=sample.revision,
        machine=sample.machine,
    )


def _several(name: str, metric: str, same: Sequence[SingleValue]) -> InputError:
    revisions = {each.revision or "unknown" for each in same}
    machines = {each.machine or "unknown" for each in same}
    if len(revisions) > 1:
        what, fix = f"the revisions {listed(sorted(revisions))}", "choose one by --revision"
    else:
        what, fix = f"the machines {listed(sorted(machines))}", "choose a --study of one machine"
    return InputError(f"the format has one value for each benchmark, and {name} {metric} is of {what}", fix=fix)


def _measures(own: Sequence[SingleValue]) -> Iterator[tuple[str, BencherValue]]:
    latency = _latency(own)
    for each in own:
        measure, factor = (_LATENCY, _to_ns(each)) if each is latency else _measure(each.metric)
        scaled = each.times(factor)
        value, deviation = scaled.value, scaled.deviation
        yield measure, BencherValue(value, *(() if deviation is None else (value - deviation, value + deviation)))


def _latency(own: Sequence[SingleValue]) -> SingleValue | None:
    """The value of the first metric that can be the latency; None if that is not a time."""
    known = {each.metric.name: each for each in own}
    chosen = next((known[name] for name in _AS_LATENCY if name in known), None)
    return chosen if chosen is not None and _is_time(chosen) else None


def _measure(metric: Metric) -> tuple[str, float]:
    """The measure of a metric that is not the latency, and the factor to its unit."""
    unit = _MEASURES.get(metric.name)
    if unit is not None and metric.name != _LATENCY and parse_unit(metric.unit).dimension == parse_unit(unit).dimension:
        return metric.name, conversion(metric.unit, unit)
    return metric.name if metric.unit in {"", "1"} else f"{metric.name} ({metric.unit})", 1.0


def _is_time(each: SingleValue) -> bool:
    above, _, below = each.metric.unit.partition("/")
    return parse_unit(above).dimension == "time" and below in _PER_OPERATION


def _to_ns(each: SingleValue) -> float:
    return conversion(each.metric.unit.partition("/")[0], _MEASURES[_LATENCY])


class ActionEntry(Struct, frozen=True, omit_defaults=True):
    """A value of github-action-benchmark's custom JSON."""

    name: str
    unit: str
    value: float
    extra: str
    range: str | None = None


def _action(each: SingleValue) -> ActionEntry:
    of = [counted(each.runs, "run"), f"revision {each.revision}", f"machine {each.machine}"]
    extra = "\n".join(text for text in of if not text.endswith(" "))
    spread = None if each.deviation is None else f"± {general(each.deviation, 3)}"
    return ActionEntry(f"{each.name} {each.metric.name}", each.metric.unit or "1", each.value, extra, spread)
