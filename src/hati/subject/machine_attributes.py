"""What this machine has of the settings that machines have: by its properties, or by commands."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable, Sequence
from pathlib import Path

from hati.core import InputError, Machine, MachineOption, setting_text
from hati.core.benchmark import fill, names
from hati.space import Option

_SECONDS = 60.0

Attributes = tuple[tuple[str, tuple[str, ...]], ...]
"""Names, and the values of each."""


def attributes_of(
    machine: Machine, options: Sequence[MachineOption], known: Iterable[Option], folder: Path
) -> Attributes:
    """The attributes of this machine that the options ask for; ``known`` are the options with their settings.

    Commands are started in the project's ``folder``.

    Raises:
        InputError: where a command cannot be started, ends with another status, or does not end.
    """
    settings = {option.name: tuple(map(setting_text, option.settings)) for option in known}
    properties = dict(machine.properties)
    found: dict[str, tuple[str, ...]] = {}
    for option in options:
        if option.command:
            found[option.attribute] = _by_command(option, settings[option.option], folder)
        elif option.attribute in properties:
            found[option.attribute] = (properties[option.attribute],)
    return tuple(found.items())


def _by_command(option: MachineOption, settings: Sequence[str], folder: Path) -> tuple[str, ...]:
    if any(names(part) for part in option.command):
        filled = {text: [fill(part, {"": text}) for part in option.command] for text in settings}
        return tuple(text for text, command in filled.items() if _status(option, command, folder)[0] == 0)
    status, printed = _status(option, [fill(part, {}) for part in option.command], folder)
    if status:
        raise _error(option, f"`{option.command[0]}` ended with status {status}", _PRINTS)
    return (printed.strip(),)


_PRINTS = "the command prints the setting that the machine has, and ends with 0"


def _status(option: MachineOption, command: Sequence[str], folder: Path) -> tuple[int, str]:
    """The exit status of a command, and what it printed; 127 where the program is named by a setting, and not there."""
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            check=False,
            cwd=folder,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, ValueError) as error:
        if isinstance(error, (FileNotFoundError, PermissionError)) and names(option.command[0]):
            return 127, ""
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise _error(
            option, f"cannot start `{command[0]}`: {reason}", "correct the program's name, or install it"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise _error(option, f"`{command[0]}` did not end within {_SECONDS:g} s", _PRINTS) from error
    return ended.returncode, ended.stdout


def _error(option: MachineOption, message: str, fix: str) -> InputError:
    return InputError(f"option {option.option!r}: {message}", place=option.place, fix=fix)
