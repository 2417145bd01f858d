"""What a tree says is to be installed for it, by its content."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hati.core import digest

_LOCK, _PROJECT = "uv.lock", "pyproject.toml"
_OWN = {"editable", "virtual", "directory"}
_OF_PROJECT = ("dependencies", "requires-python", "optional-dependencies", "dynamic")


def declared(tree: Path) -> str | None:
    """A hash of what a lock, requirements and a project file say is needed; None where a tree has none of these.

    The project's own name and version are no part of it, so that a release alone is no other environment. A file that
    cannot be read as what it is counts by its bytes: who installs from it is told.
    """
    found = {
        _LOCK: _read(tree / _LOCK, _locked),
        _PROJECT: _read(tree / _PROJECT, _project),
        **{file.name: file.read_text(errors="replace") for file in sorted(tree.glob("requirements*.txt"))},
        **{name: _read(tree / name, lambda _: None) for name in ("setup.py", "setup.cfg")},
    }
    said = {name: content for name, content in found.items() if content is not None}
    return digest(said) if said.keys() - {"setup.cfg"} else None


def _read(file: Path, part: Any) -> object:
    """The part of a TOML file that counts; of others the text."""
    if not file.is_file():
        return None
    text = file.read_text(errors="replace")
    if file.suffix not in {".toml", ".lock"}:
        return text
    try:
        return part(tomllib.loads(text))
    except ValueError:
        return text


def _locked(data: dict[str, Any]) -> object:
    packages = (each for each in data.get("package", []) if _OWN.isdisjoint(each.get("source", {})))
    return sorted(([each.get("name"), each.get("version"), str(each.get("source"))] for each in packages), key=str)


def _project(data: dict[str, Any]) -> object:
    """None of a file that only configures tools."""
    if {"project", "build-system"}.isdisjoint(data):
        return None
    project = data.get("project", {})
    parts = [project.get(key) for key in _OF_PROJECT]
    return [str(parts), str(data.get("build-system")), str(data.get("tool", {}).get("uv", {}).get("sources"))]
