"""Optimal designs: D-efficiency and time, compared with peers if ``HATI_PEERS_PYTHON`` has them."""

from __future__ import annotations

import json
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from msgspec import Struct
from threadpoolctl import threadpool_limits

from benchmarks.markdown import table
from hati.core import FloatArray, InputError, generator
from hati.design import Criterion, OptimalDesign, from_generators, letters, optimal_design
from hati.design.coding import Levels, Model, candidates
from hati.design.exchanges import AnySetting, Exchange, Neighbourhood, Replication
from hati.design.information import Information, basis
from hati.project import read_feature_model
from hati.space import Option, Space

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("HATI_DATA", ROOT.parent / "shared" / "data"))
PEERS = ("process-improve", "pyoptex")
PEERS_LIMIT = 300
SCR_128 = ("H=ABC", "I=ABDE", "J=ABDF", "K=ACEF", "L=ACDG", "M=ABEFG", "N=BCDEFG")
SEED = 1


@dataclass(frozen=True)
class Case:
    """A design of two-level factors, the efficiency that it must reach, and the seconds that it should take."""

    name: str
    factors: int
    runs: int
    order: int
    efficiency: float
    seconds: float
    augment: bool = False
    starts: int | None = None

    def given(self) -> Levels:
        """The fraction that is augmented, or no runs."""
        if not self.augment:
            return np.empty((0, self.factors), dtype=np.int16)
        return ((from_generators(letters(self.factors), SCR_128).matrix + 1) // 2).astype(np.int16)


CASES = (
    Case("14 factors, all pairs (106 terms), 128 runs", 14, 128, 2, 0.827, 3.0),
    Case("the same, three starts", 14, 128, 2, 0.82, 1.0, starts=3),
    Case("128 runs + 64, 106 terms", 14, 64, 2, 0.937, 1.0, augment=True),
    Case("128 runs + 381, all 470 terms to third order", 14, 381, 3, 0.65, 10.0, augment=True),
    Case("7 factors, all pairs (29 terms), 29 runs", 7, 29, 2, 0.823, 3.0),
)


def efficiency(rows: Levels, order: int) -> float:
    """|X'X / n|^(1 / p), recomputed for every tool from its runs."""
    matrix = Model.of_order([2] * rows.shape[1], order).matrix(rows)
    return float(np.exp(np.linalg.slogdet(matrix.T @ matrix / len(matrix))[1] / matrix.shape[1]))


def made(case: Case) -> tuple[OptimalDesign, float]:
    space = Space(tuple(Option(name, (0, 1), 0) for name in letters(case.factors)))
    start = time.perf_counter()
    design = optimal_design(
        space, case.runs, generator(SEED, "benchmark"), order=case.order, fixed=case.given(), starts=case.starts
    )
    return design, time.perf_counter() - start


def peers(case: Case) -> dict[str, str]:
    """The result of each peer for a case; their models end at pairs."""
    interpreter = os.environ.get("HATI_PEERS_PYTHON")
    if interpreter is None or case.order > 2 or case.starts is not None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.json"
        given = (2 * case.given().astype(int) - 1).tolist()
        file.write_text(json.dumps({"factors": letters(case.factors), "runs": case.runs, "given": given}))
        command = [interpreter, str(ROOT / "benchmarks" / "optimal_peers.py"), str(file)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=PEERS_LIMIT)
        except (OSError, subprocess.TimeoutExpired) as error:
            return dict.fromkeys(PEERS, type(error).__name__)
    answers = [json.loads(line) for line in done.stdout.splitlines() if line.startswith('{"peer"')]
    return {answer["peer"]: _told(answer, case.order) for answer in answers}


def _told(answer: dict[str, object], order: int) -> str:
    if "problem" in answer:
        return str(answer["problem"])
    rows = ((np.array(answer["runs"]) + 1) // 2).astype(np.int16)
    return f"{efficiency(rows, order):.4f} ({answer['seconds']:.1f} s)"


def real_rows(runs: int) -> list[list[object]]:
    """Designs for hipacc's 13,485 valid configurations."""
    space = read_feature_model(DATA / "configurable-systems" / "hipacc" / "FeatureModel.xml").space
    rows: list[list[object]] = []
    for criterion, order in ((Criterion.D, 1), (Criterion.I, 1), (Criterion.BAYES, 2)):
        start = time.perf_counter()
        design = optimal_design(space, runs, generator(SEED, "benchmark"), criterion=criterion, order=order)
        took = time.perf_counter() - start
        rows.append([criterion.value, len(design.potential), f"{design.fit.d_efficiency:.4f}", f"{took:.1f}", 20])
    return rows


LEAST_RATIO = 2.0
MOST_LOST = 0.005


class OneByOne(Struct, frozen=True):
    """The moves of a search, without exchanges that change the inverse together."""

    moves: AnySetting
    watched: None = None

    def gains(self, about: Information, rows: FloatArray, levels: Levels) -> FloatArray:
        """The gains of all moves."""
        return self.moves.gains(about, rows, levels)

    def moved(self, row: Levels, move: int) -> Levels:
        """The run after a move."""
        return self.moves.moved(row, move)


@dataclass(frozen=True)
class Search:
    """A Bayesian search from random runs: ``runs`` of a space whose options have those numbers of settings."""

    sizes: tuple[int, ...]
    runs: int

    @cached_property
    def moves(self) -> AnySetting:
        """The moves of its exchanges."""
        space = Space(tuple(Option(f"o{place}", tuple(range(size)), 0) for place, size in enumerate(self.sizes)))
        among = candidates(space, generator(SEED, "candidates"))
        given = np.empty((0, len(self.sizes)), dtype=np.int16)
        return AnySetting(basis(among, Model.of_order(among.sizes, 2), given, 1, 1.0))

    def made(self, near: Neighbourhood) -> tuple[float, float]:
        """The logarithm of the determinant that it reaches by some moves, and its CPU time in seconds."""
        start = generator(SEED, "benchmark").integers(0, self.sizes, (self.runs, len(self.sizes))).astype(np.int16)
        search = Exchange(self.moves.basis, 0, np.empty((self.runs, 0)), None, Replication.ALLOWED)
        with threadpool_limits(1, user_api="blas"):
            began = time.process_time()
            _, value = search.improve(start, near)
            return value, time.process_time() - began


SEARCHES = (
    ("20 options of 3 settings, 400 runs", Search((3,) * 20, 400)),
    ("16 options of 2 to 5 settings, 150 runs", Search((2, 3, 4, 5) * 4, 150)),
)


def together_rows(spaces: Sequence[tuple[str, Search]], rounds: int) -> tuple[list[list[object]], bool]:
    """CPU times of exchanges that change the inverse one by one, and together; medians of pairs."""
    rows, held = list[list[object]](), True
    for name, search in spaces:
        pairs = []
        for _ in range(rounds):
            alone, slow = search.made(OneByOne(search.moves))
            together, fast = search.made(search.moves)
            pairs.append((slow, fast, slow / fast))
        slow, fast, ratio = np.median(pairs, axis=0)
        gained = math.expm1((together - alone) / search.moves.basis.primary)
        held = held and bool(ratio >= LEAST_RATIO) and abs(gained) < MOST_LOST
        rows.append([name, f"{slow:.1f}", f"{fast:.1f}", f"{ratio:.1f}", LEAST_RATIO, f"{gained:+.2%}"])
    return rows, held


def result(
    cases: Sequence[Case] = CASES,
    runs_of_hipacc: int = 120,
    searches: Sequence[tuple[str, Search]] = SEARCHES,
    rounds: int = 3,
) -> tuple[str, bool]:
    rows, held = [], True
    for case in cases:
        design, took = made(case)
        found = efficiency(design.levels, case.order)
        held = held and found >= case.efficiency
        others = peers(case)
        wanted = f"{case.efficiency} in {case.seconds:.0f} s"
        rows.append([case.name, wanted, f"{found:.4f} ({took:.1f} s)", *(others.get(peer, "-") for peer in PEERS)])
    named = "HATI_PEERS_PYTHON" in os.environ
    missing = "" if named else " Peers: HATI_PEERS_PYTHON names an interpreter with pyoptex and process-improve."
    note = f"D-efficiency |X'X/n|^(1/p), recomputed from each tool's runs; seed {SEED}; peers' models end at pairs."
    text = table("D-optimal designs", ["case", "wanted", "Hati", *PEERS], rows, note + missing)
    try:
        header = ["criterion", "potential terms", "D-efficiency of main effects", "seconds", "at most"]
        text += "\n" + table(
            f"hipacc, 13,485 valid configurations, {runs_of_hipacc} runs", header, real_rows(runs_of_hipacc)
        )
    except (InputError, OSError) as error:
        text += f"\nhipacc: skipped, {error}; HATI_DATA names the folder with the data.\n"
    many, equal = together_rows(searches, rounds)
    header = ["space", "one by one (s)", "together (s)", "ratio", "at least", "change of the determinant per parameter"]
    text += "\n" + table(f"exchanges of a large Bayesian search, CPU time, medians of {rounds} pairs", header, many)
    return text, held and equal


if __name__ == "__main__":
    print(result()[0])
