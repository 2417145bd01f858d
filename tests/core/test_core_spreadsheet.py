"""Texts that a spreadsheet would take for formulas."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import guarded, unguarded


@pytest.mark.parametrize(
    "text", ["=1+1", "@SUM(A1)", "\t=1", "\r=1", "+1+cmd|' /C calc'!A0", "-2+3+HYPERLINK(A1)", "-1=2", "'=1", "''@x"]
)
def test_formulas_are_guarded(text: str) -> None:
    assert guarded(text) == f"'{text}"


@pytest.mark.parametrize("text", ["-O2", "-1.5", "+3", "-flto", "on", "", "'", "'tis", "a=b", "1e-5"])
def test_settings_stay_as_they_are(text: str) -> None:
    assert guarded(text) == text


@given(st.text(alphabet="'=@+-(|!\t\raO2 ", max_size=6))
def test_what_is_guarded_comes_back(text: str) -> None:
    assert unguarded(guarded(text)) == text
