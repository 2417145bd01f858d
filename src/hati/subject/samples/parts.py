"""What the readers of other tools' formats share: labels of text, directions of units."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np

from hati.core import Better, FloatArray, InputError, Metric, SampledRun
from hati.subject.samples.fields import observations

_RATE = re.compile(r".*/\s*([num\u00b5\u03bc]?s|sec|seconds?|min|h|hour)|.* per sec(ond)?|[kMG]?Hz|[kMG]?bps|[A-Z]+PS")


def direction(unit: str) -> Better:
    """Rates are better when higher, all else when lower.

    >>> direction("ops/us"), direction("us/op"), direction("MB/s")
    (<Better.HIGHER: 'higher'>, <Better.LOWER: 'lower'>, <Better.HIGHER: 'higher'>)
    """
    return Better.HIGHER if _RATE.fullmatch(unit) else Better.LOWER


def single(value: float, metric: Metric, complain: Callable[[str], InputError]) -> SampledRun:
    """A run of which one number is known."""
    return SampledRun(observations(np.array([value]), metric, complain))


def values_run(values: FloatArray, metric: Metric, complain: Callable[[str], InputError]) -> SampledRun:
    """A run of which nothing but its observations is known; values of shape (n,)."""
    return SampledRun(observations(values, metric, complain))


def summary_only(what: str, tool: str) -> str:
    """The warning for files that hold summaries."""
    return f"{tool} gives {what}, not what was observed: each is taken as the single observation of a run"


def one_process(tool: str) -> str:
    """The warning for files in which repetitions were made by one process."""
    return f"{tool} repeats within one process: a file is one run; give several files for several runs"
