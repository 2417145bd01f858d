"""Samples as one value for each benchmark and metric, as Bencher and github-action-benchmark keep them.

The formats: https://bencher.dev/docs/reference/bencher-metric-format (BMF), and the custom JSON of
https://github.com/benchmark-action/github-action-benchmark.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from hati.core import Better, InputError, Metric, Sample, conversion, parse_unit, setting_text
from hati.core.wording import counted, listed
from hati.document.document import general

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
