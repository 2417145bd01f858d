"""What a suite study concludes, as plain values."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

from hati.core import Configuration, FloatArray, Metric
from hati.stats.intervals import Equivalence, MannWhitney, Quantile


class SuiteScale(StrEnum):
    """The scale on which means are compared and errors are equal."""

    LOG = "log"
    RAW = "raw"


class StratumEstimate(Struct, frozen=True):
    """One valid combination of the important options: its completions, and the metric's mean over them.

    ``setting`` has no entry for an inactive option; ``weight`` is the number of valid completions. ``estimate`` and its
    95 % ``interval`` are in the metric's unit, None where no run yielded a value; ``configurations`` were planned,
    ``runs`` yielded a value.
    """

    setting: Configuration
    weight: int
    estimate: float | None
    interval: tuple[float, float] | None
    configurations: int
    runs: int


class SpaceMean(Struct, frozen=True):
    """The metric's mean over all valid configurations, with a 95 % interval; in its unit."""

    estimate: float
    interval: tuple[float, float] | None


class Box(Struct, frozen=True):
    """What a box plot draws, in the metric's unit; quantiles are weighted."""

    name: str
    minimum: float
    lower: float
    median: float
    upper: float
    maximum: float


class Agreement(Struct, frozen=True, eq=False):
    """The suite against other values of the metric: a full data set's, or those of a random sample.

    ``ks`` is the largest distance of the distribution functions. ``range`` is the share of the others between the
    suite's smallest and largest value. ``mean`` and ``geometric_mean`` are the others'. ``equivalence`` is of the means
    on the study's scale: on ``log`` a difference of logarithms. ``pairs``, shape (points, 2), are the suite's and the
    others' quantiles.
    """

    kind: str
    values: int
    mean: float
    geometric_mean: float | None
    ks: float
    range: float
    mann_whitney: MannWhitney
    equivalence: Equivalence | None
    pairs: FloatArray
    boxes: tuple[Box, Box]


class SuiteConclusion(Struct, frozen=True):
    """What a suite says of the whole space, complete or not.

    ``options`` made the strata; ``configurations`` is how many valid ones there are; ``planned``, ``done`` and
    ``failed`` count runs, those of a random sample included.
    """

    study: str
    subject: str
    benchmark: str
    revision: str
    metric: Metric
    scale: SuiteScale
    options: tuple[str, ...]
    options_from: str
    configurations: int
    size: int
    repetitions: int
    strata: tuple[StratumEstimate, ...]
    quantiles: tuple[Quantile, ...]
    mean: SpaceMean
    geometric_mean: SpaceMean | None
    against: Agreement | None
    planned: int
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...]
