"""What tables of project files and locks name on this machine."""

from __future__ import annotations

from collections.abc import Iterator

from hati.python.requirement_lines import Named, plain

_PLACES = {"path", "editable", "directory", "virtual", "url", "find-links", "index-url", "extra-index-url"}


def tabled(value: object) -> Iterator[Named]:
    """What a value from a TOML file names below keys that are for places, at any depth."""
    if isinstance(value, list):
        for each in value:
            yield from tabled(each)
    elif isinstance(value, dict):
        for key, each in value.items():
            if key in _PLACES:
                yield from _places(each)
            yield from tabled(each)


def texts(value: object) -> Iterator[str]:
    """The texts in a value from a TOML file, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from texts(each)


def _places(value: object) -> Iterator[Named]:
    """None of addresses of elsewhere."""
    for text in value if isinstance(value, list) else [value]:
        if isinstance(text, str) and "://" not in (path := plain(text)):
            yield Named(path)
