"""More runs for terms that the runs already made cannot tell apart (RES paper, sections 4.5.1 and 4.5.2)."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, InputError
from hati.design.configurations import unmeasured
from hati.design.optimal.basis import basis, independent
from hati.design.optimal.candidates import MOST_LISTED, Candidates, candidates, combinations
from hati.design.optimal.coding import Levels, Model
from hati.design.optimal.fit import Fit, fit
from hati.design.optimal.search import Exchange, Replication, best
from hati.stats import ALIASED, Term

if TYPE_CHECKING:
    from hati.space import Space


MOST_EFFECTS = 40_000
_AT_ONCE = 2_000


class Augmentation(Struct, frozen=True):
    """Runs for a model: ``levels`` are those made, then those added; ``fit`` is what they tell together."""

    levels: Levels
    added: int
    fit: Fit


def entangled(levels: Levels, sizes: Sequence[int], terms: Sequence[Term], order: int) -> tuple[Term, ...]:
    """Those terms, and all effects up to an order that the runs cannot tell from one of them (RES paper, equation 5).

    An effect counts where its columns are correlated with a term's by a half or more over the runs.

    Raises:
        InputError: for more than 40,000 effects.
    """
    order = min(order, len(sizes))
    number = sum(comb(len(sizes), size) for size in range(1, order + 1))
    if number > MOST_EFFECTS:
        raise InputError(f"{number:,} effects up to order {order} are too many to look at", fix="lower the order")
    own = _normed(Model(tuple(sizes), tuple(terms)).matrix(levels)[:, 1:])
    every = Model.of_order(sizes, order).terms
    found = list(terms)
    for start in range(0, len(every), _AT_ONCE):
        part = Model(tuple(sizes), every[start : start + _AT_ONCE])
        columns = _normed(part.matrix(levels)[:, 1:])
        near = np.max(np.abs(own.T @ columns), axis=0, initial=0.0) >= ALIASED
        found += [part.terms[place] for place in dict.fromkeys(part.owners[1:][near].tolist())]
    return tuple(dict.fromkeys(found))


def confounded(levels: Levels, sizes: Sequence[int], term: Term, others: Sequence[Term]) -> tuple[Term, ...]:
    """Those of some other terms that the runs cannot tell from a term, in the sense of ``entangled``."""
    rest = tuple(other for other in others if other != term)
    model = Model(tuple(sizes), rest)
    own = _normed(Model(tuple(sizes), (term,)).matrix(levels)[:, 1:])
    near = np.max(np.abs(own.T @ _normed(model.matrix(levels)[:, 1:])), axis=0, initial=0.0) >= ALIASED
    return tuple(rest[place] for place in dict.fromkeys(model.owners[1:][near].tolist()))


def runs_needed(levels: Levels, sizes: Sequence[int], terms: Sequence[Term]) -> int:
    """The fewest runs to be added so that all those terms and the mean can be estimated.

    Each run adds one to the rank of the model's columns at most.
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

    By ``starts`` searches, or as many as seconds allow.

    Without replication no configuration is added that was run before.

    Raises:
        InputError: where so many runs cannot fit the model, naming the terms that they cannot tell apart, or where
            so many configurations are not left.
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
    """The Bayesian D-optimal runs to add to others: main effects to be estimated, interactions potential.

    Unlike ``augment`` it does not ask for so many runs that all terms can be estimated (DuMouchel and Jones 1994).

    Args:
        among: what may be added, each once.
        levels: the runs that there are.
        blocks: columns of the blocks that all runs are in, those to be added last, shape (runs of both, any).
        terms: of the model.
        runs: how many to add, at most as many as there are.
        generator: for the starts.
        starts: how many searches.

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
