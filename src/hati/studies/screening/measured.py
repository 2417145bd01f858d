"""The runs of a screening design as arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from hati.core import Configuration, Evidence, FloatArray, Metric, Observations, Run, conversion
from hati.stats import Index
from hati.studies.failures import failure_reasons


class Measured(Struct, frozen=True, eq=False):
    """What a design's runs yielded, in the order in which they were made; a run that replaces another has its position.

    ``values``, shape (runs,): each run's mean after warm-up, in the metric's unit; the run is the unit of replication.
    ``rows`` are the design's rows, ``machines`` the recorded fingerprints from 0, ``blocks`` the repetitions from 0, on
    several machines those on each of them; ``order`` are the places in time among all runs of the stage.
    ``samples`` holds what ``values`` are the means of. ``failed`` are the runs without a value, and ``reasons`` why,
    each once with its count, the most frequent first.
    """

    values: FloatArray
    rows: Index
    blocks: Index
    machines: Index
    order: Index
    runs: tuple[Run, ...]
    samples: tuple[FloatArray, ...]
    failed: tuple[Run, ...]
    reasons: tuple[str, ...]

    @property
    def in_time(self) -> FloatArray | None:
        """The places in time of the runs' starts.

        None of a single run, and where runs took no time, since they were looked up in a table.
        """
        timed = len(self.runs) > 1 and any(run.seconds > 0.0 for run in self.runs)
        return self.order.astype(np.float64) if timed else None


def measured(evidence: Evidence, metric: Metric, rows: Mapping[Configuration, int]) -> Measured:
    """Sort the evidence of a design's stage into runs with and without a value.

    Raises:
        InputError: where a run's unit cannot be converted to the metric's.
    """
    found = [
        (place, run, run.of(metric.name)) for place, run in enumerate(evidence.runs) if run.task.configuration in rows
    ]
    usable = [(place, run, observations) for place, run, observations in found if observations is not None]
    failed = tuple(run for _, run, observations in found if observations is None)
    samples = tuple(_converted(observations, metric) for _, _, observations in usable)
    repetitions = np.array([run.task.repetition for _, run, _ in usable], dtype=np.intp)
    machines = machines_of([run for _, run, _ in usable])
    return Measured(
        values=np.array([sample.mean() for sample in samples], dtype=np.float64),
        rows=np.array([rows[run.task.configuration] for _, run, _ in usable], dtype=np.intp),
        blocks=repetition_blocks(repetitions, machines),
        machines=machines,
        order=np.array([place for place, _, _ in usable], dtype=np.intp),
        runs=tuple(run for _, run, _ in usable),
        samples=samples,
        failed=failed,
        reasons=failure_reasons(failed, metric),
    )


def machines_of(runs: Sequence[Run]) -> Index:
    """The recorded fingerprint of each run, counted from 0."""
    return np.unique([run.machine for run in runs], return_inverse=True)[1].astype(np.intp)


def repetition_blocks(repetitions: Index, machines: Index) -> Index:
    """The block of each run: its repetition, on several machines that on each of them, counted from 0."""
    if not np.any(machines > 0):
        return repetitions
    cells = repetitions * (machines.max() + 1) + machines
    return np.unique(cells, return_inverse=True)[1].astype(np.intp)


def _converted(observations: Observations, metric: Metric) -> FloatArray:
    factor = conversion(observations.unit, metric.unit)
    return observations.steady if factor == 1.0 else observations.steady * factor
