"""``python -m benchmarks.interpretations``: how often each interpretation of a relation is wrong, and what it finds.

Samples are simulated with the mean 1: runs deviate by 1 %, and the 2,000 observations of a run by 3 %, normally. Where
only run means matter they are drawn directly, with 3 % / sqrt(2000) for the observations, which is exact. For
Definition 4.10 a history of run means is resampled without their observations, which omits 0.2 % of the deviation.
``--quick`` runs a tenth of the trials; names of sections select these: ``calibration``, ``early``, ``printed``,
``shapes``, ``small``. ``benchmarks.powers`` has the power, and ``benchmarks.deciding`` the cost.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import islice

import numpy as np
from scipy import stats

from benchmarks.markdown import table
from hati.core import FloatArray
from hati.formula import Comparator
from hati.logic.interpret import (
    AskedRelation,
    FormulaVerdict,
    MeasuredSample,
    decide_early,
    pairs_to_decide,
    parametric,
    welch,
)
from hati.logic.interpret.contrast import p_values, verdict_of
from hati.logic.interpret.interpretation import resampled, tested

ALPHA = 0.01
SMALL = 0.001
MARGIN = 0.02
BETWEEN, WITHIN, OBSERVATIONS = 0.01, 0.03, 2_000
TRIALS = 2_000
CAMPAIGNS = 1_000
PAIRS = 64
EQUAL, AT_MOST = AskedRelation(Comparator.EQUAL, alpha=ALPHA), AskedRelation(Comparator.AT_MOST, alpha=ALPHA)
WITH_MARGIN = AskedRelation(Comparator.AT_MOST, MARGIN, ALPHA)

Effects = Callable[[np.random.Generator, int], FloatArray]
"""Deviations of a number of runs, with mean 0 and variance 1."""


def _two_modes(rng: np.random.Generator, number: int, share: float, within: float) -> FloatArray:
    modes = ((rng.random(number) < share) - share) / math.sqrt(share * (1.0 - share))
    return np.asarray(math.sqrt(1.0 - within**2) * modes + within * rng.standard_normal(number))


SHAPES: dict[str, Effects] = {
    "normal": lambda rng, n: rng.standard_normal(n),
    "heavy-tailed (t, 3 df)": lambda rng, n: rng.standard_t(3, n) / math.sqrt(3.0),
    "bimodal (half and half)": lambda rng, n: _two_modes(rng, n, 0.5, 0.4),
    "bimodal (70 and 30 %)": lambda rng, n: _two_modes(rng, n, 0.3, 0.3),
    "skewed (exponential)": lambda rng, n: rng.exponential(1.0, n) - 1.0,
}
"""The shapes of run effects for which the default interpretation keeps its level."""
HARDER: dict[str, Effects] = {
    "skewed (log-normal)": lambda rng, n: (rng.lognormal(0.0, 1.0, n) - math.exp(0.5)) / math.sqrt(math.e**2 - math.e),
    "two values (90 and 10 %)": lambda rng, n: _two_modes(rng, n, 0.1, 0.0),
    "two values (half and half)": lambda rng, n: _two_modes(rng, n, 0.5, 0.0),
}


def run_means(rng: np.random.Generator, effects: Effects, number: int, mean: float = 1.0) -> FloatArray:
    noise = WITHIN / math.sqrt(OBSERVATIONS) * rng.standard_normal(number)
    return np.asarray(mean * (1.0 + BETWEEN * effects(rng, number) + noise))


def of_means(means: FloatArray, history: FloatArray | None = None) -> MeasuredSample:
    return MeasuredSample(tuple(means[:, None]), () if history is None else tuple(history[:, None]))


def observed(rng: np.random.Generator, number: int, mean: float = 1.0) -> MeasuredSample:
    """A sample of normal runs, with all observations."""
    means = mean * (1.0 + BETWEEN * rng.standard_normal(number))
    return MeasuredSample(tuple(mean * WITHIN * rng.standard_normal((number, OBSERVATIONS)) + means[:, None]))


def most_within(trials: int, rate: float, cells: int = 1) -> int:
    """The 99 % binomial bound of a count, or of the largest of ``cells`` counts."""
    return int(stats.binom.ppf(1.0 - 0.01 / cells, trials, rate))


def rejected_by_printed(name: str, runs: int, trials: int, seed: int = 2026, history: int = 0) -> float:
    """The fraction of trials in which equality is rejected although it is true: nominally 2 alpha."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(trials):
        if name == "nonparametric":
            past = run_means(rng, SHAPES["normal"], history) if history else None
            sides = [of_means(run_means(rng, SHAPES["normal"], runs), past) for _ in range(2)]
            test = resampled(sides[0], sides[1], rng, draws=2_000)
            found += min(test.above(1.0), test.below(1.0)) <= ALPHA
        else:
            by = {"welch": welch, "parametric": parametric}[name]
            found += by(observed(rng, runs), observed(rng, runs), EQUAL).verdict is FormulaVerdict.VIOLATED
    return found / trials


