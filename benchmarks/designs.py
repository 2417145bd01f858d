"""Regular fractions for 14 factors: resolution and aberration, compared with peers if they are installed."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.markdown import table
from hati.design import Design, by_runs, resolution, word_length_pattern

FACTORS = tuple("ABCDEFGHIJKLMN")
SIZES = (32, 64, 128, 256, 512, 1024, 2048)
WANTED = {32: 4, 64: 4, 128: 4, 256: 5, 512: 6, 1024: 7, 2048: 8}


def described(make: Callable[[], Design]) -> str:
    start = time.perf_counter()
    design = make()
    took = time.perf_counter() - start
    pattern = word_length_pattern(design)
    shortest = min(pattern, default=0)
    return f"{design.runs} runs, {resolution(design)}, A{shortest}={pattern.get(shortest, 0)} ({took:.2f} s)"


def peer(module: str, factors: int, wanted: int) -> Design:
    library = importlib.import_module(module)
    matrix = np.asarray(library.fracfact_by_res(factors, wanted), dtype=np.int8)
    return Design("given", FACTORS, matrix, ())


def result(sizes: Sequence[int] = SIZES) -> tuple[str, bool]:
    peers = [name for name in ("pydoe", "pyDOE3") if importlib.util.find_spec(name)]
    rows, held = [], True
    for runs in sizes:
        design = by_runs(FACTORS, runs)
        held = held and resolution(design) == WANTED[runs]
        # mypy: a lambda with defaults has no type
        row = [runs, WANTED[runs], described(lambda runs=runs: by_runs(FACTORS, runs))]  # type: ignore[misc]
        row += [described(lambda n=name, r=runs: peer(n, 14, WANTED[r])) for name in peers]  # type: ignore[misc]
        rows.append(row)
    note = "Resolution and shortest words are recomputed from each tool's matrix."
    missing = "" if peers else " Peers: `uv sync --group bench`, then again."
    return table(
        "14 two-level factors", ["runs", "resolution asked of peers", "Hati", *peers], rows, note + missing
    ), held
