"""In how many calibrations demands take the CPU time that they should, and what is said of the others.

``.venv/bin/python -m benchmarks.probe_calibration [TRIALS]``. A trial calibrates every kernel, by 30 executions
of .1, 1, 5 and 50 ms each, interleaved with those that calibrate (20 s). An error is that of the median. The exit
status is 1 if a demand is off by more than 5 % in more than one trial of ten, and not all of these calibrations are
called unstable.
"""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from benchmarks.markdown import table
from hati.driver import DEMANDS_MS, calibrate
from hati.generate import CALIBRATED
from hati.wiring.probes.task_sets import measuring_alone

TOLERANCE, OF_TEN = 0.05, 9


def announce(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def main() -> int:
    trials = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    made = []
    with measuring_alone("benchmarks.probe_calibration", announce), TemporaryDirectory() as folder:
        for number in range(trials):
            made.append({each.kernel: each for each in calibrate(Path(folder) / str(number)).kernels})
            announce(f"[{number + 1}/{trials}]")
    rows, failed = [], False
    for kernel in CALIBRATED:
        found = [each[kernel] for each in made]
        errors = np.array([[check.error for check in each.checks] for each in found])
        stable = np.array([each.stable for each in found])
        within = (np.abs(errors) <= TOLERANCE).sum(axis=0)
        silent = ((np.abs(errors) > TOLERANCE).any(axis=1) & stable).any()
        failed |= bool(silent and (within < OF_TEN / 10 * trials).any())
        cv = max(check.cv for each in found for check in each.checks)
        rows.append((kernel, *within, int(stable.sum()), f"{cv:.1%}"))
    header = ("kernel", *(f"{demand:g} ms" for demand in DEMANDS_MS), "stable", "largest CV")
    note = "Trials in which the median of 30 executions is within 5 % of the demand, and those that are called stable."
    print(table(f"Calibrated demands in {trials} trials", header, rows, note))
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
