"""Runs that are far from what the others say of them: outliers in a designed experiment."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.stats.effects.forward import EXACT, LEVEL, Steps, significant_steps
from hati.stats.effects.least_squares import Index
from hati.stats.effects.model_terms import ModelTerms
from hati.stats.inference.distributions import f_above

_PART = 0.08
FEWEST_SUSPECTED, _MOST_RUNS = 12, 512
"""The smallest and the largest study that is looked at: of fewer runs nothing is left to compare one with, of more one
says little."""
_MOST_SUSPECT = 12
_LEAST_LEFT = 3


class Suspects(Struct, frozen=True, eq=False):
    """The ``places`` of suspect runs, the most suspect first, and by how much each is off: its ``shifts``."""

    places: Index
    shifts: FloatArray

    def without(self, values: FloatArray) -> FloatArray:
        """The values less the shifts: those of suspect runs are as the others predict them."""
        made = values.copy()
        made[self.places] -= self.shifts
        return made


NO_SUSPECTS = Suspects(np.empty(0, dtype=np.intp), np.empty(0))


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
    proposed = significant_steps(terms, values, among=range(count)).runs[:most]
    fits = [significant_steps(terms, values, proposed[:number]) for number in range(len(proposed) + 1)]
    best = min(fits, key=lambda fit: fit.extended_bayes(EXACT * total, others=count))
    return _significant(terms, values, best, EXACT * total)


def _significant(terms: ModelTerms, values: FloatArray, fit: Steps, smallest: float) -> Suspects:
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
