"""The options on whose settings a change depends, as far as the measured configurations distinguish them from others.

Explanations of a change are compared: it depends on one option, on two whose changes add up or interact, on one setting
or combination of two settings, or it is in one configuration alone. What an explanation leaves of the configurations'
changes is its error. An option is a cause only where every explanation without it is rejected in favour of the best.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, FloatArray, Setting, setting_text
from hati.design import sum_codes
from hati.stats import cell_noise, f_above, t_quantile

FEWEST_ROUNDS = 3
_ROUNDING = 1e-24
"""The least variance of a cell's mean, relative to the largest squared mean."""
_DEPENDENT = 1e-8
"""Columns that others leave less of than this are their sums."""
_LEAST_FREE = 2
"""The fewest degrees of freedom of cells: of many explanations with fewer, some fit any changes."""


class AffectedOption(Struct, frozen=True):
    """The change of a metric at a setting of an option: a ratio with its interval.

    ``p_value`` is that of the best explanation without the option, corrected for all explanations. ``where`` holds the
    settings of options found before if the metric changed only there: the change is then the one at these settings.
    """

    benchmark: str
    metric: str
    option: str
    setting: Setting
    ratio: float
    interval: tuple[float, float]
    p_value: float
    where: tuple[tuple[str, Setting], ...] = ()

    @property
    def settings(self) -> str:
        """The settings at which the change is this one, in words."""
        return _settings_text((*self.where, (self.option, self.setting)))


class RivalCauses(Struct, frozen=True):
    """Explanations of a metric's change that the measured configurations do not distinguish, the best fit first.

    Without ``causes``, changes differ between configurations, and no explanation by options is shown.
    """

    benchmark: str
    metric: str
    causes: tuple[str, ...]


class Attribution(NamedTuple):
    """The affected options in the order found, and the explanations that are not distinguished."""

    options: tuple[AffectedOption, ...] = ()
    rivals: tuple[RivalCauses, ...] = ()


def _settings_text(settings: Sequence[tuple[str, Setting]]) -> str:
    return " ".join(f"{name}={setting_text(at)}" for name, at in settings)


class _Factor(Struct, frozen=True, eq=False):
    """A partition of the cells: by options, or into those with the settings ``at`` and the others.

    ``level``, shape (cells,), is the place of each cell's setting.
    """

    name: str
    options: tuple[str, ...]
    settings: tuple[Setting, ...]
    level: NDArray[np.intp]
    at: tuple[tuple[str, Setting], ...] = ()

    @property
    def columns(self) -> FloatArray:
        """Sum coding, shape (cells, settings - 1)."""
        return sum_codes(len(self.settings))[self.level]

    @classmethod
    def of_settings(cls, *settings: tuple[_Factor, int]) -> _Factor:
        """The cells that have one setting of each factor, and the others."""
        there = np.all([factor.level == place for factor, place in settings], axis=0)
        at = tuple((factor.name, factor.settings[place]) for factor, place in settings)
        return cls(_settings_text(at), tuple(dict(at)), (False, True), there.astype(np.intp), at)

    @classmethod
    def of_both(cls, one: _Factor, other: _Factor) -> _Factor:
        """All combinations of the settings of two options."""
        places, level = np.unique(np.column_stack([one.level, other.level]), axis=0, return_inverse=True)
        settings = tuple(range(len(places)))
        return cls(f"{one.name} x {other.name}", (one.name, other.name), settings, level.ravel())


def _factors(configurations: Sequence[Configuration], crossed: Collection[str]) -> list[_Factor]:
    """The options that are set in every cell, and not to the same setting everywhere; crossed options first."""
    names = set(configurations[0]).intersection(*configurations[1:]) if configurations else set()
    found = []
    for name in sorted(names, key=lambda each: (each not in crossed, each)):
        settings = tuple(dict.fromkeys(configuration[name] for configuration in configurations))
        if len(settings) > 1:
            level = np.array([settings.index(configuration[name]) for configuration in configurations], dtype=np.intp)
            found.append(_Factor(name, (name,), settings, level))
    return found


class _Explanation(Struct, frozen=True, eq=False):
    """Factors whose changes add up; ``options`` are those without which there is no such explanation.

    Explanations of one ``kind`` share a part of the level; those without a kind name no cause.
    """

    factors: tuple[_Factor, ...]
    options: frozenset[str]
    kind: str = ""

    @property
    def name(self) -> str:
        """The options or settings, in words."""
        return " and ".join(factor.name for factor in self.factors)


_KINDS = ("option", "sum", "interaction", "combination")
_ALONE = "one configuration alone"


