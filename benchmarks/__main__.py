"""``python -m benchmarks``: all of them, one after the other, as Markdown on standard output; about an hour."""

from __future__ import annotations

import sys

from benchmarks import (
    accuracy,
    accuracy_releases,
    change_points,
    comparing,
    designs,
    formulas,
    gating,
    importing,
    interpretations,
    launching,
    limits,
    nested,
    optimal_designs,
    recording,
    sensitivity,
    starting,
    steady,
    stopping,
    storing,
    validating,
)

ALL = (
    launching,
    storing,
    importing,
    starting,
    designs,
    optimal_designs,
    nested,
    validating,
    change_points,
    accuracy,
    accuracy_releases,
    comparing,
    stopping,
    steady,
    gating,
    recording,
    interpretations,
    formulas,
    limits,
    sensitivity,
)


def main() -> int:
    print("# Benchmarks\n")
    ok = True
    for benchmark in ALL:
        text, held = benchmark.result()
        print(text, flush=True)
        ok = ok and held
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
