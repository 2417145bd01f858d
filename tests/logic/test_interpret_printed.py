"""The interpretations that the SPL paper prints, beside scipy and plain transcriptions of the definitions."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from hati.core import FloatArray, generator
from hati.formula import Comparator
from hati.logic.interpret import (
    AskedRelation,
    FormulaVerdict,
    Interpretation,
    Limit,
    MeasuredSample,
    RelationEvidence,
    interpret,
    interpretation,
    nonparametric,
    parametric,
    welch,
)

AT_MOST, AT_LEAST, EQUAL = (
    AskedRelation(sign, alpha=0.05) for sign in (Comparator.AT_MOST, Comparator.AT_LEAST, Comparator.EQUAL)
)
PRINTED = (Interpretation.WELCH, Interpretation.PARAMETRIC, Interpretation.NONPARAMETRIC)


def runs(seed: int, number: int, observations: int, mean: float = 10.0) -> MeasuredSample:
    rng = np.random.default_rng(seed)
    return MeasuredSample(tuple(rng.normal(rng.normal(mean, 0.3), 1.0, observations) for _ in range(number)))


def of(
    by: Interpretation, left: MeasuredSample, right: MeasuredSample | Limit, relation: AskedRelation
) -> RelationEvidence:
    rng = generator(1, "test")
    if by is Interpretation.NONPARAMETRIC:
        return nonparametric(left, right, relation, rng, draws=300)
    return interpret(by, left, right, relation, rng)


def test_welch_is_scipys() -> None:
    left, right = runs(1, 3, 7), runs(2, 4, 5, 10.4)
    found = welch(left, right, AT_MOST)
    pooled = np.concatenate(left.runs), np.concatenate(right.runs)
    for p_value, side in ((found.p_violated, "greater"), (found.p_holds, "less")):
        assert p_value == pytest.approx(stats.ttest_ind(*pooled, equal_var=False, alternative=side).pvalue, rel=1e-9)
    both = stats.ttest_ind(*pooled, equal_var=False)
    assert welch(left, right, EQUAL).p_violated == pytest.approx(both.pvalue, rel=1e-9)


def test_equality_is_rejected_at_the_level_on_either_side_and_detects_as_much() -> None:
    left, right = runs(1, 3, 7), runs(2, 4, 5, 10.4)
    for by in PRINTED:
        equal, at_most = (of(by, left, right, relation) for relation in (EQUAL, AT_MOST))
        assert equal.detectable == at_most.detectable


def test_welch_of_a_limit_is_scipys() -> None:
    left = runs(1, 3, 7)
    found = welch(left, Limit(9.6), AT_MOST)
    wanted = stats.ttest_1samp(np.concatenate(left.runs), 9.6, alternative="greater")
    assert found.p_violated == pytest.approx(wanted.pvalue, rel=1e-9)


def test_parametric_is_definition_4_8() -> None:
    left, right = runs(1, 4, 6), runs(2, 3, 8, 10.3)

    def part(side: MeasuredSample) -> float:
        means = [run.mean() for run in side.runs]
        r, o = len(means), len(side.runs[0])
        within = sum(float(((run - run.mean()) ** 2).sum()) for run in side.runs) / (r * (o - 1))
        between = sum((mean - np.mean(means)) ** 2 for mean in means) / (r - 1)
        return float((o * between + within) / (r * o))

    size = float(left.means.mean() - right.means.mean())
    wanted = stats.norm.sf(size / np.sqrt(part(left) + part(right)))
    assert parametric(left, right, AT_MOST).p_violated == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize(("sides", "why"), [((1, 5), "two runs"), ((3, 1), "two observations")])
def test_parametric_is_not_defined(sides: tuple[int, int], why: str) -> None:
    found = parametric(runs(1, *sides), runs(2, *sides), AT_MOST)
    assert found.verdict is FormulaVerdict.INCONCLUSIVE
    assert why in found.remark


def test_nonparametric_resamples_runs_and_then_observations() -> None:
    """Beside the naive bootstrap, of 20,000 differences each."""
    left, right = runs(3, 5, 4), runs(4, 6, 3)
    rng = np.random.default_rng(5)

    def naive(side: MeasuredSample) -> FloatArray:
        runs, (number, observations) = np.stack(side.runs), (len(side.runs), len(side.runs[0]))
        chosen = rng.integers(0, number, (20_000, number))
        drawn = runs[chosen[:, :, None], rng.integers(0, observations, (20_000, number, observations))]
        return np.asarray(drawn.mean(axis=(1, 2)) - side.means.mean())

    wanted = naive(left) - naive(right)
    size = left.means.mean() - right.means.mean()
    found = nonparametric(left, right, AT_MOST, rng, draws=20_000)
    assert found.p_violated == pytest.approx(float(np.mean(wanted >= size)), abs=0.015)
    assert found.interval is not None
    low, high = np.quantile(wanted, [0.05, 0.95])
    ends = [(left.means.mean() - end) / right.means.mean() for end in (high, low)]
    assert found.interval == pytest.approx(ends, abs=0.004)


def test_a_store_of_means_is_as_good_as_drawing_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of runs so long that their resampled means are used more than once: 80 of each run for 40,000."""
    monkeypatch.setattr(interpretation, "_GATHERS", 96_000)
    side = np.stack(runs(3, 6, 200).runs)
    rng = np.random.default_rng(5)
    found = interpretation.resampled_means(tuple(side), 2, 200, 20_000, rng)
    chosen = rng.integers(0, 6, (20_000, 2))
    wanted = side[chosen[:, :, None], rng.integers(0, 200, (20_000, 2, 200))].mean(axis=(1, 2))
    assert stats.ks_2samp(found, wanted).statistic < 0.02


