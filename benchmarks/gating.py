"""``python -m benchmarks.gating``: false alarms, power and number of rounds of regression checks.

Checks are simulated over eight strata of equal weight, with early stopping as in ``hati check``. In some noises the
two runs of a pair differ by their order.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from scipy import stats

from benchmarks.markdown import table
from hati.campaign import campaign
from hati.core import (
    Assignment,
    Benchmark,
    Budget,
    Configuration,
    Metric,
    Reader,
    ReaderKind,
    Revision,
    RevisionKind,
    Run,
    Task,
)
from hati.studies.comparison import ChangeVerdict, Question
from hati.studies.gate import Cell, Gate, GateConclusion, gate_id
from hati.testing import FakeEngine, MemoryStore

GATES = 1_000
CHANGED = 200
ROUNDS = 24

TIME = Metric("time", "s")
MAIN = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (TIME,))
OLD, NEW = (Revision(name, RevisionKind.DIRECTORY) for name in ("old", "new"))
STRATA = tuple(
    Cell(MAIN, Configuration(setting), Assignment(setting))
    for setting in (dict(zip("abc", settings, strict=True)) for settings in product((False, True), repeat=3))
)
Noise = Callable[[np.random.Generator, int], float]
"""The logarithm of a run, by its number."""
Change = Callable[[Configuration], float]

NOISES: dict[str, Noise] = {
    "normal, 3 %": lambda rng, _: float(rng.normal(0.0, 0.03)),
    "t3": lambda rng, _: float(0.02 * rng.standard_t(3)),
    "bimodal": lambda rng, _: float(rng.normal(0.1 * rng.integers(2), 0.01)),
    "drifting machine": lambda rng, run: float(rng.normal(0.002 * run, 0.03)),
    "alternating": lambda rng, run: float(rng.normal(0.1 * (run % 2), 0.002)),
    "skewed": lambda rng, _: float(0.03 * rng.standard_exponential()),
    "outliers": lambda rng, _: float(rng.normal(0.0, 0.01) + (rng.random() < 0.03)),
    "cycle": lambda rng, run: float(rng.normal(0.05 * np.sin(run / 5.0), 0.01)),
}


def unchanged(_: Configuration) -> float:
    return 1.0


def everywhere(ratio: float) -> Change:
    return lambda _: ratio


def in_one_stratum(ratio: float) -> Change:
    return lambda configuration: ratio if all(configuration.values()) else 1.0


class _Quick(MemoryStore):
    """A store without a search for recorded tasks: checks never repeat one."""

    def record(self, run: Run) -> bool:
        self.kept.append(run)
        return True


def gated(seed: int, noise: Noise, change: Change, alpha: float) -> GateConclusion:
    """One check of at most 24 rounds."""
    question = Question(alpha=alpha)
    budget = Budget(runs=ROUNDS * 2 * len(STRATA))
    gate = Gate(gate_id(STRATA, OLD, NEW, question, seed, "m"), OLD, NEW, STRATA, question, budget)
    rng = np.random.default_rng([seed, 77])
    made = iter(range(sys.maxsize))

    def measured(task: Task) -> dict[str, list[float]]:
        level = change(task.configuration) if task.revision == NEW.id else 1.0
        return {"time": [float(level * np.exp(noise(rng, next(made))))]}

    return campaign(gate, FakeEngine(measured), _Quick(), gate.budget)


def alarmed(found: GateConclusion) -> bool:
    """Whether any change is reported, overall or in a stratum."""
    rows = [*found.rows, *(each.comparison for each in found.strata)]
    return any(row.change.changed for row in rows)


def slower(found: GateConclusion) -> bool:
    return found.verdict is ChangeVerdict.SLOWER


def _rounds(found: GateConclusion) -> int:
    return found.explored + found.confirmed


def alike(noise: Noise, alpha: float) -> tuple[int, float]:
    """The number of false alarms of checks without a change, and their mean number of rounds."""
    found = [gated(seed, noise, unchanged, alpha) for seed in range(GATES)]
    return sum(map(alarmed, found)), float(np.mean(list(map(_rounds, found))))


def result() -> tuple[str, bool]:
    met: list[bool] = []
    text = table(
        "Checks of what did not change",
        ("noise of runs", "alpha", "alarms", "rounds", "met"),
        list(_alike(met)),
        f"{GATES:,} simulated checks a row, eight strata, 5 % margin; met: within the 99 % bound of a binomial.",
    )
    text += "\n" + table(
        "What checks find, at 1 %",
        ("change", "noise of runs", "slower", "same", "rounds", "met"),
        list(_changed(met)),
        f"{CHANGED} simulated checks a row of at most {ROUNDS} rounds; met: nine of ten, where that is promised.",
    )
    return text, all(met)


def _alike(met: list[bool]) -> Iterator[tuple[str, ...]]:
    for alpha, (name, noise) in product((0.01, 0.05), NOISES.items()):
        alarms, rounds = alike(noise, alpha)
        met.append(alarms <= stats.binom.ppf(0.99, GATES, alpha))
        yield name, f"{alpha:.0%}", f"{alarms / GATES:.1%}", f"{rounds:.1f}", "yes" if met[-1] else "NO"


def _changed(met: list[bool]) -> Iterator[tuple[str, ...]]:
    changes = {
        "5 % everywhere": (everywhere(1.05), True),
        "30 % in one stratum of eight": (in_one_stratum(1.3), True),
        "15 % in one stratum of eight": (in_one_stratum(1.15), False),
        "3 % everywhere": (everywhere(1.03), False),
    }
    for (change, (how, promised)), (name, noise) in product(changes.items(), NOISES.items()):
        found = [gated(seed, noise, how, 0.01) for seed in range(CHANGED)]
        share = sum(map(slower, found)) / CHANGED
        same = sum(each.verdict is ChangeVerdict.SAME for each in found) / CHANGED
        wanted = promised and name == "normal, 3 %"
        met.append(not wanted or share >= 0.9)
        held = "" if not wanted else "yes" if met[-1] else "NO"
        yield change, name, f"{share:.0%}", f"{same:.0%}", f"{np.mean(list(map(_rounds, found))):.1f}", held


def main() -> int:
    text, held = result()
    print(text)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
