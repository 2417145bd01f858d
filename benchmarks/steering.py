"""How long a decision of the steering takes, with many open batches and machines.

Run it as: .venv/bin/python -m benchmarks.steering
"""

from __future__ import annotations

import statistics
import time

from hati.steering import Client, OpenBatches, Requirements, choose

BATCHES, MACHINES, STUDIES, REVISIONS = 100_000, 1_000, 20, 50
GOAL_SECONDS = 0.005


def open_batches() -> OpenBatches:
    """Batches of several studies and revisions, of which each hundredth has begun on a machine."""
    needed = [Requirements((f"files{n}",), (f"r{n}",), cpus=1 + n % 8) for n in range(REVISIONS)]
    return OpenBatches.of(
        (
            number,
            f"study{number % STUDIES}",
            needed[number * 7 % REVISIONS],
            f"m{number // 100 % MACHINES}" if number % 100 == 0 else None,
        )
        for number in range(1, BATCHES + 1)
    )


def main() -> None:
    """Print the time that a decision takes for each machine: median and largest."""
    files = tuple(f"files{n}" for n in range(REVISIONS))
    clients = [Client(f"m{n}", f"machine{n}", 1 + n % 16, files[n % 5 :]) for n in range(MACHINES)]
    began = time.perf_counter()
    open_ = open_batches()
    made = time.perf_counter() - began
    under_way = {f"study{n}": MACHINES // STUDIES + n % 3 for n in range(STUDIES)}
    seconds = []
    for client in clients:
        began = time.perf_counter()
        choose(open_, under_way, client)
        seconds.append(time.perf_counter() - began)
    print(f"{BATCHES:,} open batches, {MACHINES:,} machines, {STUDIES} studies, {REVISIONS} requirements")
    print(f"arrays made in {made * 1e3:.0f} ms")
    median, largest = statistics.median(seconds), max(seconds)
    print(f"a decision: median {median * 1e3:.2f} ms, largest {largest * 1e3:.2f} ms; goal {GOAL_SECONDS * 1e3:.0f} ms")


if __name__ == "__main__":
    main()
