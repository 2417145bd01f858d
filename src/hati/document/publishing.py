"""JSON output: types whose fields are the keys, filled from conclusions; samples in the exchange format."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from functools import cache
from inspect import get_annotations
from operator import attrgetter
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from msgspec import UNSET, Struct, UnsetType

from hati.core import Better, Configuration, Metric, Setting, Workload

Interval = tuple[float | None, float | None]
"""A lower and an upper end; null: unbounded."""
Settings = dict[str, Setting]
P = TypeVar("P", bound=Struct)


class Of(Struct, frozen=True):
    """Where the value of a field comes from: a path of attributes or a function of the source.

    An empty path is the source itself, whose attributes the key groups. Without ``Of`` the path is the field's name.
    """

    path: str | Callable[[Any], object] = ""

    def __call__(self, source: object) -> object:
        """The value in a source."""
        if not isinstance(self.path, str):
            return self.path(source)
        return attrgetter(self.path)(source) if self.path else source


class Joined:
    """The attributes of several objects: those given by name first, then each from the first object that has it."""

    def __init__(self, *parts: object, **own: object) -> None:
        self.__dict__.update(own)
        self._parts = parts

    def __getattr__(self, name: str) -> object:
        for part in self._parts:
            if hasattr(part, name):
                return getattr(part, name)
        raise AttributeError(name)


class RunsJson(Struct, frozen=True):
    """How many runs were done, and how many failed."""

    done: int
    failed: int


class DetectableJson(Struct, frozen=True):
    """The smallest effect or step that is found with this power; null where none is."""

    estimate: float | None
    relative: float | None
    unit: str
    power: float


def detectable_json(estimate: float | None, found: Any, metric: Metric) -> DetectableJson:
    """The change found with 80 % power; ``found`` has the relative size, None where no change is."""
    return DetectableJson(estimate, found and found.relative, metric.unit, 0.8)


def publish(source: object, kind: type[P]) -> P:
    """The published value of a source, which has the attributes that the fields of its type name."""
    if isinstance(source, kind):
        return source
    return kind(**{name: _value(of(source), type_) for name, of, type_ in _fields(kind)})


@cache
def _fields(kind: type[Struct]) -> tuple[tuple[str, Of, Any], ...]:
    """Names, where their values come from, and their types."""
    found: dict[str, tuple[str, Of, Any]] = {}
    for base in reversed(kind.__mro__):
        # msgspec and typing would find the names of fields before those of the module
        hints: dict[str, Any] = get_annotations(base, locals={}, eval_str=True)
        for name, type_ in hints.items():
            plain, *marks = get_args(type_) if get_origin(type_) is Annotated else (type_,)
            found[name] = name, next((mark for mark in marks if isinstance(mark, Of)), Of(name)), plain
    return tuple(found[name] for name in kind.__struct_fields__)


def _value(value: Any, kind: Any) -> object:
    """A value of a field; ``kind`` says which of its parts are published types."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin in {Union, UnionType}:
        if value is UNSET or value is None:
            return None if NoneType in parts and (value is None or UnsetType not in parts) else UNSET
        return _value(value, next(part for part in parts if part not in {NoneType, UnsetType}))
    if origin is dict:
        return {str(key): _value(item, parts[1]) for key, item in dict(value).items()}
    if hasattr(value, "tolist"):  # an array, or a number of one
        return value.tolist()
    if origin in {list, tuple}:
        return [_value(item, parts[0]) for item in value]
    return publish(value, kind) if isinstance(kind, type) and issubclass(kind, Struct) else value


class MachineStateJson(Struct, frozen=True):
    """The properties of a machine from its ``first`` run under this fingerprint, and the number of its runs."""

    fingerprint: str
    runs: int
    first: datetime
    properties: dict[str, str]


class StudyMachineJson(Struct, frozen=True):
    """A machine with its states during the study."""

    id: str
    name: str
    states: list[MachineStateJson]


class StudyJson(Struct, frozen=True, kw_only=True):
    """The published fields of every study; ``measured_on`` where its runs carry more than one fingerprint."""

    measured_on: Annotated[list[StudyMachineJson] | UnsetType, Of(lambda _: UNSET)] = UNSET


FORMAT = "hati-samples-1"
UNKNOWN = "unknown"


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
    mean_of: Annotated[
        int | Literal["unknown"] | None, Of(lambda run: run.summary and (run.summary.number or UNKNOWN))
    ] = None
    deviation: Annotated[float | None, Of(lambda run: run.summary and run.summary.deviation)] = None


class SampledRunJson(SampledRunHeadJson, frozen=True, kw_only=True):
    """A run with its observations, in order."""

    observations: Annotated[list[float], Of("observations.values")]


class SampledJson(SampledHeadJson, frozen=True):
    """A sample."""

    runs: list[SampledRunJson]


class SamplesJson(Struct, frozen=True, tag_field="format", tag=FORMAT):
    """Samples: two-level, every observation in order, warm-up counted."""

    samples: list[SampledJson]
