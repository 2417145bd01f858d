"""What this machine has of the settings that machines have: by its properties, or by commands."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence

from hati.core import InputError, Machine, MachineOption, setting_text
from hati.core.benchmark import fill, names
from hati.space import Option

_SECONDS = 60.0

Attributes = tuple[tuple[str, tuple[str, ...]], ...]
"""Names, and the values of each."""


def attributes_of(machine: Machine, options: Sequence[MachineOption], known: Iterable[Option]) -> Attributes:
    """The attributes of this machine that the options ask for; ``known`` are the options with their settings.

    Raises:
        InputError: where a command cannot be started, ends with another status, or does not end.
    """
    settings = {option.name: tuple(map(setting_text, option.settings)) for option in known}
    properties = dict(machine.properties)
    found: dict[str, tuple[str, ...]] = {}
    for option in options:
        if option.command:
            found[option.attribute] = _by_command(option, settings[option.option])
        elif option.attribute in properties:
            found[option.attribute] = (properties[option.attribute],)
    return tuple(found.items())


def _by_command(option: MachineOption, settings: Sequence[str]) -> tuple[str, ...]:
    if any(names(part) for part in option.command):
        filled = {text: [fill(part, {"": text}) for part in option.command] for text in settings}
        return tuple(text for text, command in filled.items() if _status(option, command)[0] == 0)
    status, printed = _status(option, option.command)
    if status:
        raise InputError(
            f"option {option.option!r}: {option.command[0]} ended with status {status}",
            fix="correct `has`: the command prints the setting that the machine has",
        )
    return (printed.strip(),)


def _status(option: MachineOption, command: Sequence[str]) -> tuple[int, str]:
    """The exit status of a command, and what it printed; 127 for a program that is not there."""
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            check=False,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (FileNotFoundError, PermissionError):
        return 127, ""
    except (OSError, subprocess.SubprocessError) as error:
        raise InputError(f"option {option.option!r}: {command[0]}: {error}", fix="correct `has`") from error
    return ended.returncode, ended.stdout
