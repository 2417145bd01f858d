"""Read the tables ``[options.NAME]`` and ``[space]``, commands and configuration files.

Commands are argument lists; they and templates may use only known placeholders.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Collection, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from hati.core import (
    MACHINE_PROPERTIES,
    Binding,
    Command,
    Commands,
    ConfigurationFile,
    InputError,
    MachineOption,
    Place,
    Setting,
    setting_text,
)
from hati.core.benchmark import Placeholder, PlaceholderError, names, unknown
from hati.core.wording import suggestion
from hati.file_errors import read_error
from hati.formula import FormulaError
from hati.project.document import TomlSource, TomlTable, Value
from hati.project.schema import keys_of
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

LARGEST = 1_000_000
"""The default for the largest size of a file, in bytes."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def read_text(path: Path, *, largest: int = LARGEST) -> str:
    """The text of a UTF-8 file.

    Raises:
        InputError: where it cannot be read, is too large, or is not UTF-8, with its place.
    """
    place = Place(str(path))
    try:
        with path.open("rb") as stream:
            data = stream.read(largest + 1)
    except (OSError, ValueError) as error:  # ValueError: a path with a null character
        raise read_error(path, error) from None
    if len(data) > largest:
        raise InputError(f"the file is larger than {largest:,} bytes", place=place, fix="is it the right file?")
    return decode(data, str(path))


def decode(data: bytes, file: str) -> str:
    """The text of UTF-8 data without a byte order mark.

    Raises:
        InputError: with the place of the first byte that is not UTF-8.
    """
    if data.startswith(_BYTE_ORDER_MARK):
        raise InputError(
            "the file starts with a byte order mark", place=Place(file, 1, 1), fix="save it as UTF-8 without one"
        )
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        before = data[: error.start].decode(errors="replace")
        line = before.count("\n") + 1
        column = len(before) - before.rfind("\n")
        raise InputError(
            f"byte 0x{data[error.start]:02x} is not UTF-8",
            place=Place(file, line, column),
            fix="save the file as UTF-8",
        ) from None


_LARGEST = 16_000_000


def read_feature_model(path: Path) -> FeatureModel:
    """Read a ``FeatureModel.xml`` of SPL Conqueror.

    Raises:
        InputError: for any error in it, with its place.
    """
    from hati.space import parse_feature_model  # projects do without it

    return parse_feature_model(read_text(path, largest=_LARGEST), str(path))


_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def write_project(space: Space, name: str) -> str:
    """The TOML text of a project with a space and no benchmark; reading it gives the same space.

    Without a name, the project is named after its folder.
    """
    blocks = [f"[subject]\nname = {_text(name)}\n"] if name.strip() else []
    blocks += [_option_text(option) for option in space.options]
    if space.constraints:
        lines = "".join(f"  {_text(str(constraint))},\n" for constraint in space.constraints)
        blocks.append(f"[space]\nconstraints = [\n{lines}]\n")
    return "\n".join(blocks)


def _option_text(option: Option) -> str:
    lines = [f"[options.{_key(option.name)}]", f"settings = [{', '.join(map(_setting_text, option.settings))}]"]
    if option.default != option.settings[0]:
        lines.append(f"default = {_setting_text(option.default)}")
    if option.unit:
        lines.append(f"unit = {_text(option.unit)}")
    if option.doc:
        lines.append(f"doc = {_text(option.doc)}")
    if option.active_if is not None:
        lines.append(f"active_if = {_text(str(option.active_if))}")
    return "\n".join(lines) + "\n"


def _setting_text(setting: Setting) -> str:
    if isinstance(setting, str):
        return _text(setting)
    return str(setting).lower() if isinstance(setting, bool) else repr(setting)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _text(key)


def _text(text: str) -> str:
    return '"' + "".join(_character(c) for c in text) + '"'


def _character(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    return f"\\u{code:04x}" if code < 0x20 or code == 0x7F else character


def skeleton(name: str) -> str:
    """A commented project file to start from, which runs as it is."""
    return _SKELETON.replace("NAME", _text(name), 1)


_SKELETON = """\
[subject]
name = NAME

# A benchmark: how to make one measurement. It is started without a shell, once for every run.
[[benchmark]]
name    = "sort"
command = ["python3", "-c", "sorted(range(int('{size}')), key=str, reverse='{reverse}' == 'yes')"]
reader  = "process"   # time and memory of the process; others read what it prints, such as json or google-benchmark
timeout = "30s"
# build   = ["make", "-s"]                # once for every revision and set of options with build = true
# prepare = ["./prepare.sh", "{work}"]    # before each run, not measured; {work} is an empty folder of the run's own
# warmup  = 3                             # leading observations of a run that do not count; or "auto": found
# cpus    = [1]

[[benchmark.metric]]
name   = "wall_time"
unit   = "s"
better = "lower"

# An option: what can be set, and to what. The first setting is the default.
[options.size]
settings = [1000, 100000]
unit     = "element"
doc      = "how many numbers are sorted"

[options.reverse]
settings = ["no", "yes"]
doc      = "whether the greatest comes first"

# [options.level]
# settings  = [1, 9]
# active_if = "reverse == 'yes'"          # without influence otherwise
# argument  = "--level={}"                # or env = "LEVEL"; or {level} in the command; or in a file's template

[space]
constraints = []      # such as "size <= 1000 or reverse == 'yes'"
"""


_COMMAND_EXAMPLE = 'command = ["./program", "--flag", "{option}"]'


def read_command(table: TomlTable, key: str, known: Collection[str]) -> Command | None:
    """The argument list of a key, or None where there is none; ``known`` are the allowed placeholders.

    Raises:
        InputError: for invalid entries, with their place.
    """
    return table.read(key, lambda value: _command(value, key, known), None)


def read_commands(table: TomlTable, key: str, known: Collection[str] | None) -> Commands:
    """The commands of a key, an argument list or an array of them; empty without the key.

    Raises:
        InputError: for invalid entries, with their place.
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
    return MachineOption(name, name, _command(value, "has", {""}), value.place)


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
