"""What tables of project files and locks name on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from hati.python.requirement_lines import Kind, Named, plain

_PLACES = {"path", "editable", "directory", "virtual", "url", "find-links", "index-url", "extra-index-url"}
_REVISIONS = ("resolved_reference", "commit-id", "revision", "rev", "tag", "branch", "ref")


def tabled(value: object) -> Iterator[Named]:
    """What a value from a TOML file names below keys that are for places, at any depth."""
    if isinstance(value, list):
        for each in value:
            yield from tabled(each)
    elif isinstance(value, dict):
        repository = _repository(value)
        if repository:
            yield from _places(
                repository.partition("#")[0].partition("?")[0], Kind.REPOSITORY, _asked(value, repository)
            )
        for key, each in value.items():
            if key in _PLACES and not repository:
                yield from _places(each)
            yield from tabled(each)


def texts(value: object) -> Iterator[str]:
    """The texts in a value from a TOML file, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


def _places(value: object, kind: Kind = Kind.CONTENT, revision: str = "HEAD") -> Iterator[Named]:
    """None of addresses of elsewhere."""
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and "://" not in (path := plain(text)):
            yield Named(path, kind, revision)


def _repository(table: Mapping[str, Any]) -> str:
    """The URL of a git repository, empty of a table that has none."""
    found = table.get("git") or (table.get("type") == "git" and (table.get("url") or table.get("path")))
    return found if isinstance(found, str) else ""


def _asked(table: Mapping[str, Any], url: str) -> str:
    """The revision of a repository: the commit, where it is told."""
    asked = (url.partition("#")[2], *(table.get(key) for key in _REVISIONS))
    return next((text for text in asked if text and isinstance(text, str)), "HEAD")
