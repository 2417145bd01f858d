"""The runs of a suite as one value for each configuration."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hati.core import Configuration, Evidence, FloatArray, Metric, Outcome, Run, conversion
from hati.stats import Index


@dataclass(frozen=True, eq=False)
class Measured:
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
    reasons: Counter[str] = Counter()
    for run in evidence.runs:
        observations = run.of(metric.name)
        if observations is None:
            reasons[_reason(run, metric)] += 1
        else:
            found[run.task.configuration].append(observations.mean * conversion(observations.unit, metric.unit))
    places = [place for place, configuration in enumerate(configurations) if configuration in found]
    values = [found[configurations[place]] for place in places]
    return Measured(
        values=np.array([np.mean(of) for of in values], dtype=np.float64),
        places=np.array(places, dtype=np.intp),
        runs=np.array([len(of) for of in values], dtype=np.intp),
        failed=sum(reasons.values()),
        reasons=tuple(f"{text} ({number} runs)" if number > 1 else text for text, number in reasons.most_common()),
    )


def _reason(run: Run, metric: Metric) -> str:
    if run.outcome is Outcome.DONE:
        return f"it yielded no values of {metric.name}"
    return run.detail or run.outcome.value
