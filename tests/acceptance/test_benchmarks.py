"""The benchmarks run; what they measure is read by people, not asserted."""

from __future__ import annotations

from pathlib import Path

import pytest
from benchmarks import designs, launching, serving_volunteers, starting, storing


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


def test_help_is_not_a_store_of_volunteers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        serving_volunteers.main(["--help"])
    assert ended.value.code == 0
    assert "PostgreSQL" in capsys.readouterr().out
    assert list(tmp_path.iterdir()) == []
