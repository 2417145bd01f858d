"""Which runs to make next, so that the models that are left are told apart."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import product
from math import isinf, log, prod

import numpy as np
from scipy.linalg import block_diag

from hati.core import Configuration, InputError, Setting, generator
from hati.design.coding import levels
from hati.design.discrimination import Predictions, discriminating_runs, one_by_one, predictions, separations
from hati.space import Space, sample
from hati.stats.effect_models import EffectModels
from hati.studies.validation.rivals import Question, as_rivals, full_columns, involved, precisions
from hati.studies.validation.screened import Runs

FEWEST = 4
SIZES = (4, 6, 8, 12, 16)
_CANDIDATES = 128
_RIVALS = 20
_SURE = 2.0
"""A follow-up is large enough where the expected logarithm of the odds is so many times that of the bound."""


@lru_cache(maxsize=32)
def follow_up(
    models: EffectModels, runs: Runs, question: Question, space: Space, most: int, seed: int, stage: str, repeats: float
) -> tuple[Configuration, ...]:
    """The configurations, in the order of the runs, of the smallest follow-up that is expected to be enough.

    Runs are of the options that any of the models speaks of; all others keep their default, so that nothing
    else changes within a follow-up. Where eight runs or more are left, four are kept for what is not expected.

    Args:
        models: those that are left, at least two.
        runs: what was measured so far.
        question: what is asked.
        space: the options.
        most: so many runs may be made at most.
        seed: for candidates, starts and the order.
        stage: the follow-up's name.
        repeats: so many runs of a configuration tell more than one; more are not made.

    Raises:
        InputError: where too few configurations are left to measure.
    """
    random = generator(seed, stage)
    every = candidate_configurations(space, involved(models, question), random)
    candidates = _left(every, runs, space, repeats)
    each = None if isinf(repeats) else 1
    ahead = levels(candidates, space)
    shifts = block_diag(runs.shifts, np.ones((len(ahead), 1)))
    before, after = shifts[: len(runs)], shifts[len(runs) :]
    found = predictions(
        full_columns(runs.levels, before, question),
        runs.values,
        full_columns(ahead, after, question),
        precisions(question, shifts.shape[1], models.gamma),
        as_rivals(models, shifts.shape[1], question, _RIVALS),
    )
    most = most - FEWEST if most >= 2 * FEWEST else most
    most = most if each is None else min(most, len(candidates))
    size = _enough(found, one_by_one(found, most, each), models, question)
    best = discriminating_runs(found, size, random, starts=2, most_each=each)
    return tuple(candidates[best.rows[int(place)]] for place in random.permutation(size))


def _enough(found: Predictions, rows: list[int], models: EffectModels, question: Question) -> int:
    """How many of those runs, taken in order, are expected to give up as many models as all of them are."""
    sizes = sorted({*(size for size in SIZES if size < len(rows)), len(rows)})
    wanted = _SURE * log(question.bound)
    told = [
        int(np.sum(apart[0, 1:] - models.log_odds[1 : len(apart)] >= wanted))
        for apart in (separations(found, rows[:size]) for size in sizes)
    ]
    return sizes[told.index(max(told))]


def _left(candidates: tuple[Configuration, ...], runs: Runs, space: Space, repeats: float) -> tuple[Configuration, ...]:
    """Those of which fewer runs than so many were made.

    Raises:
        InputError: where there is none.
    """
    made = Counter(row.tobytes() for row in runs.levels)
    rows = levels(candidates, space)
    left = tuple(c for c, row in zip(candidates, rows, strict=True) if made[row.tobytes()] < repeats)
    if not left:
        raise InputError("every configuration that could distinguish the models was measured already")
    return left


def candidate_configurations(
    space: Space, options: tuple[int, ...], random: np.random.Generator
) -> tuple[Configuration, ...]:
    """Every combination of those options' settings with the others at their default, or a sample of them.

    Where the space has constraints or nested options: valid configurations, drawn uniformly.
    """
    if space.constraints or any(option.active_if is not None for option in space.options):
        return tuple(dict.fromkeys(sample(space, _CANDIDATES, random)))
    chosen = [space.options[place] for place in options]
    settings = [option.settings for option in chosen]
    if prod(len(own) for own in settings) <= _CANDIDATES:
        rows = list(product(*settings))
    else:
        drawn = [tuple(own[int(i)] for own, i in zip(settings, row, strict=True)) for row in _draw(settings, random)]
        rows = list(dict.fromkeys(drawn))
    return tuple(space.canonical(dict(zip((option.name for option in chosen), row, strict=True))) for row in rows)


def _draw(settings: Sequence[tuple[Setting, ...]], random: np.random.Generator) -> np.ndarray[tuple[int, int]]:
    return random.integers(0, [len(own) for own in settings], (_CANDIDATES, len(settings)))