def test_it_is_not_transitive() -> None:
    """The SPL paper, section 4.1: X <= Y and Y <= Z, and not X <= Z."""
    x, y, z = (MeasuredSample((np.array(values),)) for values in ([2.0, 4.0], [-1.0, 1.0], [-4.0, -2.0]))
    found = [welch(*sides, AT_MOST) for sides in ((x, y), (y, z), (x, z))]
    assert [round(each.p_violated, 3) for each in found] == [0.084, 0.084, 0.026]
    assert [each.verdict for each in found] == [FormulaVerdict.HOLDS, FormulaVerdict.HOLDS, FormulaVerdict.VIOLATED]


values = st.floats(-1e3, 1e3, allow_nan=False).map(lambda v: round(v, 3))
measured = st.lists(st.lists(values, min_size=2, max_size=4).map(np.array), min_size=2, max_size=4).map(
    lambda found: MeasuredSample(tuple(found))
)


@pytest.mark.parametrize("by", PRINTED)
@settings(max_examples=25)
@given(left=measured, right=measured)
def test_axiom_5(by: Interpretation, left: MeasuredSample, right: MeasuredSample) -> None:
    """Theorems 4.7, 4.9 and 4.12: equal is at most, and the other way round; on the same draws."""
    most, least = of(by, left, right, AT_MOST).verdict, of(by, left, right, AT_LEAST).verdict
    both = FormulaVerdict.HOLDS if most is least is FormulaVerdict.HOLDS else FormulaVerdict.VIOLATED
    assert of(by, left, right, EQUAL).verdict is both
    if by is not Interpretation.NONPARAMETRIC:
        assert of(by, right, left, AT_MOST).verdict is least


TRANSFORMED: tuple[Callable[[FloatArray], FloatArray], ...] = (
    lambda x: x + 3.0,
    lambda x: x + np.abs(x),
    lambda x: np.maximum(x, 0.0) + 1.0,
)


@pytest.mark.parametrize("by", [Interpretation.WELCH, Interpretation.PARAMETRIC])
@pytest.mark.parametrize("larger", TRANSFORMED)
@settings(max_examples=25)
@given(side=measured)
def test_axiom_4(by: Interpretation, larger: Callable[[FloatArray], FloatArray], side: MeasuredSample) -> None:
    """Theorems 4.6 and 4.9: where tl(o) <= tr(o) everywhere, P <=(tl, tr) P."""
    right = MeasuredSample(tuple(larger(run) for run in side.runs))
    assert of(by, side, right, AT_MOST).verdict is FormulaVerdict.HOLDS


@settings(max_examples=25)
@given(side=measured, shift=st.floats(0.0, 10.0))
def test_axiom_4_of_resampled_runs(side: MeasuredSample, shift: float) -> None:
    """Theorem 4.11 where it is right: lines with tl <= tr everywhere are parallel."""
    right = MeasuredSample(tuple(run + shift for run in side.runs))
    assert of(Interpretation.NONPARAMETRIC, side, right, AT_MOST).verdict is FormulaVerdict.HOLDS


@settings(max_examples=25)
@given(x=st.integers(-50, 50), y=st.integers(-50, 50), z=st.integers(-50, 50))
def test_axioms_of_parameters(x: int, y: int, z: int) -> None:
    """Axioms (1) to (3) are those of numbers, which workload parameters are."""
    assert x <= x
    assert (x <= y and y <= x) == (x == y)
    assert not (x <= y and y <= z) or x <= z


@pytest.mark.parametrize("by", PRINTED)
@pytest.mark.parametrize("relation", [AT_MOST, AT_LEAST, EQUAL])
def test_they_answer_yes_or_no(by: Interpretation, relation: AskedRelation) -> None:
    assert of(by, runs(1, 3, 5), runs(2, 3, 5), relation).verdict is not FormulaVerdict.INCONCLUSIVE
