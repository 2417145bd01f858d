"""The table of published types."""

from __future__ import annotations

import pkgutil
from importlib import import_module
from pathlib import Path

import hati
from hati.wiring.published import _PUBLISHING, published_types
from hati.wiring.study_types import format_of


def test_every_type_that_has_a_format_is_published() -> None:
    found = set[str]()
    for module in pkgutil.walk_packages(hati.__path__, "hati."):
        file = Path(str(hati.__path__[0])).joinpath(*module.name.split(".")[1:]).with_suffix(".py")
        if file.exists() and 'tag_field="format"' in file.read_text():
            found |= {name for each in vars(import_module(module.name)).values() if (name := format_of(each))}
    assert len(found) > 30
    assert found == set(published_types())


def test_no_module_of_published_types_is_listed_twice() -> None:
    assert len(_PUBLISHING) == len(set(_PUBLISHING))
