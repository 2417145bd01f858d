"""Optimal designs: the most informative valid runs that a search by exchanges finds from many starts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.design.coding import (
    MOST_LISTED,
    Candidates,
    Levels,
    Model,
    Reach,
    candidates,
    combinations,
    setting_contrasts,
)
from hati.design.exchanges import AnyCandidate, AnySetting, Exchange, Neighbourhood, Replication, ValidSetting
from hati.design.information import Basis, Fit, basis, fit, independent
from hati.design.matrix import unmeasured
from hati.stats import ALIASED, Index, Term
from hati.stats.threads import on_one_thread

if TYPE_CHECKING:
    from hati.space import Space


_WATCHED = 3_000_000  # candidates times columns of one start: about 25 MB
_WORK = 1.3e10  # multiplications that all starts may take, more or less
_STARTS = (3, 60)
_SHIFTS = 30  # of given runs
_WORTH = 2  # starts that a shift spares: it takes about as long, and most of what starts find it has found
_RANDOM = 0.1  # of the starts
_RENEWED = (0.08, 5)  # of the runs of the other starts, and the largest number


def best(
    search: Exchange, among: Candidates, runs: int, fixed: Levels, rng: np.random.Generator, starts: int | None
) -> tuple[Levels, float]:
    """The best of several searches: some start from random runs, the others from the best with a few runs renewed."""
    import scipy.linalg  # noqa: F401  # brings a BLAS of its own, and only libraries that are loaded can be limited

    return _best(search, among, runs, fixed, rng, starts)


@on_one_thread
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
    """Given runs with the settings of some options shifted, as in a foldover; as many as there are runs to add.

    If the given runs are a fraction this keeps its structure, which exchanges of single settings seldom find.
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
    """The best runs with some places taken from others, unless that breaks a ban on replication."""
    renewed = best.copy()
    renewed[places] = others[places]
    distinct = len(np.unique(renewed, axis=0)) == len(renewed)
    return renewed if replication is Replication.ALLOWED or distinct else best


def _start(search: Exchange, among: Candidates, runs: int, fixed: Levels, rng: np.random.Generator) -> Levels:
    if search.replication is Replication.ALLOWED:
        return np.vstack([fixed, among.draw(runs, rng)])
    found = _others(among.draw(4 * runs, rng), fixed)
    while len(found) < runs:
        found = _others(np.vstack([found, among.draw(4 * runs, rng)]), fixed)
    return np.vstack([fixed, rng.permutation(found)[:runs]])


def _others(rows: Levels, fixed: Levels) -> Levels:
    """The distinct rows that are not among the fixed ones."""
    distinct, first = np.unique(np.vstack([fixed, rows]), axis=0, return_index=True)
    return distinct[first >= len(fixed)]


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


MOST_RUNS = 10_000
MOST_PARAMETERS = 2_500


class Criterion(StrEnum):
    """What a design is best in.

    D: the determinant of X'X. I: the average variance of a prediction over the candidates. BAYES: the determinant
    of X'X + K/tau^2, K being 1 for potential terms (interactions) and 0 for primary ones (DuMouchel and Jones 1994).
    """

    D = "D"
    I = "I"  # noqa: E741  # its name in the literature
    BAYES = "bayes"


class OptimalDesign(Struct, frozen=True):
    """Runs chosen for a model, and their information.

    ``levels`` are the runs, the first ``fixed`` of which were given; shape (runs, options). ``blocks`` holds each
    run's block, or nothing. ``value`` is the criterion's: log |M| for D and BAYES (M = X'X + K/tau^2, in the
    search's columns), a prediction's average variance in sigma^2 for I. ``fit`` is of all terms for D and I, of the
    main effects for BAYES. ``potential`` are BAYES's interactions, which the runs need not be able to fit.
    """

    space: Space
    criterion: Criterion
    reach: Reach
    levels: Levels
    fixed: int
    blocks: tuple[int, ...]
    value: float
    fit: Fit
    potential: tuple[str, ...]

    @property
    def runs(self) -> int:
        """The number of runs, given ones included."""
        return len(self.levels)


