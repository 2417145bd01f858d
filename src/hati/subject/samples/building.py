"""Shared code of the format readers: building samples from runs, members of several formats, labels and units.

JSON documents of any size are read as a stream of values with their places, for errors.
"""

from __future__ import annotations

import re
import sys
from array import array
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import BinaryIO, TypeAlias, TypeVar

import numpy as np
from msgspec import Struct, field

from hati.core import (
    Better,
    Configuration,
    FloatArray,
    InputError,
    Metric,
    Observations,
    Place,
    Sample,
    SampledRun,
    Setting,
    SummarizedRuns,
    Workload,
    conversion,
    parse_unit,
)

_CHUNK = 1 << 16
_SHOWN = 10_000
_SURROGATE = "surrogate"


def syntax_error(stream: BinaryIO, file: str) -> InputError:
    """The error of a document that is not JSON, with line and column.

    The document is parsed again, the failing part byte by byte.
    """
    start, _ = _failure(stream, None)
    offset, reason = _failure(stream, start)
    message, fix = _explained(stream, offset, reason)
    return InputError(message, place=_place(stream, file, offset), fix=fix)


def _failure(stream: BinaryIO, bytewise_from: int | None) -> tuple[int, str]:
    """The offset at which parsing fails, and the reason; a document that ends too early fails at its end."""
    import ijson.backends.yajl2_c as parser
    from ijson.common import JSONError
    from ijson.utils import sendable_list

    events = sendable_list()
    parsing = parser.basic_parse_coro(events, use_float=True)
    stream.seek(0)
    offset = 0
    try:
        while part := stream.read(_CHUNK):
            whole = bytewise_from is None or offset < bytewise_from
            for piece in [part] if whole else [part[n : n + 1] for n in range(len(part))]:
                parsing.send(piece)
                events.clear()
                offset += len(piece)
        parsing.close()
    except JSONError as error:
        reason = error.args[0]
        return offset, reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
    except UnicodeDecodeError:  # surrogates, reported at the end of their text
        return offset, _SURROGATE
    return offset, ""


def _explained(stream: BinaryIO, offset: int, reason: str) -> tuple[str, str | None]:
    stream.seek(offset)
    here = stream.read(1)
    if not here:
        return ("the file is empty" if offset == 0 else "the JSON ends before it is complete"), "is the file whole?"
    if reason == _SURROGATE:
        return "the text that ends here is not valid UTF-8", "save the file as UTF-8"
    if "UTF8" in reason:
        return f"byte 0x{here[0]:02x} is not UTF-8", "save the file as UTF-8"
    if here in b"NI":
        return "NaN and Infinity are not numbers of JSON", "leave out what was not measured"
    if "overflow" in reason:
        return "this number is too large", "use a larger unit"
    first = reason.splitlines()[0] if reason else "parse error"
    return f"this is not JSON: {first.partition(': ')[2] or first}", None


def _place(stream: BinaryIO, file: str, offset: int) -> Place:
    """The line and column of a byte, and the line's text if it is not too long to be shown."""
    stream.seek(0)
    line, start, position = 1, 0, 0
    while position < offset:
        part = stream.read(min(_CHUNK, offset - position))
        line += part.count(b"\n")
        last = part.rfind(b"\n")
        start = position + last + 1 if last >= 0 else start
        position += len(part)
    stream.seek(max(start, offset - _SHOWN))
    before = stream.read(offset - stream.tell())
    column = len(before.decode("utf-8", "replace")) + 1
    if start < offset - _SHOWN:
        return Place(file, line, offset - start + 1)
    after = stream.readline(_SHOWN)
    return Place(file, line, column, (before + after).decode("utf-8", "replace"))


Path = tuple[str | int, ...]
Numbers: TypeAlias = "array[float]"
"""A list of numbers, eight bytes each."""

Json: TypeAlias = "bool | int | float | str | Numbers | list[Json] | dict[str, Json] | None"

_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
_LONGEST = 60


