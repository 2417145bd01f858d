"""``python -m benchmarks.comparing``: two samples of runs of one build, and of one build with something added.

On forks of JMH benchmarks (``jmh-forks`` in ``HATI_DATA``, else in ``../shared/data``), five against five in 20 random
splits; a run's observations are its last 50 iterations. They are compared with what most tools do: one Mann-Whitney
test of all observations of both sides, and Welch's test on run means.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks.markdown import table
from hati.core import FloatArray, Metric, Observations, Sample, SampledRun
from hati.render import samples_text
from hati.stats import proportion
from hati.stats.linear_models import Index
from hati.studies.audit import AuditSettings, audit
from hati.studies.audit.conclusion import Marks
from hati.studies.comparison import (
    AUTO,
    MEAN,
    MEDIAN,
    Automatic,
    ChangeVerdict,
    Comparison,
    Question,
    SamplePair,
    Statistic,
    cluster_changes,
    compare,
)

ALPHA = 0.01
SPLITS = 20
ADDED = (0.0, 0.05, 0.10, 0.20)
OBSERVATIONS = 50
SIDE = 5
FEW = 3
HATI = str(Path(sys.executable).with_name("hati"))
FILE = Path(os.environ.get("HATI_DATA", Path(__file__).parents[2] / "shared" / "data")) / "jmh-forks" / "forks.npz"
_TIME = Metric("time", "s")

TAIL = 0.05
CLUSTERED = 300
BOOKSTORES = 400


class Cell(NamedTuple):
    """For splits and benchmarks: whether a p-value is at most alpha, and whether a verdict is a change."""

    significant: Marks
    alarms: Marks


Rates = dict[str, list[float]]
"""Fractions of comparisons, one for each added size."""


def forks(file: Path = FILE, observations: int = OBSERVATIONS) -> dict[str, FloatArray]:
    """Each benchmark's last iterations, shape (forks, iterations)."""
    with np.load(file) as data:
        return {name: data[name][:, -observations:].astype(np.float64) for name in data.files}


def sample(name: str, values: FloatArray) -> Sample:
    return Sample(name, _TIME, tuple(SampledRun(Observations("time", "s", row)) for row in values))


def splits(number: int = SPLITS) -> list[Index]:
    rng = np.random.default_rng(2026)
    return [rng.permutation(2 * SIDE) for _ in range(number)]


