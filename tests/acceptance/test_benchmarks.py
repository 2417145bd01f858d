"""The benchmarks run; what they measure is read by people, not asserted."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks import __main__ as benchmarks
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


def test_a_benchmark_that_ends_with_an_exception_leaves_the_others(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, result in {"first": lambda: 1 / 0, "second": lambda: ("| a table |\n", True)}.items():
        monkeypatch.setitem(sys.modules, f"benchmarks.{name}", SimpleNamespace(result=result))
    monkeypatch.setattr(benchmarks, "ALL", ("first", "second"))
    assert benchmarks.main([]) == 1
    out, err = capsys.readouterr()
    assert "ZeroDivisionError" in err
    assert "Ended with an exception" in out
    assert "| a table |" in out
    assert out.count(" took ") == 2
    assert benchmarks.main(["second"]) == 0
    assert "first" not in capsys.readouterr().out


def test_an_unknown_benchmark_is_an_error_that_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        benchmarks.main(["designs", "desings"])
    assert ended.value.code == 2
    assert "`desings` is not a benchmark; choose from accuracy, " in capsys.readouterr().err
