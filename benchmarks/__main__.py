"""``python -m benchmarks``: run the benchmarks in ``ALL`` one after the other, print Markdown; some ten hours."""

from __future__ import annotations

import sys

from benchmarks import (
    accuracy,
    accuracy_releases,
    aliasing,
    change_points,
    compare_command,
    comparing,
    dask_path,
    deciding,
    designs,
    failure_search,
    fig12,
    formulas,
    fractions,
    gating,
    histories,
    history_example,
    importing,
    interpretations,
    launching,
    limits,
    machines,
    many_settings,
    nested,
    optimal_designs,
    outliers,
    parsing,
    powers,
    promises,
    recalibration,
    recording,
    runs_needed,
    sensitivity,
    sharing_work,
    small_designs,
    starting,
    steady,
    steering,
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
    histories,
    failure_search,
    fig12,
    accuracy,
    accuracy_releases,
    aliasing,
    outliers,
    machines,
    many_settings,
    promises,
    comparing,
    compare_command,
    stopping,
    steady,
    gating,
    recalibration,
    history_example,
    recording,
    interpretations,
    powers,
    deciding,
    runs_needed,
    formulas,
    fractions,
    limits,
    sensitivity,
    parsing,
    steering,
    sharing_work,
    small_designs,
    dask_path,
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
