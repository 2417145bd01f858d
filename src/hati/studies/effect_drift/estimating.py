"""Effects of each round, and their change."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, Setting
from hati.stats import cell_noise, f_above, holm, t_quantile
from hati.studies.effect_drift.conclusion import OptionDrift


class Coding(NamedTuple):
    """An option's columns in the model, by sum coding, and its settings in their order."""

    option: str
    settings: tuple[Setting, ...]
    columns: slice


class MainEffectsModel(Struct, frozen=True, eq=False, dict=True):
    """The model of all main effects on a design's cells: ``matrix`` has shape (cells, parameters), the mean first."""

    codings: tuple[Coding, ...]
    matrix: FloatArray
    unestimable: tuple[str, ...]

    @classmethod
    def of(cls, configurations: Sequence[Configuration]) -> MainEffectsModel:
        """That of these cells; an option that those before it decide is left out.

        An option that is inactive in a cell has no part in its value.
        """
        columns = [np.ones(len(configurations))]
        codings, left_out = [], []
        for name in sorted(set().union(*configurations)):
            settings = tuple(dict.fromkeys(cell[name] for cell in configurations if name in cell))
            made = _columns(name, settings, configurations)
            whole = np.column_stack([*columns, *made]) if made else np.column_stack(columns)
            if not made or np.linalg.matrix_rank(whole) < whole.shape[1]:
                left_out.append(name)
                continue
            codings.append(Coding(name, settings, slice(len(columns), len(columns) + len(made))))
            columns += made
        return cls(tuple(codings), np.column_stack(columns), tuple(left_out))

    def coefficients(self, values: FloatArray) -> FloatArray:
        """By least squares for each round of ``values``, shape (rounds, cells): shape (rounds, parameters)."""
        return np.asarray(values @ np.linalg.pinv(self.matrix).T, dtype=np.float64)

    @cached_property
    def unscaled(self) -> FloatArray:
        """The coefficients' covariance for a noise of 1, shape (parameters, parameters)."""
        return np.asarray(np.linalg.inv(self.matrix.T @ self.matrix))

    def p_values(self, changes: FloatArray) -> FloatArray:
        """Of an unchanged effect of each option, shape (options,).

        ``changes`` has shape (rounds, cells): by how much the logarithm of each cell's value changed, in each round. F
        tests of the coefficients; the error is how cells' changes differ between rounds.
        """
        noise, df = cell_noise(changes)
        variance = max(noise, np.finfo(float).tiny)
        found = self.coefficients(changes).mean(axis=0)
        statistics = []
        for coding in self.codings:
            own, block = found[coding.columns], self.unscaled[coding.columns, coding.columns]
            wald = float(own @ np.linalg.solve(block, own)) / len(own) / (variance / len(changes))
            statistics.append(float(f_above(np.array([wald]), len(own), df)[0]))
        return np.array(statistics)


def drifts(
    configurations: Sequence[Configuration], before: FloatArray, after: FloatArray, alpha: float
) -> tuple[tuple[OptionDrift, ...], tuple[str, ...]]:
    """The drift of each option's effect, the most surely changed first, and the options that cannot be estimated.

    ``before`` and ``after`` are logarithms of each cell's values, shape (rounds, cells). An interval has the noise and
    the level of its option's test, so that of two settings it excludes no change just where a change is shown.
    """
    model = MainEffectsModel.of(configurations)
    p_values = model.p_values(after - before) if model.codings else np.empty(0)
    corrected = holm(p_values) if model.codings else p_values
    smallest = np.full(len(corrected), 1.0 / max(1, len(corrected)))
    levels = alpha * np.divide(p_values, corrected, out=smallest, where=corrected > 0.0)
    noise = _Noise.of(before, after)
    first, second = model.coefficients(before).mean(axis=0), model.coefficients(after).mean(axis=0)
    found = []
    for coding, p_value, level in zip(model.codings, corrected.tolist(), levels.tolist(), strict=True):
        at = coding.columns
        tested = _Tested(p_value, p_value <= alpha, noise, t_quantile(1.0 - level / 2.0, noise.df))
        found.append(_drift(coding, first[at], second[at], model.unscaled[at, at], tested))
    return tuple(sorted(found, key=lambda one: one.p_value)), model.unestimable


def _columns(name: str, settings: Sequence[Setting], configurations: Sequence[Configuration]) -> list[FloatArray]:
    coded = []
    for setting in settings[1:]:
        column = np.zeros(len(configurations))
        for row, cell in enumerate(configurations):
            if name in cell:
                column[row] = 1.0 if cell[name] == setting else -1.0 if cell[name] == settings[0] else 0.0
        coded.append(column)
    return coded


class _Noise(NamedTuple):
    """The covariance of a cell's mean over the rounds before and after, shape (2, 2), and its degrees of freedom."""

    covariance: FloatArray
    df: float

    @classmethod
    def of(cls, before: FloatArray, after: FloatArray) -> _Noise:
        """By what cells vary from round to round, that of changes as their test has it."""
        changed, df = cell_noise(after - before)
        first, second = cell_noise(before)[0], cell_noise(after)[0]
        shared = (first + second - changed) / 2.0
        return cls(np.array([[first, shared], [shared, second]]) / len(before), df)


class _Tested(NamedTuple):
    p_value: float
    changed: bool
    noise: _Noise
    critical: float


def _drift(coding: Coding, before: FloatArray, after: FloatArray, unscaled: FloatArray, tested: _Tested) -> OptionDrift:
    """Of the two settings that differ most in the mean of both revisions; coefficients of shape (settings - 1,)."""
    levels = np.vstack([-np.ones(len(before)), np.eye(len(before))])
    order = np.argsort(levels @ (before + after))
    low, high = sorted((int(order[0]), int(order[-1])))
    contrast = levels[high] - levels[low]
    old, new = float(contrast @ before), float(contrast @ after)
    covariance = tested.noise.covariance * float(contrast @ unscaled @ contrast)
    difference = new - old
    width = tested.critical * math.sqrt(max(0.0, covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]))
    ratio, interval = fieller(old, new, covariance, tested.critical)
    return OptionDrift(
        option=coding.option,
        settings=(coding.settings[low], coding.settings[high]),
        before=math.expm1(old),
        after=math.expm1(new),
        difference=difference,
        difference_interval=(difference - width, difference + width),
        ratio=ratio,
        interval=interval,
        p_value=tested.p_value,
        changed=tested.changed,
    )


def fieller(
    bottom: float, top: float, covariance: FloatArray, critical: float
) -> tuple[float | None, tuple[float, float] | None]:
    """The ratio of two means, top / bottom, and Fieller's interval; None where the bottom one may be zero.

    Fieller (1954), Some problems in interval estimation, Journal of the Royal Statistical Society B 16(2), 175-185: the
    ratios r for which top - r bottom is not significant. ``covariance`` is that of (bottom, top), shape (2, 2).
    """
    squared = critical**2
    a = bottom**2 - squared * float(covariance[0, 0])
    if a <= 0.0:
        return None, None
    b = bottom * top - squared * float(covariance[0, 1])
    c = top**2 - squared * float(covariance[1, 1])
    root = math.sqrt(max(0.0, b**2 - a * c))
    return top / bottom, ((b - root) / a, (b + root) / a)
