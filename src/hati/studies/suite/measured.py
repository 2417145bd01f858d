"""The runs of a suite as one value for each configuration."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from hati.core import Configuration, Evidence, FloatArray, Metric, Run, conversion
from hati.stats import Index
from hati.studies.failures import failure_reasons


class Measured(Struct, frozen=True, eq=False):
    """``values`` are means over runs, in the metric's unit, of the configurations at ``places`` of those asked for.

    ``runs`` yielded them; ``failed`` yielded none, for ``reasons``, each once with its count.
    """

    values: FloatArray
    places: Index
    runs: Index
    failed: int
    reasons: tuple[str, ...]


def measured(evidence: Evidence, metric: Metric, configurations: Sequence[Configuration]) -> Measured:
    """One value for each configuration that has any.

    Raises:
        InputError: where a run's unit cannot be converted to the metric's.
    """
    found: Mapping[Configuration, list[float]] = defaultdict(list)
    failed = list[Run]()
    for run in evidence.runs:
        observations = run.of(metric.name)
        if observations is None:
            failed.append(run)
        else:
            found[run.task.configuration].append(observations.mean * conversion(observations.unit, metric.unit))
    places = [place for place, configuration in enumerate(configurations) if configuration in found]
    values = [found[configurations[place]] for place in places]
    return Measured(
        values=np.array([np.mean(of) for of in values], dtype=np.float64),
        places=np.array(places, dtype=np.intp),
        runs=np.array([len(of) for of in values], dtype=np.intp),
        failed=len(failed),
        reasons=failure_reasons(failed, metric),
    )
