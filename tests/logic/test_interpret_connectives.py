"""Kleene's laws, and the p-values of what is combined."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import InputError
from hati.logic.interpret import VERDICTS, Combined, EstimateScale, FormulaVerdict, RelationEvidence, alarms

H, V, U = FormulaVerdict.HOLDS, FormulaVerdict.VIOLATED, FormulaVerdict.INCONCLUSIVE


def told(verdict: FormulaVerdict, p_holds: float = 1.0, p_violated: float = 1.0) -> RelationEvidence:
    return RelationEvidence(verdict, EstimateScale.RATIO, 1.0, (5, 5), p_holds, p_violated)


EACH = [told(v) for v in FormulaVerdict]
PAIRS = list(itertools.product(EACH, EACH))


def test_tables() -> None:
    """Kleene 1952, section 64."""
    order = (H, U, V)
    table = [[VERDICTS.conjunction((told(a), told(b))).verdict for b in order] for a in order]
    assert table == [[H, U, V], [U, U, V], [V, V, V]]
    table = [[VERDICTS.implication(told(a), told(b)).verdict for b in order] for a in order]
    assert table == [[H, U, V], [H, U, U], [H, H, H]]
    assert [VERDICTS.negation(told(a)).verdict for a in order] == [V, U, H]


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_laws(a: RelationEvidence, b: RelationEvidence) -> None:
    assert (
        VERDICTS.negation(VERDICTS.conjunction((a, b))).verdict
        is VERDICTS.disjunction((VERDICTS.negation(a), VERDICTS.negation(b))).verdict
    )
    assert VERDICTS.conjunction((a, b)).verdict is VERDICTS.conjunction((b, a)).verdict
    assert VERDICTS.disjunction((a, VERDICTS.conjunction((a, b)))).verdict is a.verdict
    assert VERDICTS.negation(VERDICTS.negation(a)).verdict is a.verdict
    assert VERDICTS.implication(a, b).verdict is VERDICTS.disjunction((VERDICTS.negation(a), b)).verdict
    for c in EACH:
        one = VERDICTS.conjunction((a, VERDICTS.disjunction((b, c)))).verdict
        assert one is VERDICTS.disjunction((VERDICTS.conjunction((a, b)), VERDICTS.conjunction((a, c)))).verdict


@settings(max_examples=25)
@given(st.lists(st.sampled_from(list(FormulaVerdict)), min_size=1, max_size=6))
def test_quantifiers_are_chains(verdicts: list[FormulaVerdict]) -> None:
    parts = [told(v) for v in verdicts]
    both: RelationEvidence | Combined = parts[0]
    any_: RelationEvidence | Combined = parts[0]
    for part in parts[1:]:
        both, any_ = VERDICTS.conjunction((both, part)), VERDICTS.disjunction((any_, part))
    assert VERDICTS.conjunction(parts).verdict is both.verdict
    assert VERDICTS.disjunction(parts).verdict is any_.verdict
    assert {parts[place].verdict for place in VERDICTS.conjunction(parts).deciding} == {
        VERDICTS.conjunction(parts).verdict
    }


def test_what_decides() -> None:
    parts = [told(H), told(V), told(U), told(V)]
    assert VERDICTS.conjunction(parts).deciding == (1, 3)
    assert VERDICTS.disjunction(parts).deciding == (0,)
    assert VERDICTS.implication(told(U), told(H)).deciding == (1,)


def test_what_is_certain_is_no_chance_to_err() -> None:
    true, false = told(H, 0.0, 1.0), told(V, 1.0, 0.0)
    part = told(U, 0.3, 0.02)
    assert VERDICTS.conjunction((true, part, true)).p_violated == VERDICTS.disjunction((false, part)).p_violated == 0.02
    assert VERDICTS.disjunction((false, part, false)).p_holds == VERDICTS.implication(true, part).p_holds == 0.3
    assert (VERDICTS.conjunction((true, true)).p_holds, VERDICTS.conjunction((true, true)).p_violated) == (0.0, 1.0)
    assert (VERDICTS.disjunction((false, false)).p_holds, VERDICTS.disjunction((false, false)).p_violated) == (1.0, 0.0)
    assert (VERDICTS.conjunction((true, false)).p_violated, VERDICTS.disjunction((true, false)).p_holds) == (0.0, 0.0)


def test_p_values() -> None:
    parts = [told(H, 0.001, 0.9), told(H, 0.004, 0.8), told(V, 0.9, 0.002)]
    assert (VERDICTS.conjunction(parts).p_holds, VERDICTS.conjunction(parts).p_violated) == (0.9, pytest.approx(0.006))
    assert (VERDICTS.disjunction(parts).p_holds, VERDICTS.disjunction(parts).p_violated) == (pytest.approx(0.003), 0.9)
    assert VERDICTS.negation(parts[0]).p_violated == 0.001
    assert VERDICTS.disjunction([told(U)] * 3).p_holds == 1.0


def test_that_any_of_many_is_violated_is_not_told_by_chance() -> None:
    """All parts on their bound: each is told at alpha, the whole among other formulas at alpha too."""
    rng = np.random.default_rng(1)
    found = 0
    for _ in range(2_000):
        p_values = rng.random(10)
        whole = VERDICTS.conjunction([told(V if p <= 0.01 else U, 1 - p, p) for p in p_values])
        found += alarms([whole], 0.01)[0] is V
    assert found <= 32  # the 99 % binomial bound


def test_alarms_are_corrected() -> None:
    found = [told(V, 1.0, 0.009), told(H, 0.001, 0.99), told(V, 1.0, 0.0001), told(U, 0.5, 0.5)]
    assert alarms(found, 0.01) == [U, H, V, U]
    assert alarms(found[:1], 0.01) == [V]
    assert alarms([], 0.01) == []


def test_nothing_is_refused() -> None:
    with pytest.raises(InputError):
        VERDICTS.conjunction([])