def _explanations(factors: Sequence[_Factor]) -> Iterator[_Explanation]:
    """All explanations; first that nothing depends on an option."""
    yield _Explanation((), frozenset())
    yield from _alone(factors)
    for factor in factors:
        own = frozenset((factor.name,))
        yield _Explanation((factor,), own, "option")
        if len(factor.settings) > 2:
            for place in range(len(factor.settings)):
                yield _Explanation((_Factor.of_settings((factor, place)),), own, "option")
    for one, other in combinations(factors, 2):
        both = frozenset((one.name, other.name))
        yield _Explanation((one, other), both, "sum")
        yield _Explanation((_Factor.of_both(one, other),), both, "interaction")
        for first, second in sorted(set(zip(one.level.tolist(), other.level.tolist(), strict=True))):
            yield _Explanation((_Factor.of_settings((one, first), (other, second)),), both, "combination")


def _alone(factors: Sequence[_Factor]) -> Iterator[_Explanation]:
    """A change of each cell alone, which depends on an option if another cell differs from it in that option only."""
    levels = np.column_stack([factor.level for factor in factors])
    for cell, own in enumerate(levels):
        differ = levels != own
        needed = frozenset(factors[int(np.argmax(row))].name for row in differ[differ.sum(axis=1) == 1])
        there = (np.arange(len(levels)) == cell).astype(np.intp)
        yield _Explanation((_Factor(_ALONE, (), (False, True), there),), needed)


class _Cells(NamedTuple):
    """The changes of cells by round, shape (rounds, cells), their means, the variance of a mean, and its df."""

    values: FloatArray
    means: FloatArray
    variance: float
    df: float

    @classmethod
    def of(cls, values: FloatArray) -> _Cells:
        variance, df = cell_noise(values)
        means = values.mean(axis=0)
        return cls(values, means, max(variance / len(values), _ROUNDING * float(np.max(means**2))), df)

    def change(self, there: NDArray[np.bool_], alpha: float) -> tuple[float, float]:
        """The mean change of some cells, and half the width of its interval by rounds."""
        series = self.values[:, there].mean(axis=1)
        error = float(np.std(series, ddof=1)) / len(series) ** 0.5
        return float(series.mean()), t_quantile(1.0 - alpha / 2.0, len(series) - 1) * error

    def differ(self, alpha: float, limit: float) -> bool:
        """Whether two cells are shown to differ by more than the limit."""
        width = t_quantile(1.0 - alpha / (2.0 * len(self.means)), self.df) * math.sqrt(self.variance)
        return bool(np.ptp(self.means) - 2.0 * width > limit)

    def slight(self, others: Sequence[_Factor], factor: _Factor, alpha: float, limit: float) -> bool:
        """Whether the changes at all settings are shown to differ by at most the limit, given other factors."""
        columns = np.column_stack([np.ones(len(self.means)), *(one.columns for one in others), factor.columns])
        free = len(factor.settings) - 1
        coded = np.vstack([np.eye(free), -np.ones(free)])
        weights = np.linalg.pinv(columns)[-free:]
        differences = np.array([(one - other) @ weights for one, other in combinations(coded, 2)])
        widths = t_quantile(1.0 - alpha, self.df) * np.sqrt(self.variance) * np.linalg.norm(differences, axis=1)
        return bool(np.all(np.abs(differences @ self.means) + widths <= limit))

    def only_place(self, factor: _Factor, alpha: float, limit: float) -> int | None:
        """The place of the only setting at which a change beyond the limit is shown, of the mean or of any cell."""
        at_settings = [self.change(factor.level == place, alpha) for place in range(len(factor.settings))]
        changed = [place for place, (mean, width) in enumerate(at_settings) if abs(mean) - width > limit]
        width = t_quantile(1.0 - alpha / (2.0 * len(self.means)), self.df) * math.sqrt(self.variance)
        beyond = set(factor.level[np.abs(self.means) - width > limit].tolist())
        return changed[0] if len(changed) == 1 and beyond <= {changed[0]} else None


class _Best(NamedTuple):
    """The best explanation; the p-value of each option that is a cause; rivals, where these are not all of it."""

    explanation: _Explanation
    p_values: Mapping[str, float]
    rivals: tuple[str, ...]


def _best(cells: _Cells, taken: Sequence[_Factor], left: Sequence[_Factor], alpha: float) -> _Best | None:
    """The best explanation of what the factors taken leave; None if none is significant.

    The error of an explanation is the variation of cells that it leaves, with their degrees of freedom, and at least
    that of rounds. Where it leaves too few it is considered only if it has all options that vary: its error is then
    that of rounds. Of the best, the simplest part is taken that is not rejected in its favour.
    """
    fits = _Fits.of(cells, taken, left)
    if fits.rest[0] <= len(cells.means) * _ROUNDING * np.max(cells.means**2):
        return None
    statistics = (fits.rest[0] - fits.rest) / np.maximum(fits.parameters, 1) / fits.variance
    p_values = np.where(
        fits.usable, fits.tests * f_above(statistics, np.maximum(fits.parameters, 1), fits.df), math.inf
    )
    best = int(np.lexsort((-statistics, p_values))[0])
    if not p_values[best] <= alpha:
        return None
    rejected = fits.rejected(best, best)
    options = fits.explanations[best].options
    parts = [place for place in np.flatnonzero(rejected > alpha).tolist() if fits.is_part(place, options)]
    chosen = min((best, *parts), key=lambda place: (fits.parameters[place], fits.rest[place]))
    return _compared(fits, chosen, fits.rejected(chosen, best), alpha)


