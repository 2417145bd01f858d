"""An interval of a quotient whose parts are means, each of runs of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hati.core import FloatArray, InputError
from hati.stats.distributions import t_quantile

_LARGEST = 300.0
"""Of a logarithm."""


def quotient_interval(
    above: Sequence[FloatArray], below: Sequence[FloatArray], confidence: float
) -> tuple[float, float] | None:
    """Of the product of the means ``above`` over that of those ``below``; shapes (runs,). None where one is of one run,
    and where runs vary so much that there is no end to it.

    By Student's t of the logarithms: that of a mean has about the variance (s / mean)^2 / n (the delta method), and
    their sum the degrees of freedom of Satterthwaite (1946, Biometrics Bulletin 2, 110-114).

    Raises:
        InputError: where a mean is not above zero.
    """
    parts = (*above, *below)
    if any(len(values) < 2 for values in parts):
        return None
    means = [float(values.mean()) for values in parts]
    if min(means) <= 0.0:
        raise InputError("a quotient of means that are not above zero has no logarithm")
    squares = [(float(values.std(ddof=1)) / mean) ** 2 / len(values) for values, mean in zip(parts, means, strict=True)]
    logs = [math.log(mean) for mean in means]
    middle, total = sum(logs[: len(above)]) - sum(logs[len(above) :]), sum(squares)
    if total <= 0.0:
        return math.exp(middle), math.exp(middle)
    df = total**2 / sum(square**2 / (len(values) - 1) for square, values in zip(squares, parts, strict=True))
    half = t_quantile(0.5 + confidence / 2.0, df) * math.sqrt(total)
    if abs(middle) + half > _LARGEST:
        return None
    return math.exp(middle - half), math.exp(middle + half)
