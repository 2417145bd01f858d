"""``python -m benchmarks.stopping``: the cost of a look after every pair, and the savings by stopping once decided.

Campaigns of pairs of runs are simulated as differences of logarithms. False alarms: two equal sides, up to 64 pairs, a
look after each. Saved runs: against the fixed number of pairs that finds the same change as often by Student's t.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator

import numpy as np
from scipy import stats

from benchmarks.markdown import table
from hati.core import FloatArray
from hati.harness import AnytimeValid, FixedSize, StoppingRule
from hati.studies.paired.judging import JudgedPairs

CAMPAIGNS = 1_000
PAIRS = 64
ALPHAS = (0.01, 0.05)
MARGIN = 0.05
CHANGES = (0.05, 0.10)
NOISE = (0.005, 0.01, 0.02, 0.033, 0.05)

Noise = Callable[[np.random.Generator, int], FloatArray]
"""Logarithms of consecutive runs, shape (runs,)."""


def _autocorrelated(rng: np.random.Generator, size: int) -> FloatArray:
    shocks = rng.standard_normal(size)
    found = np.empty(size)
    found[0] = shocks[0]
    for i in range(1, size):
        found[i] = 0.6 * found[i - 1] + 0.8 * shocks[i]
    return 0.02 * found


KINDS: dict[str, Noise] = {
    "normal": lambda rng, n: 0.02 * rng.standard_normal(n),
    "lognormal": lambda rng, n: np.log1p(0.02 * rng.lognormal(0.0, 1.0, n)),
    "t3": lambda rng, n: 0.02 * rng.standard_t(3, n),
    "bimodal, 70/30": lambda rng, n: 0.1 * (rng.random(n) < 0.3) + 0.0005 * rng.standard_normal(n),
    "bimodal, 50/50": lambda rng, n: 0.1 * (rng.random(n) < 0.5) + 0.0005 * rng.standard_normal(n),
    "drifting": lambda rng, n: 0.02 * rng.standard_normal(n) + np.linspace(0.0, 1.0, n),
    "AR(1) .6": _autocorrelated,
    "first of a pair slower": lambda rng, n: 0.001 * rng.standard_normal(n) + 0.05 * (np.arange(n) % 2 == 0),
}


def differences(noise: Noise, rng: np.random.Generator, pairs: int = PAIRS) -> FloatArray:
    """The differences in a campaign's pairs, each in random order; both sides are equal."""
    runs = noise(rng, 2 * pairs)
    return np.asarray(np.where(rng.random(pairs) < 0.5, 1.0, -1.0) * (runs[1::2] - runs[::2]))


def looks(values: FloatArray, rule: StoppingRule, alpha: float) -> Iterator[JudgedPairs]:
    """The judgement after each pair, from the first one that may decide."""
    for size in range(rule.fewest(alpha), len(values) + 1):
        yield JudgedPairs(values[:size], rule, alpha, math.log1p(MARGIN))


def alarms(noise: Noise, alpha: float, seed: int = 2026, campaigns: int = CAMPAIGNS) -> int:
    """The number of campaigns in which any look calls the sides different, by the p-value of all looks."""
    rng = np.random.default_rng(seed)
    rule = AnytimeValid()
    return sum(rule.p_value(differences(noise, rng), alpha) <= alpha for _ in range(campaigns))


def alarms_of_peeking(noise: Noise, alpha: float, seed: int = 2026, campaigns: int = CAMPAIGNS) -> int:
    """The number of alarms of Student's t, with a look after every pair from the second on."""
    rng = np.random.default_rng(seed)
    sizes = np.arange(2, PAIRS + 1)
    critical = stats.t.isf(alpha / 2.0, sizes - 1)
    found = 0
    for _ in range(campaigns):
        values = differences(noise, rng)
        sums, squares = np.cumsum(values)[1:], np.cumsum(values**2)[1:]
        errors = np.sqrt(np.maximum(squares - sums**2 / sizes, 1e-300) / (sizes - 1) / sizes)
        found += bool(np.any(np.abs(sums / sizes) > critical * errors))
    return found


def ended(
    change: float, noise: float, alpha: float, seed: int = 2026, campaigns: int = CAMPAIGNS
) -> list[tuple[int, str]]:
    """The number of pairs after which each campaign ended, and how: different, same or open."""
    rng = np.random.default_rng(seed)
    rule = AnytimeValid()
    found = []
    for _ in range(campaigns):
        values = math.log1p(change) + noise * math.sqrt(2.0) * rng.standard_normal(PAIRS)
        found.append(_end(values, rule, alpha))
    return found


