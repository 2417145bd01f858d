"""Estimated differences of means, and what they are as fractions: of the mean at the setting compared against."""

from __future__ import annotations

import math

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace
from hati.stats import Term, change_interval, least_ratio
from hati.studies.screening.conclusion import EffectScale, Noise, RelativeTo

Interval = tuple[float, float]

_ROUNDING = 1e-12
"""A mean below this fraction of the values' mean size is zero, apart from rounding."""


class BaseMean(Struct, frozen=True):
    """The mean at the setting that a difference is from, its variance, and its covariance with the difference.

    Both are zero if the noise is unknown, or the runs do not determine the mean.
    """

    mean: float
    variance: float = 0.0
    covariance: float = 0.0


class EffectContrast(Struct, frozen=True):
    """A difference of means: ``estimate``, its standard error, the half-width of its interval, and its ``base``.

    The standard error and the half-width are None if the noise is unknown, or the runs do not determine the difference.
    """

    estimate: float
    standard_error: float | None
    margin: float | None
    base: BaseMean | None = None

    @property
    def interval(self) -> Interval | None:
        """The interval of the difference."""
        return None if self.margin is None else (self.estimate - self.margin, self.estimate + self.margin)

    def above(self, offset: float) -> EffectContrast:
        """The same difference of means that are larger by an offset."""
        base = self.base and replace(self.base, mean=self.base.mean + offset)
        return replace(self, base=base)


class RelativeChange(Struct, frozen=True):
    """A difference as a fraction, and its interval.

    If the mean that it is from may be zero, the interval has no upper end, and ``relative`` is infinite: not known.
    """

    relative: float
    interval: Interval | None


class Readable(Struct, frozen=True, eq=False):
    """Values on the deciding scale; ``typical`` is the mean size of a value in its unit."""

    values: FloatArray
    scale: EffectScale
    typical: float

    @property
    def relative_to(self) -> RelativeTo:
        """The base of changes; values below zero have no mean of which a difference is a fraction."""
        below = self.scale is EffectScale.RAW and least_ratio(self.values) < 0.0
        return RelativeTo.MEAN_SIZE if below else RelativeTo.FIRST_SETTING

    def relative(self, size: float) -> float:
        """A size without a base, such as a deviation, as a fraction; on the raw scale of the mean size."""
        return self.scale.relative(size, self.typical)

    def difference(self, relative: float) -> float:
        """The size that corresponds to a fraction; the inverse of ``relative``."""
        return self.scale.difference(relative, self.typical)

    def change(self, contrast: EffectContrast) -> RelativeChange:
        """A difference as a fraction of the mean that it is from; of the mean size if values are below zero."""
        base, ends = self._base(contrast), contrast.interval
        if base is None:
            relatives = ends and (self.relative(ends[0]), self.relative(ends[1]))
            return RelativeChange(self.relative(contrast.estimate), relatives)
        relative, error = _fraction(contrast.estimate, base.mean), contrast.standard_error
        if contrast.margin is None or error is None:
            return RelativeChange(relative, None)
        critical = contrast.margin / error if error > 0.0 else 0.0
        variances = error**2, base.variance, base.covariance
        low, high = change_interval(contrast.estimate, base.mean, *variances, critical)
        return RelativeChange(relative if math.isfinite(high) else math.inf, (low, high))

    def limit(self, relevant: float, contrast: EffectContrast) -> float:
        """The difference that matters: a ratio of the two means of 1 + ``relevant``, whichever is the larger."""
        base = self._base(contrast)
        if base is None:
            return self.difference(relevant)
        return relevant * max(0.0, min(base.mean, base.mean + contrast.estimate))

    def in_unit(self, difference: float) -> float:
        """A difference in the unit; on the log scale, for means m and m exp(d) that average ``typical``."""
        return 2.0 * self.typical * float(np.tanh(difference / 2.0)) if self.scale is EffectScale.LOG else difference

    def _base(self, contrast: EffectContrast) -> BaseMean | None:
        """The base of a difference; None on the log scale, and if values are below zero or all of them zero."""
        if self.scale is EffectScale.LOG or self.relative_to is RelativeTo.MEAN_SIZE or not self.typical:
            return None
        if contrast.base is None:
            return None
        rounded = abs(contrast.base.mean) <= _ROUNDING * self.typical
        return replace(contrast.base, mean=0.0) if rounded else contrast.base


class EffectAnalysis(Struct, frozen=True, eq=False, kw_only=True):
    """The basis and the power of an analysis of effects on values on the deciding scale, ``readable``.

    ``detectable`` is a pair: in the unit, and as a fraction. ``confounded`` effects cannot be distinguished from a
    trend over the order of runs, and are not important.
    """

    readable: Readable
    scale_reason: str
    judged_by: Noise
    threshold: float | None
    detectable: tuple[float, float] | None
    missing: tuple[Term, ...]
    confounded: tuple[Term, ...] = ()


def _fraction(difference: float, base: float) -> float:
    """A difference as a fraction of a base, where no mean can be negative; infinite from a base of zero."""
    return max(-1.0, difference / base) if base > 0.0 else math.inf
