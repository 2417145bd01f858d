from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import conversion
from hati.document import change, duration, general, percent, quantity, tidy
from hati.document.document import decimals, fixed

ordinary = st.floats(min_value=-1e12, max_value=1e12, allow_nan=False).filter(lambda x: x == 0 or abs(x) > 1e-12)


def number(text: str) -> float:
    return float(text.replace(",", ""))


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0017184, "s", "1.718 ms"),
        (0.00012, "s", "120 µs"),
        (0.99999, "s", "1 s"),
        (999.96e-6, "s", "1 ms"),
        (5e-10, "s", "0.5 ns"),
        (2.0, "min", "120 s"),
        (5120.0, "1/s", "5,120 1/s"),
        (16384.0, "1", "16,384"),
        (16384.0, "", "16,384"),
        (3.0, "page", "3 page"),
        (2.5e6, "B", "2.5 MB"),
        (1536.0, "KiB", "1.5 MiB"),
        (0.25, "MB/s", "250 kB/s"),
        (12.5, "%", "12.5 %"),
        (0.0, "s", "0 s"),
        (-0.0017, "s", "-1.7 ms"),
        (1500.0, "mW", "1.5 W"),
        (math.nan, "s", "? s"),
    ],
)
def test_a_quantity_is_read_at_a_glance(value: float, unit: str, text: str) -> None:
    assert quantity(value, unit) == text


@pytest.mark.parametrize(
    ("fraction", "text"),
    [
        (0.1243, "+12.4 %"),
        (-0.713, "-71.3 %"),
        (0.0, "0.0 %"),
        (-1e-9, "0.0 %"),
        (12.5, "+1,250 %"),
        (math.inf, "? %"),
    ],
)
def test_a_change_has_its_sign(fraction: float, text: str) -> None:
    assert change(fraction) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 s"),
        (0.0123, "12.3 ms"),
        (59.94, "59.9 s"),
        (59.96, "1 min"),
        (75.2, "1 min 15 s"),
        (3599.6, "1 h"),
        (7260.0, "2 h 1 min"),
        (math.nan, "?"),
    ],
)
def test_a_duration_is_said_as_people_say_it(seconds: float, text: str) -> None:
    assert duration(seconds) == text


def test_percentages_have_no_more_digits_than_asked_for() -> None:
    assert percent(0.01873, 2) == "1.9 %"
    assert percent(0.05) == "5 %"


@given(ordinary, st.integers(2, 8))
def test_general_reads_back_within_its_digits(value: float, digits: int) -> None:
    assert number(general(value, digits)) == pytest.approx(value, rel=0.5000001 * 10.0 ** (1 - digits), abs=0)


@given(ordinary, ordinary)
def test_general_keeps_the_order(one: float, other: float) -> None:
    low, high = sorted((one, other))
    assert number(general(low)) <= number(general(high))


@given(
    ordinary, st.sampled_from(["ns", "us", "µs", "ms", "s", "min", "B", "kB", "GB", "KiB", "GiB", "J", "kW", "MB/s"])
)
def test_a_quantity_reads_back_in_its_unit(value: float, unit: str) -> None:
    text, _, shown = quantity(value, unit, 6).partition(" ")
    assert number(text) * conversion(shown, unit) == pytest.approx(value, rel=0.6e-5)


@given(st.lists(ordinary, min_size=1, max_size=8), st.sampled_from(["s", "MB", "page", "1"]))
def test_one_unit_serves_a_whole_column(values: list[float], unit: str) -> None:
    scale = tidy(unit, values)
    places = decimals([v * scale.factor for v in values])
    shown = [number(fixed(v * scale.factor, places)) for v in values]
    assert shown == pytest.approx([v * scale.factor for v in values], abs=0.5000001 * 10.0**-places)
    assert [shown[i] for i in sorted(range(len(values)), key=values.__getitem__)] == sorted(shown)


@given(st.floats(0, 1e7), st.floats(0, 1e7))
def test_no_negative_zero_and_no_sign_of_nothing(value: float, fraction: float) -> None:
    assert not fixed(-value / 1e9, 1).startswith("-0.0")
    assert change(fraction).startswith("+") == (round(100 * fraction, 1 if fraction < 9.9995 else 0) > 0)
