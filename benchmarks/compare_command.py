"""``python -m benchmarks.compare_command``: the verdicts of `hati compare` on two files of runs.

The runs are forks of JMH benchmarks (``jmh-forks`` in ``HATI_DATA``, else in ``../shared/data``), five against five of
one build. Each command gets a file for either side, with the half of the benchmarks that was not used for tuning. The
first table is for changes added to one side, by the statistic of a run; the second for iterations from the start, where
both sides or only one have a warm-up.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from benchmarks.comparing import ADDED, ALPHA, FILE, HATI, OBSERVATIONS, SIDE, doubled, forks, half, sample, splits
from benchmarks.markdown import table
from hati.core import FloatArray
from hati.render import samples_text
from hati.stats import proportion
from hati.stats.linear_models import Index

ALL = 3_000
PART = 1_000
STATISTICS = ("auto", "mean", "median")
NEAR = 0.03
_STARTED = 10
"""Random splits of whole forks: their files are large."""

Values = Mapping[str, FloatArray]
"""The observations of each benchmark's runs, shape (runs, observations)."""


def changed(folder: Path, before: Values, after: Values, *more: str) -> list[bool]:
    """Whether the command calls each benchmark slower or faster."""
    files = [folder / name for name in ("before.json", "after.json")]
    for file, side in zip(files, (before, after), strict=True):
        file.write_text("".join(samples_text([sample(name, values) for name, values in side.items()])))
    told = subprocess.run(
        [HATI, "compare", *files, "--alpha", str(ALPHA), "--fail-on", "none", "--format", "json", *more],
        check=True,
        capture_output=True,
        text=True,
    )
    return [row["verdict"] in {"slower", "faster"} for row in json.loads(told.stdout)["comparisons"]]


def _side(every: Values, order: Index, part: slice = slice(None)) -> dict[str, FloatArray]:
    return {name: values[order, part] for name, values in every.items()}


def added(folder: Path, every: Values, orders: Sequence[Index]) -> tuple[str, bool]:
    """The first table, and whether its goals are met."""
    ends = [_adding(size) for size in ADDED] + [doubled]
    shares = dict[str, list[float]]()
    for statistic in STATISTICS:
        shares[statistic] = []
        for change in ends:
            found = [
                changed(
                    folder,
                    _side(every, order[:SIDE]),
                    {name: change(values, seed) for name, values in _side(every, order[SIDE:]).items()},
                    "--statistic",
                    statistic,
                )
                for seed, order in enumerate(orders)
            ]
            shares[statistic].append(float(np.mean(found)))
    auto, mean, median = (shares[name] for name in STATISTICS)
    size = len(every) * len(orders)
    goals = [
        ("verdicts on equal halves: no more than 1 %, by the lower 95 % limit", _rare(auto[0] * size, size)),
        *(
            (
                f"within 3 points of the better of mean and median with {100 * extra:.0f} % added",
                auto[place] >= max(mean[place], median[place]) - NEAR,
            )
            for place, extra in enumerate(ADDED)
            if extra
        ),
        (
            "5 % of the observations x 2 as often as by the mean, by the upper 95 % limit",
            proportion(auto[-1] * size, size).interval[1] >= mean[-1],
        ),
    ]
    header = ["`hati compare --statistic`", *(f"{100 * extra:.0f} % added" for extra in ADDED), "5 % x 2"]
    rows = [[name, *(f"{100 * share:.1f} %" for share in shares[name])] for name in STATISTICS]
    note = f"{len(every)} benchmarks, {len(orders)} splits, the last {OBSERVATIONS} iterations; seed 2026."
    return _with_goals("What the command calls different, by the statistic of a run", header, rows, note, goals)


def started(folder: Path, every: Values, orders: Sequence[Index]) -> tuple[str, bool]:
    """The second table, and whether its goals are met."""
    parts = {
        "all iterations, both": (slice(None), slice(None)),
        f"all, the last {PART:,}": (slice(None), slice(-PART, None)),
        f"the first {PART:,}, the last": (slice(PART), slice(-PART, None)),
    }
    rows, goals = [], list[tuple[str, bool]]()
    size = len(every) * len(orders)
    for name, (one, other) in parts.items():
        found = [changed(folder, _side(every, o[:SIDE], one), _side(every, o[SIDE:], other)) for o in orders]
        wrong = int(np.sum(found))
        low, high = (100.0 * end for end in proportion(wrong, size).interval)
        rows.append([name, f"{wrong} of {size}", f"{low:.1f} to {high:.1f} %"])
        goals.append((f"{name}: no more than 1 %, by the lower 95 % limit", _rare(wrong, size)))
    note = f"{len(every)} benchmarks, {len(orders)} splits of {SIDE} and {SIDE} forks of one build; seed 2026."
    header = ["iterations of either side", "called different", "95 % interval"]
    return _with_goals("Warm-up in files", header, rows, note, goals)


def _adding(size: float) -> Callable[[FloatArray, int], FloatArray]:
    return lambda values, _: np.asarray((1.0 + size) * values)


def _rare(count: float, size: int) -> bool:
    return proportion(count, size).interval[0] <= ALPHA


def _with_goals(
    title: str, header: list[str], rows: list[list[str]], note: str, goals: Sequence[tuple[str, bool]]
) -> tuple[str, bool]:
    notes = [note, "", *(f"- {'met' if met else 'MISSED'}: {text}" for text, met in goals)]
    return table(title, header, rows, "\n".join(notes)), all(met for _, met in goals)


def result() -> tuple[str, bool]:
    """The tables, and whether the goals are met."""
    if not FILE.is_file():
        return (
            "## Comparing by the command\n\nSkipped: set HATI_DATA to the folder with the measured data sets.\n",
            True,
        )
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        statistics, good = added(place, half(forks(), first=False), splits())
        warm, steady = started(place, half(forks(observations=ALL), first=False), splits(_STARTED))
    return f"{statistics}\n{warm}", good and steady


def main() -> int:
    text, held = result()
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
