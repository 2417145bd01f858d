"""The public names of packages: each that a stub lists is there, although its module loads on first use."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import pytest

import hati

SOURCE = Path(hati.__file__).parents[1]
PACKAGES = sorted(".".join(file.parent.relative_to(SOURCE).parts) for file in SOURCE.rglob("__init__.pyi"))


@pytest.mark.parametrize("name", PACKAGES)
def test_public_names_resolve(name: str) -> None:
    package = import_module(name)
    assert package.__all__
    for each in package.__all__:
        getattr(package, each)
