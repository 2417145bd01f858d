"""The configurations among which the best is looked for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod

import numpy as np

from hati.core import Configuration, FloatArray
from hati.design import INACTIVE, Candidates, Levels, Reach, candidates, from_levels, levels
from hati.design.candidates import MOST_LISTED
from hati.space import Space

Score = Callable[[Levels], FloatArray]
"""How good configurations are, shape (configurations,)."""

_SAMPLE = 4_000
_STARTS = 5
_STEPS = 200


def baseline(space: Space, among: Sequence[Configuration], rng: np.random.Generator) -> Configuration:
    """The default configuration, or the valid one (of those ``among`` which, if any) with the fewest other settings."""
    default = space.default
    if space.valid(default) and (not among or default in among):
        return default
    others = among or from_levels(candidates(space, rng).levels, space)
    return min(others, key=lambda other: _differences(other, default))


def pool(
    space: Space, start: Configuration, movable: frozenset[int], scores: Sequence[Score], rng: np.random.Generator
) -> Levels:
    """The start, then all configurations that may be best: all valid ones where they can be listed.

    Where all combinations are valid, options that are not ``movable`` stay as they are. Where there are too many, what
    is reached from the start and from the best of a uniform sample by one option at a time, for each of the scores.
    """
    row = levels([start], space)
    among = candidates(space, rng)
    if among.reach is Reach.LISTED:
        return np.vstack([row, among.levels])
    moving = sorted(movable)
    if among.reach is Reach.FREE and prod(among.sizes[option] for option in moving) <= MOST_LISTED:
        return np.vstack([row, _combined(row[0], moving, among.sizes)])
    drawn = np.vstack([row, among.levels if len(among.levels) else among.draw(_SAMPLE, rng)])
    return np.unique(np.vstack([row, *(_climbed(among, drawn, score) for score in scores)]), axis=0)


def to_set(row: Levels, start: Levels, space: Space) -> tuple[str, ...]:
    """The options that have to be set to get from one configuration to another.

    An option that becomes active need not be set where it gets its default, nor one that becomes inactive.
    """
    return tuple(space.names[option] for option in np.flatnonzero(_moved(row[None, :], start, space)[0]))


def changes(rows: Levels, start: Levels, space: Space) -> FloatArray:
    """How many options have to be set, for each configuration."""
    return np.asarray(_moved(rows, start, space).sum(axis=1), dtype=np.float64)


def _moved(rows: Levels, start: Levels, space: Space) -> Levels:
    defaults = np.array([option.position(option.default) for option in space.options], dtype=np.int16)
    usual = np.where(start == INACTIVE, defaults, start)
    return np.asarray((rows != INACTIVE) & (rows != usual))


def _combined(row: Levels, moving: Sequence[int], sizes: Sequence[int]) -> Levels:
    combinations = np.array(list(product(*(range(sizes[option]) for option in moving))), dtype=np.int16)
    found = np.repeat(row[None, :], len(combinations), axis=0)
    found[:, moving] = combinations.reshape(len(combinations), len(moving))
    return found


def _climbed(among: Candidates, drawn: Levels, score: Score) -> Levels:
    best = np.argsort(-score(drawn), kind="stable")[: _STARTS - 1]
    return np.array([_top(among, drawn[int(place)], score) for place in dict.fromkeys([0, *best.tolist()])])


def _top(among: Candidates, row: Levels, score: Score) -> Levels:
    """Where no other setting of one option is better."""
    value = float(score(row[None, :])[0])
    for _ in range(_STEPS):
        [near] = among.neighbours(row[None])
        found = score(near) if len(near) else np.empty(0)
        if not len(found) or float(found.max()) <= value:
            break
        row, value = near[int(np.argmax(found))], float(found.max())
    return row


def _differences(one: Configuration, other: Configuration) -> int:
    return len(set(one.items()) ^ set(other.items()))
