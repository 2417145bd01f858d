"""Compare every combination of some options' settings with the default, other options at their defaults.

``python -m examples.brute_force examples/postgresql --options fsync synchronous_commit --runs 20`` writes
``examples/postgresql/brute-force.csv``: the mean over runs, and its change relative to the default configuration with a
95 % interval (Welch's t on logarithms).
"""

from __future__ import annotations

import argparse
import csv
import itertools
import math
import sys
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from hati.core import Configuration, HatiError, setting_text
from hati.store import Selection
from hati.subject import remember_output
from hati.wiring import prepare_configurations, workplace


def compared(values: NDArray[np.float64], base: NDArray[np.float64]) -> tuple[float, float, float]:
    """The change of a geometric mean relative to that of the base, in percent, with its 95 % interval."""
    found = stats.ttest_ind(np.log(values), np.log(base), equal_var=False)
    low, high = found.confidence_interval(0.95)
    difference = float(np.log(values).mean() - np.log(base).mean())
    return tuple(100 * math.expm1(each) for each in (difference, low, high))  # type: ignore[return-value]  # three


def combinations(path: Path, options: list[str], runs: int, metric: str | None, seed: int, store: str | None) -> None:
    """Measure all combinations, interleaved, and write the table."""
    place = workplace(path, store)
    space, benchmark = place.project.space, place.project.benchmark(None)
    chosen = benchmark.metrics[0] if metric is None else benchmark.metric(metric)
    settings = itertools.product(*(space.option(name).settings for name in options))
    found = dict.fromkeys(space.canonical(dict(zip(options, each, strict=True))) for each in settings)
    configurations = tuple(each for each in found if space.valid(each))
    budget = str(runs * len(configurations))
    made = prepare_configurations(place, benchmark, configurations, budget, seed, fresh=True).make()
    values: dict[Configuration, list[float]] = {}
    for run in place.store.runs(Selection(study=made.study)):
        if (seen := run.of(chosen.name)) is not None:
            values.setdefault(run.task.configuration, []).append(seen.mean)
    file = place.project.root / "brute-force.csv"
    with file.open("w", encoding="utf-8", newline="") as stream:
        rows = csv.writer(stream, lineterminator="\n")
        rows.writerow([*options, "runs", f"mean {chosen.unit}", "change %", "low %", "high %"])
        base = np.array(values.get(space.default, []))
        for configuration in configurations:
            own = np.array(values.get(configuration, []))
            change = compared(own, base) if min(len(own), len(base)) > 1 else (math.nan,) * 3
            named = [setting_text(configuration[name]) for name in options]
            mean = float(own.mean()) if len(own) else math.nan
            rows.writerow([*named, len(own), f"{mean:.6g}", *(f"{each:.1f}" for each in change)])
    remember_output(file)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.brute_force", description=__doc__)
    parser.add_argument("project", type=Path)
    parser.add_argument("--options", nargs="+", required=True)
    parser.add_argument("--runs", type=int, default=20, help="of each combination")
    parser.add_argument("--metric")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store")
    given = parser.parse_args()
    try:
        combinations(given.project, given.options, given.runs, given.metric, given.seed, given.store)
    except HatiError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(main())
