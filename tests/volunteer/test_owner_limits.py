"""What a machine's owner permits, and when."""

from __future__ import annotations

from datetime import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.volunteer.files import JoinError
from hati.volunteer.limits import Hours, Limits, OwnerTemplate, parse_settings, parse_size, parse_time


def at(hour: int, minute: int = 0) -> datetime:
    return datetime(2026, 3, 1, hour, minute)


def test_hours_may_include_midnight() -> None:
    night = Hours.parse("22-6")
    assert [night.wait(at(hour)) for hour in (22, 23, 0, 5)] == [0.0] * 4
    assert night.wait(at(6)) == 16 * 3600.0
    assert night.wait(at(21, 30)) == 1800.0
    day = Hours.parse("9:30-17")
    assert (day.wait(at(12)), day.wait(at(9)), day.wait(at(17, 30))) == (0.0, 1800.0, 16 * 3600.0)
    assert (str(night), str(day)) == ("22-6", "9:30-17")


@given(st.integers(0, 23), st.integers(0, 23), st.integers(0, 23), st.integers(0, 59))
def test_work_begins_when_the_wait_is_over(start: int, end: int, hour: int, minute: int) -> None:
    if start == end:
        with pytest.raises(JoinError):
            Hours.parse(f"{start}-{end}")
        return
    hours, now = Hours.parse(f"{start}-{end}"), at(hour, minute)
    wait = hours.wait(now)
    assert 0.0 <= wait < 86_400.0
    assert hours.wait(datetime.fromtimestamp(now.timestamp() + wait)) == 0.0


@pytest.mark.parametrize("text", ["", "22", "22-25", "22-6:61", "a-b", "5-5", "0-24", "-1-5"])
def test_other_hours_are_refused(text: str) -> None:
    with pytest.raises(JoinError, match="are not hours of a day"):
        Hours.parse(text)


@pytest.mark.parametrize(("text", "size"), [("1", 1), ("2K", 2048), ("1.5 GiB", 3 << 29), ("10mb", 10 << 20)])
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


def test_what_is_no_limit_is_refused() -> None:
    for wrong in (lambda: parse_size("much"), lambda: parse_time("soon"), lambda: parse_settings("--only", ["level"])):
        with pytest.raises(JoinError):
            wrong()
    for limits in ({"memory": 5}, {"disk": 5}, {"processes": 0}, {"cpu": 0.5}):
        with pytest.raises(JoinError):
            Limits(**limits)


def test_settings_that_the_owner_excludes_are_named() -> None:
    template = OwnerTemplate(settings=parse_settings("--only", ["level=1,2", "mode=fast"]))
    assert template.excluded({"level": "2", "other": "x"}) == ""
    assert template.excluded({"level": "3"}) == "the machine's owner permits level = 1 or 2 only"
    assert template.json()["settings"] == {"level": ["1", "2"], "mode": ["fast"]}
