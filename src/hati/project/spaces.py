"""Read the options and constraints of a project: the tables ``[options.NAME]`` and ``[space]``; and feature models."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from hati.core import (
    MACHINE_PROPERTIES,
    Binding,
    Commands,
    InputError,
    MachineOption,
    Setting,
    setting_text,
)
from hati.core.benchmark import PlaceholderError, names
from hati.core.wording import suggestion
from hati.formula import FormulaError
from hati.project.commands import read_arguments, read_commands
from hati.project.document import TomlTable, Value
from hati.project.schema import keys_of
from hati.project.text_files import read_text
from hati.space import (
    Constraint,
    Option,
    OptionError,
    OptionKind,
    Space,
    SpaceError,
    UsageDistribution,
    check_formula,
    parse_formula,
)

if TYPE_CHECKING:
    from hati.space import FeatureModel

RESERVED = frozenset({"work", "port", "revision", "repetition", "workload"})
"""The names in placeholders and templates that options cannot have."""

VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
"""The valid names of environment variables."""
_SETTINGS_EXAMPLE = "settings = [false, true]"


def read_space(root: TomlTable) -> Space:
    """The options and constraints of a project file.

    Raises:
        InputError: for invalid entries, with their place.
    """
    tables = option_tables(root)
    options = {name: _option(name, table) for name, table in tables.items()}
    for name, table in tables.items():
        condition, value = options[name].active_if, table.get("active_if")
        if condition is not None and value is not None:
            _check(condition, value, options)
    constraints = tuple(_constraint(value, options) for value in _constraint_values(root))
    try:
        return Space(tuple(options.values()), constraints)
    except SpaceError as error:
        raise tables[error.option].error(error.message, key="active_if", fix=error.fix) from None


def read_bindings(root: TomlTable) -> tuple[Binding, ...]:
    """How settings reach the commands, for each option that specifies it.

    Raises:
        InputError: for invalid entries, with their place.
    """
    bindings: list[Binding] = []
    for name, table in option_tables(root).items():
        binding = _binding(name, table)
        taken = next((other for other in bindings if binding.env and other.env == binding.env), None)
        if taken:
            raise table.error(f"environment variable {binding.env} is that of option {taken.option!r} too", key="env")
        if binding != Binding(name):
            bindings.append(binding)
    return tuple(bindings)


def read_recommendable(root: TomlTable, space: Space) -> dict[str, tuple[Setting, ...]]:
    """The settings that may be recommended, for options that restrict them: none if ``recommend = false``.

    Raises:
        InputError: for invalid entries, with their place.
    """
    found: dict[str, tuple[Setting, ...]] = {}
    for name, table in option_tables(root).items():
        value = table.get("recommend")
        if value is None or value.data is True:
            continue
        found[name] = () if value.data is False else _recommendable(value, space.option(name))
    return found


def _recommendable(value: Value, option: Option) -> tuple[Setting, ...]:
    if not isinstance(value.data, list):
        raise value.error(
            "expected false, or a list of the settings that may be recommended", fix="write recommend = false"
        )
    for item in value.items():
        if option.position(_setting(item)) is None:
            known = [setting_text(setting) for setting in option.settings]
            text = setting_text(_setting(item))
            raise item.error(f"{text!r} is not a setting of option {option.name!r}", fix=suggestion(text, known))
    return tuple(_setting(item) for item in value.items())


def read_usage(root: TomlTable, space: Space) -> UsageDistribution:
    """How often settings are used, of the options that say so.

    Raises:
        InputError: for invalid entries, with their place.
    """
    weights: dict[str, dict[Setting, float]] = {}
    for name, table in option_tables(root).items():
        value = table.get("usage")
        if value is not None:
            weights[name] = _usage(value, space.option(name))
    return UsageDistribution.of(weights)


def _usage(value: Value, option: Option) -> dict[Setting, float]:
    numbers = [item.data for item in value.items()]
    weights = [each for each in numbers if isinstance(each, int | float) and not isinstance(each, bool) and each >= 0]
    if len(weights) != len(option.settings) or len(numbers) != len(weights) or not 0 < sum(weights) < math.inf:
        raise value.error(
            f"expected a number from 0 for each of the {len(option.settings)} settings, not all 0",
            fix="as in usage = [70, 20, 10]",
        )
    return dict(zip(option.settings, map(float, weights), strict=True))


def option_tables(root: TomlTable) -> dict[str, TomlTable]:
    """The tables of the options by their names."""
    tables = root.table("options")
    return {name: tables.table(name) for name in tables}


def _option(name: str, table: TomlTable) -> Option:
    table.only(*keys_of("option"))
    if name in RESERVED or name.startswith("file:"):
        raise table.error(f"{{{name}}} is a placeholder of its own", fix=f"call the option {name}_option, for instance")
    settings = table.need("settings", _SETTINGS_EXAMPLE).items()
    if not settings:
        raise table.error(f"option {name!r} has no settings", key="settings", fix=f"as in {_SETTINGS_EXAMPLE}")
    try:
        return Option(
            name,
            tuple(_setting(value) for value in settings),
            _setting(table.get("default") or settings[0]),
            table.read("unit", Value.text, ""),
            table.read("doc", Value.text, ""),
            table.read("active_if", _formula, None),
        )
    except OptionError as error:
        place = settings[error.index] if error.index is not None else table.get(error.part)
        if place is None:
            raise table.error(error.message, fix=error.fix) from None
        raise place.error(error.message, fix=error.fix) from None


def _setting(value: Value) -> Setting:
    if not isinstance(value.data, bool | int | float | str):
        raise value.error(
            "expected a setting: true, false, a number or text in quotes", fix=f"as in {_SETTINGS_EXAMPLE}"
        )
    if isinstance(value.data, str) and "\0" in value.data:
        raise value.error(
            f"the setting {value.data!r} has a NUL, which arguments and variables of programs cannot hold",
            fix="leave out the NUL",
        )
    return value.data


def _constraint_values(root: TomlTable) -> list[Value]:
    return root.part("space", keys_of("space")).read("constraints", Value.items, [])


def _constraint(value: Value, options: Mapping[str, Option]) -> Constraint:
    formula = _formula(value)
    _check(formula, value, options)
    return formula


def _formula(value: Value) -> Constraint:
    try:
        return parse_formula(value.line())
    except FormulaError as error:
        raise _located(value, error) from None


def _check(formula: Constraint, value: Value, options: Mapping[str, Option]) -> None:
    try:
        check_formula(formula, options)
    except FormulaError as error:
        raise _located(value, error) from None


def _located(value: Value, error: FormulaError) -> InputError:
    return value.error(error.message, within=error.offset, fix=error.fix)


def _binding(name: str, table: TomlTable) -> Binding:
    env = table.get("env")
    if env and not VARIABLE.fullmatch(env.text()):
        raise env.error(f"{env.text()!r} cannot name an environment variable", fix="use letters, digits and _")
    return Binding(
        name,
        argument=table.read("argument", lambda value: _argument(value, _option(name, table)), None),
        env=table.read("env", Value.text, None),
        build=table.read("build", Value.truth, default=False),
        setup=read_commands(table, "setup", None),
        reload=_reload(table),
    )


def read_machine_options(root: TomlTable) -> tuple[MachineOption, ...]:
    """The options whose settings machines have.

    Raises:
        InputError: for invalid entries, with their place.
    """
    tables = option_tables(root).items()
    return tuple(_machine_option(name, value) for name, table in tables if (value := table.get("has")) is not None)


_HAS_EXAMPLE = 'as in has = "processor" or has = ["{}", "--version"]'


def _machine_option(name: str, value: Value) -> MachineOption:
    if isinstance(value.data, str):
        if value.line() not in (*MACHINE_PROPERTIES, name):
            raise value.error(
                f"machines have no property {value.data!r}", fix=suggestion(value.data, MACHINE_PROPERTIES)
            )
        return MachineOption(name, value.data, place=value.place)
    if not isinstance(value.data, list) or not value.data:
        found = "an empty array" if isinstance(value.data, list) else repr(value.data)
        raise value.error(f"has: expected a property or a command, found {found}", fix=_HAS_EXAMPLE)
    return MachineOption(name, name, read_arguments(value, "has", {""}), value.place)


def _reload(table: TomlTable) -> Commands | None:
    """The commands by which a running server accepts a new setting: empty for the server's own, None if it cannot."""
    value = table.get("reload")
    if value is None or value.data is False:
        return None
    for key in ("env", "build"):
        if key in table and table.need(key, "").data is not False:
            raise value.error(
                f"a running server cannot take over what it gets by `{key}`",
                fix="remove this line: it is restarted then",
            )
    return () if value.data is True else read_commands(table, "reload", None)


def _argument(value: Value, option: Option) -> str:
    """An argument's template; without ``{}`` it is a flag, which only a boolean option can have."""
    argument = value.line()
    try:
        placeholders = names(argument)
        shlex.split(argument)
    except PlaceholderError as error:
        raise value.error(error.message, within=error.offset, fix=error.fix) from None
    except ValueError as error:
        raise value.error(f"the argument cannot be split: {str(error).lower()}", fix="close the quotation") from None
    if option.kind is not OptionKind.BOOLEAN and all(placeholder.name for placeholder in placeholders):
        raise value.error("the argument has no {} for the setting", fix=f'as in "--{option.name}={{}}"')
    return argument


_LARGEST = 16_000_000


def read_feature_model(path: Path) -> FeatureModel:
    """Read a ``FeatureModel.xml`` of SPL Conqueror.

    Raises:
        InputError: for any error in it, with its place.
    """
    from hati.space import parse_feature_model  # projects do without it

    return parse_feature_model(read_text(path, largest=_LARGEST), str(path))
