"""What is measured in these tests, and how much."""

from __future__ import annotations

from collections.abc import Callable

from hati.core import Run
from hati.python import Recording

LISTS = """
import hati


class Bag:
    def __init__(self, values):
        self.values = list(values)

    def contains(self, value):
        assert self.values
        return value in self.values

    def take(self):
        return self.values.pop()


@hati.spl("SELF[rand](100) <= 2 ms")
def sort(values):
    assert values != sorted(values), "sorted before"
    values.sort()


def nothing():
    pass


def squares(n):
    yield from (i * i for i in range(n))


def get(n):
    print({"metric": "wall_time", "value": 1})
    return n
"""

WORK = """
import hati
from lists import Bag


@hati.workload
def rand(n, rng):
    return [rng.random() for _ in range(n)]


@hati.workload
def search(n, rng):
    while True:
        yield rng.randrange(n)


@hati.workload
def none():
    return ()


@hati.instance
def bag(size):
    return Bag(range(size))


@hati.instance(fresh="call")
def new_bag(n):
    return Bag([n])


@hati.measured
def building(spl, n):
    while spl.needs_more():
        values = list(range(n))
        with spl.measure():
            values.sort()


@hati.measured
def ended(spl):
    for _ in range(3):
        spl.needs_more()


def plain(n):
    return n
"""

QUICK = Recording(observations=5, seconds=0.05, warmup=2, overhead=0.05)

Measure = Callable[..., list[Run]]
