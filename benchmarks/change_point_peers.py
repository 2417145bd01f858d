"""The peers' change points, by the peers' interpreter and not by Hati's: one JSON object a line and case.

Takes one argument, an .npz file of arrays of series, shape (series, values), named 0, 1, ...
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def otava() -> Callable[[Any], list[int]]:
    from otava.analysis import compute_change_points

    def find(series: Any) -> list[int]:
        points, _ = compute_change_points(series.tolist())  # its defaults: windows of 50, p < 0.001
        return [int(point.index) for point in points]

    return find


def pelt() -> Callable[[Any], list[int]]:
    import ruptures

    def find(series: Any) -> list[int]:
        # the usual penalty, for a known number of parameters, with the noise's deviation from differences
        deviation = 1.4826 * np.median(np.abs(np.diff(series))) / np.sqrt(2.0)
        penalty = 3.0 * deviation**2 * np.log(len(series))
        return [int(p) for p in ruptures.Pelt(model="l2", min_size=2, jump=1).fit(series).predict(pen=penalty)[:-1]]

    return find


PEERS = {"Otava 0.8.0": otava, "ruptures PELT": pelt}
MOST_SERIES = {"Otava 0.8.0": 200, "ruptures PELT": 30}
MOST_VALUES = {"ruptures PELT": 2_000}
"""The peers take many minutes for longer series."""

if __name__ == "__main__":
    cases = np.load(sys.argv[1])
    for name, make in PEERS.items():
        try:
            find = make()
        except ImportError:
            continue
        for case in cases.files:
            values = cases[case][: MOST_SERIES.get(name)]
            if values.shape[1] > MOST_VALUES.get(name, values.shape[1]):
                continue
            start = time.perf_counter()
            places = [find(series) for series in values]
            told = {"peer": name, "case": int(case), "places": places, "seconds": time.perf_counter() - start}
            print(json.dumps(told), flush=True)
