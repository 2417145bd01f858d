"""The request of ``hati bisect``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hati.core import BenchmarkName, FlagField, Margin, MetricName, PositionalField, Seed, budget, level


class BisectionRequest(Struct, frozen=True, kw_only=True):
    """Find the commits that changed the performance.

    Searches between a good and a bad revision; each comparison ends as soon as it is decided.
    """

    good: Annotated[str, PositionalField("Revision before the change.", "GOOD")]
    bad: Annotated[str, PositionalField("Revision after the change, a descendant of GOOD.", "BAD")]
    settings: Annotated[
        str | None,
        FlagField(
            "Configuration that shows the change [default: the one that `hati check` found].",
            metavar="OPTION=SETTING,...",
            name="--set",
        ),
    ] = None
    benchmark: BenchmarkName = None
    metric: MetricName = None
    alpha: Annotated[float, level("of the whole search")] = 0.01
    margin: Margin = 0.05
    budget: Annotated[str | None, budget("5m", "24 pairs per commit")] = None
    seed: Seed = 1
