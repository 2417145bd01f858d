"""Detection of runs disturbed by other activity on the machine, from the recorded resource usage.

Measured values never decide: omitting or repeating runs because of their values would bias the result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from statistics import median

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, Outcome, Run, Usage, usage

FEWEST = 5
"""With fewer runs the usual level is unknown: only absolute signs count."""

MANY = 0.1
"""The fraction of disturbed runs from which a study warns: in quiet runs, at most 1 % are marked."""

_STOLEN = 0.05
_STOLEN_SECONDS = 0.03
"""Stolen time is counted in ticks of 10 ms: fewer than three say little."""
_WAITED = 0.1
_LEAST_SECONDS = 0.005
_LEAST_SWITCHES = 5.0
"""Smaller counts are noise in short runs."""
_NORMAL = 0.6744897501960817
_ODDS = 0.375


class _Sign(Struct, frozen=True):
    """One sign of a disturbance.

    ``value`` is that of a run, None where it was not recorded; ``scaled`` makes it vary alike in quiet runs, higher
    being worse. A run is disturbed where its value is an outlier and more than ``enough`` worse than the usual one, and
    the difference times its wall time is more than ``least``.
    """

    value: Callable[[Usage], float | None]
    scaled: Callable[[FloatArray], FloatArray]
    enough: Callable[[float], float]
    least: float
    reported: str


def _on_processor(used: Usage) -> float | None:
    if used.cpu_time is None or not used.wall_time or used.cpu_time <= 0.0:
        return None
    return used.cpu_time / used.wall_time


def _switches(used: Usage) -> float | None:
    if used.involuntary_switches is None or not used.wall_time:
        return None
    return used.involuntary_switches / used.wall_time


def _pressure(used: Usage) -> float | None:
    return None if used.pressure is None or not used.wall_time else used.pressure / used.wall_time


_SIGNS = (
    _Sign(
        _on_processor,
        lambda values: -np.log(values),
        lambda usual: 0.05 * usual,
        _LEAST_SECONDS,
        "{:.3g} s of CPU time a second, usually {:.3g}",
    ),
    _Sign(
        _switches,
        lambda values: np.sqrt(values + _ODDS),
        lambda _: 20.0,
        _LEAST_SWITCHES,
        "{:.3g} involuntary switches a second, usually {:.3g}",
    ),
    _Sign(
        _pressure,
        lambda values: values,
        lambda _: _WAITED,
        _LEAST_SECONDS,
        "tasks waited for a CPU {:.0%} of the time, usually {:.0%}",
    ),
)


def disturbances(usages: Sequence[Usage]) -> tuple[str, ...]:
    """The reasons why each run of a sample counts as disturbed; empty where it does not.

    A run is compared with the others of its sample: less CPU time per wall time than usual, more involuntary switches,
    or more of the time in which some task waited for a CPU; the usual value is the median. An outlier lies several
    robust deviations (median absolute deviations, Hampel 1974) beyond it: in quiet runs, all signs together mark at
    most 1 %, with noise up to Student's t with 3 degrees of freedom. Two signs count on their own, even where they are
    usual: time stolen by other virtual machines, and more time in which some task waited for a CPU than the run had CPU
    time: while its own threads wait for each other, one of them runs. The load before a run is ignored: most of it is
    that of the previous run.
    """
    found: list[list[str]] = [[] for _ in usages]
    for sign in _SIGNS:
        for place, text in _marked(sign, usages):
            found[place].append(text)
    for place, used in enumerate(usages):
        found[place] = [*(found[place] or _contended(used)), *_stolen(used)]
    return tuple("; ".join(reasons) for reasons in found)


def load_warning(reasons: Sequence[str]) -> str:
    """A sentence if many runs of a study were disturbed: how many, and one of the ``reasons``; empty if they were not.

    There is a reason for each run, empty where it was not disturbed.
    """
    marked = list(filter(None, reasons))
    if not marked or len(marked) < MANY * len(reasons):
        return ""
    return (
        f"{len(marked):,} of {len(reasons):,} runs were disturbed by other programs (the first: {marked[0]}): "
        "the results are those of a loaded machine"
    )


def disturbed_runs(runs: Iterable[Run]) -> dict[str, str]:
    """The reasons of disturbed runs by the ids of their tasks; each is judged among the runs of its study's sample."""
    samples = defaultdict[tuple[object, ...], list[Run]](list)
    for run in runs:
        task = run.task
        if run.outcome is Outcome.DONE:
            alike = task.study, task.benchmark, task.configuration, task.revision, task.workload, run.machine
            samples[alike].append(run)
    found = {}
    for sample in samples.values():
        reasons = disturbances([usage(run) for run in sample])
        found.update({run.task.id: reason for run, reason in zip(sample, reasons, strict=True) if reason})
    return found


def load_warning_of(runs: Iterable[Run]) -> str:
    """The warning that other programs disturbed many of these runs; empty if they did not."""
    done = [run for run in runs if run.outcome is Outcome.DONE]
    reasons = disturbed_runs(done)
    return load_warning([reasons.get(run.task.id, "") for run in done])


def _marked(sign: _Sign, usages: Sequence[Usage]) -> list[tuple[int, str]]:
    known = [(place, value) for place, used in enumerate(usages) if (value := sign.value(used)) is not None]
    if len(known) < FEWEST:
        return []
    values = np.array([value for _, value in known])
    seconds = np.array([usages[place].wall_time for place, _ in known], dtype=np.float64)
    usual = median(values.tolist())  # NumPy's loads its masked arrays
    scaled = sign.scaled(values)
    beyond = scaled - median(scaled.tolist())
    deviation = median(np.abs(beyond).tolist()) / _NORMAL
    worse = np.abs(values - usual)
    enough = (worse > sign.enough(usual)) & (worse * seconds > sign.least)
    outliers = (beyond > critical(len(values)) * deviation) & enough
    return [(known[i][0], sign.reported.format(values[i], usual)) for i in np.flatnonzero(outliers)]


def critical(runs: int) -> float:
    """The critical number of robust deviations for that number of runs: with few, the deviation is often far too small.

    Chosen by simulation: at most .4 % of quiet runs with the noise of Student's t with 3 degrees of freedom are beyond.
    """
    return 6.0 + 250.0 / runs**2


def _contended(used: Usage) -> list[str]:
    if used.pressure is None or used.cpu_time is None or not used.wall_time:
        return []
    others = used.pressure - used.cpu_time
    if others < 10.0 * _LEAST_SECONDS or others < _WAITED * used.wall_time:
        return []
    share, own = min(1.0, used.pressure / used.wall_time), used.cpu_time / used.wall_time
    return [f"tasks waited for a CPU {share:.0%} of the time, and the run used only {own:.2g} CPUs"]


def _stolen(used: Usage) -> list[str]:
    if used.steal is None or not used.wall_time or used.steal < _STOLEN_SECONDS:
        return []
    share = used.steal / used.wall_time
    return [f"{share:.0%} of the time was stolen by other virtual machines"] if share > _STOLEN else []
