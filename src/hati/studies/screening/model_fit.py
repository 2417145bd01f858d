"""A least-squares fit of runs by effects, and the mean changes over the valid configurations that it estimates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import combinations, permutations, product

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.design import setting_contrasts
from hati.stats import Index, ModelTerms, Term, f_quantile
from hati.stats.terms import added_basis, spanned
from hati.studies.screening.changes import BaseMean, EffectContrast
from hati.studies.screening.population import ANYWHERE, Cell, ValidPopulation

_TINY = 1e-9
_SAME = 1e-6
_CONFIDENCE = 0.95


class OptionChange(Struct, frozen=True, eq=False):
    """A mean change of an option from ``before`` to ``after``, settings by position.

    ``weights`` are those of the coefficients of the fit that estimates it, ``contrast`` is the estimate, with an
    interval that allows for the choice of the settings (Scheffe 1953).
    """

    before: int
    after: int
    weights: FloatArray
    contrast: EffectContrast


class ModelFit(Struct, frozen=True, eq=False, dict=True):
    """A least-squares fit of ``values`` by ``columns``; means are taken over the configurations of a ``population``.

    ``places`` holds the columns of each term. ``inverse`` is (X'X)^-1, and ``variance`` the residual variance with
    ``df`` degrees of freedom, None without any.
    """

    population: ValidPopulation
    columns: FloatArray
    places: dict[Term, slice]
    values: FloatArray

    @classmethod
    def of(
        cls,
        terms: ModelTerms,
        chosen: Sequence[Term],
        population: ValidPopulation,
        values: FloatArray,
    ) -> ModelFit:
        """Fit the chosen terms."""
        places, start = dict[Term, slice](), terms.always.shape[1]
        for term in chosen:
            places[term] = slice(start, start + terms.columns[term].shape[1])
            start = places[term].stop
        columns = np.hstack([terms.always, *(terms.columns[term] for term in chosen)])
        return cls(population, columns, places, values)

    @property
    def always(self) -> FloatArray:
        """The columns that no term owns: the effects of blocks, and a trend."""
        return self.columns[:, : min((place.start for place in self.places.values()), default=self.columns.shape[1])]

    @cached_property
    def inverse(self) -> FloatArray:
        """The inverse of X'X; its pseudo-inverse if columns are linearly dependent."""
        return np.asarray(np.linalg.pinv(self.columns.T @ self.columns, rcond=_TINY, hermitian=True))

    @cached_property
    def estimable(self) -> FloatArray:
        """The projection onto the combinations of coefficients that the values determine."""
        return np.asarray(self.inverse @ (self.columns.T @ self.columns))

    @cached_property
    def coefficients(self) -> FloatArray:
        """The least-squares coefficients."""
        return np.asarray(self.inverse @ (self.columns.T @ self.values))

    @cached_property
    def residuals(self) -> FloatArray:
        """The residuals of the values."""
        return self.values - self.columns @ self.coefficients

    @cached_property
    def df(self) -> int:
        """Degrees of freedom of the residuals."""
        return len(self.values) - int(np.linalg.matrix_rank(self.columns, tol=_TINY * len(self.values)))

    @cached_property
    def variance(self) -> float | None:
        """The residual variance of a run; None without degrees of freedom."""
        return float(self.residuals @ self.residuals) / self.df if self.df > 0 else None

    @property
    def parameters(self) -> int:
        """The number of coefficients that the values determine."""
        return len(self.values) - self.df

    @property
    def r_squared(self) -> float:
        """The share of the runs' variance that the model explains."""
        total = float(np.sum((self.values - self.values.mean()) ** 2))
        return 1.0 - float(self.residuals @ self.residuals) / total if total > 0.0 else 0.0

    def effect(self, term: Term) -> EffectContrast:
        """A term's effect.

        Of an option it is the largest ``change`` between two settings. Of an interaction it is how far the means of the
        combinations of settings are from what fewer of the options explain: the highest of these deviations less the
        lowest, over the valid configurations that are valid with all combinations. For two options with two settings it
        is half the difference of one's effects at the settings of the other. If the runs do not determine these means,
        the deviations are those of the coded columns. If they do not determine those either, it is twice the root mean
        square of what the term explains given the others: a size without a sign or an interval.

        The base of an option's effect is the mean before the change, over the same configurations. Of an interaction it
        is the mean that is subtracted, and of one of options with more settings the mean over all their settings, since
        such an effect is not a difference of means that have a lower bound.
        """
        fit = self._fit_for(term)
        combined = fit._combined(term) if len(term) > 1 else None
        if combined is None and len(self.determined(term)) < 2:
            return EffectContrast(fit._spread(term), None, None, BaseMean(float(self.values.mean())))
        if len(term) > 1:
            return fit._interaction(term, *(combined or fit._coded(term)))
        change = self.change(term[0])
        assert change is not None
        return change.contrast

    def change(self, option: int, at: Cell = ANYWHERE) -> OptionChange | None:
        """The mean change of an option at those settings of others; None if the runs determine no change.

        It is over the valid configurations with the settings ``at`` that are valid with both settings of the option:
        from the first to the second, or, of more settings, between the two that differ the most. In all configurations
        it may be the change by the option's own columns, where settings of other options count equally, if the runs do
        not determine the mean change.
        """
        fit = self if at else self._fit_for((option,))
        there = range(self.population.sizes[option]) if at else map(int, self.determined((option,)))
        every = {pair: fit._between(option, *pair, at) for pair in permutations(there, 2)}
        found = {pair: own for pair, own in every.items() if own is not None}
        if not found:
            return None
        low, high = next(iter(found))
        if self.population.sizes[option] > 2:
            low, high = max(found, key=lambda pair: float(found[pair][0] @ fit.coefficients))
        dimensions = int(np.linalg.matrix_rank([own[0] for pair, own in found.items() if pair[0] == low], tol=_SAME))
        weights, before = found[low, high]
        return OptionChange(low, high, weights, fit._combination(weights, dimensions, before, (option, *at)))

    def combination(self, weights: FloatArray) -> EffectContrast:
        """The estimate of a linear combination of all coefficients."""
        return self._combination(weights, 1)

    def _between(self, option: int, low: int, high: int, at: Cell) -> tuple[FloatArray, FloatArray] | None:
        """The weights of all coefficients in the mean change between two settings and in the mean before it."""
        if (found := self._averaged(option, low, high, at)) is not None:
            return found
        if at:
            return None
        rows = self._rows((option,))
        return self._of((option,), rows[high] - rows[low]), self._mean_at([{option: low}])

    def _averaged(self, option: int, low: int, high: int, at: Cell) -> tuple[FloatArray, FloatArray] | None:
        """The same over the configurations that are valid with both; None if the runs do not determine the change."""
        found = self.population.changes(self.places, option, at).get((low, high))
        if found is None or not self._determines(weights := self._weights(found.difference)):
            return None
        return weights, self._mean + self._weights(found.before)

    def _interaction(self, term: Term, means: FloatArray, deviations: FloatArray) -> EffectContrast:
        rows = self._rows(term)
        sizes = deviations @ self.coefficients
        low, high, base = int(np.argmin(sizes)), int(np.argmax(sizes)), means.mean(axis=0)
        if rows.shape[1] == 1:
            low, high, base = int(np.argmin(rows)), int(np.argmax(rows)), means[rows[:, 0] < 0.0].mean(axis=0)
        dimensions = int(np.linalg.matrix_rank(deviations, tol=_SAME))
        return self._combination(deviations[high] - deviations[low], dimensions, base, term)

    def _combined(self, term: Term) -> tuple[FloatArray, FloatArray] | None:
        """The weights of all coefficients in the mean at each combination of settings, and in its deviation.

        They are over the same configurations. None if none is valid with all combinations, or if the runs do not
        determine the deviations there.
        """
        found = [self._mean + self._weights(each) for each in self.population.combinations(self.places, term)]
        if not found:
            return None
        deviations = np.reshape(found, (*(self.population.sizes[option] for option in term), -1))
        for axis in range(len(term)):
            deviations = deviations - deviations.mean(axis=axis, keepdims=True)
        deviations = deviations.reshape(len(found), -1)
        return (np.array(found), deviations) if self._determines(deviations) else None

    def _coded(self, term: Term) -> tuple[FloatArray, FloatArray]:
        """The same by the term's own columns, where settings of other options count equally."""
        means = [self._mean_at([cell]) for cell in self._cells(term)]
        return np.array(means), np.array([self._of(term, row) for row in self._rows(term)])

    def _averages(self, term: Term) -> bool:
        """Whether the runs determine a term's effect between all settings as a mean over valid configurations."""
        if len(term) > 1:
            return self._combined(term) is not None
        pairs = combinations(range(self.population.sizes[term[0]]), 2)
        return all(self._averaged(term[0], *pair, ANYWHERE) is not None for pair in pairs)

    def determined(self, term: Term) -> Index:
        """The largest set of settings whose differences the runs determine, by position; a single one means none.

        The set is incomplete if settings were never run or constraints tie options together. For an interaction it is
        all combinations or a single one: a difference between some of them says little about it.
        """
        rows, fit = self._rows(term), self._fit_for(term)
        if len(rows) > 1 and fit._averages(term):
            return np.arange(len(rows))
        place = fit.places[term]
        hidden = rows @ (np.eye(len(fit.estimable)) - fit.estimable)[place]  # the same for distinguishable settings
        _, kinds, counts = np.unique(np.round(hidden / _SAME) + 0.0, axis=0, return_inverse=True, return_counts=True)
        kinds = kinds.reshape(-1)
        found = np.flatnonzero(kinds == kinds[int(np.argmax(counts[kinds]))])
        return found if len(term) == 1 or len(found) == len(rows) else found[:1]

    def settings(self, option: int) -> dict[int, EffectContrast]:
        """The mean change to each setting that the runs distinguish, from each of these settings, by position."""
        term = (option,)
        fit, there = self._fit_for(term), self.determined(term).tolist()
        base = fit._mean_at([{option: setting} for setting in there])
        found = dict[int, EffectContrast]()
        for high in there:
            pairs = (fit._between(option, low, high, ANYWHERE) for low in there if low != high)
            total = sum((own[0] for own in pairs if own is not None), np.zeros(fit.columns.shape[1]))
            found[high] = fit._combination(total / len(there), 1, base, term)
        return found

    def means(self, option: int) -> dict[int, EffectContrast]:
        """The mean at each setting that the runs distinguish, over the valid configurations with that setting.

        If the runs do not determine it, the mean of all runs plus the setting's difference, without an interval.
        """
        term = (option,)
        fit = self._fit_for(term)
        found = dict[int, EffectContrast]()
        for setting, difference in self.settings(option).items():
            at_setting = fit._mean_at([{option: setting}])
            rough = EffectContrast(float(self.values.mean()) + difference.estimate, None, None)
            found[setting] = fit._combination(at_setting, 1) if fit._determines(at_setting) else rough
        return found

    def determines(self, term: Term) -> bool:
        """Whether the values determine all coefficients of a term."""
        place = self.places[term]
        return np.allclose(self.estimable[:, place], np.eye(len(self.estimable))[:, place], atol=_SAME)

    def _cells(self, term: Term) -> list[Cell]:
        """Every combination of the settings of a term's options, in the order of the ``_rows``."""
        cells = product(*(range(self.population.sizes[option]) for option in term))
        return [dict(zip(term, cell, strict=True)) for cell in cells]

    def _mean_at(self, cells: Sequence[Cell]) -> FloatArray:
        """The weights of all coefficients in the mean at those settings; each cell is as frequent as the others."""
        means = [self._weights(self.population.means(self.places, cell)) for cell in cells]
        return np.asarray(self._mean + np.mean(means, axis=0))

    def _spread(self, term: Term) -> float:
        """Twice the root mean square of what a term explains given the others."""
        own = np.zeros(self.columns.shape[1], dtype=np.bool_)
        own[self.places[term]] = True
        added = added_basis(self.columns[:, own], spanned(self.columns[:, ~own]))
        return 2.0 * float(np.linalg.norm(added.T @ self.values)) / math.sqrt(len(self.values))

    def _fit_for(self, term: Term) -> ModelFit:
        """The fit that estimates a term: without interactions that contain it, if combinations of theirs are missing.

        The term's effect is an average over these combinations, which the runs do not determine.
        """
        kept = [other for other in self.places if not set(term) < set(other)]
        if len(kept) == len(self.places) or self.determines(term) or self._averages(term):
            return self
        columns = {other: self.columns[:, self.places[other]] for other in kept}
        return ModelFit.of(ModelTerms(self.always, columns), kept, self.population, self.values)

    def _rows(self, term: Term) -> FloatArray:
        """The columns of every combination of the settings of a term's options."""
        coded = [setting_contrasts(self.population.sizes[option]) for option in term]
        return np.array(
            [_outer([c[i] for c, i in zip(coded, cell, strict=True)]) for cell in product(*map(_range, coded))]
        )

    def _of(self, term: Term, weights: FloatArray) -> FloatArray:
        """The weights of all coefficients in a combination of one term's coefficients."""
        return self._weights({term: weights})

    def _weights(self, weights: Mapping[Term, FloatArray]) -> FloatArray:
        """The weights of all coefficients, from those of the terms."""
        combination = np.zeros(self.columns.shape[1])
        for term, own in weights.items():
            combination[self.places[term]] = own
        return combination

    @property
    def grand_mean(self) -> float:
        """The value where all terms' columns are zero; in a space without constraints, the mean over all settings."""
        return float(self._mean @ self.coefficients)

    @property
    def _mean(self) -> FloatArray:
        """The weights of all coefficients in the mean of the runs, all terms' columns being zero."""
        combination = np.zeros(self.columns.shape[1])
        always = self.always
        combination[: always.shape[1]] = always.mean(axis=0)
        return combination

    def _determines(self, combinations: FloatArray) -> bool:
        """Whether the values determine combinations of coefficients, of shape (..., coefficients)."""
        return np.allclose(combinations @ self.estimable.T, combinations, atol=_SAME)

    def _combination(
        self, combination: FloatArray, dimensions: int, before: FloatArray | None = None, options: Term = ()
    ) -> EffectContrast:
        estimate = float(combination @ self.coefficients)
        first = None if before is None else self._base(before, combination, options)
        if self.variance is None:
            return EffectContrast(estimate, None, None, first)
        error = float(np.sqrt(self.variance * max(0.0, float(combination @ self.inverse @ combination))))
        factor = float(np.sqrt(dimensions * f_quantile(_CONFIDENCE, dimensions, self.df)))
        return EffectContrast(estimate, error, factor * error, first)

    def _base(self, at: FloatArray, combination: FloatArray, options: Term) -> BaseMean:
        """The mean from which a combination of coefficients is, by the weights ``at`` of all coefficients.

        It is over the runs, except for the settings of those ``options``, if the runs do not determine it.
        """
        own = at - self._mean
        there = np.flatnonzero(own)
        lost = self._lost + self.estimable[:, there] @ own[there] - own
        if np.allclose(lost, 0.0, atol=_SAME):
            weights, spread = at, self._spread_of_mean + self.inverse[:, there] @ own[there]
        else:
            weights = self.columns.mean(axis=0)
            for term, place in self.places.items():
                if set(term) <= set(options):
                    weights[place] = at[place]
            spread = self.inverse @ weights
        variance = self.variance or 0.0
        return BaseMean(
            float(weights @ self.coefficients),
            variance * max(0.0, float(weights @ spread)),
            variance * float(combination @ spread),
        )

    @cached_property
    def _lost(self) -> FloatArray:
        """The part of the mean's weights that the values do not determine."""
        return np.asarray(self.estimable @ self._mean - self._mean)

    @cached_property
    def _spread_of_mean(self) -> FloatArray:
        """The covariances of the coefficients with the mean, for runs of variance one."""
        return np.asarray(self.inverse @ self._mean)


def _outer(parts: Sequence[FloatArray]) -> FloatArray:
    found = parts[0]
    for part in parts[1:]:
        found = np.outer(found, part).ravel()
    return found


def _range(coded: FloatArray) -> range:
    return range(len(coded))
