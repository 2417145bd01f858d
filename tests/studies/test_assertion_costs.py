"""What formulas cost, and what they will: runs that are shared, the fewest and the most of each method."""

from __future__ import annotations

import pytest
from test_assertion_study import concluded, counts, means

from hati.core import Budget, Evidence, replace
from hati.logic.interpret import Interpretation
from hati.studies.assertion import Assertion, Cost, ExpectedRuns, Standard, assertion_id, expected_runs, methods_of
from hati.testing import FakeEngine, MemoryStore
from hati.testing.assertions import point, requirement, study_of


def test_shared_runs_count_for_each_formula_that_they_tell_of() -> None:
    """7 rounds of a, b and c decide a = b and b <= c; d is in neither, and decided alone in as many."""
    engine = FakeEngine(means(a=1.0, b=1.0, c=2.0, d=1.0))
    found = concluded(study_of("a <= b", "b <= c", "d <= 5 s", budget=Budget(runs=1_000)), engine)
    made = counts(engine)
    shared = made["b"]
    assert [(cost.runs, cost.shared) for cost in found.costs] == [
        (made["a"] + made["b"], shared),
        (made["b"] + made["c"], shared),
        (made["d"], 0),
    ]
    assert found.runs == sum(made.values())
    each = found.seconds / found.runs
    assert [cost.seconds for cost in found.costs] == pytest.approx([cost.runs * each for cost in found.costs])
    assert sum(cost.booked for cost in found.costs) == pytest.approx(found.seconds)
    assert found.costs[0].booked == pytest.approx((made["a"] + made["b"] / 2) * each)


def test_a_method_that_a_formula_names_twice_costs_it_once() -> None:
    engine = FakeEngine(means(a=1.0, b=2.0))
    found = concluded(study_of("a <= b & a <= 5 s"), engine)
    made = counts(engine)
    assert [(cost.runs, cost.shared) for cost in found.costs] == [(made["a"] + made["b"], 0)]


def test_without_runs_nothing_was_spent() -> None:
    asked = study_of("1 s <= 2 * a")
    assert asked.decided(Evidence()) == 0
    assert Cost(0, 0, 0.0) not in concluded(asked, FakeEngine(means(a=1.0))).costs


def test_formulas_are_counted_as_they_are_decided() -> None:
    engine, store = FakeEngine(means(a=1.0, b=1.0)), MemoryStore()
    asked = study_of("a <= b", "a <= b strictly", budget=Budget(runs=40))
    concluded(asked, engine, store)
    runs = store.evidence(asked.id).runs
    told = [asked.decided(Evidence(runs[:size])) for size in range(0, 41, 2)]
    assert (told[0], told[-1]) == (0, 1)
    assert told == sorted(told)


def names(found: tuple[ExpectedRuns, ...]) -> dict[str, tuple[int, int | None]]:
    return {each.methods[0]: (each.least, each.most) for each in found}


@pytest.mark.parametrize(
    ("formulas", "budget", "told"),
    [
        # 1 % of one relation: 7 rounds. Of 20 runs 6 are left for rounds of both: 3 more of each.
        (["a <= b"], Budget(runs=20), {"a": (7, 10), "b": (7, 10)}),
        (["a <= b"], Budget(runs=21), {"a": (7, 11), "b": (7, 11)}),
        # A limit allows for skewness: 13 rounds.
        (["a <= 2 s"], Budget(runs=20), {"a": (13, 20)}),
        # Two relations share the level: 8 rounds of a pair, 15 beside a limit. Of 40 runs 9 are left.
        (["a <= b", "c <= 2 s"], Budget(runs=40), {"a": (8, 13), "b": (8, 13), "c": (15, 24)}),
        # What is in two formulas is needed for the later one; where either may settle a formula, for the earlier.
        (["a <= b", "b <= 2 s"], Budget(runs=30), {"a": (8, 12), "b": (15, 22)}),
        (["a <= b & c <= 2 s"], Budget(runs=30), {"a": (8, 11), "b": (8, 11), "c": (8, 14)}),
        (["a <= a & c <= 2 s"], Budget(runs=40), {"a": (8, 8), "c": (15, 32)}),
        (["a <= a"], Budget(runs=20), {"a": (7, 7)}),
        (["a <= b"], Budget(seconds=60.0), {"a": (7, 15), "b": (7, 15)}),
        (["a <= 60 s"], Budget(seconds=60.0), {"a": (13, 30)}),
        (["a <= b", "c <= 2 s"], Budget(seconds=60.0), {"a": (8, None), "b": (8, None), "c": (15, None)}),
        (["a <= 2 * a"], Budget(runs=20), {"a": (7, 20)}),
    ],
)
def test_the_fewest_and_the_most_runs_of_each_method(
    formulas: list[str], budget: Budget, told: dict[str, tuple[int, int | None]]
) -> None:
    """Runs of a and b are known to take 2 s each, those of c are not known."""
    assert names(expected_runs(study_of(*formulas, budget=budget), {"a": 2.0, "b": 2.0})) == told


def test_no_campaign_makes_more_runs_than_were_foreseen_nor_fewer() -> None:
    """Noise that decides nothing: a and b take all that the budget has."""
    asked = study_of("a <= b strictly", "c <= 5 s", budget=Budget(runs=61))
    bounds = names(expected_runs(asked, {}))
    engine = FakeEngine(means(a=1.0, b=1.0, c=1.0))
    concluded(asked, engine)
    made = counts(engine)
    for name, (least, most) in bounds.items():
        assert most is not None
        assert least <= made[name] <= most
    assert made["a"] + made["b"] + made["c"] == 61


def test_seed_004s_interpretations_take_the_whole_budget() -> None:
    standard = Standard(Interpretation.WELCH)
    found = expected_runs(study_of("a <= b", budget=Budget(runs=21), standard=standard), {})
    assert names(found) == {"a": (10, 11), "b": (10, 11)}
    late = expected_runs(study_of("a <= b", budget=Budget(seconds=9.0), standard=standard), {"a": 1.0, "b": 1.0})
    assert names(late) == {"a": (4, 5), "b": (4, 5)}


def test_what_has_two_names_is_run_once() -> None:
    asked = [requirement("a <= b")]
    points = {"a": point("a"), "b": replace(point("a"), method="b")}
    identity = assertion_id(asked, list(points.values()), Standard(), "machine")
    both = Assertion(identity, tuple(asked), points, Standard(), Budget(runs=20))
    assert expected_runs(both, {"a": 0.5}) == (ExpectedRuns(("a", "b"), 7, 7, 0.5),)
    assert methods_of(asked[0].relations[0]) == ("a", "b")
