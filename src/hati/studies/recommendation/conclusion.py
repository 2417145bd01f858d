"""What a recommendation study concludes, as plain values."""

from __future__ import annotations

from dataclasses import dataclass

from hati.core import Better, Configuration, Metric, Setting


@dataclass(frozen=True)
class MetricChange:
    """What a recommended configuration does to a metric, against the baseline.

    ``predicted`` and ``measured`` are in the metric's unit; the changes are fractions. ``interval`` is of ``change``;
    those of a metric hold for all recommended configurations together with 95 %. None where nothing is known.
    """

    metric: Metric
    predicted: float | None
    predicted_change: float | None
    measured: float | None
    baseline: float | None
    change: float | None
    interval: tuple[float, float] | None
    pairs: int

    @property
    def confirmed(self) -> bool:
        """Whether the whole interval is on the good side."""
        if self.interval is None:
            return False
        low, high = self.interval
        return high < 0.0 if self.metric.better is Better.LOWER else low > 0.0


@dataclass(frozen=True)
class Recommended:
    """A configuration, what has to be set to get it from the baseline, and what it does to each metric.

    ``metric`` is the name of the one that it is recommended for.
    """

    configuration: Configuration
    set: tuple[tuple[str, Setting], ...]
    metric: str
    changes: tuple[MetricChange, ...]

    @property
    def leading(self) -> MetricChange:
        """The change of the metric that it is recommended for."""
        return next(change for change in self.changes if change.metric.name == self.metric)

    @property
    def confirmed(self) -> bool:
        """Whether it was shown to be better than the baseline in the metric that it is recommended for."""
        return self.leading.confirmed


@dataclass(frozen=True)
class RecommendationConclusion:
    """What to set, and whether it was confirmed by fresh runs; complete or not.

    ``baseline`` is the default configuration where that is valid. ``looked_up`` tells that the runs are those of a
    table, perhaps the same ones that the screening had. ``planned``, ``done`` and ``failed`` count runs.
    """

    study: str
    screening: str
    subject: str
    metric: Metric
    baseline: Configuration
    recommended: tuple[Recommended, ...]
    looked_up: bool
    pairs: int
    planned: int
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...]
