"""Selection of a model's terms: forward, up to the last significant step, and by the stability of a Lasso."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats.distributions import f_above
from hati.stats.terms import NOTHING, ModelTerms, Term, added_basis, spanned

_MOST = 0.5
"""The largest number of a model's parameters per run: AICc's correction assumes few candidates."""


def forward_selection(terms: ModelTerms, values: FloatArray) -> tuple[Term, ...]:
    """The terms that predict best, in the order in which they were chosen.

    Each step adds the term that lowers the corrected Akaike criterion (Hurvich and Tsai 1989, Biometrika 76, 297-307)
    most, until none does. An interaction can be added once one of its options' terms is there: weak heredity
    (Hamada and Wu 1992, Journal of Quality Technology 24, 130-137). For prediction and for ranking, not for deciding:
    chosen terms need not be significant.

    Args:
        terms: the candidates.
        values: shape (runs,).
    """
    basis = terms.basis(())
    residual = values - basis @ (basis.T @ values)
    left = float(residual @ residual)
    smallest = 1e-12 * float(np.sum((values - values.mean()) ** 2))
    if left <= smallest:
        return ()
    every = tuple(terms)
    candidates = alike(terms, basis)
    chosen: list[int] = []
    best = _criterion(left, terms.runs, basis.shape[1])
    while left > smallest:
        explained, added = explained_by_each(candidates, residual, len(every))
        sizes = basis.shape[1] + added
        open_ = terms.eligible(chosen) & (added > 0) & (sizes <= _MOST * terms.runs)
        criteria = np.where(open_, _criteria(np.maximum(left - explained, smallest), terms.runs, sizes), math.inf)
        place = int(np.argmin(criteria)) if every else 0
        if not open_.any() or criteria[place] >= best:
            break
        best = float(criteria[place])
        chosen.append(place)
        new = added_basis(terms.columns[every[place]], basis)
        basis = np.hstack([basis, new])
        residual = residual - new @ (new.T @ residual)
        left = float(residual @ residual)
        for group in candidates:
            group.remove(new)
    return tuple(every[place] for place in chosen)


class Alike(Struct, frozen=True, eq=False):
    """Terms with equally many columns: their places among all, their columns orthogonal to the model, and their sizes.

    ``columns`` has shape (terms, runs, columns of a term), and changes as the model grows.
    """

    places: NDArray[np.intp]
    columns: FloatArray
    sizes: FloatArray

    def remove(self, basis: FloatArray) -> None:
        """Make the columns orthogonal to a further basis."""
        for _ in range(2):  # twice: rounding errors of the first pass would look like something new
            inside = basis.T @ self.columns
            self.columns[:] -= basis * inside if basis.shape[1] == 1 else basis @ inside  # the same, and faster


def alike(terms: ModelTerms, basis: FloatArray) -> list[Alike]:
    """The terms grouped by their number of columns, orthogonal to a basis."""
    every = list(terms.columns.values())
    found = []
    for width in sorted({columns.shape[1] for columns in every} - {0}):
        places = np.array([i for i, columns in enumerate(every) if columns.shape[1] == width], dtype=np.intp)
        stacked = np.array([every[place] for place in places], dtype=np.float64)
        group = Alike(places, stacked, np.sum(stacked**2, axis=1).max(axis=1))
        group.remove(basis)
        found.append(group)
    return found


def explained_by_each(
    candidates: Sequence[Alike], residual: FloatArray, terms: int
) -> tuple[FloatArray, NDArray[np.intp]]:
    """The sum of squares that each term explains in addition to the model, and the number of parameters that it adds.

    By principal axes of a term's columns orthogonal to the model; axes of next to no length are rounding.
    """
    explained, added = np.zeros(terms), np.zeros(terms, dtype=np.intp)
    for group in candidates:
        squares = group.columns.transpose(0, 2, 1) @ group.columns
        alone = squares.shape[1] == 1
        lengths, axes = (squares[:, 0], np.ones_like(squares)) if alone else np.linalg.eigh(squares)
        distinguished = lengths > NOTHING**2 * group.sizes[:, None]
        along = np.einsum("tca,tc->ta", axes, np.einsum("trc,r->tc", group.columns, residual))
        explained[group.places] = np.sum(along**2 / np.where(distinguished, lengths, math.inf), axis=1)
        added[group.places] = np.count_nonzero(distinguished, axis=1)
    return explained, added


def _criterion(residual: float, runs: int, parameters: int) -> float:
    return float(_criteria(np.array(residual), runs, np.array(parameters)))


def _criteria(residual: FloatArray, runs: int, parameters: NDArray[np.intp]) -> FloatArray:
    """AICc up to a constant; the variance counts as a parameter."""
    count = parameters + 1
    spare = np.maximum(runs - count - 1, 0)
    with np.errstate(divide="ignore"):
        return np.asarray(runs * np.log(residual / runs) + np.where(spare, 2.0 * count * runs / spare, math.inf))


LEVEL = 0.01
"""The level of a step, corrected for all its candidates."""
_MOST_TERMS = 40
_LEAST_LEFT = 3
EXACT = 1e-12
"""The fraction of the sum of squares below which a residual is rounding."""


class Steps(Struct, frozen=True, eq=False):
    """A model of ``terms``, and of ``runs`` with means of their own, in the order of choice.

    ``candidates`` holds the terms that it was chosen from, ``parameters`` is the number of its parameters, ``left`` the
    residual sum of squares.
    """

    candidates: ModelTerms
    terms: tuple[Term, ...]
    runs: tuple[int, ...]
    parameters: int
    left: float

    def extended_bayes(self, smallest: float, others: int = 0) -> float:
        """The extended Bayesian criterion (Chen and Chen 2008, Biometrika 95, 759-771), up to a constant.

        All sizes of models have equal prior probabilities, and so have all models of one size.

        Args:
            smallest: a residual sum of squares below this is rounding.
            others: the number of runs that were candidates too.
        """
        count, size = self.candidates.runs, len(self.terms) + len(self.runs)
        among = len(self.candidates.columns) + others
        models = math.lgamma(among + 1) - math.lgamma(size + 1) - math.lgamma(among - size + 1)
        return count * math.log(max(self.left, smallest) / count) + self.parameters * math.log(count) + 2.0 * models


def significant_steps(
    terms: ModelTerms, values: FloatArray, given: Sequence[int] = (), among: Sequence[int] = ()
) -> Steps:
    """Select terms, and runs with means of their own, by what they explain of the values, under weak heredity.

    The selection continues past steps that are not significant, and is then cut back to its last significant one, by F
    with its p-value times the number of candidates: effects of equal size hide each other.

    Args:
        terms: the candidates.
        values: shape (runs,).
        given: the runs that have means of their own.
        among: those that may get one.
    """
    count, every = terms.runs, tuple(terms)
    basis = spanned(np.hstack([terms.always, np.eye(count)[:, list(given)]]))
    residual = values - basis @ (basis.T @ values)
    leverage = np.sum(basis**2, axis=1)
    may = np.isin(np.arange(count), among)
    candidates = alike(terms, basis)
    chosen: list[int] = []  # places among the terms, and after them among the runs
    parameters, left = basis.shape[1], float(residual @ residual)
    reached = Steps(terms, (), tuple(given), parameters, left)
    smallest = EXACT * float(np.sum((values - values.mean()) ** 2))
    while left > smallest and len(chosen) < _MOST_TERMS and 2 * (parameters + 1) <= count:
        explained, added = explained_by_each(candidates, residual, len(every))
        open_ = terms.eligible([place for place in chosen if place < len(every)]) & (added > 0)
        squares = np.where(open_, explained / np.maximum(added, 1), 0.0)
        free = may & (1.0 - leverage > NOTHING)
        squares = np.concatenate([squares, np.where(free, residual**2 / np.where(free, 1.0 - leverage, 1.0), 0.0)])
        place = int(np.argmax(squares))
        if squares[place] <= 0.0:
            break
        run = place - len(every)
        new = added_basis(terms.columns[every[place]] if run < 0 else np.eye(count)[:, [run]], basis)
        chosen.append(place)
        basis = np.hstack([basis, new])
        residual = residual - new @ (new.T @ residual)
        leverage = leverage + np.sum(new**2, axis=1)
        for group in candidates:
            group.remove(new)
        parameters, before, left = basis.shape[1], left, float(residual @ residual)
        df, spare = new.shape[1], count - parameters
        if spare < _LEAST_LEFT:
            break
        ratio = (before - left) / df / (max(left, smallest) / spare)
        if float(f_above(np.array([ratio]), df, spare)[0]) * (len(every) + may.sum() - len(chosen) + 1) <= LEVEL:
            kept = tuple(every[place] for place in chosen if place < len(every))
            runs = (*given, *(place - len(every) for place in chosen if place >= len(every)))
            reached = Steps(terms, kept, runs, parameters, left)
    return reached


def significant_model(terms: ModelTerms, values: FloatArray) -> Steps:
    """Select terms by significant steps, with interactions of three options.

    An interaction of three is a candidate once that of two of them is chosen.

    Args:
        terms: the candidates.
        values: shape (runs,).
    """
    while True:
        found = significant_steps(terms, values)
        wider = terms.with_third_order(found.terms)
        if wider is terms:
            return found
        terms = wider


_PAIRS = 25
_SAME = 1e-9
_LEAST = 2
"""The smallest number of runs in a half, so that anything varies within it."""


def stability(terms: ModelTerms, values: FloatArray, most: int, rng: np.random.Generator) -> Mapping[Term, float]:
    """The fraction of random halves of the runs in which each term is among the first that a Lasso selects.

    Counted over 25 pairs of complementary halves (Meinshausen and Buhlmann 2010, Journal of the Royal Statistical
    Society B 72, 417-473; Shah and Samworth 2013, B 75, 55-80). Columns are centred and scaled in each half; a term is
    selected when one of its columns is. Halves of less than two runs select none.

    Args:
        terms: the candidates.
        values: shape (runs,).
        most: the number of columns that are selected from each half.
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
    """The first columns to enter the Lasso's path, in order, at most ``most``.

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
    """The step at which an outside column is as correlated as the active ones; the whole step where none is."""
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
