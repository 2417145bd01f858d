"""Many searches for one design: from random runs, and from the best found so far with a few runs renewed."""

from __future__ import annotations

import numpy as np
from threadpoolctl import threadpool_limits

from hati.design.basis import Basis
from hati.design.candidates import Candidates, Reach
from hati.design.coding import Levels
from hati.design.exchanging import Exchange, Replication
from hati.design.neighbourhood import AnyCandidate, AnySetting, Neighbourhood, ValidSetting
from hati.stats import Index

_WATCHED = 3_000_000  # candidates times columns of one start: about 25 MB
_WORK = 1.3e10  # multiplications that all starts may take, more or less
_STARTS = (3, 60)
_SHIFTS = 30  # of given runs
_WORTH = 2  # starts that a shift spares: it takes about as long, and most of what starts find it has found
_RANDOM = 0.1  # of the starts
_RENEWED = (0.08, 5)  # of the runs of the other starts, and at most so many


def best(
    search: Exchange, among: Candidates, runs: int, fixed: Levels, rng: np.random.Generator, starts: int | None
) -> tuple[Levels, float]:
    """The best of several searches: some from random runs, then the others from the best with a few runs renewed."""
    with threadpool_limits(1, user_api="blas"):  # many products of small matrices: threads would only wait
        return _best(search, among, runs, fixed, rng, starts)


def _best(
    search: Exchange, among: Candidates, runs: int, fixed: Levels, rng: np.random.Generator, starts: int | None
) -> tuple[Levels, float]:
    chosen, value = _shifted(search, among, runs, fixed, rng)
    if starts is None:
        starts = max(_starts(search, among, runs) - (_WORTH * _SHIFTS if np.isfinite(value) else 0), _STARTS[0])
    for number in range(starts):
        levels = _start(search, among, runs, fixed, rng)
        if number >= max(1.0, _RANDOM * starts):
            places = len(fixed) + rng.choice(runs, _renewals(runs), replace=False)
            levels = _renewed(chosen, levels, places, search.replication)
        near = _near(search.basis, among, rng)
        levels, found = search.improve(levels, near)
        if among.reach is Reach.SAMPLED:
            levels, found = search.improve(levels, ValidSetting(search.basis, among))
        if found >= value:
            chosen, value = levels, found
    return chosen, value


def _shifted(
    search: Exchange, among: Candidates, runs: int, fixed: Levels, rng: np.random.Generator
) -> tuple[Levels, float]:
    """Given runs with the settings of some options shifted, as in a foldover, as many of them as are to be added.

    Where the given runs are a fraction this keeps its structure, which exchanges of single settings seldom find.
    """
    chosen, value = fixed, -np.inf
    room = runs <= len(fixed) and len(fixed) * len(search.basis.kept) <= _WATCHED
    if not room or among.reach is not Reach.FREE or search.replication is not Replication.ALLOWED:
        return chosen, value
    for _ in range(_SHIFTS):
        pool = ((fixed + rng.integers(0, among.sizes)) % among.sizes).astype(np.int16)
        start = np.vstack([fixed, pool[rng.choice(len(pool), runs, replace=False)]])
        levels, found = search.improve(start, AnyCandidate(pool, search.basis.matrix(pool)))
        if found > value:
            chosen, value = levels, found
    return search.improve(chosen, AnySetting(search.basis))


def _renewals(runs: int) -> int:
    share, most = _RENEWED
    return min(max(2, int(share * runs)), most, runs)


def _renewed(best: Levels, others: Levels, places: Index, replication: Replication) -> Levels:
    """The best runs with those at some places taken from others, as far as replication is allowed."""
    renewed = best.copy()
    renewed[places] = others[places]
    distinct = len(np.unique(renewed, axis=0)) == len(renewed)
    return renewed if replication is Replication.ALLOWED or distinct else best


def _start(search: Exchange, among: Candidates, runs: int, fixed: Levels, rng: np.random.Generator) -> Levels:
    if search.replication is Replication.ALLOWED:
        return np.vstack([fixed, among.draw(runs, rng)])
    found = np.unique(among.draw(4 * runs, rng), axis=0)
    while len(found) < runs:
        found = np.unique(np.vstack([found, among.draw(4 * runs, rng)]), axis=0)
    return np.vstack([fixed, rng.permutation(found)[:runs]])


def _near(chosen: Basis, among: Candidates, rng: np.random.Generator) -> Neighbourhood:
    if among.reach is Reach.FREE:
        return AnySetting(chosen)
    most = max(_WATCHED // len(chosen.kept), 1)
    if len(among.levels) <= most:
        return AnyCandidate(among.levels, chosen.matrix(among.levels))
    some = among.levels[np.sort(rng.choice(len(among.levels), most, replace=False))]
    return AnyCandidate(some, chosen.matrix(some))


def _starts(search: Exchange, among: Candidates, runs: int) -> int:
    columns = len(search.basis.kept)
    if among.reach is Reach.FREE:
        visit = 2 * columns**2 * (sum(among.sizes) - len(among.sizes) + 2)
    else:
        visit = 4 * min(_WATCHED, columns * len(among.levels)) + 4 * columns**2
    fewest, most = _STARTS
    return int(min(max(_WORK / (8 * runs * visit), fewest), most))
