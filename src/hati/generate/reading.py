"""Read task sets in YAML 1.2, with the place of each error."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast, get_args, get_type_hints

import msgspec
from msgspec import Struct

from hati.core import Place, convert
from hati.core.wording import suggestion
from hati.generate.task_set import TaskSet, TaskSetError
from hati.generate.tasks import CodeLoad, LoadTask, MachineTaskSet, NarrowInterval, Path, TaskAttributes
from hati.generate.yaml_text import YamlText, read_yaml

if TYPE_CHECKING:
    from hati.generate.tasks import TaskKind

TASKS: Mapping[str, type[Struct]] = {str(kind.__struct_config__.tag): kind for kind in get_args(LoadTask)}
"""The kinds of tasks by the words that follow ``do``."""


Kinds = Mapping[str, Callable[[], type[Struct]]]
"""The functions that load the kinds of tasks that packages add (``TaskKind``), by the words that follow ``do``."""


def parse_task_set(text: str, file: str = "task set", kinds: Kinds = MappingProxyType({})) -> TaskSet:
    """The task set that a YAML text describes; ``file`` names it in errors, and ``kinds`` are added ones.

    Raises:
        TaskSetError: if it is not a valid task set, with the place and the other errors: those in the form of its
            parts or, where all have the right form, those in what they say.
        InputError: if it is not YAML.
    """
    found = read_yaml(text, file)
    if errors := [*_wrong_forms(found.data, kinds)]:
        raise _located(errors, YamlPlaces(file, found))
    try:
        return convert(_coded(found.data, (), kinds, found.data), TaskSet)
    except TaskSetError as error:
        raise _located([error, *error.others], YamlPlaces(file, found)) from None


def _located(errors: list[TaskSetError], places: YamlPlaces) -> TaskSetError:
    """The first error, with the others, and with their places."""
    first, *others = [TaskSetError(each.message, each.path, each.fix or "", places.of(each.path)) for each in errors]
    first.others = tuple(others)
    return first


def _wrong_forms(data: Any, kinds: Kinds) -> Iterator[TaskSetError]:
    """The errors in the form of each part, in the order of the text."""
    waiting: list[tuple[Path, Any]] = [((), data)]
    while waiting:
        path, part = waiting.pop()
        waiting += reversed([*_inner(part, path)])
        yield from _own_errors(part, path, kinds, data)


def _inner(part: Any, path: Path) -> Iterator[tuple[Path, Any]]:
    """The machine task sets and tasks directly in a part, with their paths."""
    for key in _PARTS if isinstance(part, dict) else ():
        held = part.get(key)
        if isinstance(held, list):
            yield from (((*path, key, number), each) for number, each in enumerate(held))
        elif isinstance(held, dict) and key == "tasks":
            yield from (((*path, key, name), each) for name, each in held.items())
        elif isinstance(held, dict):
            yield (*path, key), held


_PARTS: Mapping[str, Any] = {
    "roles": {"name": "plain", "machine": "plain"},
    "tasks": {"do": "cpu", "kernel": "wait", "demand_ms": 1},
    "task": {"do": "cpu", "kernel": "wait", "demand_ms": 1},
}
"""The keys that hold parts, each with one that has the right form."""


def _own_errors(part: Any, path: Path, kinds: Kinds, data: Any) -> Iterator[TaskSetError]:
    """An error for each key of a part and, of the keys that it lacks, for the first; parts in it count as right."""
    own, wrong = _without_parts(part), set[str | int]()
    while (error := _form_error(own, path, kinds, data)) is not None:
        if len(error.path) == len(path):
            if not any(f"`{key}`" in error.message for key in wrong):
                yield error
            return
        yield error
        key = error.path[len(path)]
        wrong.add(key)
        del own[key]


def _without_parts(part: Any) -> Any:
    if not isinstance(part, dict):
        return part
    own = dict(part)
    for key, plain in _PARTS.items():
        held = part.get(key)
        if isinstance(held, list):
            own[key] = [plain] * len(held)
        elif isinstance(held, dict):
            own[key] = dict.fromkeys(held, plain) if key == "tasks" else plain
    return own


def _form_error(own: Any, path: Path, kinds: Kinds, data: Any) -> TaskSetError | None:
    kind: Any = MachineTaskSet if len(path) == 2 and path[0] == "roles" else LoadTask if path else TaskSet
    try:
        coded = _coded(own, path, kinds, data)
    except TaskSetError as error:
        return error
    try:
        convert(coded, kind)
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$")
        return _explained(message, (*path, *_steps(where.removesuffix("`"))), data)
    except TaskSetError:  # in what it says, which other parts decide, too
        return None
    return None


def _coded(value: Any, path: Path, kinds: Kinds, data: Any) -> Any:
    """The value with tasks of added kinds as ``code``."""
    if isinstance(value, list):
        return [_coded(each, (*path, number), kinds, data) for number, each in enumerate(value)]
    if not isinstance(value, dict):
        return value
    word = value.get("do")
    if not isinstance(word, str) or word in TASKS:
        return {key: _coded(each, (*path, key), kinds, data) for key, each in value.items()}
    if word not in kinds:
        raise TaskSetError(f"unknown `do`: {word}", (*path, "do"), suggestion(word, [*TASKS, *kinds]))
    common = {key: each for key, each in value.items() if key in _COMMON}
    own = {key: each for key, each in value.items() if key not in _COMMON and key != "do"}
    return common | _code_of(word, kinds[word](), own, path, data) | {"do": "code", "kind": word}


_COMMON = TaskAttributes.__struct_fields__
_CODE = tuple(field for field in CodeLoad.__struct_fields__ if field not in _COMMON)


def _code_of(word: str, kind: type[Struct], own: dict[str, Any], path: Path, data: Any) -> dict[str, Any]:
    """What the C of an added kind's task is, by the fields of ``CodeLoad``."""
    for key in own:
        if key not in kind.__struct_fields__:
            known = (*kind.__struct_fields__, *_COMMON)
            raise TaskSetError(f"unknown key `{key}`", (*path, key, _KEY), suggestion(str(key), known))
    try:
        code = cast("TaskKind", convert(own, kind)).code()
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$")
        place = (*path, *_steps(where.removesuffix("`")))
        if message.startswith("Expected"):
            raise _of_value(message, place, data) from None
        missing = re.fullmatch(r"Object missing required field `(.*)`", message)
        if missing is None:
            raise TaskSetError(f"a task `{word}`: {message}", place, "correct its keys") from None
        raise TaskSetError(f"the key `{missing[1]}` is missing", path, f"add `{missing[1]}:`") from None
    return {field: msgspec.to_builtins(getattr(code, field)) for field in _CODE}


