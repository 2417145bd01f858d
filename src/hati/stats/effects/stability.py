"""Which terms a Lasso selects again and again: stability selection."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from hati.core import FloatArray
from hati.stats.effects.contrasts import Term
from hati.stats.effects.model_terms import ModelTerms

_PAIRS = 25
_SAME = 1e-9
_LEAST = 2
"""The runs that a half has, so that anything varies within it."""


def stability(terms: ModelTerms, values: FloatArray, most: int, rng: np.random.Generator) -> Mapping[Term, float]:
    """How often each term is among the first that a Lasso selects from a random half of the runs, from 0 to 1.

    Of 25 pairs of complementary halves (Meinshausen and Buhlmann 2010, Journal of the Royal Statistical Society B 72,
    417-473; Shah and Samworth 2013, B 75, 55-80). Columns are centred and scaled in each half; a term is selected
    when one of its columns is. From halves of less than two runs none is.

    Args:
        terms: the candidates.
        values: shape (runs,).
        most: so many columns are let in from each half.
        rng: draws the halves.
    """
    columns = np.hstack([terms.columns[term] for term in terms])
    owners = np.repeat(np.arange(len(terms.columns)), [terms.columns[term].shape[1] for term in terms])
    counts = np.zeros(len(terms.columns))
    half = terms.runs // 2
    if half < _LEAST:
        return dict.fromkeys(terms, 0.0)
    for _ in range(_PAIRS):
        order = rng.permutation(terms.runs)
        for rows in (order[:half], order[half : 2 * half]):
            chosen = first_selected(columns[rows], values[rows], most)
            counts[np.unique(owners[list(chosen)])] += 1.0
    return dict(zip(terms, (counts / (2 * _PAIRS)).tolist(), strict=True))


def first_selected(columns: FloatArray, values: FloatArray, most: int) -> tuple[int, ...]:
    """The first columns to enter the Lasso's path, in order, at most so many.

    By least angle regression with the Lasso's modification (Efron, Hastie, Johnstone and Tibshirani 2004, Annals of
    Statistics 32, 407-499, section 3.1).

    Args:
        columns: shape (runs, columns); constant ones never enter.
        values: shape (runs,).
        most: when to stop.
    """
    x = columns - columns.mean(axis=0)
    sizes = np.sqrt(np.sum(x**2, axis=0))
    usable = sizes > _SAME * np.sqrt(len(x))
    x = np.where(usable, x / np.where(usable, sizes, 1.0), 0.0)
    residual = values - values.mean()
    start = float(np.max(np.abs(x.T @ residual), initial=0.0))
    entered, active, coefficients = list[int](), list[int](), np.zeros(x.shape[1])
    barred = set[int]()  # what just left may not return at once
    while len(active) < len(x) - 1:
        correlation = x.T @ residual
        outside = usable.copy()
        outside[[*active, *barred]] = False
        if not outside.any() or float(np.max(np.abs(correlation))) <= _SAME * start:
            break
        if not barred:
            newest = int(np.argmax(np.where(outside, np.abs(correlation), -1.0)))
            active.append(newest)
            outside[newest] = False
            if newest not in entered:
                entered.append(newest)
            if len(entered) >= most:
                break
        signs = np.sign(correlation[active])
        gram = x[:, active].T @ x[:, active]
        direction = np.linalg.lstsq(gram, signs, rcond=None)[0]
        move = x[:, active] @ direction
        level = float(np.max(np.abs(correlation[active])))
        step = _next_entry(correlation[outside], (x.T @ move)[outside], level)
        crossing = _first_crossing(coefficients[active], direction, step)
        if crossing is not None:
            step = crossing[1]
        coefficients[active] += step * direction
        residual = residual - step * move
        barred = set()
        if crossing is not None:
            gone = active.pop(crossing[0])
            coefficients[gone] = 0.0
            barred = {gone}
    return tuple(entered)


def _next_entry(correlation: FloatArray, slopes: FloatArray, level: float) -> float:
    """How far to go until a column outside is as correlated as the active ones; to the end where none is."""
    gaps = np.concatenate([level - correlation, level + correlation])
    rates = np.concatenate([1.0 - slopes, 1.0 + slopes])
    steps = gaps[rates > _SAME] / rates[rates > _SAME]
    return float(np.min(steps[steps > 0.0], initial=level))


def _first_crossing(coefficients: FloatArray, direction: FloatArray, step: float) -> tuple[int, float] | None:
    """The active coefficient that reaches zero before the step ends, and where."""
    found = [
        (place, float(-b / d))
        for place, (b, d) in enumerate(zip(coefficients, direction, strict=True))
        if d != 0.0 and 0.0 < -b / d < step
    ]
    return min(found, key=lambda crossing: crossing[1], default=None)
