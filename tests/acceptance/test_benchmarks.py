"""The benchmarks run; what they measure is read by people, not asserted."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks import __main__ as benchmarks
from benchmarks import (
    accuracy,
    aliasing,
    attribution,
    change_points,
    comparing,
    designs,
    dominated,
    drift_power,
    failure_search,
    fig12,
    formulas,
    fractions,
    gating,
    histories,
    importing,
    interpretations,
    launching,
    limits,
    lost_setting,
    machines,
    many_settings,
    nested,
    operating_characteristics,
    optimal_designs,
    outliers,
    parsing,
    powers,
    promises,
    recalibration,
    recommending,
    recording,
    runs_needed,
    sensitivity,
    serving_volunteers,
    small_designs,
    starting,
    steady,
    steering,
    stopping,
    storing,
    validating,
)

NAMES = {path.stem for path in Path(aliasing.__file__).parent.glob("[a-z]*.py")} - {
    "change_point_peers",
    "optimal_peers",
}
"""All modules but the programs for an interpreter that has the peers."""
SMALL = aliasing.World("mild", aliasing.MILD, 0.02, 6, 24)
TINY: dict[str, Callable[[], tuple[str, bool]]] = {
    "launching": lambda: launching.result(20, 2),
    "storing": lambda: storing.result(100, 2),
    "importing": lambda: importing.result(0.1),
    "starting": lambda: starting.result(1),
    "designs": lambda: designs.result((32,)),
    "optimal_designs": lambda: optimal_designs.result(
        optimal_designs.CASES[-1:], 46, [("tiny", optimal_designs.Search((2, 3), 8))], 1
    ),
    "nested": lambda: nested.result(1),
    "validating": lambda: validating.result(1),
    "change_points": lambda: change_points.result(1),
    "histories": lambda: histories.result(1),
    "failure_search": lambda: failure_search.result(
        [failure_search.Case(2, 12, 2, 1)], [failure_search.TreeCase((1,), 1, 1)]
    ),
    "fig12": lambda: fig12.result(1),
    "accuracy": lambda: accuracy.result(["llvm"], (1,), 1),
    "aliasing": lambda: aliasing.result(1, [SMALL]),
    "outliers": lambda: outliers.result(1, outliers.WORLDS[3:4]),
    "machines": lambda: machines.result(4, machines.PLANS[1:2]),
    "many_settings": lambda: many_settings.result((6,), (1,)),
    "promises": lambda: promises.result(1, [promises.World(replace(SMALL, options=8, runs=48))]),
    "comparing": lambda: comparing.result(2, 1, 1),
    "stopping": lambda: stopping.result(1),
    "steady": lambda: steady.result(1),
    "gating": lambda: gating.result(1, [gating.NORMAL]),
    "attribution": lambda: attribution.result(1),
    "recalibration": lambda: recalibration.result(1),
    "recording": lambda: recording.result(1_000, 1),
    "interpretations": lambda: interpretations.result(2),
    "powers": lambda: powers.result(2),
    "runs_needed": lambda: runs_needed.result(1e-4, ["compare, two files", "check"]),
    "formulas": lambda: formulas.result(("errors", "costs"), formulas.CAMPAIGNS),
    "fractions": lambda: fractions.result(1, 1),
    "limits": lambda: limits.result(limits.TRIALS // 16),
    "sensitivity": lambda: sensitivity.result(1, 1, 1, 4),
    "parsing": lambda: parsing.result(1),
    "steering": lambda: steering.result(batches=1_000, machines=4),
    "small_designs": lambda: small_designs.result(1),
    "dominated": lambda: dominated.result(1, dominated.OTHERS[:1]),
    "drift_power": lambda: drift_power.result(10, [16]),
    "lost_setting": lambda: lost_setting.result(1, ["sixteen options"]),
    "operating_characteristics": lambda: (operating_characteristics.drift_table(1), True),
    "recommending": lambda: (recommending.report(1, recommending.CASES[4:5])[0], True),
}


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_benchmark_can_be_imported(name: str) -> None:
    importlib.import_module(f"benchmarks.{name}")


def test_all_have_a_result() -> None:
    for name in (*benchmarks.ALL, *benchmarks.OTHERS):
        assert callable(importlib.import_module(f"benchmarks.{name}").result)


@pytest.mark.acceptance
@pytest.mark.parametrize("name", TINY)
def test_a_tiny_one_has_its_table(name: str, request: pytest.FixtureRequest) -> None:
    """What they measure is read by people: whether goals are met depends on the machine and on their sizes."""
    if name == "launching":
        request.getfixturevalue("hyperfine")
    text, _ = TINY[name]()
    head, *rows = [line for line in text.splitlines() if line.startswith("| ")]
    assert head.count(" | ") >= 1
    assert rows[0].startswith("| --- |")
    assert len(rows) >= 2


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