def _end(values: FloatArray, rule: StoppingRule, alpha: float) -> tuple[int, str]:
    for judged in looks(values, rule, alpha):
        if judged.same:
            return judged.pairs, "same"
        if abs(judged.estimate) > judged.half_width:
            return judged.pairs, "different"
    return len(values), "open"


def fixed_pairs(change: float, noise: float, alpha: float, power: float) -> int:
    """The fewest pairs with which Student's t on differences has that power."""
    effect = math.log1p(change) / (noise * math.sqrt(2.0))
    for pairs in range(2, 10_000):
        critical = FixedSize().critical(pairs, alpha)
        if stats.nct.sf(critical, pairs - 1, effect * math.sqrt(pairs)) >= power:
            return pairs
    raise ValueError("no number of pairs has that power")


def saved(change: float, noise: float, alpha: float, campaigns: int) -> list[object]:
    """A row of the table of saved runs."""
    ends = ended(change, noise, alpha, campaigns=campaigns)
    pairs = np.array([size for size, _ in ends])
    power = sum(how == "different" for _, how in ends) / len(ends)
    fixed = fixed_pairs(change, noise, alpha, min(power, 0.99))
    planned = fixed_pairs(MARGIN, noise, alpha, 0.9)
    return [
        f"{change:.0%}",
        f"{noise:.1%}",
        f"{power:.1%}",
        f"{pairs.mean():.1f}",
        f"{np.quantile(pairs, 0.9):.0f}",
        fixed,
        f"{1.0 - pairs.mean() / fixed:+.0%}",
        planned,
        f"{1.0 - pairs.mean() / planned:+.0%}",
    ]


def same(noise: float, alpha: float, campaigns: int) -> list[object]:
    """A row of the table of equal sides."""
    alike, changed = (ended(change, noise, alpha, campaigns=campaigns) for change in (0.0, MARGIN))
    pairs = np.array([size for size, _ in alike])
    return [
        f"{noise:.1%}",
        f"{pairs.mean():.1f}",
        *(f"{sum(how == word for _, how in alike) / len(alike):.1%}" for word in ("same", "different")),
        f"{sum(how == 'same' for _, how in changed) / len(changed):.1%}",
    ]


def result(campaigns: int = CAMPAIGNS) -> tuple[str, bool]:
    """The tables, and whether false alarms are within the 99 % binomial bound for all but the last kind of noise."""
    counts = {kind: [alarms(noise, alpha, campaigns=campaigns) for alpha in ALPHAS] for kind, noise in KINDS.items()}
    bounds = [int(stats.binom.ppf(0.99, campaigns, alpha)) for alpha in ALPHAS]
    rows = [
        [kind, *(f"{n / campaigns:.1%}" for n in (*counts[kind], alarms_of_peeking(noise, 0.01, campaigns=campaigns)))]
        for kind, noise in KINDS.items()
    ]
    note = f"{campaigns:,} campaigns of up to {PAIRS} pairs a cell, a look after every pair."
    bound = f"The 99 % binomial bounds are {' and '.join(f'{b / campaigns:.1%}' for b in bounds)}."
    first = table(
        "False alarms", ("noise", "alpha 1 %", "alpha 5 %", "Student's t at 1 %, looked at as often"), rows, note, bound
    )
    header = (
        "change", "run noise", "found", "pairs, mean", "90 % of campaigns", "fixed, as much found", "saved",
        "fixed for 5 %, 90 % power", "saved",
    )  # fmt: skip
    second = table(
        "Saved runs", header, [saved(c, n, 0.01, campaigns) for c in CHANGES for n in NOISE], f"alpha 1 %. {note}"
    )
    third = table(
        "The same within 5 %",
        ("run noise", "pairs, mean", "alike: same", "alike: different", "5 % changed: same"),
        [same(n, 0.01, campaigns) for n in NOISE],
        f"alpha 1 %. {note}",
    )
    kept = [kind for kind in KINDS if kind != "first of a pair slower"]
    held = all(n <= b for kind in kept for n, b in zip(counts[kind], bounds, strict=True))
    return "\n".join((first, second, third)), held


def main() -> int:
    text, held = result()
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
