"""What is preferred among several screenings, how old it is, and the suite that follows from it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from hati.core import Configuration, InputError, generator, replace
from hati.design.suite import screening_suite
from hati.knowledge import (
    Coverage,
    Entry,
    ImportantOptions,
    MeasuredScreening,
    Provenance,
    TimedRuns,
    WithinStrata,
    age_text,
    by_cost,
    by_information,
    representative_suite,
    stratum_options,
)
from hati.space import Option, Space

AT = datetime(2026, 3, 1, tzinfo=UTC)
NAMES = tuple("abcdef")


def screening(
    study: str, configurations: int, repetitions: int = 1, days: int = 0, noise: float = 0.02, **more: object
) -> MeasuredScreening:
    """Of a program with an interaction of a, b and c, in random configurations."""
    rng = np.random.default_rng([configurations, repetitions])
    rows = np.array([list(map(int, f"{place:06b}")) for place in rng.permutation(64)[:configurations]])
    rows = np.tile(rows, (repetitions, 1))
    signs = 2.0 * rows - 1.0
    logs = 0.2 * signs[:, 0] + 0.1 * signs[:, :3].prod(axis=1) + rng.normal(0.0, noise, len(rows))
    told = tuple(Configuration(dict(zip(NAMES, row, strict=True))) for row in rows.tolist())
    provenance = Provenance(study, len(rows), AT + timedelta(days=days))
    return MeasuredScreening(provenance, str(more.pop("definition", "d")), told, np.exp(logs), **more)  # type: ignore[arg-type]


def first(*screenings: MeasuredScreening, definition: str = "d") -> tuple[str, str]:
    one, reason = by_information(screenings, definition)[0]
    return one.provenance.study, reason


def test_more_information_precedes_newer() -> None:
    assert first(screening("old", 64), screening("new", 16, days=9))[0] == "old"
    assert first(screening("new", 16, days=9), screening("old", 64))[0] == "old"


def test_configurations_count_for_more_than_repetitions_where_options_interact() -> None:
    few, many = screening("repeated", 16, repetitions=4), screening("spread", 48)
    study, reason = first(few, many)
    assert study == "spread"
    assert "of 2 screenings: 48 configurations, 48 runs" in reason


def test_where_noise_is_all_runs_count() -> None:
    few, many = screening("repeated", 32, repetitions=4, noise=2.0), screening("spread", 40, noise=2.0)
    assert first(few, many)[0] == "repeated"


def test_of_equal_ones_the_newest_is_preferred_and_alone_one_is_the_only_one() -> None:
    assert first(screening("old", 32), screening("new", 32, days=1))[0] == "new"
    assert first(screening("one", 32)) == ("one", "the only screening of this space and metric")
    assert by_information((), "d") == ()


def test_the_benchmark_of_now_precedes_and_a_recalibration_replaces() -> None:
    old = screening("old", 64, definition="before")
    assert first(old, screening("new", 16))[0] == "new"
    again = screening("again", 16, recalibrates="old")
    assert first(screening("old", 64), again)[0] == "again"
    begun = screening("again", 16, recalibrates="old", complete=0.4)
    assert first(screening("old", 64), begun)[0] == "old"


def test_this_machine_precedes_others() -> None:
    there = screening("there", 64)
    there = replace(there, provenance=replace(there.provenance, machine="0123456789ab"))
    study, reason = first(there, screening("here", 16))
    assert (study, reason.startswith("measured on this machine; 16 ")) == ("here", True)
    assert first(there)[0] == "there"


def test_values_that_are_not_above_zero_are_compared_as_they_are() -> None:
    rows = tuple(Configuration({"a": number}) for number in (0, 1, 0, 1))
    made = MeasuredScreening(Provenance("s", 4, AT), "d", rows, np.array([0.0, 1.0, -1.0, 2.0]))
    assert first(made)[0] == "s"
    with pytest.raises(InputError, match="for every value"):
        MeasuredScreening(Provenance("s", 4, AT), "d", rows[:3], np.ones(4))
    with pytest.raises(InputError, match="time zone"):
        Provenance("s", 4, datetime(2026, 3, 1))


def test_a_source_says_runs_and_age() -> None:
    found = Entry("value", Provenance("screening-1", 64, AT), timedelta(days=2, hours=3), "the only one")
    assert found.source == "screening-1: 64 runs, 2 days ago"
    elsewhere = replace(found, provenance=replace(found.provenance, revision="ab" * 20, machine="0123456789ab"))
    assert elsewhere.source == (
        "screening-1: 64 runs, 2 days ago, at another revision (abababababab), on another machine (0123456789ab)"
    )
    with_flips = replace(found, provenance=replace(found.provenance, made=90))
    assert with_flips.source == "screening-1: 90 runs, 2 days ago"
    ages = [age_text(timedelta(seconds=seconds)) for seconds in (0, 59, 60, 7_200, 86_400, -5)]
    assert ages == ["just now", "just now", "1 minute ago", "2 hours ago", "1 day ago", "just now"]


def space(options: int = 6) -> Space:
    return Space(tuple(Option(name, (False, True), default=False) for name in NAMES[:options]))


def test_a_suite_has_two_configurations_for_every_combination_of_important_options() -> None:
    known = ImportantOptions("time", ("b", "a"), ("b", "a", *"cdef"))
    suite = representative_suite(space(), [known], 16, generator(1, "s"))
    assert suite is not None
    assert (suite.options, len(suite.configurations), len(suite.strata)) == (("b", "a"), 8, 4)
    assert sum(suite.weights) == pytest.approx(1.0)


def test_important_options_without_strata_have_both_settings_in_each_stratum() -> None:
    known = ImportantOptions("time", ("b", "a", "c", "d"), ("b", "a", "c", "d", "e", "f"))
    assert stratum_options(space(), [known], 8) == (("b", "a"), ("c", "d"))
    for seed in range(20):
        suite = representative_suite(space(), [known], 8, generator(seed, "s"))
        assert suite is not None
        for stratum in suite.strata:
            assert all({one[name] for one in stratum.configurations} == {False, True} for name in "cd")


def test_suites_of_earlier_versions_balance_the_ranking_alone() -> None:
    """Their configurations are part of the identities of stored checks and histories."""
    known = ImportantOptions("time", ("b", "a", "c", "d"), ("b", "a", "c", "d", "e", "f"))
    suite = representative_suite(space(), [known], 8, generator(1, "s"), WithinStrata.RANKING)
    expected = screening_suite(space(), ("b", "a"), 8, generator(1, "s"), known.ranking)
    assert suite == expected
    assert suite != representative_suite(space(), [known], 8, generator(1, "s"))


def test_options_of_several_metrics_come_in_order_of_their_ranks() -> None:
    time = ImportantOptions("time", ("b", "a"), ("b", "a", *"cdef"))
    size = ImportantOptions("size", ("f",), ("f", *"abcde"))
    suite = representative_suite(space(), [time, size], 8, generator(1, "s"))
    assert suite is not None
    assert suite.options == ("b", "f")


def test_a_metric_without_important_options_adds_none_to_those_of_others() -> None:
    time = ImportantOptions("time", ("b",), ("b", "a", *"cdef"))
    nothing = ImportantOptions("size", (), ("f", *"abcde"))
    suite = representative_suite(space(), [time, nothing], 16, generator(1, "s"))
    assert suite is not None
    assert (suite.options, len(suite.configurations)) == (("b",), 4)


def test_where_nothing_is_important_the_leading_option_makes_strata_and_one_configuration_is_no_suite() -> None:
    nothing = ImportantOptions("time", (), ("c", *"abdef"))
    suite = representative_suite(space(), [nothing], 16, generator(1, "s"))
    assert suite is not None
    assert (suite.options, len(suite.configurations)) == (("c",), 4)
    assert representative_suite(space(), [nothing], 1, generator(1, "s")) is None
    assert representative_suite(space(), [], 16, generator(1, "s")) is None


def test_coverage_is_partial_where_nothing_is_known_of_the_others() -> None:
    assert Coverage("main", 1, 64, (), "the default").partial
    assert not Coverage("main", 4, 64, ("a",), "a screening").partial
    assert not Coverage("main", 4, 4, (), "all").partial
    assert Coverage("main", 4, None, (), "all").partial
    with pytest.raises(InputError, match="5 of 4"):
        Coverage("main", 5, 4, (), "")


def timed(study: str, *seconds: float, days: int = 0, machine: str = "") -> TimedRuns:
    return TimedRuns(Provenance(study, len(seconds), AT + timedelta(days=days), machine=machine), seconds)


def test_a_run_costs_what_it_did_in_the_newest_study_with_enough_runs() -> None:
    old, new, few = timed("old", *[2.0] * 20), timed("new", *[1.0] * 7, 9.0, days=1), timed("few", 5.0, days=2)
    elsewhere = timed("elsewhere", *[0.1] * 50, days=3, machine="0123456789ab")

    def chosen(*studies: TimedRuns) -> tuple[str, float]:
        found = by_cost(studies)
        assert found is not None
        return found[0].provenance.study, found[0].median

    assert chosen(old, new, few, elsewhere) == ("new", 1.0)
    assert chosen(few, timed("more", 3.0, 4.0)) == ("more", 3.5)
    assert chosen(few, elsewhere) == ("few", 5.0)
    assert chosen(elsewhere) == ("elsewhere", 0.1)
    assert by_cost(()) is None
    with pytest.raises(InputError, match="no run that worked"):
        timed("none")
