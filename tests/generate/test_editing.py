"""Edits of a task set's text: what they do, and that everything else stays as it is written."""

from __future__ import annotations

import difflib
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from hati.core import InputError
from hati.generate.editing import (
    Edit,
    EditHistory,
    InsertValue,
    MoveValue,
    RemoveValue,
    SetValue,
    edited,
    place_after,
)

TEXT = """\
# Two spinners.
name: two-spinners   # the name
machines: [here]

roles:
  - name: both
    machine: here
    task:
      do: parallel   # at once
      tasks:
        # the first
        - do: cpu
          kernel: spin
          demand_ms: 10   # enough
          sensors: [response]
          name: one

        # the second
        - {do: cpu, kernel:   wait, demand_ms: 5}   # flow
        # nothing else
"""
TASKS = ("roles", 0, "task", "tasks")


def test_set_replaces_the_value_alone() -> None:
    made = edited(TEXT, SetValue((*TASKS, 0, "demand_ms"), 20.5))
    assert made == TEXT.replace("demand_ms: 10 ", "demand_ms: 20.5 ")


def test_set_in_braces() -> None:
    made = edited(TEXT, SetValue((*TASKS, 1, "kernel"), "spin"))
    assert made == TEXT.replace("kernel:   wait", "kernel:   spin")
    made = edited(TEXT, SetValue((*TASKS, 1, "name"), "two: or three"))
    assert made == TEXT.replace("demand_ms: 5}", 'demand_ms: 5, name: "two: or three"}')


def test_a_new_key_precedes_the_tasks() -> None:
    made = edited(TEXT, SetValue(("roles", 0, "task", "copies"), 2))
    assert made == TEXT.replace("# at once\n", "# at once\n      copies: 2\n")


def test_insert() -> None:
    made = edited(TEXT, InsertValue((*TASKS, 1), {"do": "loop", "count": 3}))
    assert made == TEXT.replace(
        "\n        # the second", "\n        - do: loop\n          count: 3\n        # the second"
    )
    made = edited(made, InsertValue((*TASKS, 1, "task"), {"do": "cpu", "kernel": "sort"}))
    assert "count: 3\n          task:\n            do: cpu\n            kernel: sort\n" in made
    made = edited(TEXT, InsertValue(("tasks", "work"), {"do": "cpu", "kernel": "sort"}))
    assert made == TEXT.replace("# nothing else\n", "# nothing else\ntasks:\n  work:\n    do: cpu\n    kernel: sort\n")
    assert edited(made, InsertValue(("tasks", "other"), {"do": "cpu"})) == made + "  other:\n    do: cpu\n"
    renamed = edited(made, MoveValue(("tasks", "work"), ("tasks", "w")))
    assert renamed == made.replace("  work:", "  w:")
    made = edited(TEXT, InsertValue((*TASKS, 0, "tasks", 0), {"do": "cpu"}))
    assert "          name: one\n          tasks:\n            - do: cpu\n\n" in made


def test_remove_takes_its_comments() -> None:
    made = edited(TEXT, RemoveValue((*TASKS, 1)))
    assert made == TEXT.replace(
        "        # the second\n        - {do: cpu, kernel:   wait, demand_ms: 5}   # flow\n", ""
    )
    made = edited(TEXT, RemoveValue(TASKS))
    assert made.endswith("# at once\n")
    made = edited(TEXT, RemoveValue((*TASKS, 1, "kernel")))
    assert made == TEXT.replace("kernel:   wait, ", "")
    made = edited(TEXT, RemoveValue(("machines", 0)))
    assert made == TEXT.replace("[here]", "[]")


def test_remove_the_key_after_a_dash() -> None:
    made = edited(TEXT, RemoveValue(("roles", 0, "name")))
    assert made == TEXT.replace("  - name: both\n    machine", "  - machine")


def test_the_only_item_leaves_an_empty_list_which_is_filled_in_lines() -> None:
    text = "roles:   # what runs\n- name: a\n  machine: b\n"
    made = edited(text, RemoveValue(("roles", 0)))
    assert made == "roles: []   # what runs\n"
    assert edited(made, InsertValue(("roles", 0), {"name": "a"})) == "roles:   # what runs\n  - name: a\n"


def test_move_takes_its_comments_and_layout() -> None:
    made = edited(TEXT, MoveValue((*TASKS, 1), (*TASKS, 0)))
    assert made == TEXT.replace(
        "        # the second\n        - {do: cpu, kernel:   wait, demand_ms: 5}   # flow\n", ""
    ).replace(
        "        # the first\n",
        "        # the second\n        - {do: cpu, kernel:   wait, demand_ms: 5}   # flow\n        # the first\n",
    )


