"""Change points: false alarms, power, delay and speed, compared with Apache Otava and ruptures.

``python -m benchmarks.change_points`` takes about ten minutes. The peers run if ``HATI_PEERS_PYTHON`` names an
interpreter that has them (``pip install apache-otava==0.8.0 ruptures``).
"""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.markdown import table
from hati.core import FloatArray
from hati.stats import change_points

KINDS = ("normal", "lognormal", "t3", "AR(1) .3", "AR(1) .6", "bimodal")
SERIES = 1000
SIZE = 200
SEED = 4
STEPS = ((5.0, 200), (3.0, 200), (2.0, 200))
DELAYS = (1, 2, 3, 4, 5, 10)
LONG = 10_000
LONG_STEPS = 20
LONG_CASES = ("flat", "20 steps")

Found = list[list[int]]


def noise(kind: str, series: int, size: int, rng: np.random.Generator) -> FloatArray:
    """Series of noise of standard deviation 2, shape (series, size)."""
    shape = (series, size)
    if kind.startswith("AR"):
        phi = float(kind.split()[1])
        values = rng.normal(size=shape)
        for place in range(1, size):
            values[:, place] = phi * values[:, place - 1] + np.sqrt(1.0 - phi**2) * values[:, place]
        return 2.0 * values
    if kind == "bimodal":
        modes = np.where(rng.random(shape) < 0.7, -0.3, 0.7)
        values = modes + 0.1 * rng.normal(size=shape)
        return np.asarray(2.0 * values / np.sqrt(0.7 * 0.3 + 0.01))
    if kind == "lognormal":
        values = np.exp(0.5 * rng.normal(size=shape)) - np.exp(0.125)
        return np.asarray(2.0 * values / np.sqrt((np.exp(0.25) - 1.0) * np.exp(0.25)))
    return 2.0 * (rng.standard_t(3, size=shape) / np.sqrt(3.0) if kind == "t3" else rng.normal(size=shape))


def cases(number: int) -> dict[str, FloatArray]:
    rng = np.random.default_rng(SEED)
    made = {kind: 100.0 + noise(kind, number, SIZE, rng) for kind in KINDS}
    for step, size in STEPS:
        made[f"step {step:g}"] = _stepped(number, size, size // 2, step, rng)
    for delay in DELAYS:
        made[f"delay {delay}"] = _stepped(number, 100 + delay, 100, 5.0, rng)
    made["three steps"] = _stepped(number, SIZE, 50, 5.0, rng)
    made["three steps"][:, 100:] -= 5.0
    made["three steps"][:, 150:] += 5.0
    made["flat"] = 100.0 + noise("normal", 1, LONG, rng)
    made["20 steps"] = 100.0 + noise("normal", 1, LONG, rng)
    made["20 steps"] += 5.0 * (np.arange(LONG) * (LONG_STEPS + 1) // LONG % 2)
    return made


def _stepped(series: int, size: int, place: int, step: float, rng: np.random.Generator) -> FloatArray:
    values = 100.0 + noise("normal", series, size, rng)
    values[:, place:] += step
    return values


def ours(values: FloatArray) -> Found:
    groups = np.zeros(values.shape[1], dtype=np.intp)
    return [[point.index for point in change_points(series, groups)] for series in values]


def measured(made: dict[str, FloatArray], find: Callable[[FloatArray], Found]) -> dict[str, tuple[Found, float]]:
    """The change points found in each case, and the seconds that it took."""
    answers = {}
    for name, values in made.items():
        start = time.perf_counter()
        places = find(values)
        answers[name] = places, time.perf_counter() - start
    return answers


def peers(made: dict[str, FloatArray]) -> dict[str, dict[str, tuple[Found, float]]]:
    """The answers of the peers, by their interpreter; empty if there is none."""
    python = os.environ.get("HATI_PEERS_PYTHON")
    if not python:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "cases.npz"
        arrays: dict[str, Any] = {str(number): values for number, values in enumerate(made.values())}
        np.savez(file, **arrays)
        program = Path(__file__).with_name("change_point_peers.py")
        done = subprocess.run([python, str(program), str(file)], capture_output=True, text=True, check=False)
    answers: dict[str, dict[str, tuple[Found, float]]] = {}
    names = list(made)
    for line in done.stdout.splitlines():
        told = json.loads(line)
        answers.setdefault(told["peer"], {})[names[told["case"]]] = told["places"], told["seconds"]
    return answers


def near(places: Found, wanted: int, reach: int = 5) -> float:
    return float(np.mean([any(abs(place - wanted) <= reach for place in series) for series in places]))


def summary(answers: dict[str, tuple[Found, float]]) -> list[tuple[str, str]]:
    """The results of a procedure, row by row."""
    rows = [(f"false alarms, {kind}", f"{np.mean([bool(p) for p in answers[kind][0]]):.1%}") for kind in KINDS]
    for step, size in STEPS:
        places = answers[f"step {step:g}"][0]
        more = float(np.mean([max(len(series) - 1, 0) for series in places]))
        told = f"{near(places, size // 2):.1%} / {near(places, size // 2, 0):.1%} / {more:.2f}"
        rows.append((f"a step of {step:g} %: within 5 / exactly / points too many", told))
    delays = [f"{near(answers[f'delay {delay}'][0], 100):.0%}" for delay in DELAYS]
    rows.append((f"a step of 5 % found after {', '.join(map(str, DELAYS))} values", ", ".join(delays)))
    three = answers["three steps"][0]
    all_three = np.mean([all(any(abs(p - w) <= 5 for p in series) for w in (50, 100, 150)) for series in three])
    rows.append(("three steps in 200, all within 5", f"{all_three:.1%}"))
    for name in LONG_CASES:
        if name in answers:
            places, seconds = answers[name]
            rows.append((f"10,000 values, {name}: points found, seconds", f"{len(places[0])}, {seconds:.2f}"))
    return rows


def result(series: int = SERIES) -> tuple[str, bool]:
    made = cases(series)
    answers = {"Hati": measured(made, ours), **peers(made)}
    told = {name: dict(summary(found)) for name, found in answers.items()}
    rows = [(row, *(told[name].get(row, "") for name in answers)) for row in told["Hati"]]
    notes = [f"{series:,} series of {SIZE} values a row, noise 2 %, alpha 5 %; of Otava 200 series, of PELT 30."]
    if len(answers) == 1:
        notes.append("The peers are not installed: HATI_PEERS_PYTHON names no interpreter that has them.")
    ok = all(np.mean([bool(places) for places in answers["Hati"][kind][0]]) <= 0.066 for kind in KINDS)
    return table("Change points", ("", *answers), rows, *notes), ok


if __name__ == "__main__":
    print(result()[0])
