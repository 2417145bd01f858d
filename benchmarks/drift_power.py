"""What the linear trend in every analysis of a screening costs, by the order of the runs.

``python -m benchmarks.drift_power`` prints tables as Markdown, in about 20 minutes; ``--quick`` a tenth of the
studies. All analyses see the same noise. The order of runs is drawn for each study, as that of a campaign is.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np

from benchmarks.markdown import table
from hati.core import FloatArray, generator
from hati.design import Levels, Model, trend_robust_order
from hati.space import Option, Space
from hati.stats import StepDown, step_down
from hati.studies.screening import ALPHA, choose_followed
from hati.studies.screening.model import model_terms
from hati.studies.screening.planning.models import ModelChoice
from hati.studies.screening.spread import drift as drift_of
from hati.studies.screening.warnings import DRIFT

STUDIES = 2_000
RUNS = (8, 16, 24, 48)
SIZE = {8: 3.0, 16: 1.5, 24: 1.5, 48: 1.0}
"""The effects of the active options, in standard deviations of a run, by the number of runs."""
DRIFTS = (0.0, 1.5, 2.0, 4.0)
"""Linear drift from the first run to the last, in standard deviations of a run."""
OTHER = 4.0
"""The size of drifts of other shapes."""
RANDOM, ROBUST = 1, 100
"""The numbers of random orders of which the one that a trend disturbs least is taken."""
ACTIVE = 2
"""The number of active options, the first ones."""
WITH, WITHOUT = "with", "without"


class PowerWithTrend(NamedTuple):
    """The fraction of active options that are found, and of studies with a false one, by analysis.

    ``warned`` is the fraction of studies that warn of drift, by the size of a linear one.
    """

    found: dict[str, float]
    false: dict[str, float]
    warned: dict[float, float]


@cache
def design(runs: int) -> Levels:
    """The settings of a default design with all of its runs, shape (runs, options)."""
    options = "abcd" if runs < 16 else "abcdef"
    space = Space(tuple(Option(name, (False, True), default=False) for name in options))
    rng = generator(2026, "design", str(runs))
    for asked in range(runs, 2 * runs):  # a part of larger budgets is set aside for the follow-up
        choice = choose_followed(space, asked, rng, ())
        if isinstance(choice, ModelChoice) and len(choice.levels) == runs:
            return np.asarray(choice.levels)
    raise ValueError(f"no default design has {runs} runs")


def settling(places: FloatArray) -> FloatArray:
    """A fast rise from 0 to 1 that levels off."""
    return np.asarray((1.0 - np.exp(-5.0 * places)) / (1.0 - np.exp(-5.0)))


def step(places: FloatArray) -> FloatArray:
    """A jump from 0 to 1 after a third of the runs."""
    return np.asarray(places >= 1.0 / 3.0, dtype=np.float64)


SHAPES: dict[str, Callable[[FloatArray], FloatArray]] = {"none": np.zeros_like, "settling": settling, "step": step}


def simulate(
    runs: int,
    size: float,
    studies: int = STUDIES,
    orders: int = RANDOM,
    shape: str = "none",
    analyses: Sequence[str] = (WITH, WITHOUT),
) -> PowerWithTrend:
    """The power of analyses with and without a trend, in studies whose active options have effects of one size.

    A linear drift of any size changes nothing in the analysis with a trend. Drifts of other shapes have size ``OTHER``.
    """
    rng = generator(2026, "drift power", str(runs), str(size))
    levels, places, blocks = design(runs), np.arange(runs, dtype=np.float64), np.zeros(runs, dtype=np.intp)
    model = Model.of_order([2] * levels.shape[1], 2)
    columns = model.matrix(levels)[:, 1:]
    mains, pairs = columns[:, : levels.shape[1]], columns[:, levels.shape[1] :]
    active = {(place,) for place in range(ACTIVE)}
    found, false, warned = dict.fromkeys(analyses, 0), dict.fromkeys(analyses, 0), dict.fromkeys(DRIFTS, 0)
    for _ in range(studies):
        seed, noise = int(rng.integers(2**32)), rng.standard_normal(runs)
        rows = levels[trend_robust_order(mains, pairs, 1, orders, np.random.default_rng(seed))]
        values = size * rows[:, :ACTIVE].sum(axis=1) + noise + OTHER * SHAPES[shape](places / (runs - 1))
        for name in analyses:
            terms = model_terms(model, rows, blocks, places if name == WITH else None)
            tested = step_down(terms, values, ALPHA, np.random.default_rng(seed))
            found[name] += len(active & set(tested.significant))
            false[name] += bool(set(tested.significant) - active)
            for drift in DRIFTS if name == WITH else ():
                warned[drift] += _warns(model, rows, values + drift * places / (runs - 1), tested)
    return PowerWithTrend(
        {name: number / studies / ACTIVE for name, number in found.items()},
        {name: number / studies for name, number in false.items()},
        {drift: number / studies for drift, number in warned.items()},
    )


def _warns(model: Model, rows: Levels, values: FloatArray, tested: StepDown) -> bool:
    """Whether the screening warns of drift, with the significant effects removed."""
    columns = model.columns(rows)
    effects = np.hstack([np.empty((len(rows), 0)), *(columns[term] for term in tested.significant if term in columns)])
    each = np.arange(len(rows))
    return drift_of(values, each, each, np.empty((len(rows), 0)), effects)[1] < DRIFT


def result(studies: int = STUDIES, sizes: Sequence[int] = RUNS) -> tuple[str, bool]:
    """The tables; there are no goals."""
    return f"{_costs(studies, sizes)}\n\n{_other_drifts(studies, sizes[1:3])}", True


def main(arguments: list[str]) -> None:
    """Print the tables."""
    print(result(STUDIES // 10 if "--quick" in arguments else STUDIES)[0])


def _costs(studies: int, sizes: Sequence[int]) -> str:
    rows = []
    for runs in sizes:
        for orders in (RANDOM, ROBUST):
            power = simulate(runs, SIZE[runs], studies, orders)
            cost = 100 * (power.found[WITHOUT] - power.found[WITH])
            cells = [_percent(each[name]) for each in power[:2] for name in (WITHOUT, WITH)]
            warned = " / ".join(_percent(power.warned[drift]) for drift in DRIFTS)
            rows.append([runs, f"{SIZE[runs]:g}", orders, *cells[:2], f"{cost:.1f}", *cells[2:], warned])
    drifts = " / ".join(f"{drift:g}" for drift in DRIFTS)
    header = ["runs", "effect", "orders", "found without", "with", "cost (points)", "a false effect without", "with"]
    note = f"{studies:,} studies each, with {ACTIVE} active options of 4 (8 runs) or 6."
    return table("Power with and without a linear trend", [*header, f"warned at a drift of {drifts}"], rows, note)


def _other_drifts(studies: int, sizes: Sequence[int]) -> str:
    rows = []
    for runs in sizes:
        for shape in list(SHAPES)[1:]:
            each = [simulate(runs, SIZE[runs], studies, orders, shape, (WITH,)) for orders in (RANDOM, ROBUST)]
            rows.append([runs, shape, *(_percent(value[WITH]) for power in each for value in power[:2])])
    names = [
        f"{name}, {orders} order{'s' * (orders > 1)}" for orders in (RANDOM, ROBUST) for name in ("found", "false")
    ]
    return table(f"Drifts of {OTHER:g} that are not linear, analysed with a trend", ["runs", "drift", *names], rows)


def _percent(fraction: float) -> str:
    return f"{100 * fraction:.1f} %"


if __name__ == "__main__":
    main(sys.argv[1:])
