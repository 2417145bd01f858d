"""The fit of a model to the runs of any design, and the effects estimated from its coefficients."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import combinations, permutations, product

import numpy as np
from msgspec import Struct

from hati.core import FloatArray
from hati.design import setting_contrasts
from hati.stats import Index, ModelTerms, Term, f_quantile
from hati.stats.terms import added_basis, spanned
from hati.studies.screening.changes import BaseMean, EffectContrast
from hati.studies.screening.population import Cell, ValidPopulation

_TINY = 1e-9
_SAME = 1e-6
_CONFIDENCE = 0.95


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

        Of an option it is the mean change between two of its settings over the valid configurations that are valid with
        both: from the first to the second, or, of more settings, between the two that differ the most, with an interval
        that allows for their choice (Scheffe 1953). Of an interaction it is that of the coded columns: for options with
        two settings half the difference of effects, otherwise the highest of the combinations' means less the lowest.
        If the runs do not determine such a difference, twice the root mean square of what the term explains given the
        others: a size without a sign or an interval.

        The base of an option's effect is the mean before the change, over the same configurations. Of an interaction it
        is the mean that is subtracted, and of one of options with more settings the mean over all their settings, since
        such an effect is not a difference of means that have a lower bound.
        """
        rows, fit, there = self._rows(term), self._fit_for(term), self.determined(term)
        if len(there) < 2:
            return EffectContrast(fit._spread(term), None, None, BaseMean(float(self.values.mean())))
        if len(term) == 1:
            return fit._largest(term[0], there)
        if len(rows) == 2 ** len(term):
            base = fit._mean_at(fit._cells(term, np.flatnonzero(rows < 0.0)))
            return fit._combination(fit._of(term, np.array([2.0])), 1, base, term)
        means = rows[there] @ fit.coefficients[fit.places[term]]
        low, high = (int(there[int(extreme(means))]) for extreme in (np.argmin, np.argmax))
        base = fit._mean_at(fit._cells(term, range(len(rows))))
        return fit._combination(fit._of(term, rows[high] - rows[low]), min(rows.shape[1], len(there) - 1), base, term)

    def ends(self, option: int) -> tuple[int, int] | None:
        """The settings between which an option's effect is, by position; None if the runs distinguish no two."""
        fit, there = self._fit_for((option,)), self.determined((option,))
        return fit._extremes(option, there) if len(there) > 1 else None

    def _largest(self, option: int, there: Index) -> EffectContrast:
        """The change between the first two settings, or the largest one of those ``there``."""
        low, high = self._extremes(option, there)
        changes = np.array([self._change(option, low, int(other)) for other in there if other != low])
        dimensions = int(np.linalg.matrix_rank(changes, tol=_SAME))
        before = self._before(option, low, high)
        return self._combination(self._change(option, low, high), dimensions, before, (option,))

    def _extremes(self, option: int, there: Index) -> tuple[int, int]:
        pairs = list(permutations(map(int, there), 2))
        if self.population.sizes[option] == 2:
            return pairs[0]
        sizes = [float(self._change(option, *pair) @ self.coefficients) for pair in pairs]
        return pairs[int(np.argmax(sizes))]

    def _change(self, option: int, low: int, high: int) -> FloatArray:
        """The weights of all coefficients in the mean change between two settings.

        It is that of the option's columns alone if the runs do not determine the mean change.
        """
        if self._averaged(option, low, high):
            return self._weights(self.population.changes(self.places, option)[low, high].difference)
        rows = self._rows((option,))
        return self._of((option,), rows[high] - rows[low])

    def _before(self, option: int, low: int, high: int) -> FloatArray:
        """The weights of all coefficients in the mean before this change."""
        if self._averaged(option, low, high):
            return self._mean + self._weights(self.population.changes(self.places, option)[low, high].before)
        return self._mean_at([{option: low}])

    def _averaged(self, option: int, low: int, high: int) -> bool:
        """Whether the runs determine the mean change over the configurations that are valid with both settings."""
        found = self.population.changes(self.places, option).get((low, high))
        return found is not None and self._determines(self._weights(found.difference))

    def _averages(self, option: int) -> bool:
        """Whether the runs determine the mean change between any two settings."""
        return all(self._averaged(option, *pair) for pair in combinations(range(self.population.sizes[option]), 2))

    def determined(self, term: Term) -> Index:
        """The largest set of settings whose differences the runs determine, by position; a single one means none.

        The set is incomplete if settings were never run or constraints tie options together. For an interaction it is
        all combinations or a single one: a difference between some of them says little about it.
        """
        rows, fit = self._rows(term), self._fit_for(term)
        if len(term) == 1 and len(rows) > 1 and fit._averages(term[0]):
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
        base = fit._mean_at(fit._cells(term, there))
        changes = {high: [fit._change(option, low, high) for low in there if low != high] for high in there}
        middle = {high: sum(own, np.zeros(fit.columns.shape[1])) / len(there) for high, own in changes.items()}
        return {high: fit._combination(own, 1, base, term) for high, own in middle.items()}

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

    def difference(
        self,
        weights: Mapping[Term, FloatArray],
        dimensions: int = 1,
        base: Cell | None = None,
    ) -> EffectContrast:
        """The linear combination of coefficients with these ``weights``, by term.

        Its interval allows for the choice among all combinations in ``dimensions`` dimensions (Scheffe 1953). The
        difference is from the mean at the settings ``base``, if given.
        """
        before = None if base is None else self._mean_at([base])
        return self._combination(self._weights(weights), dimensions, before, tuple(base or ()))

    def _cells(self, term: Term, chosen: Iterable[int]) -> list[Cell]:
        """The chosen combinations of the settings of a term's options, by their place among the ``_rows``."""
        cells = list(product(*(range(self.population.sizes[option]) for option in term)))
        return [dict(zip(term, cells[place], strict=True)) for place in chosen]

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
        if len(kept) == len(self.places) or self.determines(term) or (len(term) == 1 and self._averages(term[0])):
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

    def _determines(self, combination: FloatArray) -> bool:
        return np.allclose(self.estimable @ combination, combination, atol=_SAME)

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
