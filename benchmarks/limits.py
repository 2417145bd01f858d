"""``python -m benchmarks.limits``: the error rates of decisions on absolute limits, and their cost.

Run means have the mean 1 and deviations of 1 %; the limit equals the true mean, or is some deviations above it.
``--quick`` runs a tenth of the trials.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable

import numpy as np

from benchmarks.interpretations import HARDER, SHAPES, Effects, most_within, of_means
from benchmarks.markdown import table
from hati.core import FloatArray
from hati.formula import Comparator
from hati.logic.interpret import AskedRelation, FormulaVerdict, Limit, fewest_alone, pairs_to_decide
from hati.logic.interpret.anytime import Alone
from hati.logic.interpret.contrast import p_values, verdict_of
from hati.logic.interpret.interpretation import Deviations, HistoricalVariance, Resampled, tested

BETWEEN = 0.01
RUNS = 64
MOST_RUNS = 128
TRIALS = 4_000
LEVELS = (0.01, 0.001)
SIZES = (13, 20, 30)
AWAY = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
HISTORIES = (10, 20, 30, 100)
RECENT = (2, 10)
AT_MOST = AskedRelation(Comparator.AT_MOST)


def _gamma(shape: float) -> Effects:
    return lambda rng, number: (rng.gamma(shape, 1.0, number) - shape) / math.sqrt(shape)


def _log_normal(deviation: float) -> Effects:
    square = math.exp(deviation**2)
    return lambda rng, n: (rng.lognormal(0.0, deviation, n) / math.sqrt(square) - 1.0) / math.sqrt(square - 1.0)


def _clear_modes(rng: np.random.Generator, number: int) -> FloatArray:
    """Two modes (70 and 30 %), each with a deviation of a twentieth of their distance."""
    values = (rng.random(number) < 0.3) - 0.3 + 0.05 * rng.standard_normal(number)
    return np.asarray(values / math.sqrt(0.3 * 0.7 + 0.05**2))


ASSUMED: dict[str, Effects] = {
    **SHAPES,
    "clear modes (70 and 30 %)": _clear_modes,
    "gamma, shape 4": _gamma(4.0),
    "gamma, shape 2": _gamma(2.0),
}
"""The run effects for which limits keep their level."""
BEYOND: dict[str, Effects] = {
    "log-normal, .25": _log_normal(0.25),
    "log-normal, .5": _log_normal(0.5),
    "log-normal, 1": _log_normal(1.0),
    "two values (90 and 10 %)": HARDER["two values (90 and 10 %)"],
}
"""Run effects with a longer tail, or with a rarer kind of run."""
Told = dict[FormulaVerdict, int]


def at_the_limit(effects: Effects, trials: int, seed: int = 2026) -> dict[float, Told]:
    """The number of campaigns with each verdict at each level, with a look after each of up to 64 runs.

    The limit is the true mean. The p-values of the looks do not depend on the level, so that one path serves all
    levels.
    """
    rng = np.random.default_rng(seed)
    counts = {alpha: dict.fromkeys(FormulaVerdict, 0) for alpha in LEVELS}
    for _ in range(trials):
        runs = Alone(1.0 + BETWEEN * effects(rng, RUNS), 1.0, fewest_alone(max(LEVELS)))
        holds, violated = p_values(runs, AT_MOST.bounds(1.0))
        for alpha, told in counts.items():
            told[verdict_of(holds, violated, alpha)] += 1
    return counts


def ended(means: FloatArray, limit: float, alpha: float) -> tuple[int, bool]:
    """The number of runs after which a campaign ends, and whether it ends with a verdict."""
    size = pairs_to_decide(of_means(means), Limit(limit), AskedRelation(Comparator.AT_MOST, alpha=alpha))
    return size or len(means), size is not None


def of_fixed_size(effects: Effects, runs: int, trials: int, alpha: float, away: float = 0.0) -> Told:
    """The number of samples of ``runs`` runs with each verdict, if the limit is ``away`` deviations above the truth."""
    rng = np.random.default_rng(2026)
    counts = dict.fromkeys(FormulaVerdict, 0)
    limit = Limit(1.0 + BETWEEN * away)
    for _ in range(trials):
        found = tested(of_means(1.0 + BETWEEN * effects(rng, runs)), limit, alpha, rng)
        told = (1.0, 1.0) if found is None else p_values(found.test, AT_MOST.bounds(limit.value))
        counts[verdict_of(*told, alpha)] += 1
    return counts


def with_a_history(effects: Effects, earlier: int, runs: int, trials: int) -> Told:
    """The verdicts at 1 % on a true limit, if it were treated as a side without noise and a history were used."""
    rng = np.random.default_rng(2026)
    counts = dict.fromkeys(FormulaVerdict, 0)
    for _ in range(trials):
        history, means = (1.0 + BETWEEN * effects(rng, number) for number in (earlier, runs))
        varying, mean = Deviations.of([history, means]), float(means.mean())
        deviations = varying.draws(mean, runs, rng)
        drawn = Resampled(mean, 1.0, deviations, np.zeros_like(deviations))
        test = HistoricalVariance(drawn, varying.variance_df, 0.01, len(varying.values))
        counts[verdict_of(*p_values(test, AT_MOST.bounds(1.0)), 0.01)] += 1
    return counts


def levels_table(trials: int) -> tuple[str, bool]:
    rows, kept = [], True
    fixed = [(runs, alpha) for alpha in LEVELS for runs in SIZES if runs >= fewest_alone(alpha)]
    for name, effects in {**ASSUMED, **BEYOND}.items():
        early = at_the_limit(effects, trials)
        cells = [*early.items(), *((alpha, of_fixed_size(effects, runs, trials, alpha)) for runs, alpha in fixed)]
        rows.append([name, *(_shares(told) for _, told in cells)])
        most = (_most(told) <= most_within(trials, alpha, len(ASSUMED) * len(cells)) for alpha, told in cells)
        kept = (all(most) or name not in ASSUMED) and kept
    head = ["run effects", *(f"looks, {_percent(alpha)}" for alpha in LEVELS)]
    head += [f"{runs} runs, {_percent(alpha)}" for runs, alpha in fixed]
    bounds = " and ".join(f"{most_within(trials, alpha) / trials:.4f}" for alpha in LEVELS)
    note = f"Of {trials:,} trials each; looks after every run up to {RUNS}; 99 % bounds {bounds}."
    return table("f <= limit, the truth being the limit: judged HOLDS / VIOLATED", head, rows, note), kept


def history_table(trials: int) -> tuple[str, bool]:
    shapes = {name: {**ASSUMED, **BEYOND}[name] for name in ("normal", "skewed (exponential)", "log-normal, 1")}
    rows = [
        [earlier, runs, *(_shares(with_a_history(effects, earlier, runs, trials)) for effects in shapes.values())]
        for earlier in HISTORIES
        for runs in RECENT
    ]
    note = f"Of {trials:,} trials each, at 1 %; 99 % bound {most_within(trials, 0.01) / trials:.4f}."
    title = "The same if a history were used, as it is between two sides"
    return table(title, ["earlier runs", "runs", *shapes], rows, note), True


def costs_table(trials: int) -> tuple[str, bool]:
    rows = []
    for away in AWAY:
        rng = np.random.default_rng(2026)
        limit = 1.0 + BETWEEN * away
        ends = [ended(1.0 + BETWEEN * rng.standard_normal(MOST_RUNS), limit, 0.01) for _ in range(trials)]
        sizes = [size if told else math.inf for size, told in ends]
        half, most = np.quantile(sizes, (0.5, 0.9), method="higher").tolist()
        within = sum(size <= RUNS for size in sizes) / trials
        found = [of_fixed_size(SHAPES["normal"], runs, 4 * trials, 0.01, away)[FormulaVerdict.HOLDS] for runs in SIZES]
        rows.append([f"{away:g}", f"{half:g}", f"{most:g}", f"{within:.2f}", *(f"{n / 4 / trials:.2f}" for n in found)])
    head = [
        "deviations below the limit",
        "runs until half of campaigns are decided",
        "until 90 %",
        f"decided by {RUNS}",
        *(f"of {runs} given runs" for runs in SIZES),
    ]
    note = f"Of {trials:,} campaigns of up to {MOST_RUNS} normal runs, and {4 * trials:,} samples; alpha 1 %."
    return table("f <= limit, the truth being below the limit: judged HOLDS", head, rows, note), True


def _percent(alpha: float) -> str:
    return f"{100.0 * alpha:g} %"


def _shares(counts: Told) -> str:
    trials = sum(counts.values())
    return f"{counts[FormulaVerdict.HOLDS] / trials:.4f} / {counts[FormulaVerdict.VIOLATED] / trials:.4f}"


def _most(counts: Told) -> int:
    return max(counts[FormulaVerdict.HOLDS], counts[FormulaVerdict.VIOLATED])


def result(share: int = 1) -> tuple[str, bool]:
    """All tables, and whether levels are kept."""
    made: list[tuple[Callable[[int], tuple[str, bool]], int]] = [
        (levels_table, 1),
        (history_table, 2),
        (costs_table, 8),
    ]
    found = [table_of(TRIALS // share // part) for table_of, part in made]
    return "\n".join(text for text, _ in found), all(kept for _, kept in found)


def main() -> int:
    text, kept = result(10 if "--quick" in sys.argv[1:] else 1)
    print(text)
    print("Levels kept." if kept else "LEVELS NOT KEPT.")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
