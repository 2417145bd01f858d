"""Executed lines from the JSON of gcov (``gcov --json-format --stdout``) and coverage.py (``coverage json -o -``)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from posixpath import normpath
from typing import Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta, Struct

from hati.core import FloatArray, InputError, Place, convert
from hati.core.benchmark import LINES, LINES_OF
from hati.core.wording import listed

Executed = dict[int, bool]
"""Whether each line that can be executed was."""
_LineNumber = Annotated[int, Meta(ge=1, lt=2**31)]


class _PythonFile(Struct, frozen=True):
    executed_lines: list[_LineNumber]
    missing_lines: list[_LineNumber]

    @property
    def lines(self) -> Executed:
        return {**dict.fromkeys(self.missing_lines, False), **dict.fromkeys(self.executed_lines, True)}


class _CompiledLine(Struct, frozen=True):
    line_number: _LineNumber
    count: float


class _CompiledFile(Struct, frozen=True):
    file: str
    lines: list[_CompiledLine]


class _Coverage(Struct, frozen=True):
    files: dict[str, _PythonFile] | list[_CompiledFile]
    current_working_directory: str = ""


def read_coverage(output: bytes, source: str, project: Path | None = None) -> dict[str, Executed]:
    """The lines of each file, from all documents in an output; other lines of it are ignored.

    Paths are relative to the folder ``project``, where it is known and has the file, as in a build out of the sources;
    else to the folder of the compiler. Files outside of both, such as the system's headers, are left out. A line counts
    as executed if it is in one of the documents.

    Raises:
        InputError: where there is no such document, or one of them is cut off or wrong.
    """
    found: dict[str, Executed] = {}
    outside: list[str] = []
    for document in _documents(output.decode("utf-8", "replace"), source):
        for file, lines in _files(document):
            path = _inside(file, document.current_working_directory, project)
            if path is None:
                outside.append(file)
                continue
            own = found.setdefault(path, {})
            for number, executed in lines.items():
                own[number] = executed or own.get(number, False)
    if not found and outside:
        raise InputError(
            f"all files of the coverage are outside of the program's folder: {listed(dict.fromkeys(outside))}",
            place=Place(source),
            fix="print it in the folder that has these files",
        )
    if not found:
        raise InputError(
            "the output has no coverage of lines",
            place=Place(source),
            fix="print it by `gcov --json-format --stdout` or `coverage json -o -`",
        )
    return found


def line_values(files: Mapping[str, Executed]) -> dict[str, FloatArray]:
    """The values of each metric: the number of executed lines, and the numbers of each file's lines."""
    number = sum(sum(lines.values()) for lines in files.values())
    signed = {
        f"{LINES_OF}{file}": np.array([line if executed else -line for line, executed in sorted(lines.items())], float)
        for file, lines in sorted(files.items())
    }
    return {LINES: np.array([float(number)]), **signed}


_FIRST = "meta|gcc_version|format_version|current_working_directory|data_file"
_OPENING = re.compile(rf'^\{{\s*"|\{{\s*"(?:{_FIRST})"', re.MULTILINE)


def _documents(text: str, source: str) -> Iterator[_Coverage]:
    """The documents that begin with a line or, with a key that these tools print first, within one."""
    decoder, end = json.JSONDecoder(), 0
    while opening := _OPENING.search(text, end):
        place = Place(source, text.count("\n", 0, opening.start()) + 1)
        try:
            document, end = decoder.raw_decode(text, opening.start())
        except (ValueError, RecursionError) as error:
            raise _unreadable(_reason(error, text), place) from None
        if "files" in document:
            yield _coverage(document, place)


def _coverage(document: Mapping[str, Any], place: Place) -> _Coverage:
    try:
        return convert(document, _Coverage)
    except msgspec.ValidationError as error:
        raise _unreadable(str(error), place) from None


def _reason(error: Exception, text: str) -> str:
    if isinstance(error, RecursionError):
        return "too many values are nested"
    if isinstance(error, json.JSONDecodeError):
        ended = not text[error.pos :].strip() or error.msg.startswith("Unterminated")
        return "the JSON ends early" if ended else f"{error.msg} in line {error.lineno}, column {error.colno}"
    return str(error)


def _unreadable(reason: str, place: Place) -> InputError:
    return InputError(
        f"the coverage cannot be read: {reason}",
        place=place,
        fix="print it as a whole by `gcov --json-format --stdout` or `coverage json -o -`, with nothing in between",
    )


def _files(document: _Coverage) -> Iterator[tuple[str, Executed]]:
    """The files that have lines."""
    if isinstance(document.files, dict):
        yield from ((file, own.lines) for file, own in document.files.items() if own.lines)
        return
    for each in document.files:
        lines: Executed = {}
        for line in each.lines:  # a line of a template has an entry for each of its functions
            lines[line.line_number] = lines.get(line.line_number, False) or line.count > 0
        if lines:
            yield each.file, lines


def _inside(file: str, folder: str, project: Path | None) -> str | None:
    """The file's path in the project, or in the folder that it is relative to; None if it is outside of both."""
    path = PurePosixPath(normpath(PurePosixPath(folder or project or "", file)))
    for root in (project, folder):
        if root and path.is_relative_to(root):
            return str(path.relative_to(root))
    return None if path.is_absolute() or ".." in path.parts else str(path)
