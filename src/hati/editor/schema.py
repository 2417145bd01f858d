"""The JSON Schema by which the page shows attributes: the published one, with kinds of tasks that packages add."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from hati.core import decode
from hati.generate import TaskSet
from hati.generate.tasks import TaskAttributes
from hati.render import json_schema


def editor_schema(kinds: Mapping[str, type[Struct]]) -> dict[str, Any]:
    """The schema of a task set; ``kinds`` are added ones, by the words that follow ``do``."""
    schema: dict[str, Any] = decode(json_schema(TaskSet), dict[str, Any])
    definitions = schema["$defs"]
    common = {key: definitions["UseTask"]["properties"][key] for key in TaskAttributes.__struct_fields__}
    for word, kind in kinds.items():
        own = decode(json_schema(kind), dict[str, Any])
        definition = own["$defs"].pop(own["$ref"].rpartition("/")[2])
        definitions.update({name: each for name, each in own["$defs"].items() if name not in definitions})
        definitions[f"do {word}"] = {
            **definition,
            "properties": {"do": {"enum": [word]}, **definition["properties"], **common},
            "required": ["do", *definition.get("required", ())],
        }
        _add(schema, word)
    return schema


def _add(part: Any, word: str) -> None:
    """Add a kind wherever a task may stand."""
    for each in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
        _add(each, word)
    if isinstance(part, dict) and part.get("discriminator", {}).get("propertyName") == "do":
        part["discriminator"]["mapping"][word] = f"#/$defs/do {word}"
        part["anyOf"].append({"$ref": f"#/$defs/do {word}"})
