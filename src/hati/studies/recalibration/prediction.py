"""What a screening predicts by its main effects, and what that is uncertain by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, Setting
from hati.studies.screening import Scale, ScreeningConclusion


def scale_of(screened: ScreeningConclusion) -> Scale:
    """That of logarithms where all values are positive: a level that rises by a tenth leaves ratios as they are."""
    return Scale.LOG if min(point.value for point in screened.points) > 0.0 else Scale.RAW


class Prediction(Struct, frozen=True, eq=False):
    """The main effects of all options, by least squares from the means of a screening's configurations.

    All, not those that are important: what is chosen because it fits predicts worse than it seems to. ``coefficients``
    has shape (columns,), the columns being those of ``settings``, and ``unscaled`` is their covariance in units of
    ``variance``, which is that of a configuration's mean about the model, estimated with ``df`` degrees of freedom:
    noise, and what the model leaves out.
    """

    settings: Mapping[str, tuple[Setting, ...]]
    coefficients: FloatArray
    unscaled: FloatArray
    variance: float
    df: int

    @classmethod
    def of(cls, screened: ScreeningConclusion, scale: Scale) -> Prediction | None:
        """That of a screening; None where its runs leave nothing to tell how well the model fits."""
        values, configurations = _means(screened, scale)
        matrix, settings = _estimable({one.name: one.settings for one in screened.options}, configurations)
        df = len(values) - matrix.shape[1]
        if df < 1:
            return None
        unscaled = np.asarray(np.linalg.inv(matrix.T @ matrix), dtype=np.float64)
        coefficients = unscaled @ matrix.T @ values
        rest = values - matrix @ coefficients
        return cls(settings, coefficients[1:], unscaled[1:, 1:], float(rest @ rest) / df, df)

    def columns(self, configurations: Sequence[Configuration]) -> FloatArray:
        """Shape (configurations, columns)."""
        coded = [_coded(name, own, configurations) for name, own in self.settings.items()]
        return np.hstack([np.zeros((len(configurations), 0)), *coded])


def _means(screened: ScreeningConclusion, scale: Scale) -> tuple[FloatArray, list[Configuration]]:
    """Each configuration's mean on a scale, without what differs between repetitions of all of them.

    A configuration's n-th run is of the n-th repetition, as each is a block of all configurations.
    """
    runs: dict[Configuration, list[float]] = {}
    for point in sorted(screened.points, key=lambda point: point.order):
        value = float(np.log(point.value)) if scale is Scale.LOG else point.value
        runs.setdefault(point.configuration, []).append(value)
    most = max(map(len, runs.values()))
    drift = np.mean([own for own in runs.values() if len(own) == most], axis=0)
    return np.array([float(np.mean(np.array(own) - drift[: len(own)])) for own in runs.values()]), list(runs)


def _estimable(
    options: Mapping[str, tuple[Setting, ...]], configurations: Sequence[Configuration]
) -> tuple[FloatArray, dict[str, tuple[Setting, ...]]]:
    """The model's columns, the level's first, and the options that runs tell from those before them."""
    matrix, kept = np.ones((len(configurations), 1)), {}
    for name, settings in options.items():
        wider = np.hstack([matrix, _coded(name, settings, configurations)])
        if np.linalg.matrix_rank(wider) == wider.shape[1]:
            matrix, kept[name] = wider, settings
    return matrix, kept


def _coded(name: str, settings: tuple[Setting, ...], configurations: Sequence[Configuration]) -> FloatArray:
    """An option's columns by sum coding, shape (configurations, settings - 1); 0 where it is inactive."""
    size = len(settings) - 1
    codes = np.vstack([np.eye(size), -np.ones(size), np.zeros(size)])
    rows = [settings.index(each[name]) if name in each else len(settings) for each in configurations]
    return np.asarray(codes[rows], dtype=np.float64)
