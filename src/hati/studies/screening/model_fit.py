"""The least-squares fit of a screening's model, and the contrasts that are told of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np

from hati.core import FloatArray
from hati.design import setting_contrasts
from hati.stats import ModelTerms, Term, f_quantile

_TINY = 1e-9
_SAME = 1e-6
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Contrast:
    """A difference of means that a fit tells: ``estimate``, its standard error, the half-width of its interval.

    The latter two are None where nothing tells of the noise, or the runs do not tell the difference.
    """

    estimate: float
    standard_error: float | None
    margin: float | None


@dataclass(frozen=True, eq=False)
class ModelFit:
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
    def r_squared(self) -> float:
        """The share of the runs' variance that the model explains."""
        total = float(np.sum((self.values - self.values.mean()) ** 2))
        return 1.0 - float(self.residuals @ self.residuals) / total if total > 0.0 else 0.0

    def effect(self, term: Term) -> Contrast:
        """A term's effect.

        Of options with two settings: the second's mean less the first's, and for a pair half the difference of such
        effects. Of others: the highest of the settings' (or combinations') means less the lowest, with an interval that
        allows for their having been chosen (Scheffe 1953).
        """
        rows, fit = self._rows(term), self._telling(term)
        means = rows @ fit.coefficients[fit.places[term]]
        if len(means) == 2 ** len(term):
            size = 2.0
            return fit._contrast(term, np.array([size]), 1)
        high, low = int(np.argmax(means)), int(np.argmin(means))
        return fit._contrast(term, rows[high] - rows[low], rows.shape[1])

    def settings(self, option: int) -> tuple[Contrast, ...]:
        """Each setting's mean less the mean over all settings of the option."""
        term = (option,)
        fit = self._telling(term)
        return tuple(fit._contrast(term, row, 1) for row in self._rows(term))

    def means(self, option: int) -> tuple[Contrast, ...]:
        """The mean at each setting of an option, the other options' settings being equally frequent."""
        fit = self._telling((option,))
        return tuple(fit._combination(fit._mean + fit._of((option,), row), 1) for row in self._rows((option,)))

    def _telling(self, term: Term) -> ModelFit:
        """The fit to tell a term from: without interactions that contain it, where combinations these need are missing.

        Its effect is an average over these combinations, which nothing determines.
        """
        place = self.places[term]
        told = np.allclose(self.estimable[:, place], np.eye(len(self.estimable))[:, place], atol=_SAME)
        kept = [other for other in self.places if not set(term) < set(other)]
        if told or len(kept) == len(self.places):
            return self
        always = self.columns[:, : min(place.start for place in self.places.values())]
        columns = {other: self.columns[:, self.places[other]] for other in kept}
        return ModelFit.of(ModelTerms(always, columns), kept, self.sizes, self.values)

    def _rows(self, term: Term) -> FloatArray:
        """The columns of every combination of the settings of a term's options."""
        coded = [setting_contrasts(self.sizes[option]) for option in term]
        return np.array(
            [_outer([c[i] for c, i in zip(coded, cell, strict=True)]) for cell in product(*map(_range, coded))]
        )

    def _contrast(self, term: Term, weights: FloatArray, dimensions: int) -> Contrast:
        return self._combination(self._of(term, weights), dimensions)

    def _of(self, term: Term, weights: FloatArray) -> FloatArray:
        """What a term's coefficients count."""
        told = np.zeros(self.columns.shape[1])
        told[self.places[term]] = weights
        return told

    @property
    def _mean(self) -> FloatArray:
        """What coefficients count in the mean of the blocks, all terms' columns being zero."""
        told = np.zeros(self.columns.shape[1])
        blocks = min((place.start for place in self.places.values()), default=len(told))
        told[:blocks] = 1.0 / blocks
        return told

    def _combination(self, told: FloatArray, dimensions: int) -> Contrast:
        estimate = float(told @ self.coefficients)
        if self.variance is None or not np.allclose(self.estimable @ told, told, atol=_SAME):
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