class _Fits(NamedTuple):
    """The fit of each explanation, the first of which is that nothing depends on an option; shape (explanations,).

    ``rest`` is the residual sum of squares, ``tests`` the number of explanations that share the level, ``usable``
    whether it may be the best.
    """

    explanations: Sequence[_Explanation]
    rest: FloatArray
    parameters: NDArray[np.intp]
    variance: FloatArray
    df: FloatArray
    tests: FloatArray
    usable: NDArray[np.bool_]
    options: int

    @classmethod
    def of(cls, cells: _Cells, taken: Sequence[_Factor], left: Sequence[_Factor]) -> _Fits:
        explanations = list(_explanations(left))
        base = _basis(np.column_stack([np.ones(len(cells.means)), *(one.columns for one in taken)]))
        rest, parameters = _left(base, cells.means, explanations)
        free = len(cells.means) - base.shape[1] - parameters
        everything = frozenset(factor.name for factor in left)
        exact = np.array([not taken and each.options == everything for each in explanations])
        variance = np.maximum(np.where(free > 0, rest / np.maximum(free, 1), 0.0), cells.variance)
        df = np.where(exact & (variance == cells.variance), cells.df + free, np.maximum(free, 1))
        counts = Counter(each.kind for each in explanations)
        tests = np.array([float(len(_KINDS) * counts[each.kind]) for each in explanations])
        causes = (parameters > 0) & np.array([bool(each.kind) for each in explanations])
        usable = causes & (exact | (free >= _LEAST_FREE))
        return cls(explanations, rest, parameters, variance, df, tests, usable, len(left))

    def is_part(self, place: int, options: Collection[str]) -> bool:
        """Whether an explanation is one by some of these options."""
        each = self.explanations[place]
        return bool(each.kind and self.parameters[place] and each.options.issubset(options))

    def rejected(self, chosen: int, best: int) -> FloatArray:
        """The p-value of each explanation in favour of the chosen one, by the error of the best, corrected.

        It is 0 for explanations with more parameters than the chosen one.
        """
        more = np.maximum(self.parameters[chosen] - self.parameters, 1)
        lack = np.maximum(self.rest - self.rest[chosen], 0.0) / more / self.variance[best]
        kind = self.explanations[chosen].kind
        alike = np.array([each.kind == kind for each in self.explanations])
        tests = np.where(alike, self.options, self.tests[best])
        p_values = np.minimum(1.0, tests * f_above(lack, more, self.df[best]))
        return np.where(self.parameters > self.parameters[chosen], 0.0, p_values)


def _compared(fits: _Fits, chosen: int, rejected: FloatArray, alpha: float) -> _Best:
    """The causes, by the p-values with which explanations are rejected in favour of the chosen one."""
    explanation = fits.explanations[chosen]
    p_values = {
        name: max(p for each, p in zip(fits.explanations, rejected.tolist(), strict=True) if name not in each.options)
        for name in sorted(explanation.options)
    }
    causes = {name: p for name, p in p_values.items() if p <= alpha}
    if causes and (len(causes) == len(explanation.options) or len(explanation.factors) > 1):
        return _Best(explanation, causes, ())
    order = np.argsort(fits.rest, kind="stable").tolist()
    rivals = [fits.explanations[place].name for place in order if place == chosen or rejected[place] > alpha]
    return _Best(explanation, causes, tuple(dict.fromkeys(filter(None, rivals))))


def _basis(columns: FloatArray) -> FloatArray:
    """An orthonormal basis of columns."""
    basis, sizes, _ = np.linalg.svd(columns, full_matrices=False)
    return np.asarray(basis[:, sizes > _DEPENDENT])


