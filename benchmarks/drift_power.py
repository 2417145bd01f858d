"""What the linear trend in every analysis of a screening costs: power with and without it, where nothing drifts.

``python -m benchmarks.drift_power`` prints a table as Markdown, in about 15 minutes; ``--quick`` a tenth of the
studies. Both analyses see the same values. The order of runs is drawn for each study, as that of a campaign is.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from benchmarks.markdown import table
from hati.core import generator
from hati.design import Levels, Model
from hati.space import Option, Space
from hati.stats import step_down
from hati.studies.screening import ALPHA, choose_followed
from hati.studies.screening.model import model_terms
from hati.studies.screening.planning.models import ModelChoice

STUDIES = 2_000
RUNS = (16, 24, 48)
SIZES = (1.0, 1.5, 2.0)
"""The effects of the active options, in standard deviations of a run."""
OPTIONS = "abcdef"
ACTIVE = 2
"""The number of active options, the first ones."""
WITH, WITHOUT = "with", "without"


class PowerWithTrend(NamedTuple):
    """The fraction of active options that are found, and of studies with a false one, by analysis."""

    found: dict[str, float]
    false: dict[str, float]


@cache
def design(runs: int) -> Levels:
    """The settings of a default design with all of its runs, shape (runs, options)."""
    space = Space(tuple(Option(name, (False, True), default=False) for name in OPTIONS))
    rng = generator(2026, "design", str(runs))
    for asked in range(runs, 2 * runs):  # a part of larger budgets is set aside for the follow-up
        choice = choose_followed(space, asked, rng, ())
        if isinstance(choice, ModelChoice) and len(choice.levels) == runs:
            return np.asarray(choice.levels)
    raise ValueError(f"no default design has {runs} runs")


def simulate(runs: int, size: float, studies: int = STUDIES, orders: int = 1) -> PowerWithTrend:
    """The power of both analyses in studies without drift whose active options have effects of one size.

    Of several random ``orders`` of runs, the one in which the settings are correlated least with the order is taken.
    """
    rng = generator(2026, "drift power", str(runs), str(size))
    levels, blocks = design(runs), np.zeros(runs, dtype=np.intp)
    model = Model.of_order([2] * len(OPTIONS), 2)
    active = {(place,) for place in range(ACTIVE)}
    found, false = dict.fromkeys((WITH, WITHOUT), 0), dict.fromkeys((WITH, WITHOUT), 0)
    for _ in range(studies):
        rows = min((levels[rng.permutation(runs)] for _ in range(orders)), key=_trend)
        values = size * rows[:, :ACTIVE].sum(axis=1) + rng.standard_normal(runs)
        seed = int(rng.integers(2**32))
        for name, order in ((WITH, np.arange(runs, dtype=np.float64)), (WITHOUT, None)):
            tested = step_down(model_terms(model, rows, blocks, order), values, ALPHA, np.random.default_rng(seed))
            found[name] += len(active & set(tested.significant))
            false[name] += bool(set(tested.significant) - active)
    return PowerWithTrend(
        {name: number / studies / ACTIVE for name, number in found.items()},
        {name: number / studies for name, number in false.items()},
    )


def _trend(rows: Levels) -> float:
    """The sum of squared covariances of the settings with the order of runs."""
    order = np.arange(len(rows)) - (len(rows) - 1) / 2.0
    return float(np.sum((order @ rows) ** 2))


CASES = (*((runs, size, 1) for runs in RUNS for size in SIZES), (16, 1.5, 20))
"""Runs, effect, and the number of random orders of which the one least correlated with the settings is taken."""


def result(studies: int = STUDIES, cases: Sequence[tuple[int, float, int]] = CASES) -> tuple[str, bool]:
    """The table; there are no goals."""
    rows = []
    for runs, size, orders in cases:
        power = simulate(runs, size, studies, orders)
        cost = 100 * (power.found[WITHOUT] - power.found[WITH])
        cells = [f"{100 * each[name]:.1f} %" for each in power for name in (WITHOUT, WITH)]
        rows.append([runs, f"{size:g}", orders, *cells[:2], f"{cost:.1f}", *cells[2:]])
    header = ["runs", "effect", "orders", "found without", "with", "cost (points)", "a false effect without", "with"]
    note = f"{studies:,} studies each of {len(OPTIONS)} options, {ACTIVE} of them active."
    return table("Power with and without a linear trend, where nothing drifts", header, rows, note), True


def main(arguments: list[str]) -> None:
    """Print the table."""
    print(result(STUDIES // 10 if "--quick" in arguments else STUDIES)[0])


if __name__ == "__main__":
    main(sys.argv[1:])
