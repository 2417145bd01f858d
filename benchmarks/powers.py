"""``python -m benchmarks.powers``: the power of each interpretation of a relation, by the true difference.

Samples are those of ``benchmarks.interpretations``, one side with the mean 1 and one with a larger mean; the tables
show how often the difference is found. Without a difference these are the error rates of one direction, nominally 1 %.
``--quick`` runs a tenth of the trials.
"""

from __future__ import annotations

import sys

import numpy as np

from benchmarks.interpretations import ALPHA, AT_MOST, SHAPES, default_verdicts, observed, of_means, run_means
from benchmarks.markdown import table
from hati.logic.interpret import FormulaVerdict, parametric, welch
from hati.logic.interpret.interpretation import resampled

RATIOS = (1.0, 1.005, 1.01, 1.02, 1.03, 1.05)
TRIALS = 1_000
SIZES = {0: (5, 10, 20), 30: (2, 5, 10), 130: (1, 2, 5, 10)}
"""Numbers of runs of a side for the default interpretation, by the length of the history."""


def found_by_printed(name: str, runs: int, ratio: float, trials: int, *, history: int = 0, seed: int = 2026) -> float:
    """The fraction of trials in which ``<=`` is rejected, with normal runs."""
    rng = np.random.default_rng(seed)
    found = 0
    for _ in range(trials):
        if name == "nonparametric":
            past = run_means(rng, SHAPES["normal"], history) if history else None
            sides = [of_means(run_means(rng, SHAPES["normal"], runs, mean), past) for mean in (ratio, 1.0)]
            found += resampled(sides[0], sides[1], rng, draws=2_000).above(1.0) <= ALPHA
        else:
            by = {"welch": welch, "parametric": parametric}[name]
            found += by(observed(rng, runs, ratio), observed(rng, runs), AT_MOST).verdict is FormulaVerdict.VIOLATED
    return found / trials


def printed_table(trials: int) -> str:
    rows = []
    for title, name, history, sizes in (
        ("Welch (Definition 4.5)", "welch", 0, (1, 2, 5, 10)),
        ("Definition 4.8", "parametric", 0, (2, 5, 10)),
        ("Definition 4.10, no history", "nonparametric", 0, (2, 5, 10)),
        ("Definition 4.10, history of 30", "nonparametric", 30, (1, 2, 5, 10)),
        ("Definition 4.10, history of 130", "nonparametric", 130, (1, 2, 5, 10)),
    ):
        for runs in sizes:
            shares = [found_by_printed(name, runs, ratio, trials, history=history) for ratio in RATIOS]
            rows.append([title, runs, *(f"{share:.2f}" for share in shares)])
    note = f"Of {trials:,} trials each, with normal runs."
    return table("<= is rejected as printed", ["interpretation", "runs", *_heads()], rows, note)


def default_table(trials: int) -> str:
    rows = []
    for name, effects in SHAPES.items():
        for history, sizes in SIZES.items():
            for runs in sizes:
                shares = [
                    default_verdicts(effects, runs, trials, history=history, ratio=ratio)["VIOLATED"]
                    for ratio in RATIOS
                ]
                rows.append([name, history or "none", runs, *(f"{share:.2f}" for share in shares)])
    note = f"Of {trials:,} trials each."
    head = ["run effects", "history", "runs", *_heads()]
    return table("A strict <= is told to be violated by the default", head, rows, note)


def _heads() -> list[str]:
    return [f"{ratio - 1.0:+.1%}" for ratio in RATIOS]


def result(trials: int = TRIALS) -> tuple[str, bool]:
    """Both tables; there are no goals."""
    return printed_table(trials) + "\n" + default_table(trials), True


def main() -> int:
    trials = TRIALS // 10 if "--quick" in sys.argv[1:] else TRIALS
    print(printed_table(trials), flush=True)
    print(default_table(trials))
    return 0


if __name__ == "__main__":
    sys.exit(main())
