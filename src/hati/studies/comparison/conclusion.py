"""What a comparison says."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from hati.core import Configuration, Metric, Workload


class Verdict(StrEnum):
    """How a benchmark's second sample is beside its first; slower is worse, whatever the metric."""

    SLOWER = "slower"
    FASTER = "faster"
    SAME = "same"
    INCONCLUSIVE = "inconclusive"


@dataclass(frozen=True)
class Side:
    """One sample: the mean of its runs, in the metric's unit, the half-width of its interval as a fraction of it.

    ``spread`` is None where nothing is known of the noise; ``disturbed`` is how many of the runs were; all
    of them count.
    """

    mean: float
    spread: float | None
    runs: int
    revision: str
    machine: str
    disturbed: int = 0


@dataclass(frozen=True)
class Comparison:
    """One benchmark's two samples.

    ``ratio`` is the second's mean over the first's, with its ``interval``; ``p_value`` that of no difference, and
    ``q_value`` the same corrected for all comparisons; ``detectable`` the smallest change, a fraction, that would have
    been found with 80 % power, and ``runs_needed`` how many runs of each sample would decide. They are None where
    nothing is known of the noise, or no number of runs up to 10,000 would do; the ratio where the first mean is zero.
    """

    benchmark: str
    configuration: Configuration
    workload: Workload
    metric: Metric
    verdict: Verdict
    before: Side
    after: Side
    ratio: float | None
    interval: tuple[float, float] | None
    p_value: float | None
    q_value: float | None
    detectable: float | None
    runs_needed: int | None


@dataclass(frozen=True)
class Comparisons:
    """All of them, at the study-wise level ``alpha`` and with the ``margin`` within which two are the same.

    ``borrowed`` are the degrees of freedom that each variance has from the other benchmarks; ``mean_ratios`` the
    geometric mean of the ratios of each metric with several benchmarks, by its name.
    """

    alpha: float
    margin: float
    statistic: str
    rows: tuple[Comparison, ...]
    borrowed: float
    mean_ratios: dict[str, float]
    warnings: tuple[str, ...]

    def count(self, verdict: Verdict) -> int:
        """How many comparisons end so."""
        return sum(row.verdict is verdict for row in self.rows)
