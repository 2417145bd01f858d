"""The request of ``hati run``."""

from __future__ import annotations

from typing import Annotated

from msgspec import Struct

from hati.core import BenchmarkName, Seed, Templates, budget


class MeasurementRequest(Struct, frozen=True, kw_only=True):
    """Measure the default configuration and summarise its runs.

    With --set other settings; several settings of an option are measured interleaved.
    """

    benchmark: BenchmarkName = None
    template: Templates = ()
    budget: Annotated[str, budget("2m", "")] = "10"
    seed: Seed = 1
