"""Effects of each round, and their change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from hati.core import Configuration, FloatArray, Setting
from hati.stats import cell_noise, f_above, holm, t_quantile
from hati.studies.effect_drift.conclusion import OptionDrift


class Coding(NamedTuple):
    """An option's columns in the model, by sum coding, and its settings in their order."""

    option: str
    settings: tuple[Setting, ...]
    columns: slice


@dataclass(frozen=True, eq=False)
class MainEffects:
    """The model of all main effects on a design's cells: ``matrix`` has shape (cells, parameters), the mean first."""

    codings: tuple[Coding, ...]
    matrix: FloatArray
    unestimable: tuple[str, ...]

    @classmethod
    def of(cls, configurations: Sequence[Configuration]) -> MainEffects:
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

    def p_values(self, changes: FloatArray) -> FloatArray:
        """Of an unchanged effect of each option, shape (options,).

        ``changes`` has shape (rounds, cells): by how much the logarithm of each cell's value changed, in each round. F
        tests of the coefficients; the error is how cells' changes differ between rounds.
        """
        noise, df = cell_noise(changes)
        variance = max(noise, np.finfo(float).tiny)
        unscaled = np.linalg.inv(self.matrix.T @ self.matrix)
        found = self.coefficients(changes).mean(axis=0)
        statistics = []
        for coding in self.codings:
            own, block = found[coding.columns], unscaled[coding.columns, coding.columns]
            wald = float(own @ np.linalg.solve(block, own)) / len(own) / (variance / len(changes))
            statistics.append(float(f_above(np.array([wald]), len(own), df)[0]))
        return np.array(statistics)


def drifts(
    configurations: Sequence[Configuration], before: FloatArray, after: FloatArray, alpha: float
) -> tuple[tuple[OptionDrift, ...], tuple[str, ...]]:
    """The drift of each option's effect, the most surely changed first, and the options that cannot be told.

    ``before`` and ``after`` are logarithms of each cell's values, shape (rounds, cells).
    """
    model = MainEffects.of(configurations)
    corrected = holm(model.p_values(after - before)) if model.codings else np.empty(0)
    first, second = model.coefficients(before), model.coefficients(after)
    found = [
        _drift(coding, first[:, coding.columns], second[:, coding.columns], float(p_value), alpha)
        for coding, p_value in zip(model.codings, corrected, strict=True)
    ]
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


def _drift(coding: Coding, before: FloatArray, after: FloatArray, p_value: float, alpha: float) -> OptionDrift:
    """Of the two settings that differ most in the mean of both revisions; arrays of shape (rounds, settings - 1)."""
    levels = [np.column_stack([-own.sum(axis=1), own]) for own in (before, after)]
    order = np.argsort(levels[0].mean(axis=0) + levels[1].mean(axis=0))
    low, high = sorted((int(order[0]), int(order[-1])))
    old, new = (level[:, high] - level[:, low] for level in levels)
    critical = t_quantile(1.0 - alpha / 2.0, len(old) - 1)
    change = new - old
    width = critical * float(np.std(change, ddof=1)) / len(change) ** 0.5
    difference = float(change.mean())
    ratio, interval = fieller(old, new, critical)
    return OptionDrift(
        option=coding.option,
        settings=(coding.settings[low], coding.settings[high]),
        before=float(np.expm1(old.mean())),
        after=float(np.expm1(new.mean())),
        difference=difference,
        difference_interval=(difference - width, difference + width),
        ratio=ratio,
        interval=interval,
        p_value=p_value,
        changed=p_value <= alpha,
    )


def fieller(
    denominator: FloatArray, numerator: FloatArray, critical: float
) -> tuple[float | None, tuple[float, float] | None]:
    """The ratio of the means of pairs, and Fieller's interval; None where the denominator may be zero.

    Fieller (1954), Some problems in interval estimation, Journal of the Royal Statistical Society B 16(2), 175-185: the
    ratios r for which the mean of numerator - r denominator is not significant.
    """
    size = len(denominator)
    bottom, top = float(denominator.mean()), float(numerator.mean())
    covariance = np.cov(denominator, numerator, ddof=1) / size
    squared = critical**2
    a = bottom**2 - squared * float(covariance[0, 0])
    if a <= 0.0:
        return None, None
    b = bottom * top - squared * float(covariance[0, 1])
    c = top**2 - squared * float(covariance[1, 1])
    root = float(np.sqrt(max(0.0, b**2 - a * c)))
    return top / bottom, ((b - root) / a, (b + root) / a)
