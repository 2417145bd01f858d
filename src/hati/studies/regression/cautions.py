"""What is to be said beside the change points of a series."""

from __future__ import annotations

import numpy as np

from hati.core.wording import listed
from hati.stats.step_statistics import FEWEST
from hati.studies.regression.levels import Levels
from hati.studies.regression.series import Series
from hati.studies.regression.short import is_short

_FAR = 5.0
_STRONG = 0.7
_TIED = 0.5
_MOST_NAMED = 5


def outliers(series: Series, found: Levels) -> tuple[str, ...]:
    """The positions whose value is five standard deviations (by the median of deviations) off its level."""
    if is_short(series):  # what is off there is a step, or within the errors
        return ()
    residuals = found.residuals
    spread = 1.4826 * float(np.median(np.abs(residuals)))
    if spread == 0.0:
        return ()
    steps = set(found.places)
    far = np.flatnonzero(np.abs(residuals) > _FAR * spread).tolist()
    return tuple(series.positions[place] for place in far if place not in steps)


def warnings(series: Series, found: Levels) -> tuple[str, ...]:
    """What is wrong, and what to do about it."""
    return (
        *_machines(series),
        *_few(series, found),
        *_noise(series, found),
        *_drift(found),
        *_recurring(series, found),
        *_runs(series),
    )


def _machines(series: Series) -> list[str]:
    """Handovers from machines that never come back to others that were not there before."""
    last = {int(machine): int(np.flatnonzero(series.machines == machine)[-1]) for machine in np.unique(series.machines)}
    first = {int(machine): int(np.flatnonzero(series.machines == machine)[0]) for machine in last}
    places = [
        place
        for place in range(1, len(series))
        if all(last[machine] < place or first[machine] >= place for machine in last)
    ]
    if not places:
        return []
    named = listed((series.positions[place] for place in places), _MOST_NAMED)
    return [
        f"all machines change at {named}: a change there cannot be distinguished from the machines'; "
        f"measure {FEWEST} positions or more on the old and the new one"
    ]


def _few(series: Series, found: Levels) -> list[str]:
    if found.detectable is not None:
        return []
    return [
        f"{len(series)} positions with this autocorrelation find no step with 80 % power, however large: "
        "record more positions"
    ]


def _noise(series: Series, found: Levels) -> list[str]:
    found_in_noise = []
    if found.phi > _STRONG:
        found_in_noise.append(
            f"the noise is strongly autocorrelated ({found.phi:.2f}): only large steps are distinguished from it; "
            "look for what drifts on the machine"
        )
    if len(np.unique(series.values)) < _TIED * len(series):
        found_in_noise.append("more than half of the values occur several times: record them with more digits")
    return found_in_noise


def _drift(found: Levels) -> list[str]:
    if not found.slope:
        return []
    return ["the series drifts more than it steps: change points are relative to the trend"]


def _recurring(series: Series, found: Levels) -> list[str]:
    levels = found.alternation
    if levels is None:
        return []
    return [
        f"the series alternates between two levels, {levels.low:.4g} and {levels.high:.4g} {series.metric.unit}, and "
        f"regained one of them {levels.regained} times: a property of the machine or the benchmark, not a change; "
        "look for what switches (layout, frequency, neighbours)"
    ]


def _runs(series: Series) -> list[str]:
    fewest, most = int(series.runs.min()), int(series.runs.max())
    if most <= 2 * fewest or is_short(series):
        return []
    return [
        f"positions have from {fewest} to {most} runs and count alike; means of few runs are taken for as sure as "
        "those of many: give each position as many"
    ]
