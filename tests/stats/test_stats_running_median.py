"""Medians of successive values."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from hati.stats.series.dependence import running_median


def test_each_is_the_median_of_those_around_it_and_the_ends_go_on() -> None:
    values = np.array([1.0, 9.0, 2.0, 3.0, 4.0])
    assert running_median(values, 3).tolist() == [1.0, 2.0, 3.0, 3.0, 4.0]


def test_statistics_are_there_without_what_is_slow_to_load() -> None:
    script = "import sys, hati.stats; print([m for m in ('scipy.ndimage', 'scipy.optimize') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
