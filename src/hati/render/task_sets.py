"""Draw task sets as trees, in SVG."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields

from hati.generate import CodeLoad, LoadTask, NarrowInterval, TaskSet
from hati.generate.tasks import children

_ROW, _INDENT, _LETTER, _MARGIN = 34, 30, 7.3, 12
_STRUCTURE = {"name", "sensors", "task", "tasks", "kind", "execute", "declare", "prepare", "clean_up", "headers"}
_STYLE = (
    "text{font:13px system-ui,sans-serif;fill:#1c2430}.kind{font-weight:600}.head{font-weight:600;font-size:15px}"
    "rect{fill:#eef2f7;stroke:#8494a8}.load rect{fill:#e3f1e6;stroke:#5f9a6b}.sensor{stroke:#b4471f;stroke-width:4}"
    "path{fill:none;stroke:#8494a8}"
)


class _Row(Struct, frozen=True):
    """A row of the drawing: a heading, or a task with its depth and the row of its parent."""

    depth: int
    kind: str
    text: str
    parent: int | None = None
    sensors: tuple[str, ...] = ()
    leaf: bool = True

    @property
    def width(self) -> float:
        """The width of its box, in px."""
        return 18.0 + _LETTER * (len(self.kind) + len(self.text) + 1)


def task_set_svg(task_set: TaskSet) -> str:
    """The machine task sets and the shared tasks, each as a tree; bars at a task's sides are sensors.

    Trees grow from left to right, and are in the order of the file from top to bottom.
    """
    rows = list(_rows(task_set))
    width = max(_left(row) + row.width + _LETTER * len(", ".join(row.sensors)) + 24 for row in rows) + _MARGIN
    height = 2 * _MARGIN + _ROW * len(rows)
    drawn = "\n".join(_drawn(number, row) for number, row in enumerate(rows))
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" role="img" '
        f'viewBox="0 0 {width:.0f} {height}">\n<title>{escape(task_set.name)}</title>\n<style>{_STYLE}</style>\n'
        f"{drawn}\n</svg>\n"
    )


def _rows(task_set: TaskSet) -> Iterator[_Row]:
    trees = [(f"{role.name} on {role.machine}", role.task) for role in task_set.roles]
    trees += [(f"task {name}", task) for name, task in task_set.tasks.items()]
    number = 0
    for title, task in trees:
        yield _Row(0, "", title if task is not None else f"{title}: answers")
        number += 1
        for row in () if task is None else _tree(task, 0, None, number):
            yield row
            number += 1


def _tree(task: LoadTask, depth: int, parent: int | None, number: int) -> Iterator[_Row]:
    """The rows of a task and all tasks in it; ``number`` is the number of the first row."""
    inner = [each for _, each in children(task)]
    sensors = tuple(each.value for each in task.sensors)
    yield _Row(depth, _kind(task), _text(task), parent, sensors, leaf=not inner)
    after = number + 1
    for each in inner:
        for row in _tree(each, depth + 1, number, after):
            yield row
            after += 1


def _kind(task: LoadTask) -> str:
    return task.kind if isinstance(task, CodeLoad) else str(type(task).__struct_config__.tag)


def _text(task: LoadTask) -> str:
    """The name of a task, and its values that differ from the defaults."""
    found = [task.name] if task.name else []
    for field in fields(task):
        value = getattr(task, field.name)
        if field.name not in _STRUCTURE and (field.default is NODEFAULT or value != field.default):
            found.append(f"{field.name.replace('_', ' ')} {_shown(value)}")
        elif field.name == "task" and isinstance(value, str):
            found.append(value)
    return ", ".join(found)


def _shown(value: object) -> str:
    if isinstance(value, NarrowInterval):
        return f"{value.sensor} of {value.task} within {value.margin:g}"
    if isinstance(value, tuple):
        return " ".join(map(str, value))
    return f"{value:g}" if isinstance(value, float) else str(value)


def _left(row: _Row) -> float:
    return _MARGIN + _INDENT * row.depth


def _middle(number: int) -> float:
    return _MARGIN + _ROW * (number + 0.5)


def _drawn(number: int, row: _Row) -> str:
    left, middle = _left(row), _middle(number)
    if not row.kind:
        return f'<text class="head" x="{left}" y="{middle + 5}">{escape(row.text)}</text>'
    parts = []
    if row.parent is not None:
        above = left - _INDENT / 2
        parts.append(f'<path d="M{above} {_middle(row.parent) + 12}V{middle}H{left}"/>')
    parts.append(f'<rect x="{left}" y="{middle - 12}" width="{row.width:.1f}" height="24" rx="4"/>')
    parts.append(
        f'<text x="{left + 8}" y="{middle + 4.5}"><tspan class="kind">{row.kind}</tspan> {escape(row.text)}</text>'
    )
    if row.sensors:
        right = left + row.width
        parts += [f'<path class="sensor" d="M{x:.1f} {middle - 12}v24"/>' for x in (left, right)]
        parts.append(f'<text x="{right + 8:.1f}" y="{middle + 4.5}">{escape(", ".join(row.sensors))}</text>')
    return f'<g class="{"load" if row.leaf else "group"}">{"".join(parts)}</g>'
