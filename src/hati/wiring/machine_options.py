"""What campaigns take from the known machines: the settings that these have together, and classes of hardware."""

from __future__ import annotations

import subprocess
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from hati.core import InputError, Machine, MachineOption, Setting, replace, setting_text
from hati.core.benchmark import fill, names
from hati.core.wording import listed
from hati.formula import Comparator, Not, Or
from hati.project import VOLUNTEERS
from hati.space import Constraint, Option, Space, narrowed
from hati.space.constraint import TRUE, Literal, Name, TermComparison, conjunction
from hati.steering import Client, ClientKind, hardware_class
from hati.wiring.workplace import Announce, Workplace

Settings = Mapping[str, tuple[str, ...]]
"""The settings that a machine has, as texts, by the names of options."""
_SECONDS = 60.0
"""The time that a command has to find an attribute."""
_PRINTS = "the command prints the setting that the machine has, and ends with 0"
Attributes = tuple[tuple[str, tuple[str, ...]], ...]
"""Names, and the values of each."""


def narrow_to_machines(place: Workplace, announce: Announce) -> Workplace:
    """The workplace with the space narrowed to the configurations that a known machine can run.

    Without options that machines have, and for a table, it is the same.

    Raises:
        InputError: where no machine is known, or none can run any configuration.
    """
    options = place.project.machine_options
    if not options or place.table is not None:
        return place
    before = place.project.space
    known = [_settings_of(client, options) for client in clients(place)]
    template = _template(before, options, known)
    if template is None:
        raise _nothing_to_run(place, known[0])
    if template == TRUE:
        return place
    space = narrowed(before, (template,))
    whose = "no known machine has" if place.by_workers else "this machine does not have"
    lost = [text for option in options for text in _left_out(option, before, space)]
    if lost:
        announce(f"left out: {listed(lost)}, which {whose}")
    return replace(place, project=replace(place.project, space=space), whole=place.whole or before)


def clients(place: Workplace) -> Sequence[Client]:
    """The machines that may run a place's tasks, as far as they are known.

    Raises:
        InputError: where none is known, and for a pool whose machines each measure a part.
    """
    if place.by_workers:
        kind = ClientKind.VOLUNTEER if place.project.engine == VOLUNTEERS else ClientKind.WORKER
        known = [each for each in place.store.ledger.clients() if each.kind is kind]
        found = [each for each in known if not place.pool or each.name in place.pool]
        if not found:
            raise InputError(
                "no machine is known: which settings are there, and which classes, is not either",
                fix=f"start {_STARTED[kind]} before the campaign, with the same store",
            )
        return found
    if place.pool:
        raise InputError("`has` in [options] needs workers where a pool shares a study", fix="use --engine workers")
    return (this_client(place),)


_STARTED = {
    ClientKind.WORKER: "`hati worker` on each machine",
    ClientKind.VOLUNTEER: "`hati serve --volunteers`, and `hati join` on each machine,",
}


def this_client(place: Workplace) -> Client:
    """This machine with its attributes.

    Raises:
        InputError: where a command that finds one is wrong.
    """
    project = place.project
    whole = place.whole or project.space
    attributes = attributes_of(place.machine, project.machine_options, whole.options, project.root)
    about = dict(place.machine.properties)
    hardware = hardware_class(about.get("architecture", ""), about.get("processor", ""), about.get("cpus", ""))
    return Client(place.machine.id, place.machine.name, hardware=hardware, attributes=attributes)


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
        return tuple(text for text, command in filled.items() if _command_status(option, command, folder)[0] == 0)
    status, printed = _command_status(option, [fill(part, {}) for part in option.command], folder)
    if status:
        raise _command_error(option, f"`{option.command[0]}` ended with status {status}", _PRINTS)
    return (printed.strip(),)


def _command_status(option: MachineOption, command: Sequence[str], folder: Path) -> tuple[int, str]:
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
        raise _command_error(
            option, f"cannot start `{command[0]}`: {reason}", "correct the program's name, or install it"
        ) from error
    except subprocess.TimeoutExpired as error:
        raise _command_error(option, f"`{command[0]}` did not end within {_SECONDS:g} s", _PRINTS) from error
    return ended.returncode, ended.stdout


