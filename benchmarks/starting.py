"""The time that the program takes to start, and the modules that it loads."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks.markdown import table

ROUNDS = 11
LARGEST = 0.4
HEAVY = ("altair", "ortools", "scipy")


def seconds(command: list[str], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def loaded(statement: str) -> set[str]:
    script = f"{statement}\nimport sys\nprint(*sys.modules)"
    modules = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True).stdout.split()
    return {name for name in HEAVY if name in modules}


def result(rounds: int = ROUNDS) -> tuple[str, bool]:
    program = str(Path(sys.executable).with_name("hati"))
    rows = [
        ["python -c pass", f"{seconds([sys.executable, '-c', 'pass'], rounds):.3f}", ""],
        ["python -c 'import hati'", f"{seconds([sys.executable, '-c', 'import hati'], rounds):.3f}", ""],
        ["hati --help", f"{(helped := seconds([program, '--help'], rounds)):.3f}", f"<= {LARGEST:g}"],
    ]
    heavy = loaded("import hati") | loaded("import hati.cli.app")
    held = helped <= LARGEST and not heavy
    note = f"`import hati` and the command line load {', '.join(sorted(heavy)) or 'none'} of {', '.join(HEAVY)}."
    return table("Starting", ["command", "median s", "goal"], rows, note), held
