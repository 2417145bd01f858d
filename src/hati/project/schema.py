"""The keys of each table of ``hati.toml``, for the reader, and as a JSON Schema for editors.

``KEYS`` is the only list. The reader refuses all other keys, by :func:`keys_of`; the schema has a fragment for each.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from hati.core import AUTO, Better, ReaderKind, ResetBefore, SampleFormat
from hati.core.benchmark import CounterSource

SCHEMA_FILE: Final = "hati.schema.json"

Fragment = Mapping[str, object]
"""A part of a JSON Schema: https://json-schema.org/draft-07/json-schema-validation."""

_TEXT: Fragment = {"type": "string"}
_LINE: Fragment = {"type": "string", "minLength": 1}
_LINES: Fragment = {"type": "array", "items": _LINE}
_TRUTH: Fragment = {"type": "boolean"}
_NATURAL: Fragment = {"type": "integer", "minimum": 0}
_ABOVE_ZERO: Fragment = {"type": "number", "exclusiveMinimum": 0}
_CPUS: Fragment = {"type": "array", "items": _NATURAL, "minItems": 1, "uniqueItems": True}
_SETTING: Fragment = {"type": ["boolean", "number", "string"]}
_SETTINGS: Fragment = {"type": "array", "items": _SETTING, "minItems": 1}
_COMMAND: Fragment = {"type": "array", "items": _TEXT, "minItems": 1}
_COMMANDS: Fragment = {"anyOf": [_COMMAND, {"type": "array", "items": _COMMAND, "minItems": 1}]}
_FRACTION: Fragment = {"type": ["number", "string"]}
_BUDGET: Fragment = {"anyOf": [_NATURAL, _LINE]}


def _one_of(*words: str) -> Fragment:
    return {"enum": list(words)}


_COUNTERS: Fragment = _one_of(*(each.value for each in CounterSource))


_READER: Fragment = {"anyOf": [_one_of(*dict.fromkeys(map(str, [*ReaderKind, *SampleFormat]))), _LINE]}
"""The readers; packages may add others."""


def _table(name: str) -> Fragment:
    return {"$ref": f"#/definitions/{name}"}


def _tables(name: str) -> Fragment:
    return {"type": "array", "items": _table(name)}


def _named(fragment: Fragment) -> Fragment:
    """A table whose keys are names that people choose."""
    return {"type": "object", "additionalProperties": fragment}


Described = Mapping[str, tuple[Fragment, str]]

