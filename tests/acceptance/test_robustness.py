"""Input that is almost right, and stores that were damaged: fewer than the benchmarks have."""

from __future__ import annotations

import pytest
from benchmarks import damaged_stores, mutations

# Nothing is measured, so that two may run at once.
pytestmark = [pytest.mark.acceptance, pytest.mark.statistical]


def test_input_that_is_almost_right_is_refused_with_a_message_or_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HATI_STORE", raising=False)
    text, held = mutations.result(300)
    assert held, text


def test_a_damaged_store_is_an_error_or_says_what_it_said_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HATI_STORE", raising=False)
    text, held = damaged_stores.result(60)
    assert held, text
