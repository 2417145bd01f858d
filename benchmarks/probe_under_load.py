"""How often an answer of ``hati probe`` is wrong under a competing load: neither right nor said to be disturbed.

As root: ``.venv/bin/python -m benchmarks.probe_under_load [ROUNDS]``. Each round is a whole self-test. Meanwhile a
process for each CPU works and sleeps in turn, for 50 ms each on average (exponentially distributed, seeds 1, 2 ...), in
a control group with the same weight as that of the experiments. The exit status is 1 if more than one answer in 50 is
wrong.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from benchmarks.markdown import table
from hati.probing.kernel import entering, group_with

MOST_WRONG = 1 / 50
LOAD = """
import random, sys, time
draw = random.Random(int(sys.argv[1]))
while True:
    end = time.monotonic() + draw.expovariate(20)
    while time.monotonic() < end:
        pass
    time.sleep(draw.expovariate(20))
"""
OUTCOMES = ("recovered", "disturbed", "missed", "refused")


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for number in range(1, rounds + 1):
        with competing(number):
            for each in recoveries():
                found[each["name"]][each["outcome"]] += 1
                if each["outcome"] == "missed":
                    print(f"missed in round {number}: {json.dumps(each)}", file=sys.stderr, flush=True)
    found["all"] = sum(found.values(), Counter())
    wrong, answers = found["all"]["missed"], found["all"].total() - found["all"]["refused"]
    rows = [(name, *(counts[outcome] for outcome in OUTCOMES)) for name, counts in found.items()]
    note = f"{wrong} of {answers} answers are wrong; {answers * MOST_WRONG:.1f} may be."
    print(table("Answers under a competing load", ("truth", *OUTCOMES), rows, note))
    return int(wrong > answers * MOST_WRONG)


def recoveries() -> list[dict[str, str]]:
    command = [sys.executable, "-m", "hati", "probe", "--selftest", "--format", "json"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    return list(json.loads(done.stdout)["recoveries"])


@contextmanager
def competing(seed: int) -> Iterator[None]:
    """A process for each CPU that works half of the time."""
    with group_with(None) as group, ExitStack() as stack:
        for number in range(len(os.sched_getaffinity(0))):
            command = [*entering(group), sys.executable, "-c", LOAD, f"{seed}{number}"]
            process = stack.enter_context(subprocess.Popen(command))
            stack.callback(process.kill)
        yield


if __name__ == "__main__":
    sys.exit(main())
