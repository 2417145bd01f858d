"""The request of ``hati suite``."""

from __future__ import annotations

from typing import Annotated

from hati.core import (
    BenchmarkName,
    FlagField,
    MetricName,
    Seed,
    TableFields,
    Templates,
    share,
    shares,
)
from hati.core.requests import parse_names


class SuiteRequest(TableFields, frozen=True, kw_only=True):
    """Estimate a metric's distribution over the whole space.

    Measures all combinations of its important options.
    """

    options: Annotated[
        tuple[str, ...] | None,
        FlagField(
            "Options that define the strata [default: the important ones of the best screening].",
            metavar="A,B,..",
            parse=parse_names,
        ),
    ] = None
    runs: Annotated[int | None, FlagField("Number of configurations [default: 32].", least=1)] = None
    budget: Annotated[
        str | None,
        FlagField("Limit: a number of runs, or a time; further runs repeat the configurations.", metavar="RUNS|TIME"),
    ] = None
    metric: MetricName = None
    against: Annotated[
        str | None,
        FlagField(
            "Compare with a table of all configurations, or with a random sample measured too.",
            metavar="TABLE|random",
        ),
    ] = None
    margin: Annotated[float, share("Largest difference between means that counts as the same, such as 5%.")] = 0.05
    quantiles: Annotated[tuple[float, ...], shares("Quantiles to estimate, as fractions or percentages.")] = (
        0.05,
        0.25,
        0.5,
        0.75,
        0.95,
    )
    benchmark: BenchmarkName = None
    template: Templates = ()
    seed: Seed = 1