def _left(
    base: FloatArray, means: FloatArray, explanations: Sequence[_Explanation]
) -> tuple[FloatArray, NDArray[np.intp]]:
    """The residual sum of squares of each explanation with a base, and its number of parameters beyond the base."""
    target = means - base @ (base.T @ means)
    rest, parameters = np.full(len(explanations), float(target @ target)), np.zeros(len(explanations), dtype=np.intp)
    columns = [[factor.columns for factor in each.factors] for each in explanations]
    widths = np.array([sum(one.shape[1] for one in each) for each in columns])
    for width in sorted(set(widths[widths > 0].tolist())):
        places = np.flatnonzero(widths == width)
        stack = np.stack([np.column_stack(columns[place]) for place in places])
        bases, sizes, _ = np.linalg.svd(stack - base @ (base.T @ stack), full_matrices=False)
        along = np.where(sizes > _DEPENDENT, np.einsum("ecp,c->ep", bases, target), 0.0)
        rest[places] = np.sum((target - np.einsum("ecp,ep->ec", bases, along)) ** 2, axis=1)
        parameters[places] = np.count_nonzero(sizes > _DEPENDENT, axis=1)
    return rest, parameters


class AttributionSearch(Struct, frozen=True):
    """A search for what explains the changes of a benchmark's metric, at a level.

    Options are left out if the changes at their settings are shown to differ by at most ``limit``, a difference of
    logarithms. Options that are ``crossed`` by design come first.
    """

    benchmark: str
    metric: str
    alpha: float
    limit: float = 0.0
    crossed: frozenset[str] = frozenset()

    def attribution(
        self,
        configurations: Sequence[Configuration],
        values: FloatArray,
        where: tuple[tuple[str, Setting], ...] = (),
    ) -> Attribution:
        """The options on whose settings the change depends, with the change at each setting, and their rivals.

        ``values``, shape (rounds, cells), holds the logarithm of each cell's ratio in each round. If a change is shown
        at one setting or combination alone, further options are sought among its cells, which share ``where``.
        """
        left = _factors(configurations, self.crossed)
        if len(values) < FEWEST_ROUNDS or not left:
            return Attribution()
        cells = _Cells.of(values)
        found: list[AffectedOption] = []
        taken: tuple[_Factor, ...] = ()
        while left and (best := _best(cells, taken, left, self.alpha)) is not None:
            factors = best.explanation.factors
            large = [each for each in factors if not self._slight(cells, taken, factors, each)]
            named = {name for each in large for name in each.options} & best.p_values.keys()
            own = [each for each in left if each.name in named]
            found += self._rows(cells, own, best, where)
            if best.rivals:
                rivals = RivalCauses(self.benchmark, self.metric, best.rivals)
                return Attribution(tuple(found), (rivals,) if large else ())
            only = self._only(cells, own, best) if own and len(factors) == 1 else ()
            if only:
                there = [place for place, each in enumerate(configurations) if all(each[o] == at for o, at in only)]
                within = self.attribution([configurations[place] for place in there], values[:, there], (*where, *only))
                return Attribution((*found, *within.options), within.rivals)
            taken = (*taken, *(each for each in factors if best.p_values.keys() & each.options))
            left = [each for each in left if each.name not in best.p_values]
        unexplained = not found and not where and cells.differ(self.alpha, self.limit)
        return Attribution(tuple(found), (RivalCauses(self.benchmark, self.metric, ()),) if unexplained else ())

    def _slight(self, cells: _Cells, taken: Sequence[_Factor], factors: Sequence[_Factor], factor: _Factor) -> bool:
        others = (*taken, *(each for each in factors if each is not factor))
        return cells.slight(others, factor, self.alpha, self.limit)

    def _only(self, cells: _Cells, own: Sequence[_Factor], best: _Best) -> tuple[tuple[str, Setting], ...]:
        """The settings at which alone a change is shown; none if it is shown at others too."""
        if best.explanation.kind == "interaction":
            return ()
        [factor] = own if len(own) == 1 else best.explanation.factors
        place = cells.only_place(factor, self.alpha, self.limit)
        if place is None or (factor.at and not place):
            return ()
        return factor.at or ((factor.name, factor.settings[place]),)

    def _rows(
        self, cells: _Cells, own: Sequence[_Factor], best: _Best, where: tuple[tuple[str, Setting], ...]
    ) -> Iterator[AffectedOption]:
        """The mean change over the cells of each setting, with its interval by rounds.

        Of a combination, the second option's changes are those at the first option's setting.
        """
        there = np.ones(len(cells.means), dtype=np.bool_)
        for factor in own:
            for place, setting in enumerate(factor.settings):
                cells_of_setting = there & (factor.level == place)
                if cells_of_setting.any():
                    mean, width = cells.change(cells_of_setting, self.alpha)
                    ends = (math.exp(mean - width), math.exp(mean + width))
                    p_value = best.p_values[factor.name]
                    yield AffectedOption(
                        self.benchmark, self.metric, factor.name, setting, math.exp(mean), ends, p_value, where
                    )
            if best.explanation.kind == "combination":
                setting = dict(best.explanation.factors[0].at)[factor.name]
                there, where = factor.level == factor.settings.index(setting), (*where, (factor.name, setting))
