"""The files of a benchmark that are made from templates, read and checked before any run."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from hati.core import ConfigurationFile, InputError, Place
from hati.core.nearest import suggestion
from hati.project.commands import check_template
from hati.project.document import Table, Value
from hati.project.files import read_text
from hati.project.source import Source


def read_files(
    benchmark: Table, root: Path, known: Collection[str], options: Collection[str]
) -> tuple[ConfigurationFile, ...]:
    """The files of a benchmark; ``known`` are the placeholders of their paths, ``options`` the options' names.

    Raises:
        InputError: for what is wrong, here or in a template, with its place.
    """
    listed = benchmark.get("file")
    files: dict[str, ConfigurationFile] = {}
    for table in listed.tables() if listed else []:
        table.only("path", "template")
        path = table.need("path", 'path = "server.conf"')
        _check_path(path, known)
        if path.text() in files:
            raise path.error(f"file {path.text()!r} is there twice", fix="rename or remove one")
        files[path.text()] = _file(path.text(), table.need("template", 'template = "server.conf.j2"'), root, options)
    return tuple(files.values())


def _check_path(value: Value, known: Collection[str]) -> None:
    path = value.line()
    check_template(value, known)
    if path.startswith("/") or ".." in PurePosixPath(path).parts:
        raise value.error(f"{path!r} is outside of the run's folder", fix="write a relative path without '..'")


def _file(path: str, value: Value, root: Path, options: Collection[str]) -> ConfigurationFile:
    source = root / value.line()
    if not source.resolve().is_relative_to(_repository(root)):
        raise value.error(
            f"template {source} is outside of the project",
            fix="put it next to hati.toml or in its repository",
        )
    try:
        template = read_text(source)
    except InputError as error:
        if error.place and error.place.line is not None:
            raise
        raise value.error(
            f"template {source}: {error.message}", fix="templates are read from the folder of hati.toml"
        ) from None
    _check_syntax(Source(str(source), template), options)
    inside = PurePosixPath(value.line())
    own = "" if inside.is_absolute() or ".." in inside.parts else str(inside)
    return ConfigurationFile(path, template, str(source), own)


def _repository(root: Path) -> Path:
    """The folder with a repository that the project is in; where there is none, its own."""
    own = root.resolve()
    return next((place for place in (own, *own.parents) if (place / ".git").exists() or (place / ".svn").exists()), own)


def _check_syntax(source: Source, options: Collection[str]) -> None:
    from jinja2 import Environment, TemplateSyntaxError, meta  # slow to load, and most projects have no templates

    # What is made here is never shown: only its syntax and its names are looked at.
    jinja = Environment(autoescape=True)
    try:
        tree = jinja.parse(source.text)
        undeclared = meta.find_undeclared_variables(tree)
    except TemplateSyntaxError as error:
        raise InputError(f"template: {error.message}", place=source.at(error.lineno, 1)) from None
    except RecursionError:
        raise InputError("the template is nested too deeply", place=Place(source.file)) from None
    known = [*options, "workload", "work", "port", "revision", "repetition"]
    for name in sorted(undeclared - set(jinja.globals) - set(known)):
        place = source.place(max(0, source.text.find(name)))
        raise InputError(f"template: unknown name {name!r}", place=place, fix=suggestion(name, known))
