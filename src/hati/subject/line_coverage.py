"""Executed lines from the JSON of gcov (``gcov --json-format --stdout``) and coverage.py (``coverage json -o -``)."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from hati.core import InputError, Place

Executed = dict[int, bool]
"""Whether each line that can be executed was."""


def read_coverage(output: bytes, source: str) -> dict[str, Executed]:
    """The lines of each file, from all documents in an output; other lines of it are ignored.

    Files outside of the program's folder, such as the system's headers, are left out. A line counts as executed if it
    is in one of the documents.

    Raises:
        InputError: where there is no such document.
    """
    found: dict[str, Executed] = {}
    for document in _documents(output):
        for file, lines in _files(document):
            own = found.setdefault(file, {})
            for number, executed in lines.items():
                own[number] = executed or own.get(number, False)
    if not found:
        raise InputError(
            "the output has no coverage of lines",
            place=Place(source),
            fix="print it by `gcov --json-format --stdout` or `coverage json -o -`",
        )
    return found


def _documents(output: bytes) -> Iterator[Mapping[str, Any]]:
    for line in output.decode("utf-8", "replace").splitlines():
        if line.startswith("{"):
            try:
                document = json.loads(line)
            except ValueError:
                continue
            if isinstance(document, dict) and "files" in document:
                yield document


def _files(document: Mapping[str, Any]) -> Iterator[tuple[str, Executed]]:
    files = document["files"]
    try:
        if isinstance(files, dict):
            for file, about in files.items():
                executed, missing = map(int, about["executed_lines"]), map(int, about["missing_lines"])
                yield from _inside(file, "", {**dict.fromkeys(missing, False), **dict.fromkeys(executed, True)})
        else:
            for each in files:
                lines: Executed = {}
                for line in each["lines"]:  # a line of a template has an entry for each of its functions
                    number = int(line["line_number"])
                    lines[number] = lines.get(number, False) or line["count"] > 0
                yield from _inside(each["file"], document.get("current_working_directory", ""), lines)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the coverage cannot be read: {type(error).__name__}: {error}") from None


def _inside(file: str, folder: str, lines: Executed) -> Iterator[tuple[str, Executed]]:
    """The file with its path in the folder, unless it is outside or has no lines."""
    path = PurePosixPath(file)
    if path.is_absolute() and folder and path.is_relative_to(folder):
        path = path.relative_to(folder)
    if lines and not path.is_absolute() and ".." not in path.parts:
        yield str(path), lines
