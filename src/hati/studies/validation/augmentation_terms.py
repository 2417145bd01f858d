"""Which effects an augmentation estimates, and how many runs they need at least."""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

import numpy as np
from msgspec import Struct

from hati.core import InputError, generator
from hati.design.augmentation import entangled
from hati.design.candidates import Candidates, candidates
from hati.design.coding import Model
from hati.design.identified import Identified, identified
from hati.space import Space
from hati.stats import Term
from hati.stats.projection import spanned
from hati.studies.validation.conclusion import Mode
from hati.studies.validation.screened import Runs

SHIFT = 1
"""A run more: the shift between the screening and the runs that are added is estimated too, and each time's trend."""
_MOST_PARAMETERS = 2500


class EstimatedTerms(Struct, frozen=True, eq=False):
    """The effects to be estimated, all up to ``order``, and the fewest runs that this takes.

    ``known`` says which of their columns the space can tell apart at all.
    ``wanted`` is the order that was asked for and ``wanted_needed`` what it would have taken; they are more than
    the others where the budget does not suffice.
    """

    known: Identified
    order: int
    needed: int
    wanted: int
    wanted_needed: int

    @property
    def terms(self) -> tuple[Term, ...]:
        """Those that the space can tell apart from others, wholly or in part."""
        return self.known.terms


@lru_cache(maxsize=8)
def estimated_terms(
    mode: Mode,
    runs: Runs,
    space: Space,
    important: tuple[Term, ...],
    suspects: frozenset[int],
    order: int,
    budget: int,
    seed: int,
) -> EstimatedTerms:
    """The effects up to the highest order, at most the wanted one, that a budget suffices for.

    Besides the important ones these are effects of ``suspects`` alone, where there are any.

    Raises:
        InputError: where it suffices for none, or nothing is important whose aliases could be looked for.
    """
    if mode is Mode.DEALIAS and not important:
        raise InputError(
            "the screening called nothing important: there is nothing to distinguish from aliases",
            fix="check for effects with --mode check",
        )
    among = candidates(space, generator(seed, "candidates"))
    order = wanted = min(order, len(among.sizes))
    first = known, needed = _terms(mode, runs, among, important, suspects, order)
    least = 2 if mode is Mode.DEALIAS else 1  # there is no alias of order 1 that a design would leave
    while needed > budget and order > least:
        order -= 1
        known, needed = _terms(mode, runs, among, important, suspects, order)
    if needed > budget:
        raise InputError(f"at least {first[1]:,} runs are needed, and the budget is {budget}", fix="raise --budget")
    return EstimatedTerms(known, order, needed, wanted, first[1])


def _terms(
    mode: Mode, runs: Runs, among: Candidates, important: tuple[Term, ...], suspects: frozenset[int], order: int
) -> tuple[Identified, int]:
    if suspects:
        own = (
            term for size in range(1, min(order, len(suspects)) + 1) for term in combinations(sorted(suspects), size)
        )
        terms: tuple[Term, ...] = tuple(dict.fromkeys((*important, *own)))
    elif mode is Mode.DEALIAS:
        terms = entangled(runs.levels, among.sizes, important, order)
    else:
        terms = Model.of_order(among.sizes, order).terms
    if len(terms) > _MOST_PARAMETERS:
        raise InputError(
            f"{len(terms):,} effects up to order {order} are too many", fix="lower --order, or name --options"
        )
    known = identified(among, terms, runs.levels)
    needed = known.runs_needed(runs.levels) + _hidden(known, runs)
    return known, needed + SHIFT + runs.trends.shape[1] if needed else 0


def _hidden(known: Identified, runs: Runs) -> int:
    """How many trends of the runs their effects hide."""
    columns = np.hstack([np.ones((len(runs), 1)), *known.columns(runs.levels).values()])
    with_trends = np.hstack([columns, runs.trends])
    return int(runs.trends.shape[1] + spanned(columns).shape[1] - spanned(with_trends).shape[1])
