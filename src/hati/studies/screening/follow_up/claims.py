"""What a design's rows say of single options, and what flips say of that: they confirm it, refute it, or leave it
open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import Evidence, FloatArray, replace
from hati.design import Model, levels
from hati.space import Space
from hati.stats import PERMUTATIONS, f_above, pure_error, t_quantile
from hati.studies.screening.analysis.model import EffectContrast, ModelAnalysis, ModelEffect, ModelFit
from hati.studies.screening.analysis.runs import MeasuredDesign, Readable
from hati.studies.screening.conclusion import EffectScale, FlipEvidence, FlipVerdict, ScreeningConclusion
from hati.studies.screening.follow_up.flips import Ends, Flip, mean_interval

if TYPE_CHECKING:
    from hati.space import Space


_TWO_LEVEL = 2
_LEAST = 1.0 / (1.0 + PERMUTATIONS)
"""The smallest p-value that permutations give."""


class Claim(Struct, frozen=True):
    """What a design's rows say of an option: the change between its ``ends``, on the deciding scale.

    ``p_value`` is that of the option's effect, study-wise: by permutations, and where it is the smallest that these
    give by the distribution of F (Scheffe 1953), times the number of options.
    """

    option: str
    ends: Ends
    change: EffectContrast
    p_value: float

    @property
    def certainty(self) -> float:
        """The change in its standard errors."""
        error = self.change.standard_error
        return abs(self.change.estimate) / error if error else float("inf")


Claims = Callable[[Evidence], Sequence[Claim]]
"""The claims of a design's rows, which are looked for only where they are needed."""


def claim_of(found: ModelEffect, analysis: ModelAnalysis, space: Space) -> Claim | None:
    """What an effect claims; None for interactions, and where the rows do not distinguish the settings."""
    if len(found.term) > 1 or found.decided.standard_error is None or found.p_value is None:
        return None
    option = space.options[found.term[0]]
    means = analysis.judged.settings(found.term[0])
    low, high = 0, 1
    if len(option.settings) > _TWO_LEVEL:
        ordered = sorted(means, key=lambda place: means[place].estimate)
        low, high = ordered[0], ordered[-1]
    ends = option.settings[low], option.settings[high]
    smallest = len(space.names) * _by_f(found.decided, len(option.settings) - 1, analysis.judged.df)
    p_value = found.p_value if found.p_value > _LEAST else min(found.p_value, smallest)
    return Claim(option.name, ends, found.decided, p_value)


def _by_f(change: EffectContrast, freedom: int, df: int) -> float:
    """The p-value of a difference of the extremes among one setting more than ``freedom``."""
    if not change.standard_error or df < 1:
        return 0.0
    squares = (change.estimate / change.standard_error) ** 2
    return float(f_above(np.array([squares / freedom]), freedom, df)[0])


CONFIDENCE = 0.99
"""Of the interval of an option's flips, which decides: few flips of an option that interacts are easily alike."""
_ABSENT = 0.75
"""The fraction of the configurations in which an effect is absent that depends on two other options."""
_RARE = 0.02
"""The fraction of important effects that are taken to be absent there."""
THE_CONFIGURATION = "the configuration"
_SIGNS = 0.05


def judge_flips(
    claim: Claim,
    flips: Sequence[Flip],
    readable: Readable,
    expected: FloatArray,
    noise: float | None,
    relevant: float,
) -> FlipEvidence | None:
    """What the flips of an option say of the claim about it; None where there is none.

    The interval covers Student's of two estimates of the average effect: of the mean change, and of the claim corrected
    by the differences between the changes and what the design's model expects in just these configurations (the
    difference estimator of survey sampling; Särndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992,
    section 6.3). They are the same where the model has no interaction of the option. Where it has, each is narrow by
    chance where a few flips are alike, as where an effect is absent in most configurations; the two then disagree.

    Flips confirm the claim where the interval contains relevant effects of the claim's sign only. They refute a
    doubtful one where it excludes these; or where the mean of the changes is smaller than the claim and than
    expected, by more than both intervals allow. A claim is doubtful unless chance made it less often than flips miss an
    effect that is absent in most configurations.

    Args:
        claim: from the design's rows.
        flips: ``between_ends`` of the claim.
        readable: the scale of the claim.
        expected: what the model expects of each flip, on that scale.
        noise: the bound beyond which the noise of two runs does not take a difference; None where it is unknown.
        relevant: the fraction that matters.
    """
    if not flips:
        return None
    changes, estimate = differences(flips, readable), claim.change.estimate
    found = _cover(*(mean_interval(each, CONFIDENCE) for each in (changes, estimate + changes - expected)))
    limit = readable.difference(relevant)
    verdict = FlipVerdict.NOT_DECIDED
    doubtful = claim.p_value > _RARE * _ABSENT ** len(changes)
    if found is not None:
        sign = math.copysign(1.0, estimate)
        low, high = sorted(sign * end for end in found)
        missing = min(sign * estimate, sign * float(np.mean(expected))) - sign * float(np.mean(changes))
        contradicts = missing > math.hypot(0.5 * (high - low), claim.change.margin or 0.0)
        if low > limit:
            verdict = FlipVerdict.CONFIRMED
        elif contradicts or high <= limit:
            verdict = FlipVerdict.REFUTED if doubtful else FlipVerdict.MISSED
    return FlipEvidence(
        option=claim.option,
        ends=claim.ends,
        flips=len(changes),
        change=readable.relative(float(np.mean(changes))),
        interval=None if found is None else (readable.relative(found[0]), readable.relative(found[1])),
        claimed=readable.relative(estimate),
        verdict=verdict,
        depends_on=THE_CONFIGURATION if noise is not None and _both_signs(changes, max(noise, limit)) else "",
    )