def default_verdicts(
    effects: Effects,
    runs: int,
    trials: int,
    *,
    history: int = 0,
    ratio: float = 1.0,
    seed: int = 2026,
    own: int = 0,
    alpha: float = ALPHA,
) -> dict[str, float]:
    """The fractions of trials in which a strict ``<=`` HOLDS, is VIOLATED, or either.

    A history of ``history`` runs serves both sides unless ``own`` is given: the right side then has one of that length.
    """
    rng = np.random.default_rng(seed)
    counts = dict.fromkeys(FormulaVerdict, 0)
    for _ in range(trials):
        left = of_means(run_means(rng, effects, runs, ratio), run_means(rng, effects, history) if history else None)
        right = of_means(run_means(rng, effects, runs), run_means(rng, effects, own) if own else None)
        counts[_verdict(left, right, AskedRelation(Comparator.AT_MOST, alpha=alpha), rng)] += 1
    shares = {verdict.value: count / trials for verdict, count in counts.items()}
    return {**shares, "either": shares["HOLDS"] + shares["VIOLATED"]}


def _verdict(
    left: MeasuredSample, right: MeasuredSample, relation: AskedRelation, rng: np.random.Generator
) -> FormulaVerdict:
    """The verdict of ``decide``, without the other evidence, which takes longer."""
    found = tested(left, right, relation.alpha, rng)
    if found is None:
        return FormulaVerdict.INCONCLUSIVE
    return verdict_of(*p_values(found.test, relation.bounds(found.contrast.right.mean)), relation.alpha)


def three_valued(runs: int, ratio: float, trials: int, seed: int = 2026) -> dict[str, float]:
    """The fractions of verdicts on ``<=`` with a margin of 2 %, for normal runs."""
    rng = np.random.default_rng(seed)
    counts = dict.fromkeys(FormulaVerdict, 0)
    for _ in range(trials):
        left, right = (of_means(run_means(rng, SHAPES["normal"], runs, mean)) for mean in (ratio, 1.0))
        counts[_verdict(left, right, WITH_MARGIN, rng)] += 1
    return {verdict.value: count / trials for verdict, count in counts.items()}


def early(effects: Effects, ratio: float, campaigns: int, seed: int = 2026) -> tuple[dict[str, float], float]:
    """The fractions of verdicts with a look after every pair up to 64, and the mean number of pairs."""
    counts = dict.fromkeys(FormulaVerdict, 0)
    pairs = 0
    for verdict, size in islice(decided_early(effects, ratio, seed), campaigns):
        counts[verdict] += 1
        pairs += size
    return {verdict.value: count / campaigns for verdict, count in counts.items()}, pairs / campaigns


def decided_early(effects: Effects, ratio: float, seed: int) -> Iterator[tuple[FormulaVerdict, int]]:
    """Campaigns without end: the verdict of each, and the number of its pairs."""
    rng = np.random.default_rng(seed)
    while True:
        left, right = (run_means(rng, effects, PAIRS, mean) for mean in (ratio, 1.0))
        size = pairs_to_decide(of_means(left), of_means(right), WITH_MARGIN) or PAIRS
        yield decide_early(of_means(left[:size]), of_means(right[:size]), WITH_MARGIN).verdict, size


