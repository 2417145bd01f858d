"""Open queueing networks in closed form: Erlang C, product-form networks, Pollaczek and Khinchine."""

from __future__ import annotations

import math

from hati.stats.distributions import halved


def erlang_c(cores: int, load: float) -> float:
    """The probability that all cores are busy, in M/M/c: Erlang's second formula.

    ``load`` is the mean number of busy cores, below ``cores``. By the recurrence of Erlang's first formula, which
    stays between 0 and 1: B(k) = load B(k-1) / (k + load B(k-1)).

    >>> erlang_c(1, 0.7)
    0.7
    """
    blocked = 1.0
    for k in range(1, cores + 1):
        blocked = load * blocked / (k + load * blocked)
    return blocked / (1.0 - load / cores * (1.0 - blocked))


def slowdown(cores: float, load: float) -> float:
    """The mean response time divided by the mean service time, in M/M/c and in M/G/c with processor sharing.

    The same formula serves both: a processor-sharing station is insensitive to the law of its service times (Baskett,
    Chandy, Muntz and Palacios 1975; Kelly 1979, section 3.3). A delay, with infinitely many cores, has 1.
    """
    return 1.0 if math.isinf(cores) else 1.0 + erlang_c(int(cores), load) / (cores - load)


def waiting_time(rate: float, mean: float, second_moment: float) -> float:
    """The mean waiting time in M/G/1 with first come, first served, by Pollaczek and Khinchine.

    ``rate`` is that of all arrivals; the moments are those of service times over all of them.
    """
    return rate * second_moment / (2.0 * (1.0 - rate * mean))


def response_quantile(probability: float, cores: int, load: float, mean: float) -> float:
    """A quantile of the response time in M/M/c with first come, first served; ``mean`` is that of the service time.

    Waiting is 0 with probability 1 - C, else exponential with the rate (c - load) / mean (Gross and Harris 1998,
    section 2.3); service is exponential and independent of it.
    """
    waits, spare = erlang_c(cores, load), cores - load

    def survival(time: float) -> float:
        """P(response > time), ``time`` in means of the service time."""
        alone = math.exp(-time)
        if abs(spare - 1.0) < 1e-9:
            return alone * (1.0 + waits * time)
        return alone + waits * (alone - math.exp(-spare * time)) / (spare - 1.0)

    longest = -math.log1p(-probability) * 2.0 * (1.0 + 1.0 / spare) + 1.0
    while survival(longest) > 1.0 - probability:
        longest *= 2.0
    low, high = halved(0.0, longest, lambda time: survival(time) <= 1.0 - probability)
    return mean * (low + high) / 2.0