_KEY = -1
"""At the end of a path: the key itself instead of its value."""
_STEP = re.compile(r"\.([A-Za-z_]\w*)|\[(\d+)\]|\[\.\.\.\]")


def _steps(where: str) -> Path:
    return tuple(name or int(index) for name, index in _STEP.findall(where) if name or index)


def _explained(message: str, path: Path, data: Any) -> TaskSetError:
    """The error that msgspec reports, in terms of the task set, with a fix."""
    named = re.fullmatch(r"Object (missing required|contains unknown) field `(.*)`", message)
    if named is None:
        return _of_value(message, path, data)
    known = _known(path, data)
    if named[1].startswith("contains"):
        return TaskSetError(f"unknown key `{named[2]}`", (*path, named[2], _KEY), suggestion(named[2], known))
    if named[2] == "do":
        return TaskSetError("a task without `do`", path, f"add `do:` with one of {', '.join(TASKS)}")
    return TaskSetError(f"the key `{named[2]}` is missing", path, f"add `{named[2]}:`")


def _of_value(message: str, path: Path, data: Any) -> TaskSetError:
    value = _at(data, path)
    key = next((step for step in reversed(path) if isinstance(step, str)), "the task set")
    if message.startswith("Invalid"):
        return TaskSetError(f"unknown `{key}`: {value}", path, suggestion(str(value), _choices(path, data)))
    wanted = re.match(r"Expected `([^`]*)`", message)
    kinds = _WORDS.get(wanted[1].replace(" | null", ""), "another kind of value") if wanted else "another value"
    return TaskSetError(f"`{key}` is {_kind(value)}", path, f"write {kinds}")


_WORDS = {
    "int": "a whole number",
    "float": "a number",
    "str": "text",
    "array": "a list",
    "object": "a mapping with `do:`, or with the keys of its place",
}


def _kind(value: Any) -> str:
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return "empty" if value is None else f"{value!r}"


def _known(path: Path, data: Any) -> tuple[str, ...]:
    """The keys of the mapping at a path."""
    kind = _type(path, data)
    return ("do", *kind.__struct_fields__) if kind in TASKS.values() else kind.__struct_fields__


def _choices(path: Path, data: Any) -> list[str]:
    """The values that a field may have."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    hint = get_type_hints(_type(path[:-1], data)).get(str(path[-1])) if path else None
    waiting, found = [hint], list[str]()
    while waiting:
        each = waiting.pop()
        if isinstance(each, type) and issubclass(each, Enum):
            found += [str(member.value) for member in each]
        waiting += get_args(each)
    return found


def _type(path: Path, data: Any) -> type[Struct]:
    if not path:
        return TaskSet
    if len(path) == 2 and path[0] == "roles":
        return MachineTaskSet
    if path[-1] == "until":
        return NarrowInterval
    task = _at(data, path)
    return TASKS.get(str(task["do"]), CodeLoad) if isinstance(task, dict) and "do" in task else MachineTaskSet


def _at(data: Any, path: Path) -> Any:
    for step in path:
        if not (step in data if isinstance(data, dict) else isinstance(data, list) and step in range(len(data))):
            return None
        data = data[step]
    return data


class YamlPlaces:
    """The places of the values in a YAML text."""

    def __init__(self, file: str, text: YamlText) -> None:
        self._file = file
        self._text = text
        self._marks: dict[Path, tuple[int, int]] = {}
        self._add(text.root)

    def _add(self, node: Any, path: Path = ()) -> None:
        """Record the places of a node and of everything in it."""
        self._marks[path] = node.start_mark.line, node.start_mark.column
        if isinstance(node.value, list):
            for number, each in enumerate(node.value):
                if isinstance(each, tuple):
                    self._add(each[1], (*path, each[0].value))
                    self._marks[*path, each[0].value, _KEY] = each[0].start_mark.line, each[0].start_mark.column
                    if each[1].start_mark.line != each[0].start_mark.line:  # a block below its key
                        self._marks[*path, each[0].value] = each[0].start_mark.line, each[0].start_mark.column
                else:
                    self._add(each, (*path, number))

    def of(self, path: Path) -> Place:
        """The place of a value or, if it is not written, of the nearest enclosing one."""
        while path and path not in self._marks:
            path = path[:-1]
        return msgspec.structs.replace(self._text.place(*self._marks.get(path, (0, 0))), file=self._file)