def fixed_runs(ratio: float, power: float) -> int:
    """The fewest runs of a side, at least five, with which t finds the true side of the margin with that power."""
    bound = 1.0 + MARGIN
    deviation = math.sqrt(BETWEEN**2 + WITHIN**2 / OBSERVATIONS) * math.hypot(ratio, bound)
    for runs in range(5, 10_000):
        away = abs(ratio - bound) / deviation * math.sqrt(runs)
        if stats.nct.sf(stats.t.isf(ALPHA, 2 * runs - 2), 2 * runs - 2, away) >= power:
            return runs
    raise ValueError("no number of runs has that power")


def printed_table(trials: int) -> str:
    sizes = (1, 2, 5, 10)
    rows: list[list[object]] = []
    for title, name, history in (
        ("Welch (Definition 4.5)", "welch", 0),
        ("Definition 4.8", "parametric", 0),
        ("Definition 4.10, no history", "nonparametric", 0),
        ("Definition 4.10, history of 10", "nonparametric", 10),
        ("Definition 4.10, history of 30", "nonparametric", 30),
        ("Definition 4.10, history of 130", "nonparametric", 130),
    ):
        alone = {("parametric", 0): "not defined", ("nonparametric", 0): "as Welch"}.get((name, history))
        cells = [
            alone if runs == 1 and alone else f"{rejected_by_printed(name, runs, trials, history=history):.3f}"
            for runs in sizes
        ]
        rows.append([title, *cells])
    for title, history in (("default", 0), ("default, history of 30", 30), ("default, history of 130", 130)):
        shares = [default_verdicts(SHAPES["normal"], runs, trials, history=history)["either"] for runs in sizes]
        rows.append([title, *(f"{share:.3f}" for share in shares)])
    head = ["interpretation", *(f"{size} run{'s' if size > 1 else ''}" for size in sizes)]
    note = f"Of {trials:,} trials each; nominally 0.02, 99 % bound {most_within(trials, 0.02) / trials:.4f}."
    return table("Equal means that are told apart, in either direction", head, rows, note)


def shapes_table(trials: int) -> tuple[str, bool]:
    cells = [(0, 0, 5), (0, 0, 10), (0, 0, 20)]
    cells += [(10, 0, 2), (30, 0, 2), (30, 0, 3), (30, 0, 5), (30, 0, 10)]
    cells += [(130, 0, 1), (130, 0, 2), (130, 0, 5), (130, 0, 10), (30, 30, 2)]
    bound = most_within(trials, 0.02) / trials
    rows, held = [], True
    for history, own, runs in cells:
        rates = {
            name: default_verdicts(effects, runs, trials, history=history, own=own)["either"]
            for name, effects in {**SHAPES, **HARDER}.items()
        }
        largest = most_within(trials, 0.02, len(cells) * len(SHAPES)) / trials
        held = held and max(rates[name] for name in SHAPES) <= largest
        known = {0: "none"}.get(history, f"{history}, one for each side" if own else str(history))
        rows.append([known, runs, *(f"{rate:.3f}{'' if rate <= bound else ' !'}" for rate in rates.values())])
    note = f"Of {trials:,} trials each; nominally 0.02; ! marks what is above the 99 % bound, {bound:.4f}."
    title = "The default interpretation: equal means that are told apart, by the shape of run effects"
    return table(title, ["history", "runs", *SHAPES, *HARDER], rows, note), held


def small_table(trials: int) -> str:
    """Nothing is promised at this level."""
    names = ("normal", "heavy-tailed (t, 3 df)", "skewed (exponential)")
    rows = []
    for history, runs in ((0, 5), (0, 10), (100, 5), (300, 5)):
        rates = [default_verdicts(SHAPES[name], runs, trials, history=history, alpha=SMALL) for name in names]
        rows.append([history or "none", runs, *(f"{each['either']:.4f}" for each in rates)])
    note = f"Of {trials:,} trials each; nominally {2 * SMALL:g}."
    return table(f"The same at {SMALL:.1%} on either side", ["history", "runs", *names], rows, note)


