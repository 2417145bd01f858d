"""The least-squares fit of a screening's model, and the contrasts that are told of it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import product

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.design import setting_contrasts
from hati.stats import Index, ModelTerms, Term, f_quantile
from hati.stats.projection import added_basis, spanned

_TINY = 1e-9
_SAME = 1e-6
_CONFIDENCE = 0.95


class Contrast(Struct, frozen=True):
    """A difference of means that a fit tells: ``estimate``, its standard error, the half-width of its interval.

    The latter two are None where nothing tells of the noise, or the runs do not tell the difference.
    """

    estimate: float
    standard_error: float | None
    margin: float | None


class ModelFit(Struct, frozen=True, eq=False, dict=True):
    """Values fitted by the columns of ``terms``, options having ``sizes`` settings.

    ``coefficients`` holds each term's, ``places`` their columns, ``inverse`` is (X'X)^-1, ``variance`` the residual one
    with ``df`` degrees of freedom, None where there are none.
    """

    sizes: Sequence[int]
    columns: FloatArray
    places: dict[Term, slice]
    values: FloatArray

    @classmethod
    def of(cls, terms: ModelTerms, chosen: Sequence[Term], sizes: Sequence[int], values: FloatArray) -> ModelFit:
        """Fit the chosen terms."""
        places, start = dict[Term, slice](), terms.always.shape[1]
        for term in chosen:
            places[term] = slice(start, start + terms.columns[term].shape[1])
            start = places[term].stop
        return cls(sizes, np.hstack([terms.always, *(terms.columns[t] for t in chosen)]), places, values)

    @property
    def always(self) -> FloatArray:
        """The columns that no term owns: the means of blocks, and a trend."""
        return self.columns[:, : min((place.start for place in self.places.values()), default=self.columns.shape[1])]

    @cached_property
    def inverse(self) -> FloatArray:
        """Of the normal equations; the smallest one where columns depend on each other."""
        return np.asarray(np.linalg.pinv(self.columns.T @ self.columns, rcond=_TINY, hermitian=True))

    @cached_property
    def estimable(self) -> FloatArray:
        """The projection onto the combinations of coefficients that the values tell."""
        return np.asarray(self.inverse @ (self.columns.T @ self.columns))

    @cached_property
    def coefficients(self) -> FloatArray:
        """Least squares."""
        return np.asarray(self.inverse @ (self.columns.T @ self.values))

    @cached_property
    def residuals(self) -> FloatArray:
        """What the model leaves of the values."""
        return self.values - self.columns @ self.coefficients

    @cached_property
    def df(self) -> int:
        """Degrees of freedom of the residuals."""
        return len(self.values) - int(np.linalg.matrix_rank(self.columns, tol=_TINY * len(self.values)))

    @cached_property
    def variance(self) -> float | None:
        """Of a run about the model."""
        return float(self.residuals @ self.residuals) / self.df if self.df > 0 else None

    @property
    def parameters(self) -> int:
        """How many the values tell."""
        return len(self.values) - self.df

    @property
    def r_squared(self) -> float:
        """The share of the runs' variance that the model explains."""
        total = float(np.sum((self.values - self.values.mean()) ** 2))
        return 1.0 - float(self.residuals @ self.residuals) / total if total > 0.0 else 0.0

    def effect(self, term: Term) -> Contrast:
        """A term's effect.

        Of options with two settings: the second's mean less the first's, and for a pair half the difference of such
        effects. Of others: the highest of the settings' (or combinations') means less the lowest, with an interval that
        allows for their having been chosen (Scheffe 1953). Where the runs do not tell such a difference, twice the root
        mean square of what the term explains beside the others: its size, without a sign and an interval.
        """
        rows, fit, there = self._rows(term), self._telling(term), self.told(term)
        if len(there) < 2:
            return Contrast(fit._spread(term), None, None)
        if len(rows) == 2 ** len(term):
            return fit._combination(fit._of(term, np.array([2.0])), 1)
        means = rows[there] @ fit.coefficients[fit.places[term]]
        weights = rows[there[int(np.argmax(means))]] - rows[there[int(np.argmin(means))]]
        return fit._combination(fit._of(term, weights), min(rows.shape[1], len(there) - 1))

    def told(self, term: Term) -> Index:
        """The most settings whose differences the runs tell, by their positions; one is next to none.

        Settings that were never run, and options that constraints tie together, leave out others. Of an interaction all
        combinations or one: a difference of some says little of it.
        """
        rows, fit = self._rows(term), self._telling(term)
        place = fit.places[term]
        hidden = rows @ (np.eye(len(fit.estimable)) - fit.estimable)[place]  # the same for settings told apart
        _, kinds, counts = np.unique(np.round(hidden / _SAME) + 0.0, axis=0, return_inverse=True, return_counts=True)
        kinds = kinds.reshape(-1)
        found = np.flatnonzero(kinds == kinds[int(np.argmax(counts[kinds]))])
        return found if len(term) == 1 or len(found) == len(rows) else found[:1]

    def settings(self, option: int) -> dict[int, Contrast]:
        """The mean at each setting of an option less that over all settings, of those that the runs tell apart."""
        term = (option,)
        fit, there = self._telling(term), self.told(term)
        rows = self._rows(term)[there]
        centred = rows - rows.mean(axis=0)
        return {int(i): fit._combination(fit._of(term, row), 1) for i, row in zip(there, centred, strict=True)}

    def means(self, option: int) -> dict[int, Contrast]:
        """The mean at each setting of an option, the other options' settings being equally frequent, likewise.

        Without an interval where the runs do not tell it: the mean of all runs and the setting's difference then.
        """
        term = (option,)
        fit = self._telling(term)
        found = dict[int, Contrast]()
        for setting, difference in self.settings(option).items():
            told = fit._mean + fit._of(term, self._rows(term)[setting])
            rough = Contrast(float(self.values.mean()) + difference.estimate, None, None)
            found[setting] = fit._combination(told, 1) if fit._tells(told) else rough
        return found

    def determines(self, term: Term) -> bool:
        """Whether the values determine all coefficients of a term."""
        place = self.places[term]
        return np.allclose(self.estimable[:, place], np.eye(len(self.estimable))[:, place], atol=_SAME)

    def difference(self, weights: Mapping[Term, FloatArray], dimensions: int = 1) -> Contrast:
        """The sum of coefficients that count these ``weights`` of their terms.

        Its interval allows for the difference having been chosen among all of so many dimensions (Scheffe 1953).
        """
        counted = sum((self._of(term, own) for term, own in weights.items()), np.zeros(self.columns.shape[1]))
        return self._combination(counted, dimensions)

    def _spread(self, term: Term) -> float:
        """Twice the root mean square of what a term explains beside the others."""
        own = np.zeros(self.columns.shape[1], dtype=np.bool_)
        own[self.places[term]] = True
        added = added_basis(self.columns[:, own], spanned(self.columns[:, ~own]))
        return 2.0 * float(np.linalg.norm(added.T @ self.values)) / math.sqrt(len(self.values))

    def _telling(self, term: Term) -> ModelFit:
        """The fit to tell a term from: without interactions that contain it, where combinations these need are missing.

        Its effect is an average over these combinations, which nothing determines.
        """
        kept = [other for other in self.places if not set(term) < set(other)]
        if self.determines(term) or len(kept) == len(self.places):
            return self
        columns = {other: self.columns[:, self.places[other]] for other in kept}
        return ModelFit.of(ModelTerms(self.always, columns), kept, self.sizes, self.values)

    def _rows(self, term: Term) -> FloatArray:
        """The columns of every combination of the settings of a term's options."""
        coded = [setting_contrasts(self.sizes[option]) for option in term]
        return np.array(
            [_outer([c[i] for c, i in zip(coded, cell, strict=True)]) for cell in product(*map(_range, coded))]
        )

    def _of(self, term: Term, weights: FloatArray) -> FloatArray:
        """What a term's coefficients count."""
        told = np.zeros(self.columns.shape[1])
        told[self.places[term]] = weights
        return told

    @property
    def _mean(self) -> FloatArray:
        """What coefficients count in the mean of the runs, all terms' columns being zero."""
        told = np.zeros(self.columns.shape[1])
        always = self.always
        told[: always.shape[1]] = always.mean(axis=0)
        return told

    def _tells(self, told: FloatArray) -> bool:
        return np.allclose(self.estimable @ told, told, atol=_SAME)

    def _combination(self, told: FloatArray, dimensions: int) -> Contrast:
        estimate = float(told @ self.coefficients)
        if self.variance is None:
            return Contrast(estimate, None, None)
        error = float(np.sqrt(self.variance * max(0.0, float(told @ self.inverse @ told))))
        factor = float(np.sqrt(dimensions * f_quantile(_CONFIDENCE, dimensions, self.df)))
        return Contrast(estimate, error, factor * error)


def _outer(parts: Sequence[FloatArray]) -> FloatArray:
    found = parts[0]
    for part in parts[1:]:
        found = np.outer(found, part).ravel()
    return found


def _range(coded: FloatArray) -> range:
    return range(len(coded))
