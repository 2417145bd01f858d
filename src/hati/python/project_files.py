"""The TOML files that say what is needed, each part of the shape that it is to have."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from hati.core import InputError, Place
from hati.python.installing import TODAY, part

Shape = tuple[str, type, type | None]
"""A part by its keys, with a dot between, what it is, and what is in it where that is one kind."""

PROJECT: Final[tuple[Shape, ...]] = (
    ("project", dict, None),
    ("project.dependencies", list, str),
    ("project.dynamic", list, str),
    ("project.requires-python", str, None),
    ("project.optional-dependencies", dict, list),
    ("build-system", dict, None),
    ("build-system.requires", list, str),
    ("dependency-groups", dict, list),
    ("tool", dict, None),
    *((f"tool.{name}", dict, None) for name in ("flit", "hatch", "poetry", "setuptools", "uv")),
    *((f"tool.poetry.{key}", dict, None) for key in ("dependencies", "dev-dependencies", "extras")),
    ("tool.poetry.group", dict, dict),
    ("tool.uv.sources", dict, None),
    ("tool.setuptools.dynamic", dict, None),
    ("tool.hatch.metadata", dict, None),
    ("tool.flit.metadata", dict, None),
)
LOCK: Final[tuple[Shape, ...]] = (("package", list, dict), ("packages", list, dict))

_TOLD: Final[Mapping[type, str]] = {dict: "a table", list: "an array", str: "a text"}


def parsed(file: Path, shapes: tuple[Shape, ...], called: str) -> dict[str, Any] | None:
    """The content of a file that is there; None of one that is no TOML.

    Raises:
        InputError: where a part has another shape; the file is ``called`` so.
    """
    try:
        data = tomllib.loads(file.read_text(encoding="utf-8", errors="replace"))
    except ValueError:
        return None
    for keys, kind, inner in shapes:
        value = part(data, keys)
        if value is not None and not isinstance(value, kind):
            raise _wrong(called, f"{keys} is {value!r}, where {_TOLD[kind]} belongs")
        if inner is not None and (odd := [each for each in _within(value) if not isinstance(each, inner)]):
            raise _wrong(called, f"{keys} holds {odd[0]!r}, where {_TOLD[inner]} belongs")
    return data


def _within(value: Any) -> list[Any]:
    return [*value.values()] if isinstance(value, dict) else [*(value or ())]


def _wrong(called: str, message: str) -> InputError:
    return InputError(message, place=Place(called), fix=f"correct it; else {TODAY}")
