"""What a campaign would do."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hati.core import Benchmark, Plan
from hati.store import Selection, SqlStore

if TYPE_CHECKING:
    from hati.studies.screening import AnyChoice


@dataclass(frozen=True)
class Rehearsal:
    """What a campaign would do: tasks in order, and the seconds that they would take, where earlier runs tell.

    ``options`` are the space's, in the order of the project file; ``choice`` is a screening's design.
    """

    reason: str
    plan: Plan
    seconds: float | None
    options: tuple[str, ...]
    choice: AnyChoice | None = None


def estimate(store: SqlStore, benchmark: Benchmark, runs: int) -> float | None:
    """So many times the median cost of the benchmark's runs so far."""
    costs = [run.seconds for run in store.runs(Selection(benchmark=benchmark.name))]
    return runs * statistics.median(costs) if costs else None