def test_move_to_another_depth() -> None:
    text = edited(TEXT, InsertValue((*TASKS, 0), {"do": "loop", "count": 3}))
    made = edited(text, MoveValue((*TASKS, 1), (*TASKS, 0, "task")))
    assert (
        "        - do: loop\n"
        "          count: 3\n"
        "          # the first\n"
        "          task:\n"
        "            do: cpu\n"
        "            kernel: spin\n"
        "            demand_ms: 10   # enough\n"
    ) in made


def test_lines_of_code() -> None:
    text = "do: code\nexecute: x;  # c\nname: n\n"
    made = edited("do: code\nexecute: x;\nname: n\n", SetValue(("execute",), "one();\ntwo();\n"))
    assert made == "do: code\nexecute: |\n  one();\n  two();\nname: n\n"
    blank = 'do: code\nexecute: "one();\\n\\n"\nname: n\n'
    assert edited(made, SetValue(("execute",), "one();\n\n")) == blank, "a block would end in one newline"
    assert edited(made, SetValue(("execute",), "x;")) == 'do: code\nexecute: "x;"\nname: n\n'
    assert edited(text, SetValue(("execute",), "one();\n")) == text.replace("x;", '"one();\\n"')


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        (SetValue((*TASKS, 5, "kernel"), "spin"), "there is no place roles.0.task.tasks.5.kernel"),
        (RemoveValue(("roles", 0, "until")), "there is no place roles.0.until"),
        (InsertValue((*TASKS, 7), {}), "there is no place"),
        (SetValue(("roles", -1, "name"), "x"), "there is no place roles.-1.name"),
        (MoveValue(("roles", 0), ("roles", -1, "task")), "there is no place roles.-1.task"),
        (InsertValue(("roles", 0, "task"), {}), "there is already a `task`"),
        (MoveValue(("roles", 0), (*TASKS, 0)), "a task cannot be moved into itself"),
    ],
)
def test_refused(edit: Edit, message: str) -> None:
    with pytest.raises(InputError, match=message):
        edited(TEXT, edit)


STEPS = st.one_of(
    st.sampled_from(("roles", "task", "tasks", "name", "machines", "demand_ms", "do", "x", "", "a: b")),
    st.integers(-2, 3),
)
PATHS = st.lists(STEPS, max_size=7).map(tuple)
VALUES = st.none() | st.integers() | st.text(max_size=5) | st.lists(st.text(max_size=2), max_size=2)


@settings(max_examples=50)
@given(
    st.one_of(
        st.builds(SetValue, PATHS, VALUES),
        st.builds(InsertValue, PATHS, VALUES),
        st.builds(RemoveValue, PATHS),
        st.builds(MoveValue, PATHS, PATHS),
    )
)
def test_any_other_place_is_an_error(edit: Edit) -> None:
    """An edit gives another text in YAML, or an error that says why not."""
    try:
        made = edited(TEXT, edit)
    except InputError as error:
        assert error.fix
    else:
        assert isinstance(YAML(typ="safe", pure=True).load(made), dict)


def test_a_comment_is_never_lost() -> None:
    text = "cpus:\n  - 1   # the first\n  - 2\nname: a\n"
    with pytest.raises(InputError, match="the layout of the file does not allow this edit"):
        edited(text, SetValue(("cpus",), [3]))
    assert edited(text, SetValue(("cpus", 0), 3)) == text.replace("1 ", "3 ")


def test_line_endings_stay() -> None:
    assert edited("a: 1\r\nb: 2\r\n", SetValue(("c",), 3)) == "a: 1\r\nb: 2\r\nc: 3\r\n"


