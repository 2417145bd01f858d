"""The benchmarks run; what they measure is read by people, not asserted."""

from __future__ import annotations

import pytest
from benchmarks import designs, launching, starting, storing


@pytest.mark.acceptance
def test_launching_beside_hyperfine(hyperfine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(launching, "RUNS", 20)
    monkeypatch.setattr(launching, "ROUNDS", 2)
    text, _ = launching.result()
    assert text.count("\n| ") == 5  # a header, a rule, two rounds, the medians


@pytest.mark.acceptance
def test_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(starting, "ROUNDS", 1)
    monkeypatch.setattr(storing, "ROUNDS", 2)
    for benchmark in (starting, storing, designs):
        assert "| --- |" in benchmark.result()[0]
