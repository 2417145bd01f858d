"""The keys of a model for ``hati predict``: for its reader, and as a JSON Schema for editors."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hati.prediction import LawKind, Scheduling
from hati.project.schema import Described, Fragment

MODEL_SCHEMA_FILE: Final = "hati-model.schema.json"

_TIME: Fragment = {"type": "string", "pattern": r"^\s*[0-9.]+([eE][-+]?[0-9]+)?\s*(ns|us|µs|ms|s|m|min|h)\s*$"}
_LAW: Fragment = {"enum": [kind.value for kind in LawKind]}
_CV: Fragment = {"type": "number", "minimum": 0}
_FRACTIONS: Fragment = {"type": "object", "additionalProperties": {"type": "number", "minimum": 0, "maximum": 1}}


def _named(table: str) -> Fragment:
    return {"type": "object", "additionalProperties": {"$ref": f"#/definitions/{table}"}, "minProperties": 1}


MODEL_KEYS: Final[Mapping[str, Described]] = MappingProxyType(
    {
        "model": {
            "resources": (_named("resource"), "What serves: processors, disks, delays, by their names."),
            "components": (_named("component"), "What demands service, by their names."),
            "workloads": (_named("workload"), "Who asks, by their names."),
        },
        "resource": {
            "policy": (
                {"enum": [policy.value for policy in Scheduling]},
                "ps: processor sharing, fcfs: first come, first served, delay: no queue. Default: ps.",
            ),
            "cores": ({"type": "integer", "minimum": 1}, "The number of cores. Default: 1."),
            "speed": (
                {"type": "number", "exclusiveMinimum": 0},
                "Speed relative to the machine that demands were measured on. Default: 1.",
            ),
            "overhead": (
                {"type": ["number", "string"]},
                "The part by which virtualisation lengthens demands, such as 6.7%. Default: 0.",
            ),
        },
        "component": {
            "demands": (
                {
                    "type": "object",
                    "additionalProperties": {"anyOf": [_TIME, {"$ref": "#/definitions/demand"}]},
                    "minProperties": 1,
                },
                "The mean time that a visit needs at each resource, in this order.",
            ),
            "next": (_FRACTIONS, "Probabilities of the components that follow; the rest of the requests leaves."),
        },
        "demand": {
            "mean": (_TIME, "The mean time, such as 20ms."),
            "law": (_LAW, "The distribution. Default: exponential."),
            "cv": (_CV, "The coefficient of variation of gamma and lognormal."),
        },
        "workload": {
            "rate": (
                {"type": ["number", "string"]},
                "Open: arrivals per second, or with a unit, such as 500/min.",
            ),
            "arrivals": (_LAW, "Open: the distribution of times between arrivals. Default: exponential."),
            "cv": (_CV, "Open: the coefficient of variation of gamma and lognormal arrivals."),
            "population": ({"type": "integer", "minimum": 1}, "Closed: the number of users."),
            "think": (_TIME, "Closed: the mean time between a response and the next request. Default: none."),
            "mix": (_FRACTIONS, "The part of requests that enters at each component. Adds up to 1."),
        },
    }
)
_NEEDED: Final = {
    "model": ["resources", "components", "workloads"],
    "component": ["demands"],
    "demand": ["mean"],
    "workload": ["mix"],
}


def model_keys(table: str) -> tuple[str, ...]:
    """The keys of a table of a model."""
    return tuple(MODEL_KEYS[table])


def model_json_schema() -> dict[str, object]:
    """The JSON Schema (draft 7) of a model; it accepts whatever the reader accepts."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "model of hati predict",
        **_object("model"),
        "definitions": {name: _object(name) for name in MODEL_KEYS if name != "model"},
    }


def _object(table: str) -> dict[str, object]:
    properties = {key: {"description": doc, **fragment} for key, (fragment, doc) in MODEL_KEYS[table].items()}
    needed = {"required": _NEEDED[table]} if table in _NEEDED else {}
    return {"type": "object", "properties": properties, "additionalProperties": False, **needed}
