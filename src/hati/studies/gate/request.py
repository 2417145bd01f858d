"""The request of ``hati check``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hati.core import (
    BenchmarkName,
    FlagField,
    Margin,
    PositionalField,
    Seed,
    StatisticName,
    Templates,
    budget,
    fail_on,
    level,
)


class GateRequest(Struct, frozen=True, kw_only=True):
    """Test a revision for regressions against its reference.

    Measures both, interleaved, and reports where the revision is slower and which options cause it.
    """

    revision: Annotated[
        str,
        PositionalField(
            "Git or svn revision, . for the working tree, a folder such as ./before, or a release such as name==1.0.",
            "REVISION",
        ),
    ] = "."
    reference: Annotated[
        str | None,
        FlagField(
            "Revision to compare with, `previous`, or `merge-base` [default: the one in hati.toml, else merge-base].",
            metavar="REVISION",
        ),
    ] = None
    benchmark: BenchmarkName = None
    margin: Margin = 0.05
    alpha: Annotated[float, level("over all verdicts together")] = 0.01
    statistic: StatisticName = "auto"
    fail_on: Annotated[str, fail_on("slower, inconclusive")] = "slower,inconclusive"
    budget: Annotated[str | None, budget("5m", "24 rounds")] = None
    template: Templates = ()
    seed: Seed = 1
