"""Edits of a task set's YAML text: set, insert, remove and move a part; undo and redo.

An edit replaces its own part of the text, so that all other parts keep their layout and comments. Its result is read
again, and refused unless it has the wanted values and every comment that the edit does not concern.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from functools import reduce
from itertools import pairwise
from typing import Any

from msgspec import Struct

from hati.core import InputError
from hati.generate.tasks import Path
from hati.generate.yaml_text import YamlEntry, YamlText, block, dedented, indented, inline, literal, read_yaml


class SetValue(Struct, frozen=True, tag_field="edit", tag="set"):
    """Give a key, which may be missing, or an item of a list another value."""

    path: Path
    value: Any


class InsertValue(Struct, frozen=True, tag_field="edit", tag="insert"):
    """Put a value before an item of a list, after its last, or at a key that is missing."""

    path: Path
    value: Any


class RemoveValue(Struct, frozen=True, tag_field="edit", tag="remove"):
    """Remove an item or a key, with its comments."""

    path: Path


class MoveValue(Struct, frozen=True, tag_field="edit", tag="move"):
    """Move an item or a key, with its comments; ``target`` is a place for ``InsertValue`` before the move."""

    path: Path
    target: Path


Edit = SetValue | InsertValue | RemoveValue | MoveValue


class EditHistory(Struct, frozen=True):
    """The texts since the start of editing, and the number of the current one."""

    texts: tuple[str, ...]
    current: int = 0

    @property
    def text(self) -> str:
        """The current text."""
        return self.texts[self.current]

    def edited(self, *edits: Edit) -> EditHistory:
        """The history with the text after edits, which are undone together.

        Raises:
            InputError: where one is not possible.
        """
        return self.followed_by(reduce(edited, edits, self.text))

    def followed_by(self, text: str) -> EditHistory:
        """The history with a further text, if it differs; what was undone is dropped."""
        return self if text == self.text else EditHistory((*self.texts[: self.current + 1], text), self.current + 1)

    def undone(self) -> EditHistory:
        """One step back, if there is one."""
        return EditHistory(self.texts, max(0, self.current - 1))

    def redone(self) -> EditHistory:
        """One step forward, if there is one."""
        return EditHistory(self.texts, min(len(self.texts) - 1, self.current + 1))


def edited(text: str, edit: Edit) -> str:
    """The text after an edit.

    Raises:
        InputError: where the place does not exist, or the edit cannot be done in this text.
    """
    if "\r\n" in text:
        return edited(text.replace("\r\n", "\n"), edit).replace("\n", "\r\n")
    before = read_yaml(text)
    wanted = _applied(before.data, edit)
    removed = _own_comments(before, edit.path) if isinstance(edit, RemoveValue) else Counter[str]()
    kept = Counter(before.comments.values()) - removed
    for made in _attempts(before, edit):
        try:
            after = read_yaml(made)
        except InputError:
            continue
        if _same(after.data, wanted) and not kept - Counter(after.comments.values()):
            return made
    raise InputError(
        "the layout of the file does not allow this edit",
        fix="edit the file as text, or write that part without braces",
    )


def place_after(edit: Edit) -> Path:
    """Where the part that an edit concerns is afterwards, or was."""
    return _shifted(edit.target, edit.path) if isinstance(edit, MoveValue) else edit.path


def _same(one: Any, other: Any) -> bool:
    """Whether values are equal, in their types too; the order of keys does not count."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_same(each, other[key]) for key, each in one.items())
    if isinstance(one, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return repr(one) == repr(other)


def _own_comments(text: YamlText, path: Path) -> Counter[str]:
    parent = text.node(path[:-1])
    entry = _existing(text, path)
    if parent.flow_style:
        return Counter(text.comments_between(entry.start, text.content_end(entry.value)))
    return Counter(text.comments_between(*text.region(entry)))


def _applied(data: Any, edit: Edit) -> Any:
    """The values after an edit."""
    made = deepcopy(data)
    if isinstance(edit, MoveValue):
        if edit.target[: len(edit.path)] == edit.path:
            raise InputError("a task cannot be moved into itself", fix="choose another place")
        value = _taken(made, edit.path)
        _put(made, _shifted(edit.target, edit.path), value)
    elif isinstance(edit, RemoveValue):
        _taken(made, edit.path)
    elif isinstance(edit, InsertValue):
        _put(made, edit.path, edit.value)
    else:
        _replace(made, edit.path, edit.value)
    return made


def _parent(data: Any, path: Path) -> Any:
    if not path or any(isinstance(step, int) and step < 0 for step in path):
        raise _nowhere(path)
    for step in path[:-1]:
        try:
            data = data[step]
        except (KeyError, IndexError, TypeError):
            raise _nowhere(path) from None
    if not isinstance(data, dict if isinstance(path[-1], str) else list):
        raise _nowhere(path)
    return data


def _taken(data: Any, path: Path) -> Any:
    parent: Any = _parent(data, path)
    step: Any = path[-1]
    if step not in (parent if isinstance(parent, dict) else range(len(parent))):
        raise _nowhere(path)
    return parent.pop(step)


def _replace(data: Any, path: Path, value: Any) -> None:
    parent: Any = _parent(data, path)
    if isinstance(parent, list) and path[-1] not in range(len(parent)):
        raise _nowhere(path)
    parent[path[-1]] = value


def _put(data: Any, path: Path, value: Any) -> None:
    _begin(data, path)
    owner: Any = _parent(data, path)
    step = path[-1]
    if isinstance(step, int):
        if not 0 <= step <= len(owner):
            raise _nowhere(path)
        owner.insert(step, value)
    elif owner.get(step) is not None:
        raise InputError(f"there is already a `{step}`", fix="remove it first, or choose another place")
    else:
        owner[step] = value


def _begin(data: Any, path: Path) -> None:
    """Give a key that is missing or empty the collection that an entry is put into."""
    if len(path) > 1 and isinstance(path[-2], str):
        owner = _parent(data, path[:-1])
        if owner.get(path[-2]) is None:
            owner[path[-2]] = [] if isinstance(path[-1], int) else {}


def _nowhere(path: Path) -> InputError:
    return InputError(f"there is no place {'.'.join(map(str, path))}", fix="choose a place of the file")


def _shifted(target: Path, removed: Path) -> Path:
    """The path of a place after an item before it was removed."""
    depth = len(removed) - 1
    step, gone = (target[depth] if len(target) > depth else None), removed[-1]
    if target[:depth] == removed[:-1] and isinstance(step, int) and isinstance(gone, int) and step > gone:
        return (*target[:depth], step - 1, *target[depth + 1 :])
    return target


def _attempts(text: YamlText, edit: Edit) -> Iterator[str]:
    """Texts of which the first that is valid is the result."""
    if isinstance(edit, SetValue):
        yield from _set(text, edit.path, edit.value)
    elif isinstance(edit, InsertValue):
        yield from _placed(text, edit.path, _Fragment(edit.value, block(edit.value)))
    elif isinstance(edit, RemoveValue):
        yield from _without(text, edit.path)
    else:
        fragment = _cut(text, edit.path)
        for made in _without(text, edit.path):
            yield from _placed(read_yaml(made), _shifted(edit.target, edit.path), fragment)


class _Fragment(Struct):
    """A value as text from column 0, with comments that precede it."""

    value: Any
    body: str
    comments: tuple[str, ...] = ()

    @property
    def in_lines(self) -> bool:
        """Whether it is a mapping or list in block style."""
        return isinstance(self.value, dict | list) and not self.body.startswith(("{", "["))


def _existing(text: YamlText, path: Path) -> YamlEntry:
    entry = text.entry(text.node(path[:-1]), path[-1])
    if entry is None:
        raise _nowhere(path)
    return entry


def _spliced(text: YamlText, *parts: tuple[int, int, str]) -> str:
    """The text with parts of it replaced; the last part first."""
    made = text.text
    for start, end, new in sorted(parts, reverse=True):
        made = made[:start] + new + made[end:]
    return made


def _set(text: YamlText, path: Path, value: Any) -> Iterator[str]:
    parent = text.node(path[:-1])
    entry = text.entry(parent, path[-1])
    if entry is None:
        yield from _new_key(text, parent, str(path[-1]), value)
        return
    start, end, space = entry.value.start_mark.index, text.content_end(entry.value), ""
    in_lines = isinstance(entry.value.value, list) and not entry.value.flow_style
    if entry.key is not None and (in_lines or start == end):
        start, space = text.after_colon(entry), " "
    lines = None if parent.flow_style else literal(value, entry.column)
    if lines is not None:
        yield _spliced(text, (start, max(start, end), space + lines))
    yield _spliced(text, (start, max(start, end), space + inline(value)))


def _new_key(text: YamlText, parent: Any, key: str, value: Any) -> Iterator[str]:
    """A key in a line of its own: after the last that precedes a task or list in lines."""
    if parent.flow_style:
        yield from _in_flow(text, parent, len(parent.value), f"{inline(key)}: {inline(value)}")
        return
    entries = text.entries(parent)
    above = entries[-1]
    for before, each in pairwise(entries):
        if isinstance(each.value.value, list) and not each.value.flow_style:
            above = before
            break
    lines = literal(value, above.column)
    for made in (lines, inline(value)) if lines else (inline(value),):
        yield _new_line(text, above, f"{inline(key)}: {made}")


def _new_line(text: YamlText, above: YamlEntry, line: str) -> str:
    """Text below an entry of the same mapping or list."""
    _, end = text.region(above)
    newline = "" if text.text[:end].endswith("\n") else "\n"
    return _spliced(text, (end, end, f"{newline}{' ' * above.column}{line}\n"))


def _placed(text: YamlText, path: Path, fragment: _Fragment) -> Iterator[str]:
    parent, step = text.node(path[:-1]), path[-1]
    if parent is None or not parent.value:
        yield from _first(text, path, parent, fragment)
    elif parent.flow_style:
        number = step if isinstance(step, int) else len(parent.value)
        yield from _in_flow(text, parent, number, _key(step) + _one_line(fragment))
    elif isinstance(step, int):
        yield _item(text, text.entries(parent), step, fragment)
    else:
        above = text.entries(parent)[-1]
        yield _new_line(text, above, _lines(step, above.column, fragment))


def _key(step: str | int) -> str:
    """What precedes an entry in braces or brackets."""
    return "" if isinstance(step, int) else f"{inline(step)}: "


def _one_line(fragment: _Fragment) -> str:
    return fragment.body if not fragment.in_lines and "#" not in fragment.body else inline(fragment.value)


def _lines(step: str | int, column: int, fragment: _Fragment) -> str:
    """An entry in a column, from the first character of its first line."""
    margin, own = " " * column, column + 2
    comments = "".join(f"{each}\n{margin}" for each in fragment.comments)
    prefix, below = ("-", False) if isinstance(step, int) else (f"{inline(step)}:", fragment.in_lines)
    space = f"\n{' ' * own}" if below else " "
    return f"{comments}{prefix}{space}{indented(fragment.body, own)}"


def _item(text: YamlText, entries: list[YamlEntry], number: int, fragment: _Fragment) -> str:
    if number == len(entries):
        return _new_line(text, entries[-1], _lines(number, entries[-1].column, fragment))
    column = entries[number].column
    start, _ = text.region(entries[number])
    return _spliced(text, (start, start, f"{' ' * column}{_lines(number, column, fragment)}\n"))


def _first(text: YamlText, path: Path, empty: Any, fragment: _Fragment) -> Iterator[str]:
    """The first entry of a list or mapping that is empty, or whose key is missing."""
    step = path[-1]
    whole = {step: fragment.value} if isinstance(step, str) else [fragment.value]
    if empty is None:
        flow = text.node(path[:-2]).flow_style
        yield from _placed(text, path[:-1], _Fragment(whole, inline(whole) if flow else _lines(step, 0, fragment)))
        return
    owner = text.node(path[:-2]) if len(path) > 1 else None
    if owner is not None and not owner.flow_style:
        yield _below(text, _existing(text, path[:-1]), step, fragment)
    inner = _key(step) + _one_line(fragment)
    new = f"{{{inner}}}" if isinstance(step, str) else f"[{inner}]"
    yield _spliced(text, (empty.start_mark.index, text.content_end(empty), new))


def _below(text: YamlText, entry: YamlEntry, step: str | int, fragment: _Fragment) -> str:
    """The text with lines below a key instead of its empty value."""
    start, end = text.after_colon(entry), text.content_end(entry.value)
    below = text.line_end(end)
    column = entry.column + 2
    newline = "" if text.text[:below].endswith("\n") else "\n"
    line = f"{newline}{' ' * column}{_lines(step, column, fragment)}\n"
    return _spliced(text, (start, max(start, end), ""), (below, below, line))


def _in_flow(text: YamlText, parent: Any, number: int, new: str) -> Iterator[str]:
    entries = text.entries(parent)
    if not entries:
        start = parent.start_mark.index + 1
        yield _spliced(text, (start, start, new))
    elif number < len(entries):
        yield _spliced(text, (entries[number].start, entries[number].start, f"{new}, "))
    else:
        end = text.content_end(entries[-1].value)
        yield _spliced(text, (end, end, f", {new}"))


def _without(text: YamlText, path: Path) -> Iterator[str]:
    """The text without an entry."""
    parent, entry = text.node(path[:-1]), _existing(text, path)
    entries = text.entries(parent)
    number = next(number for number, each in enumerate(entries) if each.start == entry.start)
    end = text.content_end(entry.value)
    if parent.flow_style:
        yield _spliced(text, (*_in_flow_span(text, entries, number), ""))
    elif len(entries) == 1:
        yield from _emptied(text, path[:-1], entry)
    elif text.starts_line(entry):
        yield _spliced(text, (*text.region(entry), ""))
    else:  # the first key after a dash
        following = entries[1].start
        if text.text[text.line_end(end) : following].strip():
            following = text.line_end(end) - 1
        yield _spliced(text, (entry.start, following, ""))


def _in_flow_span(text: YamlText, entries: list[YamlEntry], number: int) -> tuple[int, int]:
    """An entry and a comma."""
    end = text.content_end(entries[number].value)
    if number + 1 < len(entries):
        return entries[number].start, entries[number + 1].start
    if number:
        return text.content_end(entries[number - 1].value), end
    return entries[number].start, end


def _emptied(text: YamlText, path: Path, entry: YamlEntry) -> Iterator[str]:
    """The text with an empty collection instead of the only entry."""
    empty = "{}" if entry.key is not None else "[]"
    if not text.starts_line(entry):
        yield _spliced(text, (entry.start, text.content_end(entry.value), empty))
    owner = _existing(text, path) if path else None
    if owner is not None and owner.key is not None:
        colon = text.after_colon(owner)
        yield _spliced(text, (colon, colon, f" {empty}"), (*text.region(entry), ""))


def _cut(text: YamlText, path: Path) -> _Fragment:
    """An entry as a fragment, with the comments above it and after its dash or key."""
    parent, entry = text.node(path[:-1]), _existing(text, path)
    value = entry.value
    start, end = value.start_mark.index, text.content_end(value)
    found: Any = text.data
    for step in path:
        found = found[step]
    if parent.flow_style:
        return _Fragment(found, dedented(text.text[start:end], value.start_mark.column))
    first, last = text.region(entry)
    comments = tuple(text.comments_between(first, start))
    body = text.text[start:last].rstrip("\n")
    return _Fragment(found, dedented(body, value.start_mark.column), comments)
