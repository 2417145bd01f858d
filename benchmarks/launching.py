"""The time of ``hati run`` for a program that does nothing, compared with hyperfine; whether both measure the same."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.markdown import table

RUNS, ROUNDS = 500, 5
LARGEST_RATIO, LARGEST_DIFFERENCE = 4.0, 0.0001
PROJECT = """
[subject]
name = "nothing"
[[benchmark]]
name = "true"
command = ["true"]
reader = "process"
"""


def seconds(command: list[str]) -> float:
    start = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.perf_counter() - start


def hyperfine(folder: Path, runs: int) -> tuple[float, float]:
    out = folder / "hyperfine.json"
    took = seconds(["hyperfine", "-N", "--runs", str(runs), "--warmup", "0", "--export-json", str(out), "true"])
    return took, json.loads(out.read_text())["results"][0]["mean"]


def hati(folder: Path, runs: int) -> tuple[float, float]:
    out = folder / "hati.json"
    program = str(Path(sys.executable).with_name("hati"))
    took = seconds(
        [program, "run", str(folder), "--budget", str(runs), "--fresh", "--format", "json", "--output", str(out)]
    )
    summaries = json.loads(out.read_text())["summaries"]
    return took, next(s["mean"] for s in summaries if s["metric"] == "wall_time")


def measured(runs: int, rounds_of_both: int) -> tuple[list[list[object]], bool]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "hati.toml").write_text(PROJECT)
        rounds = [(hyperfine(folder, runs), hati(folder, runs)) for _ in range(rounds_of_both)]
    rows: list[list[object]] = []
    for number, (theirs, ours) in enumerate(rounds, 1):
        rows.append([number, *(f"{x:.3f}" for x in (theirs[0], ours[0])), f"{ours[0] / theirs[0]:.2f}"])
        rows[-1] += [f"{theirs[1] * 1e3:.3f}", f"{ours[1] * 1e3:.3f}"]
    ratio = statistics.median(ours[0] / theirs[0] for theirs, ours in rounds)
    mean, our_mean = (statistics.median(r[i][1] for r in rounds) for i in (0, 1))
    near = abs(our_mean - mean) <= LARGEST_DIFFERENCE
    rows.append(["median", "", "", f"**{ratio:.2f}**", f"**{mean * 1e3:.3f}**", f"**{our_mean * 1e3:.3f}**"])
    return rows, ratio <= LARGEST_RATIO and near


def result(runs: int = RUNS, rounds: int = ROUNDS) -> tuple[str, bool]:
    if shutil.which("hyperfine") is None:
        return "Launching: skipped, needs hyperfine (apt-get install hyperfine).\n", True
    rows, held = measured(runs, rounds)
    header = ["round", "hyperfine -N, s", "hati run, s", "ratio", "hyperfine's mean, ms", "hati's mean, ms"]
    verdict = "met" if held else "MISSED"
    goal = f"Goal: ratio <= {LARGEST_RATIO:g}; means within {1e3 * LARGEST_DIFFERENCE:g} ms: {verdict}."
    return table(f"`hati run` of `true`, {runs} times, against `hyperfine -N`", header, rows, goal), held
