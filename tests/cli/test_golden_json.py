"""The JSON of every command is as it was before it was published from declared types, and what its schema says."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from golden_json import ADDED, COMMANDS, LATER, as_recorded, outputs
from jsonschema import Draft202012Validator

if TYPE_CHECKING:
    from conftest import Hati

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = Path(__file__).parent / "golden"
SCHEMAS = ROOT / "docs" / "reference" / "schemas"


def test_every_command_writes_the_same_json_and_what_its_schema_says(hati_here: Hati) -> None:
    def hati(words: tuple[str, ...], folder: Path) -> str:
        done = hati_here(*words, folder=folder)
        assert done.status in {0, 1, 3}, done.err
        return done.out

    golden = {name: value for file in GOLDEN.iterdir() for name, value in json.loads(file.read_text()).items()}
    now = outputs(hati)
    assert set(golden) == set(COMMANDS) | set(LATER)
    for name, value in now.items():
        assert not list(errors(value)), name
        assert next(iter(value)) == "format", name
        found, was = as_recorded(value), golden[name]
        if "dry-run" in name:  # of some commands it was a list of tasks; of all it has what one of them had
            was = {"tasks": was} if isinstance(was, list) else was
            found = {key: found[key] for key in was}
        if name in ADDED:
            found = [{key: value for key, value in row.items() if key not in ADDED[name]} for row in found]
        assert found == was, name


def errors(value: Any) -> Any:
    """What is wrong with it by the published schema of its format."""
    schema = json.loads((SCHEMAS / f"{value['format']}.json").read_text())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema).iter_errors(value)


@pytest.mark.parametrize("change", [{"format": "hati-run-1", "study": 1}, {"format": "hati-run-1"}])
def test_a_schema_refuses_what_is_not_so(change: dict[str, Any]) -> None:
    assert list(errors(change))


def test_the_published_schemas_are_up_to_date() -> None:
    spec = importlib.util.spec_from_file_location("json_schemas", ROOT / "scripts" / "json_schemas.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert {file.name: file.read_text() for file in SCHEMAS.iterdir()} == module.schemas()


@pytest.mark.parametrize("file", sorted(SCHEMAS.iterdir()), ids=lambda file: file.stem)
def test_every_field_has_a_type(file: Path) -> None:
    def anything(value: object) -> bool:
        if isinstance(value, dict):
            return not value or any(anything(each) for key, each in value.items() if key != "default")
        return isinstance(value, list) and any(map(anything, value))

    assert not anything(json.loads(file.read_text()))
