"""Designs as files: read from CSV and JSON with located errors, and written as CSV."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Sequence

import numpy as np

from hati.core import InputError, Place
from hati.design.matrix import MOST_FACTORS, Design, check_runs
from hati.design.orthogonal_arrays import LevelDesign

DESIGN_FORMAT = "hati-design-1"

_LEVELS = {"-1": -1, "-": -1, "\u2212": -1, "1": 1, "+1": 1, "+": 1}
_ENTRY = "write -1 for the first setting and 1 for the second"
_TOKEN = re.compile(r'"(?:\\.|[^"\\])*"|[\[\]{},:]|[^\s\[\]{},:"]+')


def write_csv(design: Design) -> str:
    """A header of factors, and a line of -1 and 1 for every run."""
    lines = [",".join(_quoted(name) for name in design.factors)]
    lines += [",".join(str(entry) for entry in row) for row in design.matrix.tolist()]
    return "\n".join(lines) + "\n"


def read_csv(text: str, file: str = "design.csv") -> Design:
    """Read what ``write_csv`` writes; ``-`` and ``+`` are entries too, and empty lines are skipped.

    Raises:
        InputError: with line and column, for an unsuitable header, an entry that is not valid, or a row of
            another length.
    """
    lines = [
        (n, line) for n, line in enumerate(re.split(r"\r\n|\n|\r", text.removeprefix("\ufeff")), 1) if line.strip()
    ]
    if not lines:
        raise InputError("there is no design here", place=Place(file), fix="write a header of factors, then the runs")
    (number, header), *body = lines
    factors = _header(header, Place(file, number, 1, header))
    rows = [_row(line, len(factors), Place(file, n, 1, line)) for n, line in body]
    return _built(factors, rows, Place(file, number, 1, header))


def read_json(text: str, file: str = "design.json") -> Design:
    """Read a JSON object with ``factors`` and ``matrix``, such as one of `hati design --format json`.

    Raises:
        InputError: with line and column, for text that is not JSON, or an unsuitable value.
    """
    text = text.removeprefix("\ufeff")
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        place = Place(file, error.lineno, error.colno, _line_of(text, error.lineno))
        raise InputError(f"this is not JSON: {error.msg}", place=place) from error
    except (ValueError, RecursionError) as error:
        raise InputError("this is not JSON of a design: too deep or a number too long", place=Place(file)) from error
    if not isinstance(value, dict) or not {"factors", "matrix"} <= value.keys():
        raise InputError("a design is a JSON object with 'factors' and 'matrix'", place=_locate(text, (), file))
    factors, matrix = value["factors"], value["matrix"]
    if not isinstance(factors, list) or not all(isinstance(name, str) for name in factors):
        raise InputError("'factors' is not a list of names", place=_locate(text, ("factors",), file))
    if not isinstance(matrix, list):
        raise InputError("'matrix' is not a list of runs", place=_locate(text, ("matrix",), file))
    rows = [_json_row(row, i, len(factors), text, file) for i, row in enumerate(matrix)]
    return _built(tuple(factors), rows, _locate(text, ("factors",), file))


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"' if re.search(r'[",\r\n]', text) else text


def _header(line: str, place: Place) -> tuple[str, ...]:
    try:
        (names,) = csv.reader([line], skipinitialspace=True, strict=True)
    except (csv.Error, ValueError) as error:
        raise InputError(f"this header is not CSV: {error}", place=place) from error
    return tuple(name.strip() for name in names)


def _row(line: str, factors: int, place: Place) -> list[int]:
    cells = line.split(",")
    column = 1
    row: list[int] = []
    for cell in cells:
        bare = cell.strip().strip('"')
        here = Place(place.file, place.line, column + len(cell) - len(cell.lstrip()), line)
        if len(row) == factors:
            raise InputError(f"this run has {len(cells)} entries for {factors} factors", place=here)
        if bare not in _LEVELS:
            raise InputError(f"{bare[:20]!r} is not an entry of a design", place=here, fix=_ENTRY)
        row.append(_LEVELS[bare])
        column += len(cell) + 1
    if len(row) < factors:
        end = Place(place.file, place.line, len(line) + 1, line)
        raise InputError(f"this run has {len(row)} entries for {factors} factors", place=end)
    return row


def _json_row(row: object, i: int, factors: int, text: str, file: str) -> list[int]:
    if not isinstance(row, list) or len(row) != factors:
        raise InputError(f"this run is not a list of {factors} entries", place=_locate(text, ("matrix", i), file))
    for j, entry in enumerate(row):
        if type(entry) not in (int, float) or entry not in (-1, 1):
            here = _locate(text, ("matrix", i, j), file)
            raise InputError(f"{json.dumps(entry)[:20]} is not an entry of a design", place=here, fix=_ENTRY)
    return [int(entry) for entry in row]


def _built(factors: tuple[str, ...], rows: list[list[int]], place: Place) -> Design:
    try:
        if not 1 <= len(factors) <= MOST_FACTORS:
            raise InputError(
                f"a design has 1 to {MOST_FACTORS} factors, not {len(factors)}",
                fix="give a project options, or name --factors",
            )
        if not rows:
            raise InputError("this design has no runs")
        check_runs(len(rows))
        return Design("given", factors, np.array(rows, dtype=np.int8))
    except InputError as error:
        raise InputError(error.message, place=place, fix=error.fix) from error


def _line_of(text: str, number: int) -> str:
    lines = text.split("\n")
    return lines[number - 1] if number <= len(lines) else ""


def _locate(text: str, path: Sequence[str | int], file: str) -> Place:
    """The place in a text, known to be JSON, at which the value at that path begins."""
    # Each open container has its key or its position; the stack of these is the path of the next value.
    here: list[str | int] = []
    key: str | None = None
    for token in _TOKEN.finditer(text):
        word = token[0]
        if word == ":" and here and isinstance(here[-1], str):
            here[-1] = json.loads(key or '""')
            continue
        if word == ",":
            if isinstance(here[-1], int):
                here[-1] += 1
            continue
        if word in "]}":
            here.pop()
            continue
        if here == list(path):
            line = text.count("\n", 0, token.start()) + 1
            column = token.start() - text.rfind("\n", 0, token.start())
            return Place(file, line, column, _line_of(text, line))
        key = word
        if word in "[{":
            here.append(0 if word == "[" else "")
    return Place(file)


def write_level_csv(design: LevelDesign, settings: Sequence[Sequence[str]] | None = None) -> str:
    """A header of factors, and a line for every run: the settings' texts, or without these their positions from 0."""
    texts = settings or [[str(place) for place in range(size)] for size in design.sizes]
    rows = ([its[place] for its, place in zip(texts, row, strict=True)] for row in design.levels.tolist())
    return "".join(_line(row) for row in (design.names, *rows))


def _line(fields: Iterable[str]) -> str:
    return ",".join(_quoted(text) for text in fields) + "\n"
