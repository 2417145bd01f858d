"""Which member of an alias set an interaction is named by."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hati.core import replace
from hati.stats import Signs, Term
from hati.studies.screening.estimated import Estimated


def likely_pairs(effect: Estimated, main: set[int]) -> list[Term]:
    """The pairs of an interaction's alias set with the most important main effects: two, one, or none.

    Effect heredity: an interaction is likely where its parents matter (Hamada and Wu 1992, Analysis of designed
    experiments with complex aliasing, Journal of Quality Technology 24(3), 130-137).
    """
    pairs: list[Term] = [term for term in (effect.term, *effect.aliases) if len(term) == 2]
    most = max(len(main & set(pair)) for pair in pairs)
    return [pair for pair in pairs if len(main & set(pair)) == most]


def named_by_heredity(effects: Sequence[Estimated], matrix: Signs) -> list[Estimated]:
    """The same effects, each interaction named by the likeliest pair of its alias set; the others are its aliases.

    The likeliest has the most important parents, and among those the largest main effects.

    Args:
        effects: the estimated effects.
        matrix: the design, shape (rows, factors): a pair that is the negative of another is never its name.
    """
    sizes = {effect.term[0]: abs(effect.contrast) for effect in effects if len(effect.term) == 1}
    main = {effect.term[0] for effect in effects if len(effect.term) == 1 and effect.important}
    return [effect if len(effect.term) == 1 else _renamed(effect, matrix, sizes, main) for effect in effects]


def _renamed(effect: Estimated, matrix: Signs, sizes: dict[int, float], main: set[int]) -> Estimated:
    column = _column(matrix, effect.term)
    by_size = sorted(likely_pairs(effect, main), key=lambda pair: -sum(sizes.get(option, 0.0) for option in pair))
    best = next((pair for pair in by_size if np.array_equal(_column(matrix, pair), column)), effect.term)
    if best == effect.term:
        return effect
    members = (effect.term, *effect.aliases)
    return replace(effect, term=best, aliases=tuple(term for term in members if term != best))


def _column(matrix: Signs, pair: Term) -> Signs:
    return matrix[:, pair[0]] * matrix[:, pair[1]]