KEYS: Final[Mapping[str, Described]] = MappingProxyType(
    {
        "project": {
            "subject": (_table("subject"), "The software under test."),
            "benchmark": (_tables("benchmark"), "How to build, start and read one measurement."),
            "options": (_named(_table("option")), "The options that can be set, by their names."),
            "space": (_table("space"), "Which combinations of settings are valid."),
            "check": (_table("check"), "What `hati check` measures."),
            "python": (_table("python"), "How Python functions in formulas are measured."),
        },
        "subject": {
            "name": (_LINE, "The subject's name. Default: the folder's."),
            "secrets": (_LINES, "Environment variables whose values are masked in outputs, messages and logs."),
            "engine": (
                _LINE,
                "What runs the benchmarks: local, workers, volunteers, the address of a Dask scheduler such as "
                "tls://head:8786, or an engine that a package adds. Default: local.",
            ),
            "replicate": (
                {"type": "integer", "minimum": 1},
                "How many volunteers have to agree on a result before it counts. Default: 1.",
            ),
            "machines": (_LINES, "Names of the machines that share each study. Default: the machine that measures."),
            "sources": (_LINES, "Patterns of measured files, in addition to tracked ones; ! excludes."),
            "harness": (_LINES, "Patterns of files that measure: where revisions differ in them, answers warn."),
        },
        "benchmark": {
            "name": (_LINE, "The benchmark's name."),
            "build": (_COMMANDS, "Commands that run once for each revision and set of build-time options."),
            "prepare": (_COMMANDS, "Commands before each run, not measured."),
            "setup": (_COMMANDS, "Commands once the server is ready and before the command, not measured."),
            "cleanup": (_COMMANDS, "Commands after each run, not measured."),
            "command": (_COMMAND, "The measured program with its arguments. No shell is involved."),
            "reader": (_READER, "The format of the output. Default: hati."),
            "output": (_LINE, "A file in {work} that is read instead of the command's output."),
            "timeout": (_TEXT, "Limit of the command, such as 30s. Default: 60s."),
            "warmup": ({"anyOf": [_NATURAL, {"const": AUTO}]}, "Leading observations that do not count, or auto."),
            "cpus": (_CPUS, "The processors that the command may use."),
            "counters": (_COUNTERS, "What counts instructions and the like. Default: what the machine permits."),
            "server": (_table("server"), "A server that is started before the command and stopped after it."),
            "metric": (_tables("metric"), "The measured quantities."),
            "file": (_tables("file"), "Configuration files, rendered by Jinja2 for every run."),
            "workload": (_named(_SETTING), "Input parameters, placeholders by their names."),
            "env": (_named(_TEXT), "Environment variables of the run's programs."),
            "user": (_LINE, "The user of the run's programs when Hati runs as root."),
            "reset": ({"anyOf": [_COMMANDS, _table("reset")]}, "Commands that restore the initial state."),
        },
        "reset": {
            "command": (_COMMANDS, "Commands that restore the initial state."),
            "before": (_one_of(*(each.value for each in ResetBefore)), "What they come before. Default: run."),
        },
        "server": {
            "command": (_COMMAND, "The server with its arguments."),
            "ready": (_table("ready"), "When the server is up."),
            "cpus": (_CPUS, "The processors that the server may use."),
            "reload": (_COMMANDS, "Commands that make a running server use its changed files."),
            "log": (_LINE, "A log file of the server, in addition to its output."),
        },
        "ready": {
            "port": (_TRUTH, "Wait until {port} accepts connections."),
            "line": (_LINE, "Wait for this text in the server's output."),
            "timeout": (_TEXT, "The longest wait. Default: 10s."),
        },
        "metric": {
            "name": (_LINE, "The metric's name."),
            "unit": (_TEXT, "The unit, 1 if it has none."),
            "better": (_one_of(*(each.value for each in Better)), "The better direction. Default: lower."),
            "path": (_LINE, "Reader json: the path of the values."),
            "pattern": (_LINE, "Reader regex: one group, the number. Readers of tools: the benchmark's name."),
            "field": (_LINE, "Readers of tools: the tool's name of the value. Default: the metric's."),
        },
        "file": {
            "path": (_LINE, "The file's path in {work}."),
            "template": (_LINE, "The template's path, next to hati.toml or in its repository."),
        },
        "option": {
            "settings": (_SETTINGS, "What the option can be set to. The first is the default."),
            "default": (_SETTING, "The default, if it is not the first setting."),
            "unit": (_TEXT, "The settings' unit."),
            "doc": (_TEXT, "What the option is about."),
            "active_if": (_LINE, "A formula. Where it is false, the option has no influence."),
            "argument": (_LINE, "Arguments of the command, {} is the setting. Without {}: a flag of a boolean option."),
            "env": (_TEXT, "The environment variable that holds the setting."),
            "build": (_TRUTH, "Whether a change needs a build."),
            "has": (
                {"anyOf": [_LINE, _COMMAND]},
                "A machine has the setting, and nobody sets it: a property of the machine, or a command that prints "
                "the setting, or with {} ends with 0 for each setting that is there.",
            ),
            "setup": (_COMMANDS, "Commands after the benchmark's setup, {} is the setting."),
            "reload": (
                {"anyOf": [_TRUTH, _COMMANDS]},
                "Whether a running server accepts a new setting, or the commands that set it.",
            ),
            "recommend": (
                {"anyOf": [_TRUTH, {"type": "array", "items": _SETTING}]},
                "The settings that --recommend may choose; false: none but the default.",
            ),
            "usage": (
                {"type": "array", "items": {"type": "number", "minimum": 0}},
                "How often each setting is used, in any unit. failures runs configurations in use first.",
            ),
        },
        "space": {"constraints": (_LINES, "Formulas that every valid configuration satisfies.")},
        "check": {
            "reference": (_LINE, "A revision, `previous` or `merge-base`. Default: the merge base."),
            "configurations": (
                {"type": "array", "items": _named(_SETTING)},
                "Configurations that are measured in addition to the default one.",
            ),
            "budget": (_BUDGET, "Limit: runs, a time such as 10m, or rounds. Default: 24 rounds."),
            "recalibrate": (_table("recalibrate"), "When important options are due to be determined again."),
        },
        "recalibrate": {
            "checks": (_NATURAL, "The number of checks after the last screening."),
            "days": (_ABOVE_ZERO, "The number of days after the last screening."),
            "residuals": (_FRACTION, "Level of the test for shifted residuals, such as 1%."),
            "tolerance": (_FRACTION, "Largest root mean square that is not a shift. Default: 5%."),
            "options": (_TRUTH, "Whether an added, removed or changed option counts."),
        },
        "python": {
            "interpreter": (
                _LINE,
                "A name on PATH, or a path relative to this folder. Default: the one of Hati.",
            ),
            "roots": ({**_LINES, "minItems": 1}, "Folders that modules are imported from. Default: src and this one."),
            "frozen_modules": (_TRUTH, "-X frozen_modules=on or =off. Default: Python's own."),
            "hash_seed": ({**_NATURAL, "maximum": 2**32 - 1}, "Of all runs. Default: a random one for each run."),
            "recording": (_table("recording"), "What a run records."),
            "environment": (_table("environment"), "The environment of past revisions."),
        },
        "recording": {
            "observations": (_NATURAL, "The largest number of observations. Default: 100."),
            "seconds": (_ABOVE_ZERO, "The longest time of the observations, in seconds. Default: 1."),
            "warmup": (_NATURAL, "Observations before these. Default: 10."),
            "overhead": (_FRACTION, "Largest cost of the clocks, relative to an observation. Default: 1%."),
            "collector": (_one_of("on", "off", "between"), "The garbage collector. Default: on."),
            "memory": (_NATURAL, "Approximate limit for the arguments of a batch of calls, in bytes."),
            "timeout": (_TEXT, "Limit of the whole run, such as 70s."),
        },
        "environment": {
            "past": (_one_of("own", "today"), "own: built from their own lock; today: that of the working tree."),
            "network": (_TRUTH, "Whether packages may be downloaded for it."),
            "extra": (_LINES, "Additional requirements of workloads."),
            "options": (_LINES, "Options of uv or pip."),
        },
    }
)

_NEEDED: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "benchmark": ("name", "command"),
        "reset": ("command",),
        "server": ("command",),
        "metric": ("name",),
        "file": ("path", "template"),
        "option": ("settings",),
    }
)


def keys_of(table: str) -> tuple[str, ...]:
    """The keys of a table, in the order of the documentation."""
    return tuple(KEYS[table])


def json_schema() -> dict[str, object]:
    """Return the JSON Schema (draft 7) of ``hati.toml``; it accepts whatever the reader accepts."""
    project = _object("project")
    definitions = {name: _object(name) for name in KEYS if name != "project"}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "hati.toml",
        **project,
        "definitions": definitions,
    }


def _object(table: str) -> dict[str, object]:
    properties = {key: _described(fragment, doc) for key, (fragment, doc) in KEYS[table].items()}
    needed = {"required": list(_NEEDED[table])} if table in _NEEDED else {}
    return {"type": "object", "properties": properties, "additionalProperties": False, **needed}


def _described(fragment: Fragment, doc: str) -> dict[str, object]:
    """A fragment with its description; draft 7 ignores keys next to ``$ref``."""
    return {"description": doc, **({"allOf": [fragment]} if "$ref" in fragment else fragment)}
