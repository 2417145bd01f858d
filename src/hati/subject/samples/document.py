"""JSON documents of any size: read as a stream, numbers in lists eight bytes each.

The items of one list, those of which there may be many, are handed out one after another and not kept.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Iterator
from typing import BinaryIO

from hati.core import InputError, Place
from hati.subject.samples.node import Json, Node, Numbers, path_text
from hati.subject.samples.syntax import syntax_error

DEEPEST = 64
"""How deeply objects and lists may be nested: no format of samples goes beyond a dozen."""

_CHUNK = 1 << 16
_SCALARS = frozenset({"number", "string", "boolean", "null"})
_LONGEST_PATH = 200


def read_document(stream: BinaryIO, file: str, streamed: tuple[str, ...] | None = None) -> Iterator[Node]:
    """The items of the list at the keys ``streamed``, one by one, and at last the document without them.

    ``()`` is a document that is itself a list. With None, the document comes whole.

    Raises:
        InputError: where it is no JSON, with line and column; or nested more deeply than ``DEEPEST``.
    """
    import ijson.backends.yajl2_c as parser
    from ijson.common import JSONError

    builder = _Builder(file, streamed)
    append: Callable[[float], None] | None = None
    try:
        for event, value in parser.basic_parse(stream, use_float=True, buf_size=_CHUNK):
            if append is not None and event == "number":  # nearly all events, in large files
                append(value)
                continue
            append = builder.take(event, value)
            if builder.finished is not None:
                yield builder.finished
                builder.finished = None
    except (JSONError, UnicodeDecodeError):  # the parser takes surrogates for UTF-8
        raise syntax_error(stream, file) from None
    yield Node(builder.root, (), file)


def read_whole(stream: BinaryIO, file: str) -> Node:
    """A document, whole.

    Raises:
        InputError: as ``read_document``.
    """
    (whole,) = read_document(stream, file)
    return whole


class _Builder:
    """Puts values together from the events of a parser; ``finished`` is an item that is not to be kept."""

    def __init__(self, file: str, streamed: tuple[str, ...] | None) -> None:
        self.root: Json = None
        self.finished: Node | None = None
        self._file = file
        self._streamed = streamed
        self._open: list[dict[str, Json] | list[Json] | Numbers] = []
        self._steps: list[str | int] = []  # the key or the index, in each that is open, of what comes next

    def take(self, event: str, value: Json) -> Callable[[float], None] | None:
        """Take in an event; the answer takes in the numbers that follow at once, up to the next other event."""
        inside = self._open[-1] if self._open else None
        if type(inside) is dict and event in _SCALARS:  # most events, where there are many short runs
            inside[str(self._steps[-1])] = value
            return None
        if isinstance(inside, array):
            self._steps[-1] = len(inside)
        if event == "map_key":
            self._key(str(value))
        elif event == "start_map":
            self._enter({}, "")
        elif event == "start_array":
            self._enter([] if tuple(self._steps) == self._streamed else array("d"), 0)
        elif event in {"end_map", "end_array"}:
            self._steps.pop()
            self._put(self._open.pop())
        else:
            self._put(value)
        last = self._open[-1] if self._open else None
        return last.append if isinstance(last, array) else None

    def _enter(self, container: dict[str, Json] | list[Json] | Numbers, step: str | int) -> None:
        if len(self._open) >= DEEPEST:
            raise self._error(f"values are nested more than {DEEPEST} deep")
        self._open.append(container)
        self._steps.append(step)

    def _key(self, key: str) -> None:
        if key in self._open[-1]:
            raise self._error(f"{key!r} is there twice")
        self._steps[-1] = sys.intern(key)

    def _error(self, message: str) -> InputError:
        where = path_text(tuple(self._steps[:-1]))[:_LONGEST_PATH] or "the beginning"
        return InputError(message, place=Place(f"{self._file} at {where}"))

    def _put(self, value: Json) -> None:
        if not self._open:
            self.root = value
            return
        inside = self._open[-1]
        if isinstance(inside, dict):
            inside[str(self._steps[-1])] = value
            return
        if self._is_streamed:
            self.finished = Node(value, tuple(self._steps), self._file)
        elif isinstance(inside, list) or type(value) in {int, float}:
            inside.append(value)  # type: ignore[arg-type]  # a number, or into a list of anything
        else:
            self._open[-1] = [*inside, value]
        self._steps[-1] += 1  # type: ignore[operator]  # a list's step is an index

    @property
    def _is_streamed(self) -> bool:
        keys = self._streamed
        return keys is not None and len(self._steps) == len(keys) + 1 and tuple(self._steps[:-1]) == keys
