"""Commands: argument lists whose placeholders are known."""

from __future__ import annotations

from collections.abc import Collection

from hati.core import Command, Commands
from hati.core.placeholders import Placeholder, PlaceholderError, names, unknown
from hati.project.document import Table, Value

_EXAMPLE = 'command = ["./program", "--flag", "{option}"]'


def read_command(table: Table, key: str, known: Collection[str]) -> Command | None:
    """The argument list of a key, or None where there is none; ``known`` are the placeholders that may be there.

    Raises:
        InputError: for what is wrong, with its place.
    """
    value = table.get(key)
    return None if value is None else _command(value, key, known)


def read_commands(table: Table, key: str, known: Collection[str] | None) -> Commands:
    """The commands of a key, an argument list or an array of them; none where there is no such key.

    Raises:
        InputError: for what is wrong, with its place.
    """
    value = table.get(key)
    if value is None:
        return ()
    if isinstance(value.data, list) and any(isinstance(part, list) for part in value.data):
        return tuple(_command(part, key, known) for part in value.items())
    return (_command(value, key, known),)


def _command(value: Value, key: str, known: Collection[str] | None) -> Command:
    if isinstance(value.data, str):
        raise value.error(
            f"{key}: expected a list of arguments, found text", fix="there is no shell; write " + _listed(value.data)
        )
    arguments = value.items()
    if not arguments:
        raise value.error(f"{key} is empty", fix=f"as in {_EXAMPLE.replace('command', key)}")
    for argument in arguments:
        check_template(argument, known)
    if not arguments[0].text():
        raise arguments[0].error(f"{key}: the program's name is empty")
    return tuple(argument.text() for argument in arguments)


def check_template(value: Value, known: Collection[str] | None) -> tuple[Placeholder, ...]:
    """The placeholders of a text, all of which are known; with None any may be.

    Raises:
        InputError: for one that is not, with its place and the nearest that is known.
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
