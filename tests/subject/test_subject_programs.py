"""Secrets are not kept."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.subject.running.programs import Masking

ENVIRONMENT = {"TOKEN": "s3cret-token", "LONGER": "s3cret-token-2", "SHORT": "abc", "EMPTY": ""}
MASKING = Masking.of(["TOKEN", "LONGER", "SHORT", "EMPTY", "MISSING"], ENVIRONMENT)


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("login with s3cret-token: refused", "login with ***: refused"),
        ("s3cret-token-2", "***"),
        ("s3cret-tokens3cret-token", "******"),
        ("oken-2 was refused", "*** was refused"),  # the beginning was cut off
        ("login with s3cret-t", "login with ***"),  # the end was
        ("abc", "abc"),
        ("", ""),
    ],
)
def test_values_are_masked(text: str, kept: str) -> None:
    assert MASKING.mask(text) == kept


@given(st.text("xyz ", max_size=20), st.integers(0, 8))
def test_the_part_of_a_value_at_a_cut_is_masked(other: str, cut: int) -> None:
    value = "s3cret-token"
    assert MASKING.mask(value[cut:] + other) == f"***{other}"
    assert MASKING.mask(other + value[: len(value) - cut]) == f"{other}***"


def test_without_secrets_nothing_changes() -> None:
    assert Masking.of([], ENVIRONMENT).mask("s3cret-token") == "s3cret-token"