class JsonNode(Struct, frozen=True):
    """A value of a JSON document, with its path and file."""

    value: Json
    path: Path
    file: str

    def error(self, message: str, fix: str | None = None) -> InputError:
        """An error that points at this value."""
        return InputError(message, place=self.place, fix=fix)

    @property
    def place(self) -> Place:
        """The file, and the path in it."""
        return Place(f"{self.file} at {path_text(self.path)}" if self.path else self.file)

    def __contains__(self, key: str) -> bool:
        return isinstance(self.value, dict) and self.value.get(key) is not None

    def __getitem__(self, key: str) -> JsonNode:
        """The member with a name.

        Raises:
            InputError: where this is not an object, or lacks the member.
        """
        found = self.get(key)
        if found is None:
            raise self.error(f"there is no {key!r}", fix="is the file whole, and of this format?")
        return found

    def get(self, key: str) -> JsonNode | None:
        """The member with a name; None if it is missing or null."""
        if not isinstance(self.value, dict):
            raise self.error(f"{shown(self.value)} stands where an object is needed")
        value = self.value.get(key)
        return None if value is None else JsonNode(value, (*self.path, key), self.file)

    def members(self) -> Iterator[tuple[str, JsonNode]]:
        """All members of an object, by name."""
        if not isinstance(self.value, dict):
            raise self.error(f"{shown(self.value)} stands where an object is needed")
        for key, value in self.value.items():
            yield key, JsonNode(value, (*self.path, key), self.file)

    def items(self) -> Iterator[JsonNode]:
        """All items of a list."""
        if not isinstance(self.value, list | array):
            raise self.error(f"{shown(self.value)} stands where a list is needed")
        for number, value in enumerate(self.value):
            yield JsonNode(value, (*self.path, number), self.file)

    def text(self) -> str:
        """The value, which has to be non-empty text."""
        if not isinstance(self.value, str) or not self.value.strip():
            raise self.error(f"{shown(self.value)} stands where text is needed")
        return self.value

    def number(self) -> float:
        """The value, which has to be a number."""
        if isinstance(self.value, bool) or not isinstance(self.value, int | float):
            raise self.error(f"{shown(self.value)} stands where a number is needed")
        return float(self.value)

    def amount(self) -> float:
        """The value, which has to be a non-negative number."""
        number = self.number()
        if number < 0:
            raise self.error(f"{shown(self.value)} stands where a number that is not negative is needed")
        return number

    def integer(self) -> int:
        """The value, which has to be a whole number."""
        number = self.number()
        if number != int(number):
            raise self.error(f"{shown(self.value)} stands where a whole number is needed")
        return int(number)

    def count(self) -> int:
        """The value, which has to be a non-negative whole number."""
        number = self.integer()
        if number < 0:
            raise self.error(f"{shown(self.value)} stands where a count is needed")
        return number

    def numbers(self) -> FloatArray:
        """The value, which has to be a list of numbers, shape (n,)."""
        if isinstance(self.value, array):
            return np.frombuffer(self.value, dtype=np.float64)
        for item in self.items():
            item.number()
        return np.array([], dtype=np.float64)


def path_text(path: Path) -> str:
    """A path as text.

    >>> path_text(("samples", 0, "runs", 3, "cpu time"))
    'samples[0].runs[3]["cpu time"]'
    """
    steps = (f"[{s}]" if isinstance(s, int) else f".{s}" if s and set(s) <= _PLAIN else f"[{_quoted(s)}]" for s in path)
    return "".join(steps).removeprefix(".")


def shown(value: Json) -> str:
    """A value short enough for a message."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list | array):
        return "a list"
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, str):
        return _quoted(value)
    return f"{value:g}"


def _quoted(text: str) -> str:
    short = "".join(c if c.isprintable() else "?" for c in text[:_LONGEST])
    return f'"{short}{"..." if len(text) > _LONGEST else ""}"'


DEEPEST = 64
"""The deepest nesting of objects and lists; formats of samples need a dozen levels at most."""

_SCALARS = frozenset({"number", "string", "boolean", "null"})
_LONGEST_PATH = 200


def read_document(stream: BinaryIO, file: str, streamed: tuple[str, ...] | None = None) -> Iterator[JsonNode]:
    """Yield the items of the list at the keys ``streamed``, one by one, and finally the document without them.

    ``()`` is a document that is itself a list. With None, the document is yielded whole.

    Raises:
        InputError: for malformed JSON, with line and column; or for nesting deeper than ``DEEPEST``.
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
    except (JSONError, UnicodeDecodeError):  # the parser accepts surrogates as UTF-8
        raise syntax_error(stream, file) from None
    yield JsonNode(builder.root, (), file)