def _command_error(option: MachineOption, message: str, fix: str) -> InputError:
    return InputError(f"option {option.option!r}: {message}", place=option.place, fix=fix)


def _settings_of(client: Client, options: Sequence[MachineOption]) -> Settings:
    attributes = dict(client.attributes)
    return {each.option: attributes.get(each.attribute, ()) for each in options}


def _nothing_to_run(place: Workplace, first: Settings) -> InputError:
    """The error where no machine can run anything; ``first`` are the settings of the first of them."""
    space, options = place.project.space, place.project.machine_options
    if place.by_workers:
        wanted = listed(f"{each.option}={setting_text(own)}" for each in options for own in _wanted(space, each))
        return InputError(
            f"no known machine has a setting of each option that machines have: {wanted}",
            fix="see `hati grid status`, and `settings` of these options",
        )
    lacking = next(each for each in options if _runnable(space, (each,), first) is None)
    wanted = listed(map(setting_text, _wanted(space, lacking)))
    own = listed(f"{lacking.attribute}={value}" for value in first[lacking.option])
    return InputError(
        f"this machine has {own or 'nothing'}, not a setting of `{lacking.option}`: {wanted}",
        place=lacking.place,
        fix="add the setting that it has, or use a machine that has one of these",
    )


def _wanted(space: Space, option: MachineOption) -> tuple[Setting, ...]:
    """The settings of an option that a space has; none if it lacks the option."""
    if option.option in space.fixed:
        return (space.fixed[option.option],)
    return space.by_name[option.option].settings if option.option in space.by_name else ()


def _template(space: Space, options: Sequence[MachineOption], known: Sequence[Settings]) -> Constraint | None:
    """A formula that holds for the configurations that one of the machines can run; None if there are none."""
    found = (_runnable(space, options, had) for had in known)
    alternatives = tuple(dict.fromkeys(formula for formula in found if formula is not None))
    if TRUE in alternatives:
        return TRUE
    return Or(alternatives) if len(alternatives) > 1 else next(iter(alternatives), None)


def _runnable(space: Space, options: Sequence[MachineOption], had: Settings) -> Constraint | None:
    """A formula that holds for what a machine can run; None if that is nothing."""
    parts: list[Constraint] = []
    for each in options:
        wanted = _wanted(space, each)
        own = [setting for setting in wanted if setting_text(setting) in had[each.option]]
        if len(own) == len(wanted):
            continue
        option = space.by_name.get(each.option)
        terms = [TermComparison(Name(each.option), Comparator.EQUAL, Literal(setting)) for setting in own]
        choices = [*terms, *([] if option is None or option.active_if is None else [Not(option.active_if)])]
        if not choices:
            return None
        parts.append(choices[0] if len(choices) == 1 else Or(tuple(choices)))
    return conjunction(*parts)


def _left_out(option: MachineOption, before: Space, after: Space) -> list[str]:
    """The settings of an option that no known machine has."""
    left = _wanted(after, option)
    return [f"{option.option}={setting_text(each)}" for each in _wanted(before, option) if each not in left]


ALL = "all"
"""All known classes of machines."""


def over_classes(place: Workplace, wanted: str) -> Workplace:
    """The workplace whose repetitions are spread over ``wanted`` classes of machines: a number, or ``ALL``.

    These are the classes with the most known machines, and among equals the first by name.

    Raises:
        InputError: where these are not classes, too few are known, or this machine alone measures.
    """
    if not place.by_workers:
        raise InputError("--classes is for campaigns that share workers", fix="add --engine workers, or leave it out")
    if wanted != ALL and not (wanted.isdecimal() and int(wanted)):
        raise InputError(f"--classes {wanted!r} is not a number of classes", fix=f"write 1 or more, or `{ALL}`")
    found = Counter(client.hardware for client in clients(place))
    number = len(found) if wanted == ALL else int(wanted)
    if number > len(found):
        raise InputError(
            f"{number} classes of machines are wanted, and {len(found)} known: {listed(sorted(found), separator='; ')}",
            fix=f"start workers on others, or write --classes {len(found)}",
        )
    ordered = sorted(found, key=lambda each: (-found[each], each))
    return replace(place, classes=tuple(sorted(ordered[:number])))
