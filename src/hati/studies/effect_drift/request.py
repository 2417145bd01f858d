"""The request of ``hati compare-effects``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hati.core import BenchmarkName, MetricName, PositionalField, Seed, Templates, budget, level


class DriftRequest(Struct, frozen=True, kw_only=True):
    """Find the options whose effects changed between revisions.

    Measures the design of a screening at both revisions.
    """

    before: Annotated[str, PositionalField("Revision to compare with.", "BEFORE")]
    after: Annotated[str, PositionalField("Revision whose effects may have changed.", "AFTER")]
    benchmark: BenchmarkName = None
    metric: MetricName = None
    alpha: Annotated[float, level("over all verdicts together")] = 0.01
    budget: Annotated[str | None, budget("5m", "4 rounds")] = None
    template: Templates = ()
    seed: Seed = 1
