"""``python -m benchmarks.formulas [SECTION...]``: formulas judged by stored samples, and measured until decided.

Sections: ``speed``, ``errors``, ``costs``. Formulas are measured in campaigns of the real study with a fake engine,
whose runs vary by 1 % about a level that drifts from round to round; ``--quick`` runs a tenth of the campaigns.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping

import numpy as np

from benchmarks.interpretations import SHAPES, fixed_runs, most_within
from benchmarks.markdown import table
from hati.campaign import campaign
from hati.core import Budget, Evidence, Observations, Sample, SampledRun, Task, replace
from hati.logic.interpret import FormulaVerdict
from hati.studies.assertion import Assertion, SampleCollector, Standard, answer
from hati.testing import FakeEngine, MemoryStore
from hati.testing.assertions import TIME, requirement, study_of

BETWEEN = 0.01
ROUNDS = 24
CAMPAIGNS = 200
DRIFT = 0.02
ALPHA = 0.05
FORMULAS = 1_000
GOAL = 10.0
NORMAL = "normal"
THREE = "n in {1, 2, 3}: a(n) <= b(n)"
AT_THE_MARGIN: Mapping[str, tuple[tuple[str, ...], Mapping[str, float]]] = {
    "a <= b": (("a <= b",), {"a": 1.02}),
    "a = b": (("a = b",), {"b": 1.02}),
    "a <= b within 20 ms": (("a <= b within 20 ms",), {"a": 1.02}),
    "a <= 1 s strictly": (("a <= 1 s strictly",), {}),
    "for all, one of three at the margin": ((f"for all {THREE}",), {"a(1)": 0.9, "a(2)": 1.02, "a(3)": 0.9}),
    "for all, three at the margin": ((f"for all {THREE}",), {f"a({n})": 1.02 for n in (1, 2, 3)}),
    "exists, one of three at the margin": ((f"exists {THREE}",), {"a(1)": 1.02, "a(2)": 1.15, "a(3)": 1.15}),
    "exists, three at the margin": ((f"exists {THREE}",), {f"a({n})": 1.02 for n in (1, 2, 3)}),
    "!(a <= b) => c <= d & d >= c": (("!(a <= b) => c <= d & d >= c",), {"a": 1.02, "c": 1.02}),
    "a <= b, c <= b, a <= d": (("a <= b", "c <= b", "a <= d"), {"a": 1.02, "c": 1.02}),
}
"""Formulas, each with the means that put it at its margin; methods that are not named have the mean 1."""
AWAY = (0.98, 0.99, 1.0, 1.01, 1.03, 1.04, 1.05, 1.06)


def study(formulas: tuple[str, ...], alpha: float = ALPHA, rounds: int = ROUNDS) -> Assertion:
    """The study of the formulas, with a budget of that number of rounds."""
    asked = study_of(*formulas, standard=Standard(alpha=alpha))
    return replace(asked, budget=Budget(runs=rounds * len(asked.points)))


def measuring(
    means: Mapping[str, float], seed: int, shape: str = NORMAL, drift: float = DRIFT
) -> Callable[[Task], dict[str, list[float]]]:
    """Simulated runs about these means; the runs of a round share a level, which drifts."""
    rng = np.random.default_rng(seed)
    levels = 1.0 + drift * np.sin(np.arange(1_000) / 9.0 + rng.uniform(0.0, 6.0))

    def measured(task: Task) -> dict[str, list[float]]:
        effect = float(SHAPES[shape](rng, 1)[0])
        level = float(levels[task.repetition]) * means.get(task.benchmark, 1.0)
        return {"time": [level * (1.0 + BETWEEN * effect)]}

    return measured


def verdicts(
    formulas: tuple[str, ...], means: Mapping[str, float], seed: int, shape: str = NORMAL
) -> set[FormulaVerdict]:
    """The verdicts of a whole campaign on the formulas; without drift for a limit, which does not drift along."""
    asked = study(formulas)
    drift = DRIFT if len(asked.points) > 1 else 0.0
    found = campaign(asked, FakeEngine(measuring(means, seed, shape, drift)), MemoryStore(), asked.budget)
    return {each.verdict for each in found.answers}


def errors(name: str, campaigns: int) -> dict[FormulaVerdict, int]:
    """The numbers of campaigns with each verdict on any of the formulas, at the margin."""
    rates = [verdicts(*AT_THE_MARGIN[name], seed) for seed in range(campaigns)]
    return {verdict: sum(verdict in each for each in rates) for verdict in FormulaVerdict}


def costs(ratio: float, campaigns: int, alpha: float = 0.01) -> tuple[dict[FormulaVerdict, int], float]:
    """The counts of verdicts on ``a <= b`` if a takes ``ratio`` times as long, and the mean number of rounds."""
    counts, rounds = dict.fromkeys(FormulaVerdict, 0), 0
    for seed in range(campaigns):
        asked = study(("a <= b",), alpha)
        found = campaign(asked, FakeEngine(measuring({"a": ratio}, seed)), MemoryStore(), asked.budget)
        counts[found.answers[0].verdict] += 1
        rounds += found.runs // 2
    return counts, rounds / campaigns


def errors_table(campaigns: int) -> tuple[str, bool]:
    rows, held = [], True
    bound = most_within(campaigns, ALPHA)
    for name in AT_THE_MARGIN:
        rates = errors(name, campaigns)
        held = held and max(rates[FormulaVerdict.HOLDS], rates[FormulaVerdict.VIOLATED]) <= most_within(
            campaigns, ALPHA, 20
        )
        rows.append(
            [
                f"`{name}`",
                *(f"{rates[each] / campaigns:.3f}" for each in (FormulaVerdict.HOLDS, FormulaVerdict.VIOLATED)),
            ]
        )
    note = (
        f"Of {campaigns} campaigns of up to {ROUNDS} rounds each, alpha {ALPHA:g}; 99 % bound {bound / campaigns:.3f}."
    )
    return table(
        "Formulas at their margin: judged HOLDS / VIOLATED", ["formula", "HOLDS", "VIOLATED"], rows, note
    ), held


def costs_table(campaigns: int) -> tuple[str, bool]:
    rows = []
    planned = fixed_runs(1.01, 0.9)
    for ratio in AWAY:
        rates, rounds = costs(ratio, campaigns)
        right = rates[FormulaVerdict.HOLDS if ratio < 1.02 else FormulaVerdict.VIOLATED] / campaigns
        fixed = fixed_runs(ratio, min(max(right, 0.05), 0.99))
        rows.append([f"{ratio:.2f}", f"{right:.2f}", f"{rounds:.1f}", fixed, f"{1.0 - rounds / planned:+.0%}"])
    note = (
        f"Of {campaigns} campaigns of `a <= b` with a margin of 2 %, of up to {ROUNDS} rounds each, alpha 1 %. Fixed: "
        "runs of a side with which t tells as often (at most in 99 %). "
        f"Saved: against the {planned} runs that tell 1 % from the margin in 90 %."
    )
    head = ["true ratio", "right verdicts", "rounds", "fixed", "saved"]
    return table("Formulas away from their margin: verdicts, and after how many rounds", head, rows, note), True


def speed_table(_: int) -> tuple[str, bool]:
    rng = np.random.default_rng(2026)
    names = [f"m({number})" for number in range(FORMULAS + 1)]
    runs = 1.0 + BETWEEN * rng.standard_normal((len(names), 10, 100))
    book = SampleCollector({name: (_sample(name, each),) for name, each in zip(names, runs, strict=True)})
    texts = [f"m({n}) <= 1.05 * m({n + 1})" if n % 2 else f"m({n}) <= 2 s" for n in range(FORMULAS)]
    start = time.perf_counter(), time.process_time()
    answer([requirement(text) for text in texts], book, Standard())
    rows: list[list[object]] = [[f"{FORMULAS:,} formulas with stored samples, read and judged", *_seconds(start)]]
    held = time.process_time() - start[1] <= GOAL
    for number in (FORMULAS // 4, FORMULAS):
        asked = study(tuple(texts[:number]))
        made = tuple(FakeEngine(measuring({}, 1)).run(asked.dry_run_tasks(dict.fromkeys(asked.points, 20))))
        start = time.perf_counter(), time.process_time()
        asked.plan(Evidence(made))
        rows.append([f"the next round of {number:,} formulas after 20 rounds", *_seconds(start)])
    goal = f"Goal: the first <= {GOAL:g} s of CPU time: {'met' if held else 'MISSED'}."
    return table("Speed of formulas", ["what", "seconds", "of them CPU"], rows, goal), held


def _sample(name: str, runs: np.ndarray) -> Sample:
    return Sample(name, TIME, tuple(SampledRun(Observations("time", "s", run)) for run in runs))


def _seconds(start: tuple[float, float]) -> list[str]:
    return [f"{time.perf_counter() - start[0]:.1f}", f"{time.process_time() - start[1]:.1f}"]


SECTIONS: Mapping[str, Callable[[int], tuple[str, bool]]] = {
    "speed": speed_table,
    "errors": errors_table,
    "costs": costs_table,
}


def result(sections: tuple[str, ...] = tuple(SECTIONS), share: int = 1) -> tuple[str, bool]:
    """The sections, and whether levels and goals are kept."""
    found = [SECTIONS[name](CAMPAIGNS // share) for name in sections]
    return "\n".join(text for text, _ in found), all(held for _, held in found)


def main() -> int:
    words = sys.argv[1:]
    sections = tuple(word for word in words if word in SECTIONS) or tuple(SECTIONS)
    text, held = result(sections, 10 if "--quick" in words else 1)
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
