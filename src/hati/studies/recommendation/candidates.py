"""Which single settings may be better than the default's, by what a screening measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hati.core import Better, Configuration, FloatArray, InputError, Setting
from hati.space import Space, narrowed
from hati.space.formula import Comparator, Comparison, Literal, Name
from hati.stats import t_quantile
from hati.studies.recommendation.findings import ChangeScale, Findings

MOST_CANDIDATES = 12
_DOUBT = 0.95
"""A setting is a candidate unless its gain is below what is relevant with this one-sided confidence."""

Allowed = Mapping[str, tuple[Setting, ...]]
"""The settings that may be recommended, for the options that are restricted."""


@dataclass(frozen=True)
class Candidate:
    """A setting of an option, the configuration in which it is tried, and its estimated ``gain`` at the baseline.

    The gain is a difference of logarithms or a fraction of the mean size, above 0 where it is good.
    """

    option: str
    setting: Setting
    configuration: Configuration
    gain: float


def candidates(space: Space, findings: Findings, start: Configuration, allowed: Allowed) -> tuple[Candidate, ...]:
    """The settings whose gain at the start may be relevant, the most promising first.

    By least squares on every option's settings and the important interactions of two, coded so that the start is zero:
    what is estimated for a setting is its effect there, and not an average over settings that nobody uses.
    """
    flips = [
        (option.name, setting)
        for option in space.options
        if option.name in start
        for setting in option.settings
        if setting != start[option.name] and setting in allowed.get(option.name, option.settings)
    ]
    gains, errors, df = _gains(space, findings, start, flips)
    doubt = t_quantile(_DOUBT, df) if df else float("inf")
    with np.errstate(invalid="ignore"):
        bounds = np.where(errors > 0.0, gains + doubt * errors, gains)
    relevant = float(np.log1p(findings.relevant)) if findings.scale is ChangeScale.LOG else findings.relevant
    order = sorted(range(len(flips)), key=lambda i: -float(gains[i] + (errors[i] if df else 0.0)))
    found: list[Candidate] = []
    for place in order:
        if bounds[place] > relevant and len(found) < MOST_CANDIDATES:
            configuration = reached(space, start, dict([flips[place]]))
            if configuration is not None and is_allowed(configuration, start, allowed):
                found.append(Candidate(*flips[place], configuration, float(gains[place])))
    return tuple(found)


def is_allowed(configuration: Configuration, start: Configuration, allowed: Allowed) -> bool:
    """Whether a configuration differs from the start only by settings that may be recommended."""
    return all(
        setting in allowed.get(name, (setting,))
        for name, setting in configuration.items()
        if start.get(name) != setting
    )


def reached(space: Space, start: Configuration, settings: Mapping[str, Setting]) -> Configuration | None:
    """The start with these settings, or where that is not valid the nearest valid configuration; None without one."""
    try:
        direct = space.canonical({**start, **settings})
        if space.valid(direct):
            return direct
        wanted = [Comparison(Name(name), Comparator.EQUAL, Literal(setting)) for name, setting in settings.items()]
        return narrowed(space, wanted).default
    except InputError:
        return None


def _gains(
    space: Space, findings: Findings, start: Configuration, flips: Sequence[tuple[str, Setting]]
) -> tuple[FloatArray, FloatArray, int]:
    """The gain of each flip and its standard error, shape (flips,), and the residual degrees of freedom."""
    columns = dict(_columns(space, findings, start))
    matrix = np.column_stack([np.ones(len(findings.values)), *columns.values()])
    sign = -1.0 if findings.metric.better is Better.LOWER else 1.0
    size = 1.0 if findings.scale is ChangeScale.LOG else findings.typical or 1.0
    values = sign * findings.decided / size
    fitted, _, rank, _ = np.linalg.lstsq(matrix, values, rcond=None)
    df = len(values) - int(rank)
    variance = float(np.sum((values - matrix @ fitted) ** 2)) / df if df else 0.0
    errors = np.sqrt(variance * np.clip(np.diag(np.linalg.pinv(matrix.T @ matrix)), 0.0, None))
    places = {flip: place for place, flip in enumerate(columns, start=1)}
    own = [places[flip,] for flip in flips]
    return np.asarray(fitted[own]), np.asarray(errors[own], dtype=np.float64), df


def _columns(
    space: Space, findings: Findings, start: Configuration
) -> Iterator[tuple[tuple[tuple[str, Setting | None], ...], FloatArray]]:
    """An indicator for every setting but the start's, and the products of those of important pairs."""
    singles: dict[str, list[tuple[tuple[str, Setting | None], FloatArray]]] = {}
    for option in space.options:
        found = [configuration.get(option.name) for configuration in findings.configurations]
        usual = start.get(option.name)
        others: list[Setting | None] = [setting for setting in option.settings if setting != usual]
        if option.active_if is not None and usual is not None:
            others.append(None)
        singles[option.name] = [
            ((option.name, setting), np.array([each == setting for each in found], dtype=np.float64))
            for setting in others
        ]
    for each in singles.values():
        yield from (((named,), column) for named, column in each)
    for options in findings.important:
        if len(options) == 2:
            one, other = options
            for first, left in singles[one]:
                for second, right in singles[other]:
                    yield (first, second), left * right
