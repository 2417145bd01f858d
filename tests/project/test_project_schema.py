"""The JSON Schema of ``hati.toml``: it has the reader's keys, and accepts what the reader accepts."""

from __future__ import annotations

import copy
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from hati.core import InputError
from hati.project import json_schema, parse_project, skeleton
from hati.project.schema import KEYS, keys_of

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = Draft7Validator(json_schema())
EXAMPLES = sorted(ROOT.glob("examples/*/hati.toml"))
BLOCK = re.compile(r'^```toml title="([^"]*hati\.toml)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)
VALUES = (True, 3, -1, 0.5, "text", [], ["text"], [["text"]], {}, {"x": 1})


def documented() -> Iterator[tuple[str, str]]:
    for page in sorted((ROOT / "docs").rglob("*.md")):
        for name, body in BLOCK.findall(page.read_text()):
            yield f"{page.name}: {name}", body
    formats = (ROOT / "docs" / "reference" / "formats.md").read_text()
    [reference] = re.findall(r"## hati\.toml\n\n```toml\n(.*?)^```$", formats, re.MULTILINE | re.DOTALL)
    yield "formats.md", reference


def errors(document: object) -> list[str]:
    return [f"{'/'.join(map(str, error.path))}: {error.message}" for error in SCHEMA.iter_errors(document)]


def test_it_is_a_json_schema() -> None:
    Draft7Validator.check_schema(json_schema())


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.parent.name)
def test_every_example_satisfies_it(file: Path) -> None:
    assert errors(tomllib.loads(file.read_text())) == []


def test_every_project_file_of_the_documentation_satisfies_it() -> None:
    found = dict(documented())
    assert len(found) > 20
    assert {name: wrong for name, text in found.items() if (wrong := errors(tomllib.loads(text)))} == {}
    assert errors(tomllib.loads(skeleton("first"))) == []


FULL = """
[subject]
name = "s"
[[benchmark]]
name = "b"
command = ["true", "{port}"]
reset = { command = ["true"] }
metric = [{ name = "m", unit = "s" }]
file = [{ path = "f", template = "t.j2" }]
[benchmark.server]
command = ["true", "{port}"]
ready = { port = true }
[options.o]
settings = [false, true]
[space]
constraints = []
[check]
recalibrate = { residuals = "1%" }
[python]
recording = {}
environment = {}
"""
PLACES: dict[str, tuple[str | int, ...]] = {
    "project": (),
    "subject": ("subject",),
    "benchmark": ("benchmark", 0),
    "reset": ("benchmark", 0, "reset"),
    "server": ("benchmark", 0, "server"),
    "ready": ("benchmark", 0, "server", "ready"),
    "metric": ("benchmark", 0, "metric", 0),
    "file": ("benchmark", 0, "file", 0),
    "option": ("options", "o"),
    "space": ("space",),
    "check": ("check",),
    "recalibrate": ("check", "recalibrate"),
    "python": ("python",),
    "recording": ("python", "recording"),
    "environment": ("python", "environment"),
}


def changed(place: tuple[str | int, ...], key: str, value: object) -> dict[str, Any]:
    document: dict[str, Any] = copy.deepcopy(tomllib.loads(FULL))
    table: Any = document
    for part in place:
        table = table[part]
    table[key] = value
    return document


def toml(value: object) -> str:
    """A value as TOML writes it on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f'"{key}" = {toml(item)}' for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(toml, value)) + "]"
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else repr(value)


def why_refused(document: dict[str, Any], folder: Path) -> str:
    """The reader's message; empty if it accepts the document."""
    (folder / "t.j2").write_text("text")
    text = "\n".join(f'"{key}" = {toml(value)}' for key, value in document.items())
    try:
        parse_project(text, folder / "hati.toml")
    except InputError as error:
        return error.message
    return ""


def test_the_places_are_those_of_all_tables(tmp_path: Path) -> None:
    assert PLACES.keys() == KEYS.keys()
    assert errors(tomllib.loads(FULL)) == []
    assert why_refused(tomllib.loads(FULL), tmp_path) == ""


@pytest.mark.parametrize("table", KEYS)
def test_an_unknown_key_is_refused_by_both(table: str, tmp_path: Path) -> None:
    document = changed(PLACES[table], "unknown_key", 1)
    assert why_refused(document, tmp_path) == "unknown key 'unknown_key'"
    assert any("'unknown_key' was unexpected" in error or "reset" in error for error in errors(document))


@pytest.mark.parametrize("table", KEYS)
def test_what_it_refuses_is_refused_by_the_reader(table: str, tmp_path: Path) -> None:
    refused = 0
    for key in keys_of(table):
        for value in VALUES:
            document = changed(PLACES[table], key, value)
            if errors(document):
                refused += 1
                assert why_refused(document, tmp_path), f"{table}.{key} = {value!r}"
    assert refused > len(VALUES) / 2


@pytest.mark.parametrize("table", KEYS)
def test_a_wrong_type_is_refused_by_it_too(table: str, tmp_path: Path) -> None:
    """Whatever the reader calls another type than expected."""
    for key in keys_of(table):
        for value in VALUES:
            document = changed(PLACES[table], key, value)
            why = why_refused(document, tmp_path)
            if why.startswith(f"{key}: expected") and "found" in why and "number above 0" not in why:
                assert errors(document), f"{table}.{key} = {value!r}: {why}"


@pytest.mark.parametrize(("table", "key"), [("benchmark", "command"), ("metric", "name"), ("option", "settings")])
def test_a_missing_key_is_refused_by_both(table: str, key: str, tmp_path: Path) -> None:
    document: Any = tomllib.loads(FULL)
    place = document
    for part in PLACES[table]:
        place = place[part]
    del place[key]
    assert why_refused(document, tmp_path) == f"{key} is missing"
    assert errors(document)
