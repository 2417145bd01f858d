"""A YAML text with the places of its values and comments, so that parts of it can be replaced and the rest kept."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cached_property, lru_cache
from typing import Any

import msgspec

from hati.core import InputError, Place

_SURROGATE = re.compile("[\ud800-\udfff]")
_STRING = "tag:yaml.org,2002:str"
_COMMENT = re.compile(r"#[^\n]*")
_INDENT = re.compile(r" *")


class YamlEntry:
    """An item of a list or a key with its value: where it starts, in which column, and the node of its value."""

    def __init__(self, start: int, column: int, value: Any, key: Any = None) -> None:
        self.start = start
        self.column = column
        self.value = value
        self.key = key


class YamlText:
    """A text of one YAML document, parsed; indices count characters.

    Raises:
        InputError: where it is not a mapping in YAML, with the place; aliases are refused, as they hide that of a task.
    """

    def __init__(self, text: str) -> None:
        from ruamel.yaml import YAML
        from ruamel.yaml.error import MarkedYAMLError, YAMLError

        reader = YAML(typ="safe", pure=True)
        self.text = text
        self._lines = text.splitlines()
        try:
            tokens = [*reader.scan(text)]
            self._check_tokens(tokens)
            self.root = reader.compose(text)
            if getattr(self.root, "tag", "") != "tag:yaml.org,2002:map":
                fix = "write keys such as `name:`, `machines:` and `roles:`"
                raise InputError("a task set is a mapping", place=self.place(0, 0), fix=fix)
            self._check_keys(self.root)
            self.data = reader.constructor.construct_document(self.root)
        except MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = self.place(mark.line, mark.column) if mark else Place("")
            raise InputError(f"not YAML: {_words(error)}", place=place, fix="correct the text there") from None
        except (YAMLError, ValueError, RecursionError) as error:
            words = "it is nested too deeply" if isinstance(error, RecursionError) else str(error).splitlines()[0]
            raise InputError(f"not YAML: {words}", place=Place(""), fix="correct the text") from None
        named = [(type(each).__name__, each.start_mark, each.end_mark) for each in tokens]
        self._dashes = [(start.index, start.column) for name, start, _ in named if name == "BlockEntryToken"]
        self._colons: list[int] = [end.index for name, _, end in named if name == "ValueToken"]
        self._gaps = _gaps([(start.index, end.index) for _, start, end in named], len(text))

    def place(self, line: int, column: int) -> Place:
        """A place, from a line and a column that count from 0; its file has no name."""
        return Place("", line + 1, column + 1, self._lines[line] if line < len(self._lines) else "")

    def _check_tokens(self, tokens: Sequence[Any]) -> None:
        for each in tokens:
            place = self.place(each.start_mark.line, each.start_mark.column)
            if type(each).__name__ == "AliasToken":
                fix = "write the task under `tasks:`, and `do: use` where it is used"
                raise InputError(f"the alias `*{each.value}`", place=place, fix=fix)
            if type(each).__name__ == "ScalarToken" and (half := _SURROGATE.search(each.value)):
                raise InputError(f"{half[0]!r} is half of a character", place=place, fix="write the character itself")

    def _check_keys(self, node: Any) -> None:
        for each in node.value if isinstance(node.value, list) else ():
            key, value = each if isinstance(each, tuple) else (None, each)
            if key is not None and key.tag != _STRING:
                place = self.place(key.start_mark.line, key.start_mark.column)
                written = self.text[key.start_mark.index : key.end_mark.index]
                raise InputError(f"the key `{written}` is not text", place=place, fix="write it in quotes")
            self._check_keys(value)

    @cached_property
    def comments(self) -> dict[int, str]:
        """The comments by their places."""
        found = (match for start, end in self._gaps for match in _COMMENT.finditer(self.text, start, end))
        return {match.start(): match[0].rstrip() for match in found}

    def node(self, path: Sequence[str | int]) -> Any:
        """The node at a path, or None."""
        found = self.root
        for step in path:
            entry = self.entry(found, step)
            if entry is None:
                return None
            found = entry.value
        return found

    def entry(self, parent: Any, step: str | int) -> YamlEntry | None:
        """An entry of a collection by its key or number, or None."""
        if parent is None or not isinstance(parent.value, list):
            return None
        for number, each in enumerate(self.entries(parent)):
            if step == (number if each.key is None else each.key.value):
                return each
        return None

    def entries(self, parent: Any) -> list[YamlEntry]:
        """The entries of a mapping or list."""
        if any(isinstance(each, tuple) for each in parent.value):
            return [YamlEntry(key.start_mark.index, key.start_mark.column, value, key) for key, value in parent.value]
        if parent.flow_style:
            return [YamlEntry(each.start_mark.index, each.start_mark.column, each) for each in parent.value]
        first, last, column = parent.start_mark.index, parent.end_mark.index, parent.start_mark.column
        dashes = [index for index, own in self._dashes if first <= index < last and own == column]
        return [YamlEntry(index, column, each) for index, each in zip(dashes, parent.value, strict=True)]

    def content_end(self, node: Any) -> int:
        """The index after the last character of a value, without comments that follow."""
        if isinstance(node.value, list) and not node.flow_style:
            last = node.value[-1]
            return self.content_end(last[1] if isinstance(last, tuple) else last)
        start, end = node.start_mark.index, node.end_mark.index
        return int(start + len(self.text[start:end].rstrip()))

    def after_colon(self, entry: YamlEntry) -> int:
        """The index after the colon of a key."""
        return next(index for index in self._colons if index > entry.key.end_mark.index)

    def line_start(self, index: int) -> int:
        """The index of the first character of a line."""
        return self.text.rfind("\n", 0, index) + 1

    def line_end(self, index: int) -> int:
        """The index after the newline that ends a line."""
        found = self.text.find("\n", index)
        return len(self.text) if found < 0 else found + 1

    def starts_line(self, entry: YamlEntry) -> bool:
        """Whether nothing but spaces stands before an entry on its line."""
        return not self.text[self.line_start(entry.start) : entry.start].strip()

    def region(self, entry: YamlEntry) -> tuple[int, int]:
        """The lines of an entry in block style: with comments directly above it, and deeper ones below it."""
        start = self.line_start(entry.start)
        while (
            start
            and self.starts_line(entry)
            and self._comment_column(above := self.line_start(start - 1)) == entry.column
        ):
            start = above
        end = look = self.line_end(self.content_end(entry.value))
        while look < len(self.text):
            following = self.line_end(look)
            if self._comment_column(look) > entry.column:
                end = following
            elif self.text[look:following].strip():
                break
            look = following
        return start, end

    def _comment_column(self, line: int) -> int:
        """The column of the comment that a line consists of, or -1."""
        match = _INDENT.match(self.text, line)
        return -1 if match is None or match.end() not in self.comments else match.end() - line

    def comments_between(self, start: int, end: int) -> list[str]:
        """The comments in a part of the text."""
        return [text for index, text in self.comments.items() if start <= index < end]


@lru_cache(maxsize=8)
def _parsed(text: str) -> YamlText:
    return YamlText(text)


def read_yaml(text: str, file: str = "task set") -> YamlText:
    """A text, parsed; its values are shared and must not be changed. ``file`` names it in errors.

    Raises:
        InputError: where it is not a mapping in YAML, with the place.
    """
    try:
        return _parsed(text)
    except InputError as error:
        place = msgspec.structs.replace(error.place, file=file) if error.place else None
        raise InputError(error.message, place=place, fix=error.fix) from None


def _words(error: Any) -> str:
    return str(error.problem or error.context or "").splitlines()[0]


def _gaps(tokens: Sequence[tuple[int, int]], length: int) -> Iterator[tuple[int, int]]:
    """What is between tokens: spaces and comments."""
    before = 0
    for start, end in tokens:
        yield before, start
        before = max(before, end)
    yield before, length


_PLAIN = re.compile(r"[A-Za-z_]\w*(?:[ ./-]\w+)*")
_WORDS = frozenset({"null", "true", "false", "yes", "no", "on", "off", "y", "n"})


def inline(value: Any) -> str:
    """A value in one line of YAML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{inline(key)}: {inline(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(inline, value)) + "]"
    if isinstance(value, str) and _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    import json

    return json.dumps(value, ensure_ascii=False)


def block(value: Any) -> str:
    """A value in lines of YAML, from column 0; what is in it stands in a line each."""
    if isinstance(value, dict) and value:
        return "\n".join(f"{inline(key)}: {inline(each)}" for key, each in value.items())
    return inline(value)


def literal(value: Any, column: int) -> str | None:
    """Lines of text as a literal block below a key in this column; None for other values."""
    if not isinstance(value, str) or "\n" not in value:
        return None
    lines = value.removesuffix("\n").split("\n")
    return "\n".join(["|" if value.endswith("\n") else "|-", *(" " * (column + 2) + each for each in lines)])


def indented(text: str, column: int) -> str:
    """A text whose lines, after the first, are moved to the right."""
    first, *others = text.split("\n")
    return "\n".join([first, *(" " * column + each if each.strip() else each for each in others)])


def dedented(text: str, column: int) -> str:
    """A text whose lines, after the first, are moved to the left, as far as they can be."""
    first, *others = text.split("\n")
    return "\n".join([first, *(re.sub(rf"^ {{0,{column}}}", "", each) for each in others)])
