"""What an observation and a run cost, from what is recorded with a sample."""

from __future__ import annotations

from statistics import fmean

import numpy as np

from hati.core import Sample, parse_unit
from hati.harness.allocation import Costs


def costs_of(sample: Sample, observation: float | None = None, run: float | None = None) -> Costs | None:
    """Seconds for each, those given, or else told from the sample; None where an observation's cannot be told.

    An observation of a time is taken to last as long as it says; of anything else, and of times that overlap (those of
    clients at once), as long as the runs' wall time divided by their observations. A run costs what its wall time is
    beyond its observations after warm-up; where that was not recorded, what its warm-up says, which leaves out its
    start.
    """
    bases = []
    if observation is None:
        observation, basis = _observation(sample)
        if observation is None:
            return None
        bases.append(basis)
    if run is None:
        run, basis = _run(sample, observation)
        bases.append(basis)
    return Costs(observation, run, "; ".join(bases) or "given")


def _observation(sample: Sample) -> tuple[float | None, str]:
    unit = parse_unit(sample.metric.unit)
    part = _part_of_wall_time(sample)
    if unit.dimension == "time":
        whole, steady = (
            fmean(float(np.mean(values)) for values in of) * unit.scale
            for of in ([run.observations.values for run in sample.runs], sample.steady)
        )
        if steady > 0.0 and (part is None or whole <= part):
            return steady, "an observation lasts as long as it says"
    return part, "an observation costs its part of the wall time"


def _part_of_wall_time(sample: Sample) -> float | None:
    """The wall time for each observation; None where it was not recorded."""
    walls = [(run.usage.wall_time, run.observations.values.size) for run in sample.runs]
    if any(wall is None or wall <= 0.0 for wall, _ in walls):
        return None
    return fmean((wall or 0.0) / size for wall, size in walls)


def _run(sample: Sample, observation: float) -> tuple[float, str]:
    walls = [run.usage.wall_time for run in sample.runs]
    if None in walls:
        warm = fmean(run.observations.warmup for run in sample.runs) * observation
        return warm, "a run costs its warm-up; its start is not recorded"
    rest = fmean((wall or 0.0) - observation * run.steady.size for wall, run in zip(walls, sample.runs, strict=True))
    if rest < 0.0:
        return 0.0, "the wall time is less than what the observations say: a run itself is taken to cost nothing"
    return rest, "a run costs its wall time beyond its observations"
