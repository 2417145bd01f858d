"""Changes of the tail of runs: of their means relative to the statistic that stands for them."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from hati.core import FloatArray, replace
from hati.stats import t_two_sided
from hati.studies.comparison import DIRECTION, TAIL_PART
from hati.studies.regression.conclusion import LevelChange
from hati.studies.regression.series import Series


def with_tail(own: Sequence[LevelChange], relative: Sequence[LevelChange], mean: Series) -> tuple[LevelChange, ...]:
    """The changes of the statistic and of the tail in order, p-values corrected for both.

    The tail is slower or faster only where the mean is shown to have moved the same way, one-sided at 5 %: runs whose
    fast path gets faster have a longer tail and a smaller mean. Where statistic and tail change at one place it is one
    change: the tail's where they move in opposite directions, else the statistic's.

    Args:
        own: the changes of the statistic.
        relative: those of the means relative to it.
        mean: the means of the same runs.
    """
    places = [each.index for each in (*own, *relative)]
    tail = [each for each in relative if _moved(mean, each, places)]
    kept = [each for each in own if not any(_overlap(each, other) and _opposite(each, other) for other in tail)]
    tail = [each for each in tail if not any(_overlap(each, other) for other in kept)]
    found = [replace(each, p_value=min(1.0, each.p_value / (1.0 - TAIL_PART))) for each in kept]
    found += [replace(each, p_value=min(1.0, each.p_value / TAIL_PART), of_tail=True) for each in tail]
    return tuple(sorted(found, key=lambda each: each.index))


def _overlap(one: LevelChange, other: LevelChange) -> bool:
    return max(one.indexes[0], other.indexes[0]) <= min(one.indexes[1], other.indexes[1])


def _opposite(one: LevelChange, other: LevelChange) -> bool:
    return one.change * other.change < 0.0


def _moved(mean: Series, change: LevelChange, places: Sequence[int]) -> bool:
    """Whether the means of the positions up to the next change moved the same way, by Student's t of positions.

    Positions vary by what these levels leave, and not less than their runs.
    """
    first, last = change.indexes
    start = max((each for each in places if each < first), default=0)
    stop = min((each for each in places if each > last), default=len(mean))
    logs = np.log(mean.values)
    sides = logs[start : change.index], logs[change.index : stop]
    difference = float(sides[1].mean() - sides[0].mean())
    if difference * change.change <= 0.0:
        return False
    freedom = len(sides[0]) + len(sides[1]) - 2.0
    squares = sum(float(np.sum((side - side.mean()) ** 2)) for side in sides)
    variance = squares / freedom if freedom else 0.0
    if mean.freedom:
        by_runs = float(np.mean(np.square(_relative(mean)[start:stop])))
        if by_runs > variance:
            variance, freedom = by_runs, mean.freedom
    if not freedom:
        return False
    error = math.sqrt(variance * (1.0 / len(sides[0]) + 1.0 / len(sides[1])))
    return error == 0.0 or float(t_two_sided(np.array([abs(difference) / error]), freedom)[0]) <= 2.0 * DIRECTION


def _relative(mean: Series) -> FloatArray:
    return np.asarray(mean.errors / mean.values)
