"""What an earlier screening says beforehand: its space, likely options, and what it predicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, InputError, Metric, Run, Setting, conversion
from hati.studies.screening import Choice, EffectScale, ScreeningConclusion

if TYPE_CHECKING:
    from hati.space import Space


def values_of(runs: Iterable[Run], metric: Metric, configurations: Sequence[Configuration]) -> FloatArray:
    """The mean of each run, in the metric's unit, shape (most runs of any, configurations); nan where there are fewer.

    Raises:
        InputError: where a run's unit cannot be converted to the metric's.
    """
    found: dict[Configuration, list[float]] = {configuration: [] for configuration in configurations}
    for run in runs:
        observed = run.of(metric.name)
        if observed is not None and run.task.configuration in found:
            found[run.task.configuration].append(observed.mean * conversion(observed.unit, metric.unit))
    values = np.full((max(map(len, found.values()), default=0), len(configurations)), np.nan)
    for place, configuration in enumerate(configurations):
        own = found[configuration]
        values[: len(own), place] = own
    return values


_MOST_GONE = 8


def earlier_space(choice: Choice, options: Sequence[str], made: Iterable[Configuration], today: Space) -> Space | None:
    """The two-setting options of which ``made`` are configurations of a chosen fraction; None where they are unknown.

    The order of an option's settings, which decides the sign of its effect, is today's; of one that is gone, one in
    which all runs are in the fraction.
    """
    from hati.design import configurations
    from hati.space import Option, Space

    seen = list(made)
    settings = {name: tuple(dict.fromkeys(each[name] for each in seen if name in each)) for name in options}
    if any(len(own) != 2 for own in settings.values()) or len(options) != choice.factors:
        return None
    orders = [_orders(own, name, today) for name, own in settings.items()]
    if sum(len(order) > 1 for order in orders) > _MOST_GONE:
        return None
    for chosen in product(*orders):
        space = Space(tuple(Option(name, own, own[0]) for name, own in zip(options, chosen, strict=True)))
        try:
            planned = set(configurations(choice.design(tuple(options)), space))
        except InputError:
            return None
        if planned.issuperset(seen):
            return space
    return None


def _orders(own: tuple[Setting, ...], name: str, today: Space) -> list[tuple[Setting, ...]]:
    known = next((option.settings for option in today.options if option.name == name), ())
    if set(map(_typed, own)) == set(map(_typed, known)):
        return [known]
    return [own, own[::-1]]


def _typed(setting: Setting) -> tuple[type, Setting]:
    return type(setting), setting


class Prior(Struct, frozen=True):
    """An earlier screening: its study's key, and its options.

    ``conclusion`` is None where it cannot be reproduced, as other options have another design.
    """

    study: str
    options: tuple[str, ...]
    conclusion: ScreeningConclusion | None = None

    def likely(self, names: Sequence[str]) -> tuple[int, ...]:
        """The positions of the options that were important, the most influential first."""
        if self.conclusion is None:
            return ()
        return tuple(names.index(name) for name in self.conclusion.influential if name in names)


def scale_of(screened: ScreeningConclusion) -> EffectScale:
    """That of logarithms where all values are positive: a level that rises by a tenth leaves ratios as they are."""
    return EffectScale.LOG if min(point.value for point in screened.points) > 0.0 else EffectScale.RAW


class MainEffectPrediction(Struct, frozen=True, eq=False):
    """The main effects of all options, by least squares from the means of a screening's configurations.

    All, not only the important ones: a selected fit predicts worse than it seems to. ``coefficients``
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
    def of(cls, screened: ScreeningConclusion, scale: EffectScale) -> MainEffectPrediction | None:
        """The prediction of a screening; None where its runs leave no degrees of freedom for the model's fit."""
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


def _means(screened: ScreeningConclusion, scale: EffectScale) -> tuple[FloatArray, list[Configuration]]:
    """Each configuration's mean on a scale, without what differs between repetitions of all of them.

    A configuration's n-th run is of the n-th repetition, as each is a block of all configurations.
    """
    runs: dict[Configuration, list[float]] = {}
    for point in sorted(screened.points, key=lambda point: point.order):
        value = float(np.log(point.value)) if scale is EffectScale.LOG else point.value
        runs.setdefault(point.configuration, []).append(value)
    most = max(map(len, runs.values()))
    drift = np.mean([own for own in runs.values() if len(own) == most], axis=0)
    return np.array([float(np.mean(np.array(own) - drift[: len(own)])) for own in runs.values()]), list(runs)


def _estimable(
    options: Mapping[str, tuple[Setting, ...]], configurations: Sequence[Configuration]
) -> tuple[FloatArray, dict[str, tuple[Setting, ...]]]:
    """The model's columns, the level's first, and the options that runs distinguish from those before them."""
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
