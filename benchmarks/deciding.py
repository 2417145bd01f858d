"""``python -m benchmarks.deciding``: the cost of decisions, in seconds and memory.

The default interpretation decides 1,000 relations of stored run means; Definition 4.10 decides one, with a history of
130 runs of 20,000 observations and 10,000 draws: one history for both sides, and one for each. Every round is an OS
process of its own, which reports its largest memory (``ru_maxrss``, which includes that of this process if it is
larger). Only the call is timed, not the creation of the samples.
"""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.markdown import table

ROUNDS = 5
LARGEST_SECONDS, LARGEST_GB = 5.0, 1.0
LARGEST_OF_MANY = 10.0
RUNS, OBSERVATIONS, DRAWS, OF_A_SIDE, RELATIONS = 130, 20_000, 10_000, 10, 1_000

Prepared = Callable[[], object]


def many(history: int) -> Prepared:
    """1,000 relations of ten runs of a side, or of three with a history."""
    import numpy as np  # here, as hati below: the process that only starts others must stay small

    from benchmarks.interpretations import SHAPES, WITH_MARGIN, of_means, run_means
    from hati.logic.interpret import decide

    rng, normal = np.random.default_rng(2026), SHAPES["normal"]
    past = run_means(rng, normal, history) if history else None
    sides = [of_means(run_means(rng, normal, 3 if history else OF_A_SIDE), past) for _ in range(2 * RELATIONS)]
    return lambda: [decide(left, right, WITH_MARGIN, rng) for left, right in zip(sides[::2], sides[1::2], strict=True)]


def resampling(histories: int) -> Prepared:
    """Definition 4.10 with one history for both sides, or one for each."""
    import numpy as np

    from benchmarks.interpretations import AT_MOST, BETWEEN, WITHIN
    from hati.logic.interpret import MeasuredSample, nonparametric

    rng = np.random.default_rng(2026)

    def runs(number: int) -> tuple[Any, ...]:
        return tuple(
            1.0 + BETWEEN * rng.standard_normal() + WITHIN * rng.standard_normal(OBSERVATIONS) for _ in range(number)
        )

    pasts = [runs(RUNS) for _ in range(histories)]
    left, right = MeasuredSample(runs(OF_A_SIDE), pasts[0]), MeasuredSample(runs(OF_A_SIDE), pasts[-1])
    return lambda: nonparametric(left, right, AT_MOST, rng, DRAWS)


WAYS: dict[str, tuple[str, Callable[[], Prepared], float, float | None]] = {
    "many": (f"{RELATIONS:,} relations, 10 runs", lambda: many(0), LARGEST_OF_MANY, None),
    "remembering": (f"{RELATIONS:,} relations, 3 runs, history of 30", lambda: many(30), LARGEST_OF_MANY, None),
    "one-history": ("Definition 4.10, one history", lambda: resampling(1), LARGEST_SECONDS, LARGEST_GB),
    "two-histories": ("Definition 4.10, a history of each side", lambda: resampling(2), LARGEST_SECONDS, LARGEST_GB),
}
"""Ways with their goals: seconds, and GB or None."""


def costs(name: str) -> dict[str, float]:
    """The costs of one round, in this process."""
    call = WAYS[name][1]()
    wall, cpu = time.perf_counter(), time.process_time()
    call()
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    return {"wall": wall, "cpu": cpu, "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2}


def alone(name: str) -> dict[str, float]:
    """The costs of one round, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.deciding", name]
    found: dict[str, float] = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    return found


def result() -> tuple[str, bool]:
    """The table of medians and of all rounds, and whether the goals are met."""
    rows, held = [], True
    for name, (title, _, seconds, memory) in WAYS.items():
        rounds = [alone(name) for _ in range(ROUNDS)]
        typical = {kind: statistics.median(one[kind] for one in rounds) for kind in rounds[0]}
        held = held and typical["wall"] <= seconds and (memory is None or typical["memory"] <= memory)
        every = ", ".join(f"{one['wall']:.1f}" for one in rounds)
        goal = f"{seconds:g} s" + ("" if memory is None else f", {memory:g} GB")
        rows.append([title, *(f"{typical[kind]:.2f}" for kind in ("wall", "cpu", "memory")), every, goal])
    head = ["what", "seconds", "of them CPU", "GB", "seconds of every round", "goal"]
    note = f"Medians of {ROUNDS} rounds; the histories are of {RUNS} runs of {OBSERVATIONS:,}, with {DRAWS:,} draws."
    return table("What deciding costs", head, rows, f"{note} Goals {'met' if held else 'MISSED'}."), held


def main(words: list[str]) -> int:
    if words:
        print(json.dumps(costs(words[0])))
        return 0
    text, held = result()
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
