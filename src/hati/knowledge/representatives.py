"""The configurations that stand for a space in comparisons of revisions, by what is known of it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from hati.design.suite import Suite, leading_options, runs_for, screening_suite
from hati.knowledge.importance import ImportantOptions

if TYPE_CHECKING:
    from numpy.random import Generator

    from hati.space import Space

REPRESENTATIVES = 16
"""Configurations at most, where no budget says otherwise: each is run in every round at every revision."""
FEWEST_REPRESENTATIVES = 2
"""Configurations of a suite at least: a comparison of one is not one of a space."""


def representative_suite(
    space: Space, important: Sequence[ImportantOptions], most: int, rng: Generator
) -> Suite | None:
    """A screening suite of two configurations for every combination of the important options' settings.

    ``important`` has an entry for each metric; options come in order of their ranks. Where ``most`` configurations are
    too few for all combinations, options that rank last are varied within the strata. None where fewer
    than ``FEWEST_REPRESENTATIVES`` are allowed.

    Raises:
        InputError: where the constraints are too entangled to count.
    """
    if most < FEWEST_REPRESENTATIVES or not important:
        return None
    wanted = _interleaved([one.leading for one in important])
    options = leading_options(space, wanted, most)
    runs = (runs_for(space, options) if options else None) or most
    ranking = tuple(dict.fromkeys((*wanted, *_interleaved([one.ranking for one in important]))))
    return screening_suite(space, options, min(runs, most), rng, ranking)


def _interleaved(rankings: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """All names, those that are first in any ranking first."""
    return tuple(dict.fromkeys(name for rank in zip_longest(*rankings) for name in rank if name is not None))
