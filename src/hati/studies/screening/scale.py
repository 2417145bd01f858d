"""The one scale on which it is decided what is important."""

from __future__ import annotations

import numpy as np

from hati.core import FloatArray
from hati.stats import EXACT, BoxCox, Index, ModelTerms, box_cox, significant_model
from hati.studies.screening.conclusion import Scale
from hati.studies.screening.model_units import Units

_LARGEST_POWER = 3.0
"""`box_cox` tries powers from minus this to this."""
_SPARE = 3
"""So many degrees of freedom must be left beside the main effects for them to be in the model."""


def choose_scale(values: FloatArray, main_effects: FloatArray, blocks: Index) -> tuple[Scale, str]:
    """The logarithm where all values are positive and Box-Cox prefers it, else the values; and why, in words.

    Prefers: its likelihood with the main effects and the blocks as the model is at least that of the values as they
    are (Box and Cox 1964). Where the main effects use up the runs, the model is the blocks' means alone.

    Args:
        values: one per run, shape (runs,).
        main_effects: their signs, shape (runs, options).
        blocks: the repetition of each run.
    """
    if np.ptp(values) == 0.0:
        return Scale.RAW, "all values are equal"
    if np.min(values) <= 0.0:
        return Scale.RAW, "values at or below zero have no logarithm"
    groups = len(np.unique(blocks))
    spare = len(values) - groups
    model = main_effects if spare - main_effects.shape[1] >= _SPARE else main_effects[:, :0]
    if spare < _SPARE:
        return Scale.LOG, "too few values to choose by, and ratios are usual for positive values"
    found = box_cox(values, model, blocks)
    if found.log_gain >= 0.0:
        return Scale.LOG, _preferred("the logarithm (power 0)", 0.0, found)
    return Scale.RAW, _preferred("the values as they are (power 1)", 1.0, found)


def choose_scale_of_model(values: FloatArray, terms: ModelTerms, units: Units) -> tuple[Scale, str]:
    """`choose_scale` beside main effects and interactions: those by which one of the two scales needs fewest.

    What few combinations of settings do is an interaction on either scale, and larger on that of the logarithm where
    they are fast: without it, Box-Cox would call the values as they are the nearer scale of a product of effects.
    Interactions are those of the units: repetitions would make all that configurations vary by significant.

    Args:
        values: one per run, shape (runs,).
        terms: the candidates, on the units.
        units: of the runs.
    """
    columns = [terms.columns[term] for term in terms.main_effects]
    mains = np.hstack(columns)[units.places]
    if np.min(values) <= 0.0 or np.ptp(values) == 0.0:
        return choose_scale(values, mains, units.run_blocks)
    logs = np.log(values)
    decided = [units.values(each) for each in (np.exp(logs - logs.mean()), logs)]
    smallest = EXACT * float(np.sum((decided[1] - decided[1].mean()) ** 2))
    fits = [significant_model(terms, each) for each in decided]
    fewest = min(fits, key=lambda fit: fit.extended_bayes(smallest))
    columns += [fewest.candidates.columns[term] for term in fewest.terms if len(term) > 1]
    model = np.hstack(columns)[units.places]
    return choose_scale(values, model if 2 * model.shape[1] <= terms.runs else mains, units.run_blocks)


def _preferred(scale: str, power: float, found: BoxCox) -> str:
    """How Box-Cox sees a scale, and whether it is more than the better of the two."""
    low, high = found.interval
    ends = [f"{end:g}" for end in found.interval if abs(end) >= _LARGEST_POWER]
    limit = f"; powers beyond {' and '.join(ends)} were not tried" if ends else ""
    range_ = f"the best power is {found.power:.2f} (95 % interval {low:.2f} to {high:.2f}){limit}"
    if low <= power <= high:
        return f"Box-Cox prefers {scale}: {range_}"
    return f"of the two scales Box-Cox finds {scale} the nearer, but not near: {range_}"
