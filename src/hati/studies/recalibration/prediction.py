"""The model that a screening leaves, with what it is uncertain by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from hati.core import Configuration, FloatArray, Setting
from hati.studies.screening import Options, Scale, ScreeningConclusion


@dataclass(frozen=True, eq=False)
class Prediction:
    """The model of a screening's important effects, by least squares from its runs.

    ``scale`` is that of logarithms where all values are positive, whatever the screening decided on: a level that rises
    by a tenth leaves ratios as they are. ``coefficients`` has shape (columns,), the columns being those of ``terms``,
    and ``unscaled`` is their covariance in units of ``variance``, which is that of a configuration's mean about the
    model, estimated with ``df`` degrees of freedom: noise, and what the model leaves out.
    """

    scale: Scale
    terms: tuple[Options, ...]
    settings: Mapping[str, tuple[Setting, ...]]
    coefficients: FloatArray
    unscaled: FloatArray
    variance: float
    df: int

    @classmethod
    def of(cls, screened: ScreeningConclusion) -> Prediction | None:
        """That of a screening; None where its runs leave nothing to tell how well the model fits."""
        scale = Scale.LOG if min(point.value for point in screened.points) > 0.0 else Scale.RAW
        values, configurations = _means(screened, scale)
        settings = {option.name: option.settings for option in screened.options}
        terms = _with_parents(screened)
        matrix, kept = _estimable(terms, settings, configurations)
        df = len(values) - matrix.shape[1]
        if df < 1:
            return None
        decided = np.array(values)
        unscaled = np.asarray(np.linalg.inv(matrix.T @ matrix), dtype=np.float64)
        coefficients = unscaled @ matrix.T @ decided
        rest = decided - matrix @ coefficients
        return cls(scale, kept, settings, coefficients[1:], unscaled[1:, 1:], float(rest @ rest) / df, df)

    def columns(self, configurations: Sequence[Configuration]) -> FloatArray:
        """Shape (configurations, columns)."""
        found = [np.zeros((len(configurations), 0))]
        found += [_coded(term, self.settings, configurations) for term in self.terms]
        return np.hstack(found)

    def tells(self, configuration: Configuration) -> bool:
        """Whether it knows all settings that a configuration has of its options."""
        named = {name for term in self.terms for name in term}
        return all(configuration[name] in self.settings[name] for name in named if name in configuration)


def _means(screened: ScreeningConclusion, scale: Scale) -> tuple[list[float], list[Configuration]]:
    """Each configuration's mean on a scale, without what differs between repetitions of all of them.

    A configuration's n-th run is of the n-th repetition, as each is a block of all configurations.
    """
    runs: dict[Configuration, list[float]] = {}
    for point in sorted(screened.points, key=lambda point: point.order):
        value = float(np.log(point.value)) if scale is Scale.LOG else point.value
        runs.setdefault(point.configuration, []).append(value)
    whole = [own for own in runs.values() if len(own) == max(map(len, runs.values()))]
    drift = np.mean(whole, axis=0)
    return [float(np.mean(np.array(own) - drift[: len(own)])) for own in runs.values()], list(runs)


def _with_parents(screened: ScreeningConclusion) -> list[Options]:
    """The important effects and all that they contain, those of fewer options first."""
    important = [effect.options for effect in screened.effects if effect.important]
    found = {
        part for options in important for size in range(1, len(options) + 1) for part in combinations(options, size)
    }
    return sorted(found, key=lambda term: (len(term), term))


def _estimable(
    terms: Sequence[Options], settings: Mapping[str, Sequence[Setting]], configurations: Sequence[Configuration]
) -> tuple[FloatArray, tuple[Options, ...]]:
    """The model's columns, the level's first, and the terms that runs tell from those before them."""
    matrix, kept = np.ones((len(configurations), 1)), []
    for term in terms:
        wider = np.hstack([matrix, _coded(term, settings, configurations)])
        if np.linalg.matrix_rank(wider) == wider.shape[1]:
            matrix = wider
            kept.append(term)
    return matrix, tuple(kept)


def _coded(
    term: Options, settings: Mapping[str, Sequence[Setting]], configurations: Sequence[Configuration]
) -> FloatArray:
    """A term's columns by sum coding, shape (configurations, columns); 0 where an option is inactive."""
    found = np.ones((len(configurations), 1))
    for name in term:
        own = settings[name]
        codes = np.vstack([np.eye(len(own) - 1), -np.ones(len(own) - 1), np.zeros(len(own) - 1)])
        rows = [own.index(each[name]) if name in each and each[name] in own else len(own) for each in configurations]
        coded = codes[rows]
        found = (found[:, :, None] * coded[:, None, :]).reshape(len(configurations), -1)
    return found