def calibration_table(trials: int) -> tuple[str, bool]:
    bound = most_within(trials, ALPHA) / trials
    rows, held = [], True
    for ratio in (0.98, 1.0, 1.01, 1.02, 1.03, 1.04, 1.06):
        row: list[object] = [f"{ratio:.2f}"]
        for runs in (5, 10, 20, 40):
            rates = three_valued(runs, ratio, trials)
            held = held and (ratio != 1.02 or max(rates["HOLDS"], rates["VIOLATED"]) <= bound)
            row.append(f"{rates['HOLDS']:.3f} / {rates['VIOLATED']:.3f}")
        rows.append(row)
    note = f"Of {trials:,} trials each; at 1.02 nominally 0.01 each, 99 % bound {bound:.4f}."
    head = ["true ratio", *(f"{runs} runs" for runs in (5, 10, 20, 40))]
    return table("<= with a margin of 2 %: judged HOLDS / VIOLATED", head, rows, note), held


def early_table(campaigns: int) -> tuple[str, bool]:
    bound = most_within(campaigns, ALPHA) / campaigns
    rows, held = [], True
    for name, effects in SHAPES.items():
        for ratio in (0.98, 1.0, 1.02, 1.04, 1.06) if name == "normal" else (1.02,):
            rates, pairs = early(effects, ratio, campaigns)
            right = rates["HOLDS"] if ratio < 1.0 + MARGIN else rates["VIOLATED"]
            held = held and (ratio != 1.02 or max(rates["HOLDS"], rates["VIOLATED"]) <= bound)
            fixed = "" if ratio == 1.02 else str(fixed_runs(ratio, min(right, 0.99)))
            planned = "" if ratio == 1.02 else f"{1.0 - pairs / fixed_runs(1.0 + MARGIN / 2.0, 0.9):+.0%}"
            shares = [f"{rates['HOLDS']:.3f}", f"{rates['VIOLATED']:.3f}", f"{pairs:.1f}"]
            rows.append([name, f"{ratio:.2f}", *shares, fixed, planned])
    planned_runs = fixed_runs(1.0 + MARGIN / 2.0, 0.9)
    note = (
        f"Of {campaigns:,} campaigns each, a look after every pair, up to {PAIRS}; at 1.02 nominally 0.01 each, 99 % "
        f"bound {bound:.4f}. Fixed: the runs of a side with which t on run means tells as often (at most in 99 %) what "
        f"is the case. Saved: against the {planned_runs} runs of a side that tell a difference of 1 % from the margin "
        "in 90 %."
    )
    head = ["run effects", "true ratio", "HOLDS", "VIOLATED", "pairs", "fixed", "saved"]
    return table("The same with early stopping", head, rows, note), held


SECTIONS: dict[str, Callable[[int], tuple[str, bool]]] = {
    "calibration": calibration_table,
    "early": lambda trials: early_table(trials * CAMPAIGNS // TRIALS),
    "printed": lambda trials: (printed_table(trials), True),
    "shapes": shapes_table,
    "small": lambda trials: (small_table(2 * trials), True),
}
"""Sections by name: from a number of trials to the table, and whether the default keeps its levels."""


def result(trials: int = TRIALS) -> tuple[str, bool]:
    """All tables, and whether the default keeps its levels."""
    found = [section(trials) for section in SECTIONS.values()]
    return "\n".join(text for text, _ in found), all(held for _, held in found)


def main(words: Sequence[str]) -> int:
    trials = TRIALS // 10 if "--quick" in words else TRIALS
    all_held = True
    for name in [word for word in words if word in SECTIONS] or SECTIONS:
        text, held = SECTIONS[name](trials)
        print(text, flush=True)
        all_held = all_held and held
    print("Levels kept." if all_held else "LEVELS NOT KEPT.")
    return 0 if all_held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
