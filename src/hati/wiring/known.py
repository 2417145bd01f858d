"""What the store knows now of the benchmark and metric of a study."""

from __future__ import annotations

from datetime import UTC, datetime

from hati.report import Knowledge
from hati.studies.screening import ScreeningConclusion
from hati.wiring.campaigns import run_cost
from hati.wiring.knowing import important_options, known_variation
from hati.wiring.statistics import known_statistic
from hati.wiring.warming import known_warm_up
from hati.wiring.workplace import Workplace


def known_of(place: Workplace, found: ScreeningConclusion, now: datetime | None = None) -> Knowledge | None:
    """What a new study of the same benchmark and metric would be planned from; None where the project lacks these.

    ``now`` is the time from which ages count [default: the clock's].
    """
    time = now or datetime.now(UTC)
    benchmark = next((each for each in place.project.benchmarks if each.name == found.benchmark), None)
    metric = next((each for each in benchmark.metrics if each.name == found.metric.name), None) if benchmark else None
    if benchmark is None or metric is None:
        return None
    return Knowledge(
        important=important_options(place, benchmark, metric, time),
        statistic=known_statistic(place, benchmark.name, metric.name, now=time),
        cost=run_cost(place, benchmark, time),
        variation=known_variation(place, benchmark, metric, time),
        warm_up=known_warm_up(place, benchmark, metric.name, time),
    )
