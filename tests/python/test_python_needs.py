"""Trees that say the same of what they need have the same environment."""

from __future__ import annotations

from pathlib import Path

import pytest

from hati.python import declared

LOCK = """
version = 1
[[package]]
name = "a"
version = "{own}"
source = {{ editable = "." }}
[[package]]
name = "dep"
version = "{dep}"
source = {{ registry = "https://example.org/simple" }}
"""


def project(version: str, needed: str = "") -> str:
    return f"[project]\nname = 'a'\nversion = '{version}'\ndependencies = [{needed}]\n"


def tree(folder: Path, **files: str) -> Path:
    folder.mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / name.replace("__", ".")).write_text(text)
    return folder


@pytest.mark.parametrize("files", [{}, {"pyproject__toml": "[tool.ruff]\n"}, {"setup__cfg": "[flake8]\n"}])
def test_a_tree_that_needs_nothing_says_nothing(files: dict[str, str], tmp_path: Path) -> None:
    assert declared(tree(tmp_path, **files)) is None


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            {"pyproject__toml": project("1")},
            {"pyproject__toml": project("2")},
        ),
        ({"uv__lock": LOCK.format(own=1, dep=1)}, {"uv__lock": LOCK.format(own=2, dep=1)}),
        ({"requirements__txt": "dep==1"}, {"requirements__txt": "dep==1", "readme__txt": "more"}),
    ],
)
def test_a_release_alone_needs_no_other_environment(
    first: dict[str, str], second: dict[str, str], tmp_path: Path
) -> None:
    found = declared(tree(tmp_path / "first", **first))
    assert found is not None
    assert found == declared(tree(tmp_path / "second", **second))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (
            {"pyproject__toml": project("1")},
            {"pyproject__toml": project("1", "'dep'")},
        ),
        ({"uv__lock": LOCK.format(own=1, dep=1)}, {"uv__lock": LOCK.format(own=1, dep=2)}),
        ({"requirements__txt": "dep==1"}, {"requirements__txt": "dep==2"}),
        ({"requirements__txt": "dep==1"}, {"requirements__txt": "dep==1", "setup__py": ""}),
        ({"uv__lock": "["}, {"uv__lock": "[["}),
    ],
)
def test_what_is_needed_tells_trees_apart(first: dict[str, str], second: dict[str, str], tmp_path: Path) -> None:
    assert declared(tree(tmp_path / "first", **first)) != declared(tree(tmp_path / "second", **second))
