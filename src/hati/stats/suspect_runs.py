"""Runs that are far from what the others say of them: outliers in a designed experiment."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hati.core import FloatArray
from hati.stats.contrasts import Term
from hati.stats.distributions import f_above
from hati.stats.forward import alike, explained_by_each
from hati.stats.least_squares import Index
from hati.stats.model_terms import ModelTerms
from hati.stats.projection import NOTHING, added_basis, spanned

LEVEL = 0.01
"""The probability, over all runs of a study together, of suspecting one of them."""
_PART = 0.08
FEWEST_SUSPECTED, _MOST_RUNS = 12, 512
"""The smallest and the largest study that is looked at: of fewer runs nothing is left to compare one with, of more one
says little."""
_MOST_SUSPECT = 12
_MOST_TERMS = 40
_LEAST_LEFT = 3
_EXACT = 1e-12


@dataclass(frozen=True, eq=False)
class Suspects:
    """The ``places`` of suspect runs, the most suspect first, and by how much each is off: its ``shifts``."""

    places: Index
    shifts: FloatArray

    def without(self, values: FloatArray) -> FloatArray:
        """The values less the shifts: those of suspect runs are as the others predict them."""
        made = values.copy()
        made[self.places] -= self.shifts
        return made


NO_SUSPECTS = Suspects(np.empty(0, dtype=np.intp), np.empty(0))


@dataclass(frozen=True, eq=False)
class _Fit:
    """A model of ``terms`` and ``runs`` of their own, in the order of choice, and what it leaves."""

    terms: tuple[Term, ...]
    runs: tuple[int, ...]
    left: float
    parameters: int


def most_suspect(runs: int) -> int:
    """How many of a study's runs may be suspect, one at least: more would be what the model lacks."""
    return max(1, int(_PART * runs))


def suspect_runs(terms: ModelTerms, values: FloatArray) -> Suspects:
    """The runs that a model with few terms fits only if they have means of their own.

    The mean-shift model of outliers (She and Owen 2011, JASA 106, 626-639): every run may have a parameter of its own,
    and both kinds of parameters are rare. One outlier shifts all contrasts of a design alike, so that one parameter
    explains what takes many terms without it (Daniel 1959; Box and Meyer 1987).

    A forward selection among terms, under weak heredity, and runs proposes runs. It is not stopped by a step that does
    not pay, but taken back to its last significant one: effects of one size hide each other. Then with the first of
    these runs, the first two, and so on, the terms are selected anew, and the extended Bayesian criterion (Chen and
    Chen 2008, Biometrika 95, 759-771) says how many runs there are. Suspect are those whose shifts are significant.

    Args:
        terms: the candidates.
        values: shape (runs,), on the deciding scale.
    """
    count = terms.runs
    total = float(np.sum((values - values.mean()) ** 2))
    if not FEWEST_SUSPECTED <= count <= _MOST_RUNS or total <= 0.0:
        return NO_SUSPECTS
    most = min(_MOST_SUSPECT, most_suspect(count))
    proposed = _forward(terms, values, (), own=True).runs[:most]
    fits = [_forward(terms, values, proposed[:number], own=False) for number in range(len(proposed) + 1)]
    best = min(fits, key=lambda fit: _criterion(fit, count, len(terms.columns), _EXACT * total))
    return _significant(terms, values, best, _EXACT * total)


def _forward(terms: ModelTerms, values: FloatArray, given: Sequence[int], *, own: bool) -> _Fit:
    """Forward selection up to its last significant step; ``own``: among runs too, beside those that are given."""
    count, every = terms.runs, tuple(terms)
    basis = spanned(np.hstack([terms.always, np.eye(count)[:, list(given)]]))
    residual = values - basis @ (basis.T @ values)
    leverage = np.sum(basis**2, axis=1)
    candidates = alike(terms, basis)
    chosen: list[int] = []  # places among the terms, and after them among the runs
    parameters, left = basis.shape[1], float(residual @ residual)
    reached = _Fit((), tuple(given), left, parameters)
    smallest = _EXACT * float(np.sum((values - values.mean()) ** 2))
    while left > smallest and len(chosen) < _MOST_TERMS and 2 * (parameters + 1) <= count:
        explained, added = explained_by_each(candidates, residual, len(every))
        open_ = terms.eligible([place for place in chosen if place < len(every)]) & (added > 0)
        squares = np.where(open_, explained / np.maximum(added, 1), 0.0)
        free = 1.0 - leverage > NOTHING if own else np.zeros(count, dtype=np.bool_)
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
        if float(f_above(np.array([ratio]), df, spare)[0]) * (len(squares) - len(chosen) + 1) <= LEVEL:
            kept = tuple(every[place] for place in chosen if place < len(every))
            runs = (*given, *(place - len(every) for place in chosen if place >= len(every)))
            reached = _Fit(kept, runs, left, parameters)
    return reached


def _criterion(fit: _Fit, count: int, terms: int, smallest: float) -> float:
    """The extended Bayesian criterion up to a constant: models are as likely as their size, whatever is in them."""
    candidates, size = terms + count, len(fit.terms) + len(fit.runs)
    models = math.lgamma(candidates + 1) - math.lgamma(size + 1) - math.lgamma(candidates - size + 1)
    return count * math.log(max(fit.left, smallest) / count) + fit.parameters * math.log(count) + 2.0 * models


def _significant(terms: ModelTerms, values: FloatArray, fit: _Fit, smallest: float) -> Suspects:
    """The runs whose own means are significant beside each other, by Bonferroni over all runs."""
    count, runs = terms.runs, list(fit.runs)
    columns = [terms.always, *(terms.columns[term] for term in fit.terms)]
    while runs:
        matrix = np.hstack([*columns, np.eye(count)[:, runs]])
        inverse = np.linalg.pinv(matrix)
        coefficients = inverse @ values
        residual = values - matrix @ coefficients
        spare = count - int(np.linalg.matrix_rank(matrix))
        if spare < _LEAST_LEFT:
            break
        own = slice(-len(runs), None)
        variance = max(float(residual @ residual), smallest) / spare
        squares = coefficients[own] ** 2 / (variance * np.sum(inverse[own] ** 2, axis=1))
        p_values = count * f_above(squares, 1, spare)
        worst = int(np.argmin(squares))
        if p_values[worst] <= LEVEL:
            order = np.argsort(-squares, kind="stable")
            return Suspects(np.array(runs, dtype=np.intp)[order], np.asarray(coefficients[own][order]))
        del runs[worst]
    return NO_SUSPECTS
