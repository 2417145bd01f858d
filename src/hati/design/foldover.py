"""Designs with more runs: reversed, in part or whole, and repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from hati.core import InputError
from hati.design.aliasing import indices
from hati.design.matrix import Design, Matrix, check_runs


def foldover(design: Design, reverse: Sequence[str] | None = None) -> Design:
    """The design and after it the same runs with the named factors reversed; all factors where none are named.

    Reversing all factors frees the main effects from two-factor interactions; reversing one frees it and its
    interactions (Box and Hunter 1961, Technometrics 3).

    Raises:
        InputError: for a factor that the design has not, or one twice.
    """
    return _with_runs(design, "foldover", _reversed(design, reverse))


def semifoldover(design: Design, by: str, setting: Literal[-1, 1] = 1, reverse: Sequence[str] | None = None) -> Design:
    """The design and after it half of a foldover's runs: those in which factor ``by`` has that setting.

    ``by`` alone is reversed where no factors are named. Often as many two-factor interactions can be estimated as
    after the whole foldover, though they are correlated (Mee and Peralta 2000, Technometrics 42, 122-134).

    Raises:
        InputError: for a factor that the design has not, or one that does not halve the runs.
    """
    (place,) = indices(design, [by])
    added = _reversed(design, [by] if reverse is None else reverse)
    kept = added[added[:, place] == setting]
    if 2 * len(kept) != design.runs:
        raise InputError(f"factor {by!r} does not halve the runs: {len(kept)} of {design.runs} have that setting")
    return _with_runs(design, "semi-foldover", kept)


def replicated(design: Design, times: int) -> Design:
    """All of the design's runs that many times, one replicate after the other.

    Raises:
        InputError: for less than one replicate, or more than 2^20 runs.
    """
    if times < 1:
        raise InputError(f"{times} replicates leave no runs", fix="use 1 or more")
    check_runs(design.runs * times)
    return Design(design.kind, design.factors, np.tile(design.matrix, (times, 1)), design.generators)


def with_replicated_points(design: Design, points: int, rng: np.random.Generator) -> Design:
    """The design and after it that many of its different runs once more, drawn at random, each at most once.

    Each gives one degree of freedom for the variance between runs that rests on no model.

    Raises:
        InputError: for fewer than one point, or more than the design has different runs.
    """
    distinct = np.sort(np.unique(design.matrix, axis=0, return_index=True)[1])
    if not 1 <= points <= len(distinct):
        raise InputError(f"{points} of {len(distinct)} different runs cannot be repeated once each")
    chosen = np.sort(rng.choice(distinct, size=points, replace=False))
    matrix = np.vstack([design.matrix, design.matrix[chosen]])
    return Design(design.kind, design.factors, matrix, design.generators)


def _reversed(design: Design, reverse: Sequence[str] | None) -> Matrix:
    columns = list(range(len(design.factors))) if reverse is None else list(indices(design, reverse))
    matrix = design.matrix.copy()
    matrix[:, columns] *= -1
    return matrix


def _with_runs(design: Design, kind: Literal["foldover", "semi-foldover"], added: Matrix) -> Design:
    check_runs(design.runs + len(added))
    return Design(kind, design.factors, np.vstack([design.matrix, added]))
