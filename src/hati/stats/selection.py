"""Selection of a model's terms: forward, up to the last significant step, and by the stability of a Lasso."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray
from hati.stats.distributions import f_above
from hati.stats.terms import LEAST_LEFT, Alike, ModelTerms, Term, added_basis, alike, spanned

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
    model = _Growing.of(terms.alike, terms.basis(()), values)
    smallest = 1e-12 * float(np.sum((values - values.mean()) ** 2))
    if model.left <= smallest:
        return ()
    every, open_ = tuple(terms), terms.mains.copy()
    chosen: list[Term] = []
    best = _criterion(model.left, terms.runs, model.parameters)
    while model.left > smallest and every:
        explained, added = model.explained(open_)
        sizes = model.parameters + added
        possible = (added > 0) & (sizes <= _MOST * terms.runs)
        criteria = _criteria(np.maximum(model.left - explained, smallest), terms.runs, sizes)
        criteria = np.where(possible, criteria, math.inf)
        place = int(np.argmin(criteria))
        if not criteria[place] < best:
            break
        place = _first_alike(place, explained, added)
        best = float(criteria[place])
        chosen.append(every[place])
        model.add(terms.columns[every[place]])
        open_ |= terms.children[place]
    return tuple(chosen)


_SAME = 1e-9
"""The relative difference of sums of squares below which it is rounding."""


def _first_alike(place: int, explained: FloatArray, added: NDArray[np.intp]) -> int:
    """The first term that explains as much as that one, by as many parameters: aliases differ by rounding alone."""
    return int(np.argmax((added == added[place]) & (explained >= (1.0 - _SAME) * explained[place])))


_REST = 1e-12
"""The part of a column's square below which what a model leaves of it is rounding."""


@dataclass
class _Growing:
    """A model that grows by a term at a time, and what each candidate term would explain in addition to it.

    ``basis`` is an orthonormal basis of the model, ``residual`` are its residuals. ``rests`` holds, for each group of
    the ``candidates``, the products of what the model leaves of each term's columns.
    """

    candidates: Sequence[Alike]
    basis: FloatArray
    residual: FloatArray
    rests: list[FloatArray]

    @classmethod
    def of(cls, candidates: Sequence[Alike], basis: FloatArray, values: FloatArray) -> _Growing:
        """The model with this basis."""
        model = cls(candidates, basis[:, :0], values, [group.products.copy() for group in candidates])
        model._extend(basis)
        return model

    @property
    def parameters(self) -> int:
        """The number of parameters."""
        return int(self.basis.shape[1])

    @property
    def left(self) -> float:
        """The residual sum of squares."""
        return float(self.residual @ self.residual)

    def explained(self, open_: NDArray[np.bool_]) -> tuple[FloatArray, NDArray[np.intp]]:
        """The sum of squares that each open term explains in addition, and the number of parameters that it adds.

        By principal axes of what the model leaves of a term's columns; axes of next to no length are rounding, as they
        are of the model's own terms. Both are 0 for terms that are not open.
        """
        explained, added = np.zeros(len(open_)), np.zeros(len(open_), dtype=np.intp)
        for group, rest in zip(self.candidates, self.rests, strict=True):
            own, along = open_[group.places], group.columns @ self.residual
            if rest.shape[1] == 1:
                lengths = rest[:, 0, 0]
                there = own & (lengths > _REST * group.sizes)
                added[group.places] = there
                explained[group.places] = along**2 / np.where(there, lengths, math.inf)
                continue
            lengths, axes = np.linalg.eigh(rest[own])
            along = (along.reshape(len(own), 1, -1)[own] @ axes)[:, 0]
            there = lengths > _REST * group.sizes[own, None]
            explained[group.places[own]] = np.sum(along**2 / np.where(there, lengths, math.inf), axis=1)
            added[group.places[own]] = np.count_nonzero(there, axis=1)
        return explained, added

    def add(self, columns: FloatArray) -> None:
        """Add a term with these columns."""
        self._extend(added_basis(columns, self.basis))

    def _extend(self, new: FloatArray) -> None:
        self.basis = np.concatenate([self.basis, new], axis=1)
        self.residual = self.residual - new @ (new.T @ self.residual)
        for group, rest in zip(self.candidates, self.rests, strict=True):
            inside = group.columns @ new
            if rest.shape[1] == 1:
                rest[:, 0, 0] -= np.einsum("ij,ij->i", inside, inside)
                continue
            inside = inside.reshape(*rest.shape[:2], -1)
            np.subtract(rest, inside @ inside.transpose(0, 2, 1), out=rest)


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
    count, every, units = terms.runs, tuple(terms), np.eye(terms.runs)
    columns = [*terms.columns.values(), *(units[:, [run]] for run in among)]
    model = _Growing.of(
        [*terms.alike, *alike(columns[len(every) :], len(every))],
        spanned(np.hstack([terms.always, units[:, list(given)]])),
        values,
    )
    open_ = np.concatenate([terms.mains, np.ones(len(among), dtype=np.bool_)])
    smallest = EXACT * float(np.sum((values - values.mean()) ** 2))
    steps = [_Step(-1, model.parameters, model.left)]
    while model.left > smallest and len(steps) <= _MOST_TERMS and 2 * (model.parameters + 1) <= count:
        explained, added = model.explained(open_)
        squares = explained / np.maximum(added, 1)
        place = int(np.argmax(squares))
        if squares[place] <= 0.0:
            break
        place = _first_alike(place, explained, added)
        model.add(columns[place])
        if place < len(every):
            open_[: len(every)] |= terms.children[place]
        if count - model.parameters < LEAST_LEFT:
            break
        steps.append(_Step(place, model.parameters, model.left))
    last = _last_significant(steps, count, len(columns), smallest)
    chosen = [step.place for step in steps[1 : last + 1]]
    runs = (among[place - len(every)] for place in chosen if place >= len(every))
    kept = tuple(every[place] for place in chosen if place < len(every))
    return Steps(terms, kept, (*given, *runs), steps[last].parameters, steps[last].left)


class _Step(NamedTuple):
    """The place of a candidate that was added, and the model with it."""

    place: int
    parameters: int
    left: float


def _last_significant(steps: Sequence[_Step], count: int, candidates: int, smallest: float) -> int:
    """The position of the last significant step, by F; 0 is the start."""
    _, parameters, left = np.array(steps, dtype=np.float64).T
    df, spare = np.diff(parameters), count - parameters[1:]
    ratios = -np.diff(left) / df / (np.maximum(left[1:], smallest) / spare)
    p_values = f_above(ratios, df, spare) * (candidates - np.arange(len(ratios)))
    return 1 + int(np.flatnonzero(p_values <= LEVEL)[-1]) if np.any(p_values <= LEVEL) else 0


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
