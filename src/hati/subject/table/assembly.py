"""From the rows of a table to its measured configurations."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import PurePath

import numpy as np

from hati.core import InputError, Workload
from hati.core.wording import listed
from hati.space import Space
from hati.subject.table.deviations import Deviations
from hati.subject.table.encoding import decoded, encoded
from hati.subject.table.measured import MeasuredTable
from hati.subject.table.metrics import Column, numbers
from hati.subject.table.sheet import Sheet, distinct

_ALIKE = ("revision", "workload", "benchmark", "machine")
_RUN = ("run", "repetition")


def assembled(sheet: Sheet, space: Space, columns: Sequence[Column], deviations: Deviations | None) -> MeasuredTable:
    """The measured configurations in the rows of a table, of which each row of a configuration is a run.

    Raises:
        InputError: for rows of several revisions, workloads, benchmarks or machines; for a configuration twice without
            a column ``repetition`` or ``run`` to tell the two apart; for cells that are no settings or numbers.
    """
    common = {name: _common(sheet, name) for name in _origin(sheet, space, _ALIKE)}
    sheet = _by_repetition(sheet, space)
    codes, valid = encoded(sheet, space)
    if not valid.any():
        raise sheet.error("no row meets the constraints of the space", column=sheet.columns[0], row=0)
    outside = int(np.sum(~valid))
    sheet, codes = sheet.only(valid), codes[valid]
    return MeasuredTable(
        name=PurePath(sheet.file).name,
        content=sheet.content,
        space=space,
        metrics=tuple(column.metric for column in columns),
        revision=common.get("revision") or sheet.content,
        workload=_workload(common.get("workload", "")),
        codes=codes,
        rows=_grouped(sheet, codes, space),
        values={column.metric.name: tuple(numbers(sheet, column.name)) for column in columns},
        deviations=deviations,
        outside=outside,
    )


def _origin(sheet: Sheet, space: Space, names: Sequence[str]) -> list[str]:
    """Those of the names that are columns, and not an option's."""
    return [name for name in names if name in sheet and name not in space.by_name]


def _common(sheet: Sheet, column: str) -> str:
    values, codes = distinct(text.strip() for text in sheet.texts(column))
    if len(values) > 1:
        row = int(np.flatnonzero(codes == 1)[0])
        raise sheet.error(
            f"the rows are of {len(values)} values of {column}: {listed(values)}",
            column=column,
            row=row,
            fix=f"choose one, as in --where {column}={values[0]}",
        )
    return values[0]


def _by_repetition(sheet: Sheet, space: Space) -> Sheet:
    """The rows by their repetitions, where these are numbers; otherwise as they stand."""
    if not _origin(sheet, space, ("repetition",)):
        return sheet
    try:
        places = np.array([float(text) for text in sheet.texts("repetition")])
    except ValueError:
        return sheet
    return sheet.only(np.argsort(places, kind="stable"))


def _grouped(
    sheet: Sheet, codes: np.ndarray[tuple[int, ...], np.dtype[np.int32]], space: Space
) -> dict[bytes, tuple[int, ...]]:
    identifying = _origin(sheet, space, _RUN)
    names = list(zip(*(sheet.texts(name) for name in identifying), strict=True)) if identifying else [()] * len(sheet)
    seen: dict[tuple[bytes, tuple[str, ...]], int] = {}
    grouped: dict[bytes, list[int]] = {}
    for row, key in enumerate(code.tobytes() for code in codes):
        first = seen.setdefault((key, names[row]), row)
        if first != row:
            raise _twice(sheet, row, first, f"configuration {decoded(codes[row], space)}", identifying)
        grouped.setdefault(key, []).append(row)
    return {key: tuple(rows) for key, rows in grouped.items()}


def _twice(sheet: Sheet, row: int, first: int, what: str, identifying: Sequence[str]) -> InputError:
    place = sheet.locate(int(sheet.numbers[first]), 0)
    same = "".join(f", {name} {sheet.texts(name)[row]}" for name in identifying)
    where = f"line {place.line}" if place.line is not None else f"row {sheet.numbers[first] + 1}"
    fix = "number them in a column 'repetition'" if not identifying else "give each run a repetition of its own"
    return sheet.error(
        f"the {what:.160}{same} is there already, in {where}",
        column=identifying[-1] if identifying else sheet.columns[0],
        row=row,
        fix=f"{fix}, or choose by --where",
    )


def _workload(text: str) -> Workload:
    if not text:
        return Workload()
    try:
        parameters = json.loads(text)
        return Workload(parameters) if isinstance(parameters, dict) else Workload({"workload": text})
    except (ValueError, InputError):
        return Workload({"workload": text})
