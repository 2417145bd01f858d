"""Handovers of a series from one machine to another, joined by the positions that both measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, replace
from hati.core.wording import listed
from hati.stats import (
    MachineRatio,
    VariancePart,
    independent_values,
    joint_above,
    joint_half_width,
    machine_ratio,
    sum_variance,
)
from hati.stats.linear_models import Index
from hati.studies.regression.conclusion import Handover, Interval, LevelChange, Series, direction_of
from hati.studies.regression.levels import SeriesLevels

JOIN_PART = 0.5
"""The part of alpha for changes at handovers, if bridges join any."""

_MOST_NAMED = 5
_UNKNOWN = "a machine without a name"
_CONFIDENCE = 0.95
_LARGEST = 500.0


class HandoverPlace(Struct, frozen=True):
    """The first position of a new machine, the last position of the old one, and the machines' ratio, if known."""

    index: int
    last: int
    ratio: MachineRatio | None
    bridges: tuple[str, ...]

    @property
    def joined(self) -> bool:
        """Whether a change can be decided here."""
        return self.ratio is not None and self.ratio.joins


def handover_places(series: Series) -> list[HandoverPlace]:
    """The places after which no earlier machine returns, and before which no later machine occurs.

    Positions shared by machines that also have positions of their own are bridges, and are left out.
    """
    home = np.flatnonzero(~_shared(series)[series.machines])
    codes = series.machines[home]
    last = {int(code): int(np.flatnonzero(codes == code)[-1]) for code in np.unique(codes)}
    first = {code: int(np.flatnonzero(codes == code)[0]) for code in last}
    return [
        _place(series, int(home[before]), int(home[after]))
        for before, after in pairwise(range(len(home)))
        if all(last[code] <= before or first[code] >= after for code in last)
    ]


def with_handovers(
    series: Series, found: SeriesLevels, places: Sequence[HandoverPlace], alpha: float
) -> tuple[tuple[Handover, ...], tuple[LevelChange, ...]]:
    """The handovers, and the changes there that are significant at ``alpha`` over all of them."""
    number = sum(place.joined for place in places)
    described = [_described(series, found, place, number) for place in places]
    shown = [
        (place, one, levels)
        for place, (one, levels) in zip(places, described, strict=True)
        if one.p_value is not None and one.p_value <= alpha and levels is not None
    ]
    changes = tuple(_change(series, place, one, levels) for place, one, levels in shown)
    directions = {change.index: change.direction for change in changes}
    handovers = (replace(one, direction=directions.get(one.index, one.direction)) for one, _ in described)
    return tuple(handovers), changes


def handover_warnings(series: Series, places: Sequence[HandoverPlace]) -> list[str]:
    """Warnings of handovers where nothing can be decided, with the runs that would help."""
    apart = [place for place in places if place.ratio is None]
    texts = []
    if apart:
        named = listed((series.positions[place.index] for place in apart), _MOST_NAMED)
        texts.append(
            f"all machines change at {named}: a change there cannot be distinguished from the machines'; measure three "
            f"or more positions, such as {series.positions[apart[0].last]}, with several runs on both the old and the "
            "new one"
        )
    return texts + [
        f"all machines change at {series.positions[place.index]}, and {place.bridges[0]} alone was measured on both: "
        "how their ratio varies between positions is not known, and a change there is not decided; measure another "
        "position on both"
        for place in places
        if place.ratio is not None and not place.joined
    ]


def _names(series: Series) -> tuple[tuple[str, ...], ...]:
    """The names of the machines for each code."""
    return series.machine_names or tuple((str(code),) for code in range(int(series.machines.max()) + 1))


def _shared(series: Series) -> NDArray[np.bool_]:
    """Whether each code is of several machines that all have positions of their own, shape (codes,)."""
    names = _names(series)
    alone = {own[0] for own in names if len(own) == 1}
    return np.array([len(own) > 1 and alone.issuperset(own) for own in names], dtype=np.bool_)


def _place(series: Series, last: int, index: int) -> HandoverPlace:
    machines = tuple(name for place in (last, index) for name in _names(series)[series.machines[place]])
    both = (each for one in series.bridges for each in (one, one.reversed))
    found = [one for one in both if one.machines == machines]
    positions = tuple(series.positions[one.index] for one in found)
    return HandoverPlace(index, last, machine_ratio([one.bridge for one in found]), positions)


