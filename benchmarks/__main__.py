"""``python -m benchmarks [NAME ...]``: run benchmarks one after the other and print Markdown.

Without names those in ``ALL``, which take some ten hours. An exception ends one benchmark alone. The status is 1 if any
misses its goals or ends with an exception.
"""

from __future__ import annotations

import argparse
import importlib
import sys
import time
import traceback
from collections.abc import Sequence

ALL = (
    "launching",
    "storing",
    "importing",
    "starting",
    "designs",
    "optimal_designs",
    "nested",
    "tied_options",
    "validating",
    "change_points",
    "histories",
    "failure_search",
    "fig12",
    "accuracy",
    "accuracy_releases",
    "aliasing",
    "outliers",
    "machines",
    "many_settings",
    "promises",
    "comparing",
    "compare_command",
    "stopping",
    "steady",
    "gating",
    "attribution",
    "recalibration",
    "history_example",
    "recording",
    "interpretations",
    "powers",
    "deciding",
    "runs_needed",
    "formulas",
    "fractions",
    "limits",
    "sensitivity",
    "parsing",
    "steering",
    "sharing_work",
    "small_designs",
    "dask_path",
)
OTHERS = (
    "bookstore",
    "chaos",
    "damaged_stores",
    "dominated",
    "drift_power",
    "kills",
    "lost_setting",
    "mutations",
    "nasty",
)
"""Those that run only by their names."""


def run(name: str) -> bool:
    """Print the tables of a benchmark and its duration; whether it meets its goals."""
    began, held = time.perf_counter(), False
    try:
        text, held = importlib.import_module(f"benchmarks.{name}").result()
    except Exception:  # noqa: BLE001  # the others go on
        traceback.print_exc()
        text = f"## {name}\n\nEnded with an exception.\n"
    print(f"{text}\n`{name}` took {time.perf_counter() - began:.1f} s.\n", flush=True)
    return held


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Run benchmarks and print Markdown.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark; all those of some ten hours by default")
    names = parser.parse_args(words).names or ALL
    if unknown := [name for name in names if name not in {*ALL, *OTHERS}]:
        parser.error(f"`{unknown[0]}` is not a benchmark; choose from {', '.join(sorted((*ALL, *OTHERS)))}")
    print("# Benchmarks\n", flush=True)
    held = [run(name) for name in names]
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