def optimal_design(
    space: Space,
    runs: int,
    rng: np.random.Generator,
    *,
    criterion: Criterion = Criterion.D,
    order: int = 1,
    fixed: Levels | None = None,
    blocks: Sequence[int] = (),
    replication: Replication = Replication.ALLOWED,
    starts: int | None = None,
    tau: float = 1.0,
    among: Candidates | None = None,
) -> OptimalDesign:
    """The best ``runs`` runs to add to the ``fixed`` ones for all effects up to ``order``.

    With BAYES main effects are to be estimated and interactions up to ``order`` are potential, so these may outnumber
    the runs. ``blocks`` gives every run's block, those of ``fixed`` first; block effects are estimated as well.
    ``starts`` searches begin at random runs, by default as many as a few seconds allow; ``among`` saves finding the
    space's candidates again. Equal generators give equal designs.

    Raises:
        InputError: where the runs cannot fit the model (the message names the terms that earlier ones determine); where
            they are too few or too many, or must be distinct and the space is too small.
    """
    among = candidates(space, rng) if among is None else among
    fixed = np.empty((0, len(space.options)), dtype=np.int16) if fixed is None else fixed
    model = _model(among, order)
    primary = 1 if criterion is Criterion.BAYES else order
    chosen = basis(among, model, fixed, primary, tau)
    total = len(fixed) + runs
    groups = _groups(blocks, total)
    _check_runs(runs, among, fixed, replication)
    search = Exchange(chosen, len(fixed), groups, None, replication)
    levels, value = best(search, among, runs, fixed, rng, starts)
    if criterion is Criterion.I:
        averaged = Exchange(chosen, len(fixed), groups, _moments(chosen, among, groups.shape[1]), replication)
        levels, value = best(averaged, among, runs, fixed, rng, starts)
        value = -value
    fitted = fit(
        levels,
        Model(model.sizes, tuple(t for t in model.terms if len(t) <= primary)),
        space.names,
        groups,
        chosen.kept[: chosen.primary],
    )
    potential = (
        ()
        if criterion is not Criterion.BAYES
        else tuple(
            ":".join(space.names[option] for option in model.terms[term])
            for term in dict.fromkeys(model.owners[chosen.kept[chosen.primary :]].tolist())
        )
    )
    return OptimalDesign(space, criterion, among.reach, levels, len(fixed), tuple(blocks), value, fitted, potential)


def _model(among: Candidates, order: int) -> Model:
    if order < 1:
        raise InputError(f"a model of order {order} has no effects", fix="use 1 or more")
    contrasts = [size - 1 for size in among.sizes]
    counts = np.zeros(order + 1)
    counts[0] = 1.0
    for contrast in contrasts:
        counts[1:] = counts[1:] + counts[:-1] * contrast
    if counts.sum() > MOST_PARAMETERS:
        raise InputError(
            f"effects up to order {order} have {counts.sum():,.0f} parameters, more than {MOST_PARAMETERS:,}",
            fix="use a lower order, or fewer options",
        )
    return Model.of_order(among.sizes, min(order, len(among.sizes)))


def _check_runs(runs: int, among: Candidates, fixed: Levels, replication: Replication) -> None:
    if not 1 <= runs <= MOST_RUNS:
        raise InputError(f"cannot choose {runs:,} runs", fix=f"ask for 1 to {MOST_RUNS:,}")
    if replication is Replication.ALLOWED:
        return
    if among.reach is Reach.FREE:
        there = np.prod(np.array(among.sizes, dtype=float)) - len(np.unique(fixed, axis=0))
    else:
        there = len(_others(among.levels, fixed))
    if runs > there:
        raise InputError(
            f"{runs} distinct runs cannot be chosen among {there:,.0f} configurations", fix="allow replicated runs"
        )


def _groups(blocks: Sequence[int], total: int) -> FloatArray:
    """The columns of block effects, shape (runs, blocks - 1)."""
    if not blocks:
        return np.empty((total, 0))
    if len(blocks) != total:
        raise InputError(f"{len(blocks)} runs are in blocks, but there are {total}", fix="give every run its block")
    names, places = np.unique(np.array(blocks), return_inverse=True)
    return np.asarray(setting_contrasts(len(names))[places])


def _moments(chosen: Basis, among: Candidates, blocks: int) -> FloatArray:
    """The mean of x x' over the candidates; a prediction is for the mean of the blocks."""
    size = len(chosen.kept) + blocks
    moments = np.eye(size)
    if among.reach is not Reach.FREE:
        rows = chosen.matrix(among.levels)
        moments[blocks:, blocks:] = rows.T @ rows / len(rows)
    moments[:blocks] = 0.0
    return moments


MOST_EFFECTS = 40_000
_ROWS_AT_ONCE = 2_000


class Augmentation(Struct, frozen=True):
    """Runs for a model: ``levels`` are the existing ones, then those added; ``fit`` is the information of both."""

    levels: Levels
    added: int
    fit: Fit


