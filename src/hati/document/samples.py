"""Samples in the exchange format ``hati-samples-1``."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from msgspec import Struct

from hati.core import Better, Configuration, Workload
from hati.document.publishing import Of

FORMAT = "hati-samples-1"


class SampledHeadJson(Struct, frozen=True):
    """What a sample's runs are of."""

    benchmark: str
    metric: Annotated[str, Of("metric.name")]
    unit: Annotated[str, Of("metric.unit")]
    better: Annotated[Better, Of("metric.better")]
    configuration: Configuration
    revision: str
    workload: Workload
    machine: str


class SampledRunHeadJson(Struct, frozen=True, kw_only=True):
    """Known properties of a run, without its observations."""

    started: datetime | None = None
    warmup: Annotated[int, Of("observations.warmup")]
    cpu_time: Annotated[float | None, Of("usage.cpu_time")] = None
    wall_time: Annotated[float | None, Of("usage.wall_time")] = None
    voluntary_switches: Annotated[int | None, Of("usage.voluntary_switches")] = None
    involuntary_switches: Annotated[int | None, Of("usage.involuntary_switches")] = None
    peak_memory: Annotated[int | None, Of("usage.peak_memory")] = None
    load: Annotated[float | None, Of("usage.load")] = None
    pressure: Annotated[float | None, Of("usage.pressure")] = None
    steal: Annotated[float | None, Of("usage.steal")] = None
    study: Annotated[str | None, Of("origin.study")] = None
    stage: Annotated[str | None, Of("origin.stage")] = None
    repetition: Annotated[int | None, Of("origin.repetition")] = None
    exit: int | None = None
    remark: Annotated[str | None, Of(lambda run: run.remark or None)] = None


class SampledRunJson(SampledRunHeadJson, frozen=True, kw_only=True):
    """A run with its observations, in order."""

    observations: Annotated[list[float], Of("observations.values")]


class SampledJson(SampledHeadJson, frozen=True):
    """A sample."""

    runs: list[SampledRunJson]


class SamplesJson(Struct, frozen=True, tag_field="format", tag=FORMAT):
    """Samples: two-level, every observation in order, warm-up counted."""

    samples: list[SampledJson]
