"""Which statistic of a run is compared: chosen from other runs than the compared ones, the mean keeping its part."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError, Metric, Observations, Sample, SampledRun, replace
from hati.stats import proportion
from hati.studies.audit import AuditSettings, audit
from hati.studies.comparison import (
    AUTO,
    MEAN,
    MEDIAN,
    TRIMMED,
    ChangeVerdict,
    ChoiceBasis,
    Comparison,
    Question,
    SamplePair,
    choose_statistic,
    choose_statistics,
    compare,
    variance_ratios,
)
from hati.studies.comparison.conclusion import statistic_notes
from hati.studies.comparison.matching import pairs as matched_samples
from hati.studies.comparison.statistic import Statistic, StatisticChoice, parse_statistic

TIME = Metric("time", "s")
QUESTION = Question(statistic=AUTO)


def sample(name: str, values: np.ndarray, metric: Metric = TIME) -> Sample:
    return Sample(name, metric, tuple(SampledRun(Observations(metric.name, metric.unit, row)) for row in values))


def clean(rng: np.random.Generator, runs: int = 5, observations: int = 30) -> np.ndarray:
    """Runs that differ by 1 %, and observations by 2 %."""
    levels = np.exp(0.01 * rng.standard_normal((runs, 1)))
    return np.asarray(levels * np.exp(0.02 * rng.standard_normal((runs, observations))))


def stalled(rng: np.random.Generator, runs: int = 5, observations: int = 30) -> np.ndarray:
    """The same with stalls, of which some runs have more."""
    stalls = rng.random((runs, observations)) < 0.1 * rng.random((runs, 1))
    return np.asarray(clean(rng, runs, observations) * (1.0 + 9.0 * stalls))


def pairs(number: int, rng: np.random.Generator, draw: object = stalled, factor: float = 1.0) -> list[SamplePair]:
    assert callable(draw)
    return [SamplePair(sample(f"b{i}", draw(rng)), sample(f"b{i}", factor * draw(rng))) for i in range(number)]


def test_statistics_are_read_and_written() -> None:
    for text in ("auto", "mean", "trimmed", "median", "q0.9"):
        assert str(parse_statistic(text)) == text
    values = np.array([1.0, 2.0, 3.0, 4.0, 1000.0])
    assert TRIMMED.of(values) == 3.0
    assert TRIMMED.of(values[:4]) == values[:4].mean()
    with pytest.raises(ValueError, match="trim"):
        Statistic(0.5, 0.1)


def test_other_benchmarks_choose_the_statistic_that_varies_least() -> None:
    chosen = choose_statistics(pairs(6, np.random.default_rng(1)))
    assert {choice.statistic for choice in chosen} <= {TRIMMED, MEDIAN}
    assert {(choice.basis, choice.sources) for choice in chosen} == {(ChoiceBasis.OTHERS, 5)}
    assert all(choice.spread is not None and choice.spread < 0.5 for choice in chosen)
    calm = choose_statistics(pairs(12, np.random.default_rng(2), clean))
    assert {choice.statistic for choice in calm} == {MEAN}


@given(seed=st.integers(0, 1_000), place=st.integers(0, 4), factor=st.floats(0.01, 100.0))
def test_the_runs_under_test_never_choose(seed: int, place: int, factor: float) -> None:
    """Whatever becomes of a pair, its own statistic stays."""
    rng = np.random.default_rng(seed)
    found = pairs(5, rng)
    other = list(found)
    other[place] = SamplePair(sample("b", factor * clean(rng)), sample("b", stalled(rng) ** 2))
    assert choose_statistics(found)[place] == choose_statistics(other)[place]


def test_without_other_runs_it_is_the_default() -> None:
    rng = np.random.default_rng(3)
    for number in (1, 3):
        assert {choice.basis for choice in choose_statistics(pairs(number, rng))} == {ChoiceBasis.DEFAULT}
    assert choose_statistic(None, []).statistic == TRIMMED
    other_metric = [
        SamplePair(*(replace_metric(side, i) for side in (p.before, p.after))) for i, p in enumerate(pairs(8, rng))
    ]
    assert {choice.basis for choice in choose_statistics(other_metric)} == {ChoiceBasis.DEFAULT}


def replace_metric(one: Sample, number: int) -> Sample:
    return sample(one.benchmark, np.array(one.steady), Metric(f"m{number}", "s"))


def test_a_history_of_the_same_comes_first() -> None:
    rng = np.random.default_rng(4)
    [pair] = pairs(1, rng)
    history = [sample("b0", 2.0 * stalled(rng)), sample("b0", stalled(rng))]
    row = compare([pair], QUESTION, history=history).rows[0]
    assert row.choice is not None
    assert (row.choice.basis, row.choice.sources) == (ChoiceBasis.HISTORY, 2)
    assert row.choice.statistic in {TRIMMED, MEDIAN}
    others = pairs(9, rng, clean)
    assert compare([pair, *others], QUESTION, history=history).rows[0].choice == row.choice


def test_ticks_and_counts_do_not_choose() -> None:
    assert variance_ratios([np.ones((3, 5))]) is None
    assert variance_ratios([np.ones((3, 1))]) is None


def test_values_that_are_not_above_zero_count_by_their_mean() -> None:
    rng = np.random.default_rng(5)
    found = [SamplePair(sample(p.before.benchmark, np.array(p.before.steady) - 5.0), p.after) for p in pairs(5, rng)]
    assert {(c.statistic, c.basis) for c in choose_statistics(found)} == {(MEAN, ChoiceBasis.NOT_POSITIVE)}


def test_a_change_is_found_that_means_hide() -> None:
    """Of 5 against 5 stalled runs, 10 % more in all observations."""
    found = pairs(8, np.random.default_rng(6), factor=1.1)
    means = compare(found, Question()).rows
    chosen = compare(found, QUESTION).rows
    assert sum(row.change.verdict is ChangeVerdict.SLOWER for row in means) <= 1
    assert sum(row.change.verdict is ChangeVerdict.SLOWER for row in chosen) >= 7


def test_a_change_of_the_tail_alone_is_found() -> None:
    """One observation in twenty is twice as large; runs otherwise count as their median."""
    rng = np.random.default_rng(7)
    slow = clean(rng, 10, 200)
    slow[:, ::20] *= 2.0
    pair = SamplePair(sample("b", clean(rng, 10, 200)), sample("b", slow))
    row = compare([pair, *pairs(4, rng)], QUESTION).rows[0]
    assert row.choice is not None
    assert row.choice.statistic != MEAN
    assert (row.change.verdict, row.change.of_tail) == (ChangeVerdict.SLOWER, True)
    assert row.change.ratio == pytest.approx(1.05, abs=0.01)
    assert row.after.mean / row.before.mean == pytest.approx(1.05, abs=0.02)


def test_two_are_the_same_only_if_their_means_are_too() -> None:
    """The medians are shown to be within 5 %, the means are not: they are not the same."""
    rng = np.random.default_rng(8)
    found = [SamplePair(sample("b", clean(rng, 10)), sample("b", stalled(rng, 10)))]
    assert compare(found, Question(statistic=MEDIAN)).rows[0].change.verdict is ChangeVerdict.SAME
    assert compare(found, QUESTION).rows[0].change.verdict is not ChangeVerdict.SAME


def test_runs_of_one_observation_are_compared_with_all_of_alpha() -> None:
    rng = np.random.default_rng(9)
    found = pairs(6, rng, lambda rng: clean(rng, 5, 1), 1.03)
    changes = [row.change for row in compare(found, QUESTION).rows]
    assert changes == [row.change for row in compare(found, Question()).rows]


def test_an_audit_recommends_a_statistic() -> None:
    rng = np.random.default_rng(10)
    found = audit([sample("b", stalled(rng, 20))], AuditSettings(Question(), splits=20))
    [recommended] = found.recommended
    assert recommended.choice.statistic in {TRIMMED, MEDIAN}
    sizes = {str(each.statistic): each.detectable for each in found.by_statistic}
    assert sizes["mean"] == found.detectable
    assert sizes["mean"] is not None
    assert sizes["median"] is not None
    assert sizes["median"] < sizes["mean"] / 2.0
    assert any(f"--statistic {recommended.choice.statistic}" in text for text in found.warnings)
    chosen = audit([sample("b", stalled(rng, 20))], AuditSettings(QUESTION, splits=20))
    assert not any("--statistic" in text for text in chosen.warnings)


@pytest.mark.acceptance
@pytest.mark.statistical
def test_choosing_makes_no_alarms() -> None:
    """Of 400 comparisons of 8 benchmarks in which nothing changed, half of them stalled, at most 1 % of p-values are up
    to 1 % for each kind: the lower 95 % limit does not exceed it; where p-values are as they should be.
    """
    rng = np.random.default_rng(1)
    rows: list[Comparison] = []
    for _ in range(400):
        found = pairs(4, rng, clean) + pairs(4, rng)
        rows += compare(found, QUESTION).rows
    for places in (slice(0, 4), slice(4, 8)):
        p_values = np.array([row.change.p_value for row in rows]).reshape(400, 8)[:, places]
        assert proportion(float(np.sum(p_values <= 0.01)), p_values.size).interval[0] <= 0.01
        assert np.mean(p_values <= 0.01) >= 0.002


def test_the_reasons_of_all_choices_are_one_note() -> None:
    rng = np.random.default_rng(4)
    rows = compare([SamplePair(sample(name, clean(rng)), sample(name, clean(rng))) for name in "ab"], QUESTION).rows
    (one,) = (note for note in statistic_notes(rows) if note.startswith("Statistic"))
    assert one.count("; ") == 1
    first = replace(rows[0], choice=StatisticChoice(MEDIAN, ChoiceBasis.HISTORY, 4, 0.1))
    (several,) = (note for note in statistic_notes((first, rows[1])) if note.startswith("Statistic"))
    assert "median of 1 (between the runs of 4 earlier samples" in several


def test_samples_of_several_revisions_name_the_command_that_writes_one() -> None:
    both = [replace(sample("a", np.ones((2, 3))), revision=revision) for revision in ("0123456789ab", "fedcba987654")]
    with pytest.raises(InputError, match=r"of the revisions 0123456789ab, fedcba987654") as caught:
        matched_samples(both, both)
    assert "`hati export --revision 0123456789ab --output FILE`" in (caught.value.fix or "")