def hati(
    before: list[FloatArray], after: list[FloatArray], earlier: Sequence[FloatArray] = ()
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """For each comparison: whether its p-value shows a change, whether its verdict does, and whether it is the same."""
    history = [sample(str(i), values) for i, values in enumerate(earlier)]
    found = [
        SamplePair(sample(str(i), a), sample(str(i), b)) for i, (a, b) in enumerate(zip(before, after, strict=True))
    ]
    rows = compare(found, Question(alpha=ALPHA), history=history).rows
    return (
        np.array([row.change.p_value is not None and row.change.p_value <= ALPHA for row in rows]),
        np.array([row.change.verdict in {ChangeVerdict.SLOWER, ChangeVerdict.FASTER} for row in rows]),
        np.array([row.change.verdict is ChangeVerdict.SAME for row in rows]),
    )


def half(every: dict[str, FloatArray], *, first: bool) -> dict[str, FloatArray]:
    """Every other benchmark by name: the first half is for tuning, the second for the published results."""
    return {name: every[name] for name in sorted(every)[0 if first else 1 :: 2]}


def doubled(values: FloatArray, seed: int) -> FloatArray:
    """The values with 5 % of the observations, drawn at random, twice as large."""
    return np.asarray(values * (1.0 + (np.random.default_rng(seed).random(values.shape) < TAIL)))


def by_statistic(every: dict[str, FloatArray], orders: list[Index], statistic: Statistic | Automatic) -> list[Cell]:
    """The cells with nothing, each size, and a tail added to one side."""
    found = []
    for change in [*ADDED, None]:
        rows: list[Comparison] = []
        for seed, order in enumerate(orders):
            pairs = [
                SamplePair(
                    sample(name, values[order[:SIDE]]),
                    sample(name, doubled(own, seed) if change is None else (1.0 + change) * own),
                )
                for name, values in every.items()
                for own in [values[order[SIDE:]]]
            ]
            rows += compare(pairs, Question(alpha=ALPHA, statistic=statistic)).rows
        significant = [row.change.p_value is not None and row.change.p_value <= ALPHA for row in rows]
        alarms = [row.change.changed for row in rows]
        found.append(Cell(np.array(significant).reshape(len(orders), -1), np.array(alarms).reshape(len(orders), -1)))
    return found


def statistics_result(every: dict[str, FloatArray], orders: list[Index]) -> tuple[str, bool]:
    """The chosen statistic of a run compared with requested ones, on the half that was not used for tuning."""
    held = half(every, first=False)
    found = {statistic: by_statistic(held, orders, statistic) for statistic in (MEAN, MEDIAN, AUTO)}
    rows = [
        [f"{statistic}, {what}", *(f"{100 * float(np.mean(getattr(cell, key))):.2f} %" for cell in cells)]
        for statistic, cells in found.items()
        for key, what in (("significant", "p"), ("alarms", "verdict"))
    ]
    mean, median, auto = ([float(np.mean(cell.alarms)) for cell in found[one]] for one in (MEAN, MEDIAN, AUTO))
    false = proportion(float(found[AUTO][0].significant.sum()), found[AUTO][0].significant.size)
    goals = [("p-values up to 1 % of equal halves: no more, by the lower 95 % limit", false.interval[0] <= ALPHA)]
    goals += [
        (f"verdicts within 3 points of the better of mean and median with {100 * added:.0f} % added", near)
        for place, added in enumerate(ADDED)
        if added
        for near in [auto[place] >= max(mean[place], median[place]) - 0.03]
    ]
    goals += [("verdicts on 5 % of the observations x 2 as often as by the mean", auto[-1] >= mean[-1])]
    notes = [
        f"{len(held)} benchmarks, every other by name; {len(orders)} splits of {SIDE} and {SIDE} forks, seed 2026; the"
        " other half was for tuning.",
        "",
        *(f"- {'met' if met else 'MISSED'}: {text}" for text, met in goals),
    ]
    header = ["share that is called different", *(f"{100 * added:.0f} % added" for added in ADDED), "5 % x 2"]
    return table("The statistic of a run", header, rows, "\n".join(notes)), all(met for _, met in goals)


class Shifted(NamedTuple):
    """Numbers of clusters: all, with an interval that covers the shift, with the other sign, with another share."""

    clusters: int
    held: int
    wrong: int
    mixed: int


def shifted_clusters(every: dict[str, FloatArray], orders: list[Index], factor: float) -> Shifted:
    """The clusters of forks if all observations of one half are multiplied by a factor."""
    wrong = ChangeVerdict.FASTER if factor > 1.0 else ChangeVerdict.SLOWER
    parts = []
    for order in orders:
        pairs = [
            SamplePair(sample(name, values[order[:SIDE]]), sample(name, factor * values[order[SIDE:]]))
            for name, values in every.items()
        ]
        parts += [part for own in cluster_changes(pairs, Question(alpha=ALPHA)) for part in own]
    ends = [part.change.interval for part in parts]
    return Shifted(
        len(parts),
        sum(interval is not None and interval[0] <= factor <= interval[1] for interval in ends),
        sum(part.change.verdict is wrong for part in parts),
        sum(part.share_moved for part in parts),
    )


def damaged_bookstores(number: int = BOOKSTORES) -> tuple[int, int, int]:
    """Numbers of simulated bookstores, seeds from 1: damage found, its size covered, false changes of a cluster.

    The cache of the damaged ones is a tenth slower; false changes are those of bookstores without damage.
    """

    def calls(rng: np.random.Generator, hit: float) -> Sample:
        hits = rng.random((8, 300)) < 0.3
        spread = rng.standard_normal(hits.shape)
        return sample("book", np.where(hits, hit * np.exp(0.05 * spread), 0.08 + 0.0001 * spread))

    found = held = false = 0
    for seed in range(1, number + 1):
        rng = np.random.default_rng(seed)
        damaged, same = (SamplePair(calls(rng, 1e-4), calls(rng, hit)) for hit in (1.1e-4, 1e-4))
        fast, *_ = cluster_changes([damaged], Question(alpha=ALPHA))[0]
        interval = fast.change.interval
        found += fast.change.verdict is ChangeVerdict.SLOWER
        held += interval is not None and interval[0] <= 1.1 <= interval[1]
        false += any(part.changed for part in cluster_changes([same], Question(alpha=ALPHA))[0])
    return found, held, false


def clusters_result(orders: list[Index], number: int | None, bookstores: int) -> tuple[str, bool]:
    """Clusters under a common shift, and under one of their own."""
    every = dict(islice(forks(observations=CLUSTERED).items(), number))
    found = {factor: shifted_clusters(every, orders, factor) for factor in (0.95, 1.0, 1.05)}
    seen, held, false = damaged_bookstores(bookstores)
    rows = [[f"{factor:g}", *(f"{number:,}" for number in counts)] for factor, counts in found.items()]
    goals = [
        ("at least 97 % of 99 % intervals hold the shift", all(c.held >= 0.97 * c.clusters for c in found.values())),
        ("no cluster with the other sign", not any(c.wrong for c in found.values())),
        (f"damaged bookstores found: {seen} of {bookstores}, at least 95 %", seen >= 0.95 * bookstores),
        (f"their interval holds a tenth: {held} of {bookstores}, at least 97 %", held >= 0.97 * bookstores),
        (
            f"a change where there is none: {false} of {bookstores}, no more than 2 % by the lower 95 % limit",
            proportion(float(false), bookstores).interval[0] <= 2.0 * ALPHA,
        ),
    ]
    notes = [
        f"{len(every)} benchmarks, the last {CLUSTERED} iterations, {len(orders)} splits of {SIDE} and {SIDE} forks,"
        f" seed 2026; bookstores are simulated, seeds 1 to {bookstores}. Centres and shares are each asked at {ALPHA}.",
        "",
        *(f"- {'met' if met else 'MISSED'}: {text}" for text, met in goals),
    ]
    header = ["all observations x", "clusters", "interval holds it", "other sign", "another share"]
    return table("Clusters under a common shift", header, rows, "\n".join(notes)), all(met for _, met in goals)


def welch(before: list[FloatArray], after: list[FloatArray]) -> FloatArray:
    means = [np.array([values.mean(axis=1) for values in side]) for side in (before, after)]
    return np.asarray(stats.ttest_ind(*means, axis=1, equal_var=False).pvalue <= ALPHA)


def pooled(before: list[FloatArray], after: list[FloatArray]) -> FloatArray:
    found = [stats.mannwhitneyu(a.ravel(), b.ravel()).pvalue <= ALPHA for a, b in zip(before, after, strict=True)]
    return np.array(found)


def measured(every: dict[str, FloatArray], orders: list[Index]) -> Rates:
    names = ("Hati, p", "Hati, verdict", "Hati, the same", "Welch on run means", "Mann-Whitney on all observations")
    rates: Rates = {name: [] for name in names}
    for added in ADDED:
        counts = {name: list[float]() for name in names}
        for order in orders:
            before = [values[order[:SIDE]] for values in every.values()]
            after = [values[order[SIDE:]] * (1.0 + added) for values in every.values()]
            told = (*hati(before, after), welch(before, after), pooled(before, after))
            for name, rejected in zip(names, told, strict=True):
                counts[name].append(float(np.mean(rejected)))
        for name in names:
            rates[name].append(float(np.mean(counts[name])))
    return rates


def few(every: dict[str, FloatArray], orders: list[Index]) -> Rates:
    """Three against three forks: with the other four as history, and without."""
    names = ("3 and 3, Hati, p", "3 and 3, Hati with a history of 4, p", "3 and 3, Welch on run means")
    counts = {name: [list[float]() for _ in ADDED] for name in names}
    for place, added in enumerate(ADDED):
        for order in orders:
            before, after, earlier = (
                [values[order[part]] * factor for values in every.values()]
                for part, factor in ((slice(FEW), 1.0), (slice(FEW, 2 * FEW), 1.0 + added), (slice(2 * FEW, None), 1.0))
            )
            told = (hati(before, after)[0], hati(before, after, earlier)[0], welch(before, after))
            for name, rejected in zip(names, told, strict=True):
                counts[name][place].append(float(np.mean(rejected)))
    return {name: [float(np.mean(shares)) for shares in found] for name, found in counts.items()}


def large() -> tuple[float, float]:
    """Seconds for 100 benchmarks with 10 runs of 1,000 observations on each side: deciding, and the whole command."""
    rng = np.random.default_rng(1)
    values = np.exp(0.02 * rng.standard_normal((100, 2, 10, 1_000)))
    found = [SamplePair(sample(str(i), before), sample(str(i), after)) for i, (before, after) in enumerate(values)]
    start = time.perf_counter()
    compare(found, Question())
    decided = time.perf_counter() - start
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("before.json", "after.json")]
        for file, samples in zip(files, zip(*((p.before, p.after) for p in found), strict=True), strict=True):
            file.write_text("".join(samples_text(samples)))
        start = time.perf_counter()
        subprocess.run([HATI, "compare", *files, "--fail-on", "none"], check=True, stdout=subprocess.DEVNULL)
        return decided, time.perf_counter() - start


