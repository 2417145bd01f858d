"""What a tree says is to be installed for it, by its content: project files, locks and requirements, and what
these name on this machine.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from hati.core import InputError, Place, digest
from hati.python.installing import (
    LOCKS,
    OTHERS,
    TODAY,
    InstallationError,
    RefusedError,
    installed,
    packages,
    part,
)
from hati.python.requirements import Named, PathKind, contents, named, normal, tabled, texts, walked

Shape = tuple[str, type, type | None]
"""A part: its keys, with a dot between, its type, and the type of its elements where there is only one."""

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

_TYPE_NAMES: Final[Mapping[type, str]] = {dict: "a table", list: "an array", str: "a text"}


def parsed(file: Path, shapes: tuple[Shape, ...], called: str) -> dict[str, Any] | None:
    """The content of an existing file; None where it is not valid TOML.

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
            raise _wrong(called, f"{keys} is {value!r}, where {_TYPE_NAMES[kind]} belongs")
        if inner is not None and (odd := [each for each in _within(value) if not isinstance(each, inner)]):
            raise _wrong(called, f"{keys} holds {odd[0]!r}, where {_TYPE_NAMES[inner]} belongs")
    return data


def _within(value: Any) -> list[Any]:
    return [*value.values()] if isinstance(value, dict) else [*(value or ())]


def _wrong(called: str, message: str) -> InputError:
    return InputError(message, place=Place(called), fix=f"correct it; else {TODAY}")


_PROJECT, _SETUP, _OPTIONS = "pyproject.toml", "setup.py", "setup.cfg"
_REQUIREMENTS = "requirements"
_NEEDED = "install_requires"
_OWN = ("editable", "virtual", "directory")
_STATING = ("project", "build-system", "dependency-groups", "tool.poetry", "tool.flit.metadata")
_COUNTED = (
    *(f"project.{key}" for key in ("dependencies", "requires-python", "optional-dependencies", "dynamic")),
    *("build-system", "dependency-groups", "tool.uv"),
    *(f"tool.poetry.{key}" for key in ("dependencies", "dev-dependencies", "group", "extras", "source")),
    *("tool.poetry.package-mode", "tool.pdm.dev-dependencies", "tool.hatch.metadata"),
    *("tool.flit.metadata.requires", "tool.flit.metadata.requires-extra"),
    *("tool.setuptools.dynamic.dependencies", "tool.setuptools.dynamic.optional-dependencies"),
)
_ALONG = ("tool.uv", *(f"tool.poetry.{key}" for key in ("dependencies", "dev-dependencies", "group", "source")))
_LISTED = (
    *("project.dependencies", "project.optional-dependencies", "dependency-groups", "build-system.requires"),
    *(f"tool.uv.{key}-dependencies" for key in ("constraint", "override", "build-constraint", "dev", "extra-build")),
    *("tool.pdm.dev-dependencies", "tool.flit.metadata.requires", "tool.flit.metadata.requires-extra"),
)
_READ = re.compile(r"[\w./-]+\.(?:txt|in)\b")
_ABOUT = re.compile("readme|licen[cs]e|change|history|news|authors|manifest|version", re.IGNORECASE)


def declared(tree: Path, of: str = "") -> str | None:
    """A hash of what locks, requirements and a project file say is needed; None where a tree has none of these.

    It covers the contents of all files that these name. The project's own name and version do not count, so
    that a release alone does not change the environment. A file that is not valid TOML counts by its bytes: installing
    from it reports the error. Errors call the tree ``of``, or name its path.

    Raises:
        InputError: for a malformed part of a file, or a file, a folder or a repository that
        cannot be read.
    """
    try:
        said = {name: found for name, found in _said(tree, of) if found is not None}
    except OSError as error:
        where = Place(_called(tree, os.path.relpath(error.filename or tree, tree), of))
        raise InputError(f"it cannot be read: {error.strerror}", place=where, fix="make it readable") from None
    return digest(said) if said else None


def validate_installable(tree: Path, of: str) -> None:
    """See that what the tree ``of`` a revision needs can be installed, as far as is known before it is tried.

    Raises:
        InputError: where it is said in a way that nothing here installs.
    """
    try:
        installed(tree)
    except RefusedError as error:
        raise InputError(f"{of} has no environment of its own: {error}", fix=TODAY) from None
    except InstallationError:  # installing reports it
        return


def _said(tree: Path, of: str) -> Iterator[tuple[str, object]]:
    files = {*tree.glob(f"{_REQUIREMENTS}*.txt"), *_below(tree / _REQUIREMENTS)}
    for name in LOCKS:
        if (lock := tree / name).is_file():
            data = parsed(lock, LOCK, _called(tree, name, of))
            yield name, _text(lock) if data is None else _locked(data)
            yield from contents(tree, tabled(data)).items()
    if (file := tree / _PROJECT).is_file():
        data = parsed(file, PROJECT, _called(tree, _PROJECT, of))
        yield _PROJECT, _text(file) if data is None else _project(data)
        if data is not None:
            files |= {tree / name for name in _dynamic(data)}
            yield from contents(tree, _along(data)).items()
    for name in _scripts(tree):
        yield name, _text(tree / name)
        files |= {tree / path for path in _READ.findall(_text(tree / name)) if not _ABOUT.match(Path(path).name)}
    yield from ((name, _text(tree / name)) for name in OTHERS if (tree / name).is_file())
    further = (Named(str(file), PathKind.REQUIREMENTS) for file in sorted(files))
    yield from contents(tree, further).items()


def _below(folder: Path) -> Iterator[Path]:
    yield from (here / name for here, _, names in walked(folder) for name in names if name.endswith(".txt"))


def _scripts(tree: Path) -> Iterator[str]:
    """Files that setuptools reads: of options, which other tools keep there too, only those that name requirements."""
    if (tree / _SETUP).is_file():
        yield _SETUP
    options = tree / _OPTIONS
    if options.is_file() and ((tree / _SETUP).is_file() or _NEEDED in _text(options)):
        yield _OPTIONS


def _along(data: Mapping[str, Any]) -> Iterator[Named]:
    """What a project file names on this machine."""
    yield from tabled([part(data, keys) for keys in _ALONG])
    yield from named("\n".join(text for keys in _LISTED for text in texts(part(data, keys))))


def _called(tree: Path, name: str, of: str) -> str:
    """A file of the tree, or one outside of it by its whole path."""
    return f"{name} of {of}" if of and not name.startswith("..") else str(normal(tree / name))


def _text(file: Path) -> str:
    return file.read_text(errors="replace")


def _locked(data: Mapping[str, Any]) -> object:
    """Each package's name, version and source; none that is there by its path, as the project is."""
    others = (each for each in packages(data) if all(part(each, f"source.{kind}") is None for kind in _OWN))
    return sorted(([str(each.get(key)) for key in ("name", "version", "source")] for each in others), key=str)


def _project(data: Mapping[str, Any]) -> object:
    """None of a file that only configures tools."""
    if all(part(data, keys) is None for keys in _STATING):
        return None
    return {keys: str(found) for keys in _COUNTED if (found := part(data, keys)) is not None}


def _dynamic(data: Mapping[str, Any]) -> list[str]:
    """The files that dependencies are read from."""
    hooks = (
        "tool.setuptools.dynamic.dependencies",
        "tool.setuptools.dynamic.optional-dependencies",
        "tool.hatch.metadata",
    )
    return [text for keys in hooks for text in texts(part(data, keys))]