@st.composite
def laid_out(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A task set in some layout, with numbered comments."""
    comments: list[str] = []

    def comment() -> str:
        comments.append(f"# c{len(comments)}")
        return comments[-1]

    def trailing() -> str:
        return f"   {comment()}" if draw(st.integers(0, 4)) == 0 else ""

    def above(column: int) -> list[str]:
        return [
            *([""] if draw(st.integers(0, 6)) == 0 else []),
            *([" " * column + comment()] if draw(st.integers(0, 4)) == 0 else []),
        ]

    def flow(task: dict[str, Any]) -> str:
        parts = []
        for key, value in task.items():
            if isinstance(value, dict):
                parts.append(f"{key}: {flow(value)}")
            elif isinstance(value, list):
                parts.append(f"{key}: [" + ", ".join(flow(each) for each in value) + "]")
            else:
                parts.append(f"{key}:{' ' * draw(st.integers(1, 2))}{value}")
        return "{" + ", ".join(parts) + "}"

    def lines(task: dict[str, Any], column: int) -> list[str]:
        """The first line without its margin."""
        made: list[str] = []
        for key, value in task.items():
            margin = " " * column if made else ""
            made += above(column) if made else []
            if isinstance(value, dict) and draw(st.booleans()):
                own = column + draw(st.sampled_from((1, 2, 4)))
                first, *others = lines(value, own)
                made += [f"{margin}{key}:{trailing()}", *above(own), " " * own + first, *others]
            elif isinstance(value, list) and value and draw(st.integers(0, 3)):
                own = column + draw(st.sampled_from((0, 2, 4)))
                made.append(f"{margin}{key}:{trailing()}")
                for each in value:
                    first, *others = item(each, own + 2)
                    made += [*above(own), f"{' ' * own}- {first}", *others]
            elif isinstance(value, dict):
                made.append(f"{margin}{key}: {flow(value)}{trailing()}")
            elif isinstance(value, list):
                made.append(f"{margin}{key}: [{', '.join(flow(each) for each in value)}]{trailing()}")
            else:
                made.append(f"{margin}{key}: {value}{trailing()}")
        return made

    def item(task: dict[str, Any], column: int) -> list[str]:
        return [f"{flow(task)}{trailing()}"] if draw(st.integers(0, 3)) == 0 else lines(task, column)

    tree = draw(TREES)
    whole = {"name": "a", "roles": [{"name": "r", "machine": "m", "task": tree}], "tasks": {"work": draw(TREES)}}
    return "\n".join([*above(0), *lines(whole, 0), *above(0)]) + draw(st.sampled_from(("\n", ""))), comments


LEAVES = st.fixed_dictionaries(
    {"do": st.just("cpu")}, optional={"kernel": st.just("spin"), "demand_ms": st.integers(1, 9)}
)
TREES = st.recursive(
    LEAVES,
    lambda inner: (
        st.fixed_dictionaries({"do": st.just("sequence"), "tasks": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries(
            {"tasks": st.lists(inner, max_size=3), "do": st.just("parallel")}, optional={"copies": st.integers(1, 3)}
        )
        | st.fixed_dictionaries({"do": st.just("loop"), "task": inner}, optional={"count": st.integers(1, 3)})
    ),
    max_leaves=6,
)


def _places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    found = [path]
    steps: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, each in steps:
        found += _places(each, (*path, step))
    return found


def _at(value: Any, path: tuple[str | int, ...]) -> Any:
    for step in path:
        value = value[step]
    return value


@st.composite
def edits(draw: st.DrawFn, text: str) -> Edit:
    """An edit of a place in a text."""
    data = YAML(typ="safe", pure=True).load(text)
    places = _places(data)[1:]
    tasks = [path for path in places if isinstance(_at(data, path), dict) and "do" in _at(data, path)]
    targets = [
        *((*path, "tasks", number) for path in tasks for number in range(len(_at(data, path).get("tasks") or ()) + 1)),
        *((*path, "task") for path in tasks if "task" not in _at(data, path)),
    ]
    kind = draw(st.integers(0, 4))
    if kind == 0:
        leaves = [path for path in places if not isinstance(_at(data, path), dict | list)]
        return SetValue(draw(st.sampled_from(leaves)), draw(st.sampled_from((3, 0.25, "text", "a: b", "true", True))))
    if kind == 1 and tasks:
        return SetValue((*draw(st.sampled_from(tasks)), "name"), draw(st.sampled_from(("n", "# x"))))
    if kind == 2 and targets:
        return InsertValue(draw(st.sampled_from(targets)), {"do": "cpu", "kernel": "sort"})
    if kind == 3 and tasks and targets:
        return MoveValue(draw(st.sampled_from(tasks)), draw(st.sampled_from(targets)))
    return RemoveValue(draw(st.sampled_from(places)))


@settings(max_examples=50)
@given(laid_out(), st.data())
def test_any_edits_keep_the_rest_and_are_undone(made: tuple[str, list[str]], data: st.DataObject) -> None:
    """Comments stay, other than of what is removed; an edit of a value changes no other line."""
    history = EditHistory((made[0],))
    for _ in range(data.draw(st.integers(1, 4))):
        before = history.text
        edit = data.draw(edits(before))
        try:
            history = history.edited(edit)
        except InputError as error:
            assert "itself" in str(error) or isinstance(edit, MoveValue), "only moves into braces may be refused"
            continue
        values = YAML(typ="safe", pure=True).load(history.text)
        if isinstance(edit, SetValue | InsertValue):
            assert _at(values, edit.path) == edit.value
        elif isinstance(edit, MoveValue):
            assert _at(values, place_after(edit)) == _at(YAML(typ="safe", pure=True).load(before), edit.path)
        lost = [each for each in made[1] if each in before and each not in history.text]
        assert isinstance(edit, RemoveValue) or not lost
        changed = [line for line in difflib.ndiff(before.splitlines(), history.text.splitlines()) if line[0] in "+-"]
        assert not isinstance(edit, SetValue) or len(changed) <= 2
    last, steps = history, history.current
    for _ in range(steps):
        history = history.undone()
    assert history.text == made[0]
    for _ in range(steps):
        history = history.redone()
    assert history == last