def audited(every: dict[str, FloatArray]) -> str:
    """The result of `hati audit` on the same forks, in a sentence."""
    start = time.perf_counter()
    found = audit([sample(name, values) for name, values in every.items()], AuditSettings())
    seconds = time.perf_counter() - start
    low, high = (100.0 * end for end in found.uncorrected.interval)
    return (
        f"Auditing them in {found.splits} random splits took {seconds:.1f} s: {100 * found.false_alarms.estimate:.2f} %"
        f" alarms, {100 * found.uncorrected.estimate:.2f} % ({low:.2f} to {high:.2f} %) of p-values up to {ALPHA}; "
        f"earlier against later forks p = {found.in_time.p_value:.2f}."
    )


def result(number: int | None = None, splitting: int = SPLITS, bookstores: int = BOOKSTORES) -> tuple[str, bool]:
    """The tables, and whether the goals are met; of all benchmarks, or the first ``number`` of them."""
    if not FILE.is_file():
        return "## Comparing\n\nSkipped: set HATI_DATA to the folder with the measured data sets.\n", True
    every, orders = dict(islice(forks().items(), number)), splits(splitting)
    rates = {**measured(every, orders), **few(every, orders)}
    rows = [[name, *(f"{100 * share:.2f} %" for share in shares)] for name, shares in rates.items()]
    remembering = rates["3 and 3, Hati with a history of 4, p"]
    own, peer = rates["Hati, p"], rates["Welch on run means"]
    goals: list[tuple[str, Callable[[], bool]]] = [
        ("false alarms at most 1.2 %", lambda: own[0] <= 0.012),
        ("5 points above Welch's with 5 % added", lambda: own[1] >= peer[1] + 0.05),
        ("5 points above Welch's with 10 % added", lambda: own[2] >= peer[2] + 0.05),
        ("at least Welch's with 20 % added", lambda: own[3] >= peer[3]),
        ("3 and 3 with a history: false alarms at most 1.2 %", lambda: remembering[0] <= 0.012),
        ("the same within 5 % in at most 1 % with 5 % added", lambda: rates["Hati, the same"][1] <= 0.01),
    ]
    held = [(text, goal()) for text, goal in goals]
    notes = [f"{len(every)} benchmarks, {splitting} splits of {SIDE} and {SIDE} forks, alpha {ALPHA}, seed 2026."]
    decided, whole = large()
    notes.append(
        f"Deciding 100 benchmarks with 2 x 10 runs of 1,000 observations took {decided:.2f} s, `hati compare` of"
        f" their two files {whole:.2f} s in all."
    )
    notes.append(audited(every))
    notes.append("\n".join(["", *(f"- {'met' if met else 'MISSED'}: {text}" for text, met in held)]))
    header = ["share that is called different", *(f"{100 * added:.0f} % added" for added in ADDED)]
    chosen, as_good = statistics_result(every, orders)
    text = table("Comparing", header, rows, "\n".join(notes))
    clusters, aligned = clusters_result(orders, number, bookstores)
    return "\n".join([text, chosen, clusters]), as_good and aligned and all(met for _, met in held)


def main() -> int:
    text, held = result()
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
