"""``python -m benchmarks.limits``: how often absolute limits are decided falsely, and what it costs to decide them.

Run means with the mean 1, deviations of 1 %, beside a limit that is the truth itself, or lies some deviations above it.
``--quick`` makes a tenth of the trials.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.interpretations import HARDER, SHAPES, Effects, most_within, of_means
from benchmarks.markdown import table
from hati.core import FloatArray
from hati.logic.interpret import Limit, Measured, Relation, Sign, Verdict, decide_early, pairs_to_decide
from hati.logic.interpret.deciding import tested
from hati.logic.interpret.judging import p_values, verdict_of

BETWEEN = 0.01
RUNS = 64
TRIALS = 2_000
SIZES = (5, 10, 20)
AWAY = (0.5, 1.0, 2.0, 3.0, 5.0, 10.0)
TWO_MODES = "bimodal (70 and 30 %)"
ALL = {**SHAPES, **HARDER}


def at_the_limit(effects: Effects, trials: int, alpha: float, seed: int = 2026) -> dict[Verdict, int]:
    """How many campaigns of up to 64 runs, looked at after each, end with a verdict, the truth being the limit."""
    rng = np.random.default_rng(seed)
    counts = dict.fromkeys(Verdict, 0)
    for _ in range(trials):
        means = 1.0 + BETWEEN * effects(rng, RUNS)
        size, told = ended(means, 1.0, alpha)
        found = decide_early(of_means(means[:size]), Limit(1.0), _at_most(alpha)).verdict if told else None
        counts[found or Verdict.INCONCLUSIVE] += 1
    return counts


def ended(means: FloatArray, limit: float, alpha: float) -> tuple[int, bool]:
    """After how many runs a campaign ends, and whether it ends with a verdict."""
    size = pairs_to_decide(of_means(means), Limit(limit), _at_most(alpha))
    return size or len(means), size is not None


def of_fixed_size(effects: Effects, runs: int, trials: int, alpha: float, away: float = 0.0) -> dict[Verdict, int]:
    """The same of so many runs, the limit so many deviations above the truth."""
    rng = np.random.default_rng(2026)
    counts = dict.fromkeys(Verdict, 0)
    for _ in range(trials):
        means = 1.0 + BETWEEN * effects(rng, runs)
        counts[verdict_by_default(of_means(means), Limit(1.0 + BETWEEN * away), _at_most(alpha), rng)] += 1
    return counts


def verdict_by_default(left: Measured, right: Limit, relation: Relation, rng: np.random.Generator) -> Verdict:
    """That of ``decide``, without the rest of the evidence, which takes longer."""
    found = tested(left, right, relation.alpha, rng)
    assert found is not None
    return verdict_of(*p_values(found.test, relation.bounds(right.value)), relation.alpha)


def _at_most(alpha: float) -> Relation:
    return Relation(Sign.AT_MOST, alpha=alpha)


def _told(counts: dict[Verdict, int]) -> str:
    trials = sum(counts.values())
    return f"{counts[Verdict.HOLDS] / trials:.3f} / {counts[Verdict.VIOLATED] / trials:.3f}"


def levels_table(trials: int) -> tuple[str, bool]:
    rows, held = [], True
    for name, effects in ALL.items():
        early = {alpha: at_the_limit(effects, trials, alpha) for alpha in (0.01, 0.05)}
        fixed = [of_fixed_size(effects, runs, trials, 0.01) for runs in SIZES]
        rows.append([name, *(_told(counts) for counts in (*early.values(), *fixed))])
        if name in SHAPES:
            held = held and all(_most(counts) <= most_within(trials, alpha, 10) for alpha, counts in early.items())
            held = held and all(_most(each) <= most_within(trials, _fixed_level(name), 15) for each in fixed)
    head = ["run effects", "looks, 1 %", "looks, 5 %", *(f"{runs} runs, 1 %" for runs in SIZES)]
    note = f"Of {trials:,} trials each; looks after every run up to {RUNS}; 99 % bounds {_bounds(trials)}."
    return table("f <= limit, the truth being the limit: told to hold / to be violated", head, rows, note), held


def _bounds(trials: int) -> str:
    return " and ".join(f"{most_within(trials, alpha) / trials:.4f}" for alpha in (0.01, 0.05))


def _most(counts: dict[Verdict, int]) -> int:
    return max(counts[Verdict.HOLDS], counts[Verdict.VIOLATED])


def _fixed_level(name: str) -> float:
    """Of few runs with two unlike modes all may be of the larger one."""
    return 0.02 if name == TWO_MODES else 0.01


def costs_table(trials: int) -> str:
    rows = []
    for away in AWAY:
        rng = np.random.default_rng(2026)
        limit = 1.0 + BETWEEN * away
        ends = [ended(1.0 + BETWEEN * rng.standard_normal(RUNS), limit, 0.01) for _ in range(trials)]
        sizes, decided = [size for size, _ in ends], sum(told for _, told in ends)
        found = [of_fixed_size(SHAPES["normal"], runs, trials, 0.01, away)[Verdict.HOLDS] for runs in SIZES]
        cells = [f"{np.mean(sizes):.1f}", f"{np.quantile(sizes, 0.9):.0f}", f"{decided / trials:.2f}"]
        rows.append([f"{away:g}", *cells, *(f"{number / trials:.2f}" for number in found)])
    head = [
        "deviations below",
        "runs, mean",
        "90 % of campaigns",
        "decided",
        *(f"{runs} runs, fixed" for runs in SIZES),
    ]
    note = f"Of {trials:,} trials each, normal runs, alpha 1 %; looks after every run up to {RUNS}."
    return table("f <= limit, the truth being below the limit: told to hold", head, rows, note)


def result(share: int = 1) -> tuple[str, bool]:
    """All, and whether levels are kept."""
    levels, held = levels_table(TRIALS // share)
    return f"{levels}\n{costs_table(TRIALS // share // 4)}", held


def main() -> int:
    text, held = result(10 if "--quick" in sys.argv[1:] else 1)
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