def read_whole(stream: BinaryIO, file: str) -> JsonNode:
    """The whole document.

    Raises:
        InputError: as ``read_document``.
    """
    (whole,) = read_document(stream, file)
    return whole


class _Builder:
    """Builds values from the events of a parser; ``finished`` is a streamed item, which is not kept."""

    def __init__(self, file: str, streamed: tuple[str, ...] | None) -> None:
        self.root: Json = None
        self.finished: JsonNode | None = None
        self._file = file
        self._streamed = streamed
        self._open: list[dict[str, Json] | list[Json] | Numbers] = []
        self._steps: list[str | int] = []  # the key or the index of the next value, in each open container

    def take(self, event: str, value: Json) -> Callable[[float], None] | None:
        """Process an event; return a function for the numbers that follow directly, up to the next other event."""
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
            self.finished = JsonNode(value, tuple(self._steps), self._file)
        elif isinstance(inside, list) or type(value) in {int, float}:
            inside.append(value)  # type: ignore[arg-type]  # a number, or into a list of anything
        else:
            self._open[-1] = [*inside, value]
        self._steps[-1] += 1  # type: ignore[operator]  # a list's step is an index

    @property
    def _is_streamed(self) -> bool:
        keys = self._streamed
        return keys is not None and len(self._steps) == len(keys) + 1 and tuple(self._steps[:-1]) == keys


MOST_RUNS = 500_000
"""The largest number of runs in a file: each takes some hundreds of bytes, however few its observations."""

Complain = Callable[[str], InputError]
"""Makes an error with its place."""


class Label(Struct, frozen=True):
    """The identity of a run's values; fields that a file does not name are empty."""

    benchmark: str
    metric: Metric
    configuration: Configuration = field(default_factory=Configuration)
    revision: str = ""
    workload: Workload = field(default_factory=Workload)
    machine: str = ""

    @property
    def identity(self) -> tuple[object, ...]:
        """The fields that distinguish samples; all runs of a sample also share its unit and direction."""
        return self.benchmark, self.metric.name, self.configuration, self.revision, self.workload, self.machine


