"""The places of C of one's own: in the source of a load program, and in the task set that it comes from."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from hati.core import Place
from hati.generate.program import LoadProgram
from hati.generate.reading import YamlPlaces
from hati.generate.task_set import TaskSet
from hati.generate.tasks import CodeLoad, LoadTask, Path, children
from hati.generate.yaml_text import read_yaml


class CodePlace(Struct, frozen=True):
    """A line and a column, counted from 1, in a part of a task's C, such as ``execute``."""

    task: CodeLoad
    part: str
    line: int
    column: int


def code_place(program: LoadProgram, source: str, line: int, column: int) -> CodePlace | None:
    """The place in a task's C of a line and a column of the program's source, counted from 1; None: it is elsewhere."""
    at = sum(len(each) + 1 for each in source.split("\n")[: line - 1])
    for node in program.nodes:
        task = node.task
        if not isinstance(task, CodeLoad):
            continue
        for part, start, text in _parts(node.number, task, source):
            first, lines = source.rfind("\n", 0, start) + 1, text.rstrip("\n").split("\n")
            below = source.count("\n", first, at)
            if first <= at <= start + len(text) + 1:
                if below >= len(lines):  # the brace that follows, where something is missing before
                    return CodePlace(task, part, len(lines), len(lines[-1]))
                return CodePlace(task, part, below + 1, column - (0 if below else start - first))
    return None


def _parts(number: int, task: CodeLoad, source: str) -> Iterator[tuple[str, int, str]]:
    """The parts of the C of a node, with the indices at which they start in the source, and their texts."""
    heads = {
        "declare": f"static struct code_{number} {{",
        "prepare": f"static void prepare_code_{number}(",
        "clean_up": f"static void clean_up_code_{number}(",
        "execute": f"struct code_{number} *own = ",
    }
    for part, head in heads.items():
        if text := getattr(task, part):
            yield part, source.index(text, source.index(head)), text
    for header in task.headers:
        yield "headers", source.index(f"#include <{header}>"), header


def yaml_place(text: str, file: str, task_set: TaskSet, found: CodePlace) -> Place:
    """The place of a task's C in the YAML of its task set; exact in a block, such as ``execute: |``."""
    path = next((each for each, task in _tasks(task_set) if task == found.task), ())
    yaml = read_yaml(text, file)
    place = YamlPlaces(file, yaml).of((*path, found.part))
    node = yaml.node((*path, found.part))
    if getattr(node, "style", None) != "|":
        return place
    line = node.start_mark.line + found.line
    shown = text.splitlines()[line]
    own = node.value.split("\n")[found.line - 1]
    return replace(place, line=line + 1, column=len(shown) - len(own) + found.column, text=shown)


def _tasks(task_set: TaskSet) -> Iterator[tuple[Path, LoadTask]]:
    """All tasks of a task set with their paths."""
    waiting: list[tuple[Path, LoadTask]] = [(("tasks", name), task) for name, task in task_set.tasks.items()]
    waiting += [(("roles", n, "task"), each.task) for n, each in enumerate(task_set.roles) if each.task is not None]
    while waiting:
        path, task = waiting.pop()
        yield path, task
        waiting += [((*path, *step), each) for step, each in children(task)]
