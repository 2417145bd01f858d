"""What flips say of a claim, by their number, its certainty, and what the model expects of them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hati.studies.screening import EffectScale, FlipVerdict
from hati.studies.screening.changes import EffectContrast, Readable
from hati.studies.screening.conclusion import FlipEvidence
from hati.studies.screening.follow_up import Claim, ExpectedFlips, judge_flips
from hati.studies.screening.reruns import Flip

CLAIMED = math.log(1.2)
RELEVANT = 0.02


def flips(changes: list[float]) -> tuple[Flip, ...]:
    return tuple(Flip({"a": False}, {"a": True}, (1.0, math.exp(change))) for change in changes)


def around(middle: float, number: int, spread: float = 0.004) -> list[float]:
    return [middle + spread * (-1) ** place for place in range(number)]


def judged(
    changes: list[float], p_value: float, expected: float = CLAIMED, claimed: float = CLAIMED
) -> FlipEvidence | None:
    claim = Claim("a", (False, True), EffectContrast(claimed, 0.02, 0.04), p_value)
    readable = Readable(np.ones(4), EffectScale.LOG, 1.0)
    model = ExpectedFlips(np.zeros(len(changes)), np.full(len(changes), expected))
    return judge_flips(claim, flips(changes), readable, model, 0.01, RELEVANT)


def verdict(changes: list[float], p_value: float, claimed: float = CLAIMED) -> FlipVerdict:
    found = judged(changes, p_value, claimed, claimed)
    assert found is not None
    return found.verdict


@pytest.mark.parametrize("number", [5, 10, 11, 40])
def test_what_is_not_there_is_refuted_unless_flips_miss_effects_more_often_than_chance_made_the_claim(
    number: int,
) -> None:
    rare = 0.02 * 0.75**number
    assert verdict(around(0.0, number), 1.1 * rare) is FlipVerdict.REFUTED
    assert verdict(around(0.0, number), 0.9 * rare) is FlipVerdict.MISSED
    assert verdict(around(CLAIMED, number), 1.1 * rare) is FlipVerdict.CONFIRMED


def test_two_estimates_that_disagree_decide_nothing() -> None:
    """The model says that the effect is absent in the configurations of just these flips."""
    found = judged(around(0.0, 6), 0.04, expected=0.0)
    assert found is not None
    low, high = found.interval or (0.0, 0.0)
    assert low < 0.0 < 0.2 < high
    assert found.verdict is FlipVerdict.NOT_DECIDED


def test_an_effect_of_the_other_sign_refutes_the_claim() -> None:
    assert verdict(around(-0.1, 10), 0.04) is FlipVerdict.REFUTED


def test_flips_that_vary_more_than_the_claim_decide_nothing() -> None:
    assert verdict(around(0.05, 10, spread=0.5), 0.04) is FlipVerdict.NOT_DECIDED


def test_a_single_flip_decides_nothing() -> None:
    found = judged([0.0], 0.04)
    assert found is not None
    assert (found.interval, found.verdict) == (None, FlipVerdict.NOT_DECIDED)


@pytest.mark.parametrize("p_value", [0.04, 1e-9])
def test_only_claims_of_relevant_effects_are_refuted_or_missed(p_value: float) -> None:
    assert verdict(around(0.005, 6), p_value, claimed=0.004) is FlipVerdict.NOT_DECIDED
    assert verdict(around(0.005, 6), p_value, claimed=0.1) in {FlipVerdict.REFUTED, FlipVerdict.MISSED}


def test_flips_say_nothing_of_a_metric_that_no_option_changes() -> None:
    assert judged([0.0] * 6, 0.04, expected=0.0, claimed=0.0) is None