class SampleBuilder:
    """Groups runs by their labels, in the order in which the labels first occur."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.one_process: list[str] = []
        self._runs: dict[tuple[object, ...], list[SampledRun]] = {}
        self._labels: dict[tuple[object, ...], Label] = {}
        self.count = 0

    def add(self, label: Label, run: SampledRun, complain: Complain) -> None:
        """Add a run; values in another unit of the same dimension are converted to that of the first run.

        Raises:
            InputError: for negative times, for another dimension or direction than that of the sample's earlier runs,
                and for more than ``MOST_RUNS``.
        """
        self.count += 1
        if self.count > MOST_RUNS:
            raise complain(f"there are more than {MOST_RUNS:,} runs")
        least = float(run.observations.values.min())
        if least < 0 and parse_unit(label.metric.unit).dimension == "time":
            raise complain(f"{label.metric.name!r} has the value {least:g}: no time is negative")
        first = self._labels.setdefault(label.identity, label)
        self._runs.setdefault(label.identity, []).append(self._fitting(run, label.metric, first.metric, complain))

    def warn(self, message: str) -> None:
        """Record a warning for the user, once."""
        if message not in self.warnings:
            self.warnings.append(message)

    def warn_of_one_process(self, tool: str) -> None:
        """Record, once, that a file of this tool has the repetitions of one process."""
        message = f"{tool} repeats within one process: a file is one run; give several files for several runs"
        if message not in self.one_process:
            self.one_process.append(message)

    def samples(self) -> tuple[Sample, ...]:
        """All samples."""
        return tuple(
            Sample(
                label.benchmark,
                label.metric,
                tuple(self._runs.pop(identity)),
                label.configuration,
                label.revision,
                label.workload,
                label.machine,
            )
            for identity, label in self._labels.items()
        )

    def _fitting(self, run: SampledRun, own: Metric, wanted: Metric, complain: Complain) -> SampledRun:
        if own == wanted:
            return run
        if own.better is not wanted.better:
            raise complain(f"{own.name!r}: {own.better} is better here, {wanted.better} in an earlier run")
        try:
            factor = conversion(own.unit, wanted.unit)
        except InputError as error:
            raise complain(f"{own.name!r}: {error.message}") from None
        self.warn(f"{own.name!r} is in {own.unit} and in {wanted.unit}: converted to {wanted.unit}")
        return run.times(factor, wanted.unit)


_Read = TypeVar("_Read")


def optional(node: JsonNode, key: str, read: Callable[[JsonNode], _Read]) -> _Read | None:
    """The member with a name, converted by ``read``; None if it is missing or null."""
    found = node.get(key)
    return None if found is None else read(found)


def optional_text(node: JsonNode, key: str) -> str:
    """The text member with a name, which may be missing or empty."""
    found = node.get(key)
    if found is None or found.value == "":
        return ""
    return found.text()


def settings(node: JsonNode | None) -> dict[str, Setting]:
    """The members of an object of settings; empty if it is missing or null.

    Raises:
        InputError: where a member is not a setting.
    """
    return {} if node is None else {name: setting(member) for name, member in node.members()}


def setting(node: JsonNode) -> Setting:
    """A boolean, a number or text."""
    if isinstance(node.value, bool | int | float | str):
        return node.value
    raise node.error("this is not a valid setting", fix="use a boolean, a number or text")


def moment(node: JsonNode) -> datetime:
    """A time in ISO 8601; UTC if it has no time zone.

    Raises:
        InputError: where it is not a time.
    """
    try:
        found = datetime.fromisoformat(node.text())
        return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
    except (ValueError, OverflowError):
        raise node.error(f"{node.text()!r} is not a time", fix="write it as 2026-11-20T10:00:00Z") from None


def unix_moment(node: JsonNode) -> datetime:
    """A time in milliseconds since 1970.

    Raises:
        InputError: where it is not a time.
    """
    try:
        return datetime.fromtimestamp(node.number() / 1000.0, UTC)
    except (ValueError, OverflowError, OSError):
        raise node.error("this is not a time in milliseconds") from None


def observed(node: JsonNode, metric: Metric, warmup: int = 0) -> Observations:
    """A list of numbers as observations.

    Raises:
        InputError: where it is empty, has other values than numbers, or has nothing left after warm-up.
    """
    return observations(node.numbers(), metric, node.error, warmup)


def observations(
    values: FloatArray, metric: Metric, complain: Callable[[str], InputError], warmup: int = 0
) -> Observations:
    """Values, shape (n,), as observations; errors are raised by ``complain``, with a place."""
    try:
        return Observations(metric.name, metric.unit, values, warmup)
    except InputError as error:
        raise complain(error.message) from None


_RATE = re.compile(r".*/\s*([num\u00b5\u03bc]?s|sec|seconds?|min|h|hour)|.* per sec(ond)?|[kMG]?Hz|[kMG]?bps|[A-Z]+PS")


def direction(unit: str) -> Better:
    """The better direction of a unit: higher for rates, lower for all others.

    >>> direction("ops/us"), direction("us/op"), direction("MB/s")
    (<Better.HIGHER: 'higher'>, <Better.LOWER: 'lower'>, <Better.HIGHER: 'higher'>)
    """
    return Better.HIGHER if _RATE.fullmatch(unit) else Better.LOWER


ONE_RUN = SummarizedRuns(1)
_UNKNOWN = SummarizedRuns()


def single(
    value: float, metric: Metric, complain: Callable[[str], InputError], of: SummarizedRuns = _UNKNOWN
) -> SampledRun:
    """The mean of runs of which nothing else is known than what ``of`` says."""
    return SampledRun(observations(np.array([value]), metric, complain), summary=of)


def values_run(values: FloatArray, metric: Metric, complain: Callable[[str], InputError]) -> SampledRun:
    """A run with observations only; values of shape (n,)."""
    return SampledRun(observations(values, metric, complain))


def summary_only(what: str, tool: str) -> str:
    """The warning for files of summaries."""
    return f"{tool} gives {what}, not single observations: how much these vary is not known"
