"""Published types: where the values of their fields come from, their JSON and its schema."""

from __future__ import annotations

import json
import math
from typing import Annotated

import numpy as np
import pytest
from jsonschema import Draft202012Validator
from msgspec import UNSET, Struct, UnsetType, field

from hati.core import Configuration, FloatArray, Metric
from hati.document import Joined, Of, SamplesJson, publish
from hati.render import json_schema, samples_text, to_json, to_plain


class Inner(Struct, frozen=True):
    """What is published as it is."""

    size: int


class Found(Struct, frozen=True):
    """A conclusion."""

    metric: Metric
    values: FloatArray
    at: Configuration
    inner: Inner
    done: int = 3
    lost: float = math.inf
    none: None = None

    @property
    def doubled(self) -> int:
        return 2 * self.done


class GroupJson(Struct, frozen=True):
    """A key that groups attributes of the source."""

    done: int
    doubled: int


class RowJson(Struct, frozen=True):
    """A row, which takes the level of the whole."""

    name: str
    level: float


class FoundJson(Struct, frozen=True, kw_only=True, tag_field="format", tag="found-1"):
    """What is published."""

    metric: Annotated[str, Of("metric.name")]
    values: list[float]
    at: Configuration
    inner: Inner
    runs: Annotated[GroupJson, Of()]
    lost: float | None
    none: int | None
    left_out: Annotated[int | UnsetType, Of("none")] = UNSET
    from_: Annotated[str, Of(lambda found: found.metric.unit)] = field(name="from")
    rows: Annotated[list[RowJson], Of(_rows)]


def _rows(found: Found) -> list[Joined]:
    return [Joined(found.metric, found, level=0.5)]


FOUND = Found(Metric("time", "s"), np.array([1.0, 2.5]), Configuration({"a": True, "n": 2}), Inner(7))


def test_fields_take_their_values_from_names_paths_functions_and_the_source() -> None:
    assert to_plain(publish(FOUND, FoundJson)) == {
        "format": "found-1",
        "metric": "time",
        "values": [1.0, 2.5],
        "at": {"a": True, "n": 2},
        "inner": {"size": 7},
        "runs": {"done": 3, "doubled": 6},
        "lost": None,
        "none": None,
        "from": "s",
        "rows": [{"name": "time", "level": 0.5}],
    }


def test_what_lacks_an_attribute_is_not_published() -> None:
    with pytest.raises(AttributeError):
        publish(Joined(FOUND.inner), FoundJson)


def test_the_schema_accepts_what_is_published_and_nothing_of_another_type() -> None:
    check = Draft202012Validator(json.loads(json_schema(FoundJson)))
    value = json.loads(to_json(publish(FOUND, FoundJson)))
    assert check.is_valid(value)
    for key, wrong in {"format": "found-2", "values": ["1"], "at": {"a": []}, "runs": {}, "from": 1}.items():
        assert not check.is_valid({**value, key: wrong}), key
        assert not check.is_valid({name: each for name, each in value.items() if name != key}), key


def test_samples_that_are_exported_and_imported_are_what_their_schema_says() -> None:
    from hati.core import Observations, Sample, SampledRun

    run = SampledRun(Observations("time", "s", np.array([1.0, 2.0]), 1))
    samples = (Sample("b", Metric("time", "s"), (run,), Configuration({"a": 1}), "r"),)
    check = Draft202012Validator(json.loads(json_schema(SamplesJson)))
    exported = to_json(publish(Joined(samples=samples), SamplesJson))
    for text in (exported, "".join(samples_text(samples))):
        assert list(check.iter_errors(json.loads(text))) == []
    assert json.loads(exported)["samples"][0]["runs"][0]["load"] is None
