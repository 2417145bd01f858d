"""``python -m benchmarks.recording``: the cost of measuring a Python function, compared with a loop that reads clocks.

An empty function is called 100,000 times: in a bare loop that reads ``perf_counter_ns`` before and after each call and
keeps the difference; by the recorder, in batches, as it measures any function; and in a loop of the function's own
under the recorder's controller, with each iteration timed by ``with spl.measure()``, or with whole rounds of
iterations. The goal is for the second way; the others show the cost of one's own loop. Then follows the fraction of
the observations of a calibrated batch that is spent on reading the clocks.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable

from benchmarks.markdown import table
from hati.python.injected import recording
from hati.python.injected.calls import Calls
from hati.python.injected.controller import Controller
from hati.python.injected.recording import Order
from hati.python.injected.timing import loop

CALLS, ROUNDS = 100_000, 11
LARGEST_RATIO, LARGEST_SHARE = 2.0, 0.01


def empty() -> None: ...


def bare(number: int) -> float:
    clock, taken = time.perf_counter_ns, list[int]()
    began = clock()
    for _ in range(number):
        before = clock()
        empty()
        taken.append(clock() - before)
    return (clock() - began) * 1e-9


def batches(number: int) -> float:
    """A whole recording, with the search for the batch's size, until that number of calls and more were timed."""
    calls = Calls(empty, None)
    began = time.perf_counter()
    size = recording.record_calls(calls, Order(1, 1.0, 0, LARGEST_SHARE, "on", with_cpu=False)).batch
    recording.record_calls(calls, Order(-(-number // size), 10.0, 0, LARGEST_SHARE, "on", with_cpu=False))
    return time.perf_counter() - began


def turns(number: int) -> float:
    def measuring(spl: Controller) -> None:
        while spl.needs_more():
            with spl.measure():
                empty()

    began = time.perf_counter()
    recorded = recording.record_loop(measuring, Order(number, 10.0, 0, LARGEST_SHARE, "on", with_cpu=False))
    assert len(recorded.wall) == number
    return time.perf_counter() - began


def rounds(number: int) -> float:
    def measuring(spl: Controller) -> None:
        while spl.needs_more():
            empty()

    began = time.perf_counter()
    size = recording.record_loop(measuring, Order(1, 10.0, 0, LARGEST_SHARE, "on", with_cpu=False)).batch
    order = Order(-(-number // size), 10.0, 0, LARGEST_SHARE, "on", with_cpu=False)
    recording.record_loop(measuring, order)
    return time.perf_counter() - began


def share() -> float:
    """The fraction of an observation for reading the clocks: the time of an empty batch over a calibrated one, now."""
    found = recording.record_calls(Calls(empty, None), Order(50, 10.0, 0, LARGEST_SHARE, "on", with_cpu=True))
    timed = loop("none", with_cpu=True, drained=False)
    nothing = statistics.median(timed(empty, ())[0] for _ in range(1001))
    return nothing / statistics.median(found.wall)


WAYS: dict[str, Callable[[int], float]] = {"batches": batches, "own loop, turns": turns, "own loop, rounds": rounds}


def measured(calls: int, repeated: int) -> tuple[list[list[object]], bool]:
    rows: list[list[object]] = []
    ratios: dict[str, list[float]] = {name: [] for name in WAYS}
    shares = []
    for number in range(1, repeated + 1):
        base = bare(calls)
        taken = {name: way(calls) for name, way in WAYS.items()}
        for name, seconds in taken.items():
            ratios[name].append(seconds / base)
        shares.append(share())
        cells = [f"{seconds * 1e3:.1f} ({seconds / base:.2f})" for seconds in taken.values()]
        rows.append([number, f"{base * 1e3:.1f}", *cells, f"{shares[-1]:.4f}"])
    medians = [statistics.median(ratios[name]) for name in WAYS]
    typical = statistics.median(shares)
    rows.append(["median", "", *(f"**{median:.2f}**" for median in medians), f"**{typical:.4f}**"])
    return rows, medians[0] <= LARGEST_RATIO and typical <= LARGEST_SHARE


def result(calls: int = CALLS, repeated: int = ROUNDS) -> tuple[str, bool]:
    rows, held = measured(calls, repeated)
    header = ["round", "bare loop, ms", *(f"{name}, ms (ratio)" for name in WAYS), "share of the clocks"]
    met = "met" if held else "MISSED"
    goal = f"Goal: ratio of batches <= {LARGEST_RATIO:g}, share <= {LARGEST_SHARE:g}: {met}."
    return table(f"Recording an empty function {calls:,} times against a bare loop", header, rows, goal), held


if __name__ == "__main__":
    text, ok = result()
    print(text)
    sys.exit(0 if ok else 1)