class _Levels(Struct, frozen=True):
    """The logarithms of the levels on both sides, and their variances."""

    before: float
    after: float
    parts: tuple[VariancePart, ...]


def _described(
    series: Series, found: SeriesLevels, place: HandoverPlace, number: int
) -> tuple[Handover, _Levels | None]:
    old, new = (", ".join(_names(series)[series.machines[each]]) or _UNKNOWN for each in (place.last, place.index))
    bare = Handover(place.index, series.positions[place.index], series.positions[place.last], (old, new))
    ratio = place.ratio
    if ratio is None:
        return bare, None
    interval = _ratios(ratio.estimate, ratio.half_width(_CONFIDENCE))
    known = replace(bare, bridges=place.bridges, ratio=math.exp(ratio.estimate), ratio_interval=interval)
    levels = _levels(series, found, place)
    if levels is None:
        return known, None
    estimate = levels.after - levels.before - ratio.estimate
    parts = (ratio.of_another, *levels.parts)
    interval = _ratios(estimate, joint_half_width(parts, _CONFIDENCE))
    p_value = min(1.0, 2.0 * number * joint_above(abs(estimate), parts) / JOIN_PART) if ratio.joins else None
    relative = None if interval is None else (interval[0] - 1.0, interval[1] - 1.0)
    return replace(known, change=math.expm1(estimate), interval=relative, p_value=p_value), levels


def _change(series: Series, place: HandoverPlace, one: Handover, levels: _Levels) -> LevelChange:
    """The change of level on the scale of the new machine."""
    assert place.ratio is not None
    assert one.interval is not None
    assert one.p_value is not None
    before, after = math.exp(levels.before + place.ratio.estimate), math.exp(levels.after)
    indexes = (place.last + 1, place.index)
    return LevelChange(
        index=place.index,
        position=series.positions[place.index],
        previous=series.positions[place.last],
        indexes=indexes,
        positions=(series.positions[indexes[0]], series.positions[indexes[1]]),
        before=before,
        after=after,
        interval=(before * one.interval[0], before * one.interval[1]),
        p_value=one.p_value,
        direction=direction_of(after - before, series.metric),
        bridges=place.ratio.bridges,
        machine_ratio=math.exp(place.ratio.estimate),
    )


def _levels(series: Series, found: SeriesLevels, place: HandoverPlace) -> _Levels | None:
    """The levels next to a handover; None if a value is not above zero, or the noise is unknown."""
    if not float(found.straight.min()) > 0.0:
        return None
    logs = np.log(found.straight)
    sides = [np.flatnonzero(found.strata == found.strata[each]) for each in (place.last, place.index)]
    known = [_mean(series, found, logs, side) for side in sides]
    if any(part[1] <= 0.0 or not math.isfinite(part[0]) for _, part in known):
        return None
    (before, first), (after, second) = known
    return _Levels(before, after, (first, second))


def _mean(series: Series, found: SeriesLevels, logs: FloatArray, places: Index) -> tuple[float, VariancePart]:
    """The mean of the logarithms at these places, with its variance and degrees of freedom.

    The variance is from the errors of positions if these are known. Otherwise it is from the residuals of all levels of
    the machine, and an autoregression with the noise's long-run variance.
    """
    if found.freedom:
        errors = found.errors[places] / series.values[places]
        if not errors.all():
            return float(np.mean(logs[places])), (float(np.mean(np.square(errors))) / len(places), found.freedom)
        weights = 1.0 / np.square(errors)
        total = float(weights.sum())
        return float(logs[places] @ weights) / total if total else 0.0, (
            1.0 / total if total else math.inf,
            found.freedom,
        )
    own = series.machines == series.machines[places[0]]
    strata = np.unique(found.strata[own], return_inverse=True)[1]
    means = np.bincount(strata, logs[own]) / np.bincount(strata)
    residuals = logs[own] - means[strata]
    freedom = len(residuals) - len(means)
    if freedom < 1:
        return float(np.mean(logs[places])), (0.0, 0.0)
    size, phi = len(places), found.persistence
    inflated = float(sum_variance(np.array([size]), np.array(phi))[..., 0]) / size**2
    variance = float(residuals @ residuals) / freedom * inflated
    return float(np.mean(logs[places])), (variance, independent_values(freedom, len(residuals), phi))


def _ratios(estimate: float, width: float) -> Interval | None:
    high = estimate + width
    return (math.exp(max(estimate - width, -_LARGEST)), math.exp(high)) if high < _LARGEST else None