def _cover(*intervals: tuple[float, float] | None) -> tuple[float, float] | None:
    """The interval from the lowest to the highest end; None without any."""
    ends = [end for each in intervals if each is not None for end in each]
    return (min(ends), max(ends)) if ends else None


def between_ends(claim: Claim, flips: Sequence[Flip], scale: EffectScale) -> tuple[Flip, ...]:
    """The flips between the claim's ends, each from the first to the second; without values that the scale lacks."""
    first, second = claim.ends
    turned = (flip if flip.before[claim.option] == first else flip.turned for flip in flips)
    return tuple(
        flip
        for flip in turned
        if (flip.before[claim.option], flip.after[claim.option]) == (first, second)
        and (scale is EffectScale.RAW or min(flip.values) > 0.0)
    )


def differences(flips: Sequence[Flip], readable: Readable) -> FloatArray:
    """The changes from before to after, shape (flips,), on the deciding scale."""
    before, after = np.array([flip.values for flip in flips], dtype=np.float64).reshape(-1, 2).T
    return np.log(after / before) if readable.scale is EffectScale.LOG else after - before


def expected_changes(model: Model, fit: ModelFit, space: Space, flips: Sequence[Flip]) -> FloatArray:
    """What a model expects of flips from before to after, on the deciding scale."""
    coefficients = np.zeros(len(model.owners))
    for term, place in fit.places.items():
        coefficients[model.owners == model.terms.index(term)] = fit.coefficients[place]
    before, after = (
        model.matrix(levels(configurations, space))
        for configurations in ([flip.before for flip in flips], [flip.after for flip in flips])
    )
    return np.asarray((after - before) @ coefficients, dtype=np.float64)


def noise_of_a_difference(found: MeasuredDesign, values: FloatArray, flips: int) -> float | None:
    """The difference that two runs' noise hardly ever exceeds among ``flips`` flips; None without a repetition."""
    variance, df = pure_error(values, found.rows, found.blocks)
    if not df or not flips:
        return None
    return t_quantile(1.0 - _SIGNS / (2.0 * flips), df) * math.sqrt(2.0 * variance)


def with_flips(conclusion: ScreeningConclusion, found: Sequence[FlipEvidence]) -> ScreeningConclusion:
    """The conclusion of all rows with the evidence of flips: what they refute is not shown."""
    known = {each.option: _named(each, conclusion) for each in found}
    effects = tuple(
        replace(effect, flips=own, important=effect.important and own.verdict is not FlipVerdict.REFUTED)
        if len(effect.options) == 1 and (own := known.get(effect.options[0])) is not None
        else effect
        for effect in conclusion.effects
    )
    refuted = {each.option for each in found if each.verdict is FlipVerdict.REFUTED}
    important = tuple(name for name in conclusion.important if name not in refuted)
    return replace(conclusion, effects=effects, important=important)


def _named(found: FlipEvidence, conclusion: ScreeningConclusion) -> FlipEvidence:
    """With the option that an effect of both signs depends on, where an interaction with one is known."""
    if not found.depends_on:
        return found
    pairs = (e.options for e in conclusion.effects if e.shown and len(e.options) == 2 and found.option in e.options)
    partner = next((name for pair in pairs for name in pair if name != found.option), None)
    return replace(found, depends_on=partner) if partner else found


def _both_signs(changes: FloatArray, limit: float) -> bool:
    return bool(changes.min() < -limit and changes.max() > limit)
