"""The rows of a table as configurations of a space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from hati.core import Configuration, Setting
from hati.space import Formula, Option, Space
from hati.space.evaluation import holds
from hati.subject.table.options import BLANK, Cells, Codes, option_cells
from hati.subject.table.sheet import Sheet


def encoded(sheet: Sheet, space: Space) -> tuple[Codes, NDArray[np.bool_]]:
    """The index of every option's setting in every row, shape (rows, options), -1 where it is inactive.

    And whether the constraints hold in each row. What stands in the cells of inactive options does not matter.

    Raises:
        InputError: for a missing column, and for an active option whose cell is no setting, with its place.
    """
    if not space.options:
        return np.zeros((len(sheet), 0), dtype=np.int32), np.ones(len(sheet), dtype=bool)
    cells = option_cells(sheet, space)
    positions = {option.name: position for position, option in enumerate(space.options)}
    codes = np.stack([cells[name].codes for name in space.names], axis=1)
    for option in space.by_dependence:
        column = codes[:, positions[option.name]]
        active = _holding(option.active_if, codes, space, positions) if option.active_if else np.ones(len(codes), bool)
        _check(cells[option.name], column, active)
        column[~active] = BLANK
    return codes, satisfying(codes, space, space.constraints)


def satisfying(codes: Codes, space: Space, formulas: Sequence[Formula]) -> NDArray[np.bool_]:
    """In which rows of indexes all formulas over a space hold, shape (rows,)."""
    positions = {option.name: position for position, option in enumerate(space.options)}
    valid = np.ones(len(codes), dtype=bool)
    for formula in formulas:
        valid &= _holding(formula, codes, space, positions)
    return valid


def code(configuration: Mapping[str, Setting], space: Space) -> Codes | None:
    """The row of indexes that a configuration has, or None where it is none of the space's."""
    if any(name not in space.by_name for name in configuration):
        return None
    places = [_place(option, configuration) for option in space.options]
    return None if None in places else np.array(places, dtype=np.int32)


def decoded(codes: Codes, space: Space) -> Configuration:
    """The configuration of a row of indexes."""
    settings = zip(space.options, codes.tolist(), strict=True)
    return Configuration({option.name: option.settings[index] for option, index in settings if index >= 0})


def _place(option: Option, configuration: Mapping[str, Setting]) -> int | None:
    return option.position(configuration[option.name]) if option.name in configuration else BLANK


def _holding(formula: Formula, codes: Codes, space: Space, positions: Mapping[str, int]) -> NDArray[np.bool_]:
    """In which rows a formula holds: it is evaluated once for each combination of the settings that it speaks of."""
    options: Sequence[Option] = [space.by_name[name] for name in sorted(formula.options)]
    if not options:
        return np.full(len(codes), holds(formula, {}))
    combinations, rows = np.unique(codes[:, [positions[o.name] for o in options]], axis=0, return_inverse=True)
    truths = [
        holds(formula, {o.name: o.settings[i] for o, i in zip(options, row, strict=True) if i >= 0})
        for row in combinations.tolist()
    ]
    return np.array(truths, dtype=bool)[rows.reshape(-1)]


def _check(cells: Cells, column: Codes, active: NDArray[np.bool_]) -> None:
    wrong = np.flatnonzero(active & (column < 0))
    if wrong.size:
        raise cells.error(int(wrong[0]))