def entangled(levels: Levels, sizes: Sequence[int], terms: Sequence[Term], order: int) -> tuple[Term, ...]:
    """Those terms, and all effects up to an order that the runs cannot distinguish from them (RES paper, equation 5).

    An effect is included if the correlation of its columns with a term's is one half or more over the runs.

    Raises:
        InputError: for more than 40,000 effects.
    """
    order = min(order, len(sizes))
    number = sum(math.comb(len(sizes), size) for size in range(1, order + 1))
    if number > MOST_EFFECTS:
        raise InputError(f"{number:,} effects up to order {order} are too many to look at", fix="lower the order")
    own = _normed(Model(tuple(sizes), tuple(terms)).matrix(levels)[:, 1:])
    every = Model.of_order(sizes, order).terms
    found = list(terms)
    for start in range(0, len(every), _ROWS_AT_ONCE):
        part = Model(tuple(sizes), every[start : start + _ROWS_AT_ONCE])
        columns = _normed(part.matrix(levels)[:, 1:])
        near = np.max(np.abs(own.T @ columns), axis=0, initial=0.0) >= ALIASED
        found += [part.terms[place] for place in dict.fromkeys(part.owners[1:][near].tolist())]
    return tuple(dict.fromkeys(found))


def confounded(levels: Levels, sizes: Sequence[int], term: Term, others: Sequence[Term]) -> tuple[Term, ...]:
    """The terms among ``others`` that the runs cannot distinguish from ``term``, in the sense of ``entangled``."""
    rest = tuple(other for other in others if other != term)
    model = Model(tuple(sizes), rest)
    own = _normed(Model(tuple(sizes), (term,)).matrix(levels)[:, 1:])
    near = np.max(np.abs(own.T @ _normed(model.matrix(levels)[:, 1:])), axis=0, initial=0.0) >= ALIASED
    return tuple(rest[place] for place in dict.fromkeys(model.owners[1:][near].tolist()))


def runs_needed(levels: Levels, sizes: Sequence[int], terms: Sequence[Term]) -> int:
    """The fewest added runs with which all those terms and the mean can be estimated.

    Each run adds at most one to the rank of the model's columns.
    """
    columns = Model(tuple(sizes), tuple(terms)).matrix(levels)
    rank = len(independent(columns.T @ columns / len(columns)))
    return max(0, int(columns.shape[1]) - rank)


def augment(
    space: Space,
    levels: Levels,
    terms: Sequence[Term],
    runs: int,
    generator: np.random.Generator,
    replication: Replication = Replication.ALLOWED,
    starts: int | None = None,
) -> Augmentation:
    """The D-optimal runs to add for a model of those terms and a shift of the added runs.

    ``starts`` searches are made, or as many as a few seconds allow.

    Without replication only configurations that were not run before are added.

    Raises:
        InputError: where the runs cannot fit the model (the message names the terms that they cannot distinguish), or
            too few configurations are left.
    """
    among = candidates(space, generator)
    if replication is Replication.NONE and combinations(space) <= MOST_LISTED:
        among = unmeasured(space, levels, generator)
        if runs > len(among.levels):
            raise InputError(f"{len(among.levels)} configurations are left to run, fewer than {runs}")
    model = Model(among.sizes, tuple(sorted(terms, key=lambda term: (len(term), term))))
    chosen = basis(among, model, levels, max(len(term) for term in terms), 1.0)
    shift = np.repeat([0.0, 1.0], [len(levels), runs])[:, None]
    search = Exchange(chosen, len(levels), shift, None, replication)
    rows, _ = best(search, among, runs, levels, generator, starts)
    return Augmentation(rows, runs, fit(rows, model, space.names, shift, chosen.kept))


def refine(
    among: Candidates,
    levels: Levels,
    blocks: FloatArray,
    terms: Sequence[Term],
    runs: int,
    generator: np.random.Generator,
    starts: int,
) -> Levels:
    """The Bayesian D-optimal runs to add to others: main effects are to be estimated, interactions are potential.

    Unlike ``augment`` it does not require enough runs to estimate all terms (DuMouchel and Jones 1994).

    Args:
        among: the runs that may be added, each once.
        levels: the existing runs.
        blocks: columns of the blocks of all runs, those to be added last, shape (runs of both, any).
        terms: of the model.
        runs: the number to add, at most the number of candidates.
        generator: for the starts.
        starts: the number of searches.

    Returns:
        The runs that are added, shape (runs, options).
    """
    model = Model(among.sizes, tuple(sorted(terms, key=lambda term: (len(term), term))))
    search = Exchange(basis(among, model, levels, 1, 1.0), len(levels), blocks, None, Replication.NONE)
    rows, _ = best(search, among, runs, levels, generator, starts)
    return rows[len(levels) :]


def _normed(columns: FloatArray) -> FloatArray:
    centred = columns - columns.mean(axis=0)
    lengths = np.sqrt(np.einsum("rc,rc->c", centred, centred))
    return np.asarray(centred / np.where(lengths > 0.0, lengths, 1.0))
