"""Read commands and configuration files: argument lists and templates, which may use only known placeholders."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path, PurePosixPath

from hati.core import Command, Commands, ConfigurationFile, InputError, Place
from hati.core.benchmark import Placeholder, PlaceholderError, names, unknown
from hati.core.wording import suggestion
from hati.project.document import TomlSource, TomlTable, Value
from hati.project.schema import keys_of
from hati.project.text_files import read_text

_COMMAND_EXAMPLE = 'command = ["./program", "--flag", "{option}"]'


def read_command(table: TomlTable, key: str, known: Collection[str]) -> Command | None:
    """The argument list of a key, or None where there is none; ``known`` are the allowed placeholders.

    Raises:
        InputError: for invalid entries, with their place.
    """
    return table.read(key, lambda value: read_arguments(value, key, known), None)


def read_commands(table: TomlTable, key: str, known: Collection[str] | None) -> Commands:
    """The commands of a key, an argument list or an array of them; empty without the key.

    Raises:
        InputError: for invalid entries, with their place.
    """
    value = table.get(key)
    if value is None:
        return ()
    if isinstance(value.data, list) and any(isinstance(part, list) for part in value.data):
        return tuple(read_arguments(part, key, known) for part in value.items())
    return (read_arguments(value, key, known),)


def read_arguments(value: Value, key: str, known: Collection[str] | None) -> Command:
    """The argument list of a value, that of a key; ``known`` are the allowed placeholders, with None all.

    Raises:
        InputError: for invalid entries, with their place.
    """
    if isinstance(value.data, str):
        raise value.error(
            f"{key}: expected a list of arguments, found text", fix="there is no shell; write " + _listed(value.data)
        )
    arguments = value.items()
    if not arguments:
        raise value.error(f"{key} is empty", fix=f"as in {_COMMAND_EXAMPLE.replace('command', key)}")
    for argument in arguments:
        check_template(argument, known)
    if not arguments[0].text():
        raise arguments[0].error(f"{key}: the program's name is empty")
    return tuple(argument.text() for argument in arguments)


def check_template(value: Value, known: Collection[str] | None) -> tuple[Placeholder, ...]:
    """The placeholders of a text, checked to be ``known``; with None any are allowed.

    Raises:
        InputError: for an unknown placeholder, with its place and the nearest known one.
    """
    text = value.text()
    if "\0" in text:
        raise value.error("a null character cannot be passed to a program", within=text.index("\0"))
    try:
        placeholders = names(text)
        for placeholder in placeholders:
            if known is not None and placeholder.name not in known:
                raise unknown(text, placeholder, known)
    except PlaceholderError as error:
        raise value.error(error.message, within=error.offset, fix=error.fix) from None
    return placeholders


def _listed(command: str) -> str:
    words = command.split()[:4]
    return "[" + ", ".join(f'"{word}"' for word in words) + (", ...]" if len(command.split()) > 4 else "]")


def read_files(
    benchmark: TomlTable, root: Path, known: Collection[str], options: Collection[str]
) -> tuple[ConfigurationFile, ...]:
    """The files of a benchmark; ``known`` are the placeholders of their paths, ``options`` the options' names.

    Raises:
        InputError: for invalid entries, here or in a template, with their place.
    """
    listed = benchmark.get("file")
    files: dict[str, ConfigurationFile] = {}
    for table in listed.tables() if listed else []:
        table.only(*keys_of("file"))
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
    _check_syntax(TomlSource(str(source), template), options)
    inside = PurePosixPath(value.line())
    own = "" if inside.is_absolute() or ".." in inside.parts else str(inside)
    return ConfigurationFile(path, template, str(source), own)


def _repository(root: Path) -> Path:
    """The top folder of the repository that the project is in; without a repository, the project's own folder."""
    own = root.resolve()
    return next((place for place in (own, *own.parents) if (place / ".git").exists() or (place / ".svn").exists()), own)


def _check_syntax(source: TomlSource, options: Collection[str]) -> None:
    from jinja2 import Environment, TemplateSyntaxError, meta  # slow to load, and most projects have no templates

    # This output is never shown: only its syntax and its names are checked.
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
