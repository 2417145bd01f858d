"""What a project file says of checks and recalibrations, and where it is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from hati.core import InputError
from hati.project import parse_project
from hati.studies.recalibration import TOLERANCE, Policy


def policy(text: str) -> Policy | None:
    return parse_project(f"[check.recalibrate]\n{text}\n", Path("hati.toml")).check.recalibrate


def test_without_the_table_nothing_is_asked_for() -> None:
    assert parse_project('[check]\nreference = "main"\n', Path("hati.toml")).check.recalibrate is None


def test_all_that_can_be_said() -> None:
    found = policy('checks = 50\ndays = 7.5\nresiduals = "1%"\ntolerance = 0.02\noptions = true')
    assert found == Policy(50, 7.5, 0.01, options=True, tolerance=0.02)
    assert policy("residuals = 0.05") == Policy(residuals=0.05, tolerance=TOLERANCE)
    assert policy("options = true\ndays = 3") == Policy(days=3.0, options=True)


@pytest.mark.parametrize(
    ("text", "place", "message"),
    [
        ("", "1:1", "nothing makes a recalibration due"),
        ("options = false", "1:1", "nothing makes a recalibration due"),
        ("check = 3", "2:1", "unknown key 'check'"),
        ("checks = 0", "2:10", "checks: expected a number above 0"),
        ("checks = 1.5", "2:10", "checks: expected an integer from 0 on"),
        ("days = true", "2:8", "days: expected a number"),
        ("days = -1", "2:8", "days: expected a number above 0"),
        ("days = inf", "2:8", "days: expected a number above 0"),
        ('days = 3\nresiduals = "often"', "3:13", "residuals: expected a share"),
        ('residuals = "100%"', "2:13", "residuals: expected a share"),
        ("residuals = []", "2:13", "residuals: expected a number"),
        ("days = 3\ntolerance = 0.1", "3:13", "tolerance: of what is not tested"),
        ('residuals = "1%"\ntolerance = "-1%"', "3:13", "tolerance: expected a share"),
        ("options = 1", "2:11", "options: expected true or false"),
    ],
)
def test_what_is_wrong_is_shown_where_it_is(text: str, place: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        policy(text)
    assert str(caught.value).startswith(f"hati.toml:{place}: {message}")


def test_it_is_a_table() -> None:
    with pytest.raises(InputError, match="expected a table"):
        parse_project("[check]\nrecalibrate = 3\n", Path("hati.toml"))


@pytest.mark.parametrize(("written", "read"), [("96", "96"), ('"10m"', "10m"), ('"24 rounds"', "24 rounds")])
def test_the_budget_of_checks_is_in_runs_time_or_rounds(written: str, read: str) -> None:
    assert parse_project(f"[check]\nbudget = {written}\n", Path("hati.toml")).check.budget == read


def test_another_budget_of_checks_is_shown_with_its_place() -> None:
    with pytest.raises(InputError, match=r"hati.toml:2:10: '24 cells' is not a valid budget; .* or a number of rounds"):
        parse_project('[check]\nbudget = "24 cells"\n', Path("hati.toml"))
