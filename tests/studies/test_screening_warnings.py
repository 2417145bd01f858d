"""What is said of effects that may be others, of runs that were not made, and of one thing in the singular."""

from __future__ import annotations

import re

import pytest
from simulated_subject import concluded, multiplying, screening

from hati.core import Budget, InputError, replace
from hati.studies.screening import (
    OF_TABLES,
    Choice,
    PilotResult,
    Remedies,
    ScreeningConclusion,
    affordable_runs,
    choose,
    of_table,
)


def ambiguous(found: ScreeningConclusion) -> list[str]:
    return [warning for warning in found.warnings if "the design cannot tell" in warning]


def test_a_likelier_interaction_of_three_options_is_named() -> None:
    """In a 2^(5-1) with e = abcd, the interaction a:b:c is de, and neither d nor e does anything by itself."""
    study = screening(5, 48)
    choice = Choice(5, 16, 3, 5, ("E = ABCD",), "a test")
    found = concluded(replace(study, choice=choice), multiplying({"a": 0.5, "b": 0.4, "c": -0.3, "abc": 0.2}))
    assert [effect.options for effect in found.effects if effect.shown and len(effect.options) == 2] == [("d", "e")]
    (warning,) = ambiguous(found)
    assert "d x e is more likely a x b x c" in warning


def test_an_interaction_with_an_important_option_is_not_made_one_of_three() -> None:
    choice = Choice(5, 16, 3, 5, ("E = ABCD",), "a test")
    active = {"a": 0.5, "b": 0.4, "c": -0.3, "d": 0.2, "de": 0.2}
    assert ambiguous(concluded(replace(screening(5, 48), choice=choice), multiplying(active))) == []


def test_a_main_effect_that_may_be_an_interaction_of_important_options_is_told() -> None:
    """Seven options in eight runs, d = ab: what a and b do together looks like d."""
    study = screening(7, 8)
    choice = Choice(7, 8, 4, 3, ("D = AB", "E = AC", "F = BC", "G = ABC"), "a test")
    found = concluded(replace(study, choice=choice), multiplying({"a": 0.5, "b": 0.4, "ab": 0.2}))
    assert set(found.important_or_aliased) == {"a", "b", "d"}
    assert any("the effect of d may be the interaction a x b," in warning for warning in ambiguous(found))
    alone = concluded(replace(study, choice=choice), multiplying({"a": 0.5}))
    assert ambiguous(alone) == []


@pytest.mark.parametrize(
    ("made", "said"), [(31, "1 of 32 planned runs was not made"), (30, "2 of 32 planned runs were")]
)
def test_runs_that_were_not_made_may_need_a_larger_budget(made: int, said: str) -> None:
    found = concluded(screening(6, 32), multiplying({"a": 0.5}), runs=made)
    (warning,) = [warning for warning in found.warnings if "planned runs" in warning]
    assert warning.startswith(said)
    assert "a larger one, else run the same command again" in warning


def test_one_of_a_kind_is_in_the_singular() -> None:
    with pytest.raises(InputError, match=r"^1 run is too few to screen 1 option"):
        choose(1, 1)
    with pytest.raises(InputError, match=r"^2 runs are too few to screen 3 options"):
        choose(3, 2)
    with pytest.raises(InputError, match=r"^the design was chosen for 1 option, and there are 2"):
        choose(1, 2).design(["a", "b"])
    with pytest.raises(InputError, match="after 1 pilot run of") as refused:
        affordable_runs(Budget.parse("1"), PilotResult(1.0, None, 1, 0, 1.0))
    assert "at a faster one by --set OPTION=SETTING" in str(refused.value.fix)


def test_the_budget_that_repeats_is_told_where_there_is_one() -> None:
    study, subject = screening(7, 8), multiplying({"a": 0.5})
    advised = concluded(replace(study, remedies=Remedies(32)), subject).warnings
    assert any(w.endswith("most do nothing; a budget of 32 runs and more repeats every configuration") for w in advised)
    alone = concluded(replace(study, remedies=Remedies()), subject).warnings
    assert any(warning.endswith("supposing that most do nothing") for warning in alone)


def test_advice_for_machines_is_not_given_for_tables() -> None:
    subject = multiplying({"a": 0.5}, noise=0.5)
    told = concluded(screening(5, 32), subject).warnings
    assert any(warning.endswith("four times as many runs, or longer ones, halve that") for warning in told)
    of_tables = concluded(replace(screening(5, 32), remedies=OF_TABLES), subject).warnings
    assert any(warning.endswith("four times as many runs halve that") for warning in of_tables)
    few = of_table(64, repeated_from=None, failures="")
    of_few = concluded(replace(screening(5, 32), remedies=few), subject).warnings
    assert any(warning.endswith("the smallest that is found with 80 % power") for warning in of_few)


def test_a_hidden_effect_of_more_than_the_mean_is_a_plain_percentage() -> None:
    found = concluded(screening(5, 16), multiplying({"a": 1.0}, noise=0.8))
    (hidden,) = [warning for warning in found.warnings if "the noise hides effects below" in warning]
    assert re.match(r"the noise hides effects below [1-9],?[0-9]+ %", hidden)
