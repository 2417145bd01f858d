"""The time that the store takes to record one run of many observations."""

from __future__ import annotations

import statistics
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.markdown import table
from hati.core import Observations, replace
from hati.store import open_store
from hati.testing.conformance import MACHINE, METRICS, a_run, a_study

OBSERVATIONS, ROUNDS = 65_536, 15
LARGEST = 0.050


def seconds_of_one_run(values: np.ndarray, rounds: int) -> list[float]:
    study, taken = a_study(), []
    with tempfile.TemporaryDirectory() as name:
        store = open_store(str(Path(name) / "store.sqlite"))
        store.begin(study, METRICS, MACHINE)
        for repetition in range(rounds):
            run = replace(a_run(study, repetition), observations=(Observations("latency", "s", values),))
            start = time.perf_counter()
            store.record(run)
            taken.append(time.perf_counter() - start)
        store.close()
    return taken


def result(observations: int = OBSERVATIONS, rounds: int = ROUNDS) -> tuple[str, bool]:
    rng = np.random.default_rng(1)
    kinds = {
        "random bits (incompressible)": rng.uniform(size=observations),
        "latencies to the nanosecond": rng.lognormal(-6, 0.1, observations).round(9),
        "constant": np.full(observations, 0.001),
    }
    medians = {kind: statistics.median(seconds_of_one_run(values, rounds)) for kind, values in kinds.items()}
    held = max(medians.values()) <= LARGEST
    rows = [[kind, f"{taken * 1e3:.1f}"] for kind, taken in medians.items()]
    goal = f"Goal: <= {LARGEST * 1e3:g} ms: {'met' if held else 'MISSED'}. Medians of {rounds}."
    return table(f"Storing a run of {observations:,} observations", ["values", "ms"], rows, goal), held
