"""`hati history` from a file to its answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from hati.core import FloatArray

Hati = Callable[..., Any]


@pytest.fixture
def hati(hati_here: Hati) -> Hati:
    """The program's function: a process for each command would take longer than its work."""
    return hati_here


def recorded(folder: Path, size: int = 120, step: float = 1.5) -> Path:
    noise = np.random.default_rng(3).normal(size=size)
    rows = [f"r{place:03d},{20.0 + 0.4 * noise[place] + step * (place >= 80):.4f}\n" for place in range(size)]
    file = folder / "series.csv"
    file.write_text("revision,latency (ms)\n" + "".join(rows))
    return file


def test_a_step_in_a_file_is_told(tmp_path: Path, hati: Hati) -> None:
    recorded(tmp_path)
    found = hati("history", "series.csv", "--format", "json")
    assert found.status == 0
    assert {"change_points", "trend", "warnings", "detectable"} <= set(found.json)
    (change,) = found.json["change_points"]
    assert {"index", "before", "after", "interval", "p_value"} <= set(change)
    assert change["index"] == 80
    assert change["position"] == "r080"
    assert change["unit"] == "ms"
    assert change["verdict"] == "slower"
    assert change["interval"][0] < 1.5 < change["interval"][1]

    text = hati("history", "series.csv")
    assert text.out.splitlines()[-1].startswith("Slower by ")
    assert "in the middle is found with 80 % power" in text.out
    markdown = hati("history", "series.csv", "--format", "markdown", "--better", "higher")
    assert "## History of latency" in markdown.out
    assert "**Faster by " in markdown.out

    assert hati("history", "series.csv", "--output", "found.txt").out == ""
    assert (tmp_path / "found.txt").read_text() == text.out


def test_a_history_whose_last_row_is_cut_off_is_warned_of(tmp_path: Path, hati: Hati) -> None:
    file = recorded(tmp_path)
    assert "no line end" not in hati("history", "series.csv").err
    file.write_text(file.read_text()[:-4])
    assert (
        f"series.csv:{len(file.read_text().splitlines())}: this last line has no line end"
        in hati("history", "series.csv").err
    )


def test_a_history_is_written_as_a_page(tmp_path: Path, hati: Hati) -> None:
    recorded(tmp_path)
    assert hati("history", "series.csv", "--format", "html", "--output", "history.html").status == 0
    text = (tmp_path / "history.html").read_text()
    assert "<figure>" in text
    assert "Slower by" in text


def observations(folder: Path) -> None:
    """Four benchmarks of ten revisions of five runs of twenty observations each, one of these ten times as long."""
    rng = np.random.default_rng(5)
    rows = ["revision,benchmark,run,value"]
    for name, place, run in ((name, place, run) for name in "abcd" for place in range(10) for run in range(5)):
        values = rng.normal(100.0 * (1.05 if name == "d" and place >= 5 else 1.0), 1.0, 20)
        values[: rng.poisson(1.0)] *= 10.0
        rows.append(f"r{place},{name},{run},{'@'.join(f'{value:.3f}' for value in values)}")
    (folder / "runs.csv").write_text("\n".join(rows) + "\n")


def test_the_statistic_of_a_run_is_chosen_from_other_benchmarks(tmp_path: Path, hati: Hati) -> None:
    observations(tmp_path)
    found = {one["benchmark"]: one for one in hati("history", "runs.csv", "--format", "json").json["series"]}
    assert {one["statistic"] for one in found.values()} <= {"median", "trimmed"}
    assert found["d"]["statistic_choice"]["basis"] == "other benchmarks"
    assert found["d"]["statistic_choice"]["sources"] == 3
    [change] = found["d"]["change_points"]
    assert (change["position"], change["of_tail"]) == ("r5", False)
    assert change["relative"] == pytest.approx(0.05, abs=0.02)
    assert "between the runs of 3 other benchmarks it varies by" in " ".join(hati("history", "runs.csv").out.split())

    means = {
        one["benchmark"]: one
        for one in hati("history", "runs.csv", "--statistic", "mean", "--format", "json").json["series"]
    }
    assert (means["d"]["statistic"], means["d"]["statistic_choice"]) == ("mean", None)
    assert means["d"]["change_points"] == []
    assert "write auto, mean, trimmed, median" in hati("history", "runs.csv", "--statistic", "best").err


def test_several_series_are_a_list(tmp_path: Path, hati: Hati) -> None:
    noise = np.random.default_rng(4).normal(size=(2, 60))
    rows = [
        f"{place},{name},{10 + noise[number, place] + (8 if name == 'b' and place >= 30 else 0)}\n"
        for place in range(60)
        for number, name in enumerate("ab")
    ]
    (tmp_path / "s.csv").write_text("position,benchmark,value\n" + "".join(rows))
    found = hati("history", "s.csv", "--format", "json").json["series"]
    assert [(one["benchmark"], len(one["change_points"])) for one in found] == [("a", 0), ("b", 1)]
    assert [one["alpha"] for one in found] == [0.025, 0.025]
    one = hati("history", "s.csv", "--where", "benchmark=b", "--format", "json", "--baseline", "40").json
    assert one["benchmark"] == "b"
    assert one["trend"]["baseline"] == "40"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("none.csv",), "none.csv: there is no such file"),
        (("series.csv", "--metric", "latncy"), "did you mean 'latency (ms)'?"),
        (("series.csv", "--alpha", "0"), "--alpha 0 finds nothing"),
        (("series.csv", "--alpha", "much"), "'much' is not a percentage"),
        (("series.csv", "--baseline", "r999"), "there is no position 'r999' to pin the baseline to"),
        (("series.csv", "--where", "machine=a"), "there is no column 'machine'"),
        (("short.csv",), "the series has 3 values; a change can be found from 8 values on"),
        (("series.csv", "--output", "no/such/folder.txt"), "cannot be written"),
    ],
)
def test_what_is_wrong_ends_with_2(tmp_path: Path, hati: Hati, arguments: tuple[str, ...], said: str) -> None:
    recorded(tmp_path)
    (tmp_path / "short.csv").write_text("position,value\n1,2\n2,3\n3,4\n")
    found = hati("history", *arguments)
    assert found.status == 2
    assert said in found.err.replace("\n", " ")
    assert "Traceback" not in found.err


def tabulated(folder: Path, runs: FloatArray, starts: NDArray[np.intp] | None = None) -> None:
    """The runs of positions, shape (positions, runs), as a table; ``starts`` says when each was made."""
    rows = ["position,run,value" + (",started" if starts is not None else "")]
    for place, run in np.ndindex(*runs.shape):
        started = "" if starts is None else f",{starts[place, run]}"
        rows.append(f"{place},{run},{runs[place, run]}{started}")
    (folder / "runs.csv").write_text("\n".join(rows) + "\n")


def places(hati: Hati, *words: str) -> list[int]:
    found = hati("history", "runs.csv", "--format", "json", *words)
    assert found.status == 0, found.err
    return [change["index"] for change in found.json["change_points"]]


@pytest.mark.parametrize(("size", "runs", "noise"), [(10, 6, 1.0), (10, 1, 2.0), (20, 1, 2.0), (2, 6, 1.0)])
def test_a_clear_step_in_a_short_series_is_found(
    tmp_path: Path, hati: Hati, size: int, runs: int, noise: float
) -> None:
    for seed in range(1, 6):
        values = 100.0 + noise * np.random.default_rng(seed).normal(size=(size, runs))
        values[size // 2 :] += 50.0
        tabulated(tmp_path, values)
        assert places(hati) == [size // 2]


@pytest.mark.parametrize("size", [10, 50])
def test_a_spike_that_its_runs_confirm_is_a_regression_that_was_resolved(tmp_path: Path, hati: Hati, size: int) -> None:
    values = 100.0 + np.random.default_rng(1).normal(size=(size, 6))
    values[6] += 50.0
    tabulated(tmp_path, values)
    found = hati("history", "runs.csv", "--format", "json").json
    assert [(change["index"], change["verdict"]) for change in found["change_points"]] == [(6, "slower"), (7, "faster")]
    assert found["outliers"] == []
    tabulated(tmp_path, values[:, :1])
    assert places(hati) == []  # a single run confirms nothing


def test_what_positions_vary_by_is_no_change(tmp_path: Path, hati: Hati) -> None:
    rng = np.random.default_rng(1)
    for size in (10, 50):
        for _ in range(10):
            tabulated(tmp_path, 100.0 + 3.0 * rng.normal(size=(size, 1)) + rng.normal(size=(size, 6)))
            assert places(hati) == []


def test_runs_that_were_interleaved_show_a_step_that_sessions_would_hide(tmp_path: Path, hati: Hati) -> None:
    rng = np.random.default_rng(2)
    values = 100.0 + rng.normal(size=(8, 6)) + 1.5 * (np.arange(8) >= 5)[:, None]
    one_after_the_other = np.arange(48, dtype=np.intp).reshape(8, 6)
    interleaved = rng.permutation(48).reshape(6, 8).T
    tabulated(tmp_path, values, np.asarray(interleaved, dtype=np.intp))
    assert places(hati) == [5]
    tabulated(tmp_path, values, one_after_the_other)
    assert places(hati) == []
    tabulated(tmp_path, values)
    assert places(hati) == []


def test_a_short_series_states_what_it_assumes(tmp_path: Path, hati: Hati) -> None:
    values = 100.0 + np.random.default_rng(3).normal(size=(12, 3))
    tabulated(tmp_path, values)
    found = hati("history", "runs.csv", "--format", "json").json
    assert "fewer than 30 positions" in found["assumptions"][0]
    assert "assumes" in hati("history", "runs.csv").out
    tabulated(tmp_path, values[:4])
    assert (
        "too few of them to estimate how sessions"
        in hati("history", "runs.csv", "--format", "json").json["assumptions"][0]
    )
    tabulated(tmp_path, np.repeat(values, 20, axis=0))
    assert hati("history", "runs.csv", "--format", "json").json["assumptions"] == []


def test_the_trend_of_few_positions_is_bounded_by_their_errors(tmp_path: Path, hati: Hati) -> None:
    values = 100.0 + np.random.default_rng(4).normal(size=(10, 3))
    values[:3] += 50.0
    values[6:] -= 30.0
    tabulated(tmp_path, values)
    low, high = hati("history", "runs.csv", "--format", "json").json["trend"]["interval"]
    assert -5.0 < low < 0.0 < high < 5.0


def test_counts_cannot_fall_by_more_than_all_of_them(tmp_path: Path, hati: Hati) -> None:
    rng = np.random.default_rng(4)
    few = [f"r{place},{rng.poisson(6 if place < 5 else 0.15)}\n" for place in range(10) for _ in range(6)]
    many = [f"r{place:03d},{rng.poisson(max(0.0, 6 - place / 10))}\n" for place in range(60)]
    (tmp_path / "few.csv").write_text("revision,errors\n" + "".join(few))
    (tmp_path / "many.csv").write_text("revision,errors\n" + "".join(many))
    (change,) = hati("history", "few.csv", "--format", "json").json["change_points"]
    assert change["interval"][0] == -change["before"]
    trend = hati("history", "many.csv", "--format", "json").json["trend"]
    assert trend["relative_interval"][0] == pytest.approx(-1.0)


def test_a_gradual_change_over_few_revisions_is_a_trend(tmp_path: Path, hati: Hati) -> None:
    rng = np.random.default_rng(1)
    values = 100.0 + 2.0 * np.arange(10)[:, None] + rng.normal(size=(10, 3))
    tabulated(tmp_path, values, np.asarray(rng.permutation(30).reshape(3, 10).T, dtype=np.intp))
    found = hati("history", "runs.csv", "--format", "json").json
    assert (found["change_points"], found["trend"]["verdict"]) == ([], "slower")
    low, high = found["trend"]["interval"]
    assert low < 2.0 < high


def test_one_position_more_hides_no_step(tmp_path: Path, hati: Hati) -> None:
    """A clean step of 50 %, of fewer than 30 positions, and of more."""
    rng = np.random.default_rng(6)
    for size in (29, 30, 35, 60):
        values = (100.0 + rng.normal(size=(size, 6))) * np.where(np.arange(size) >= 15, 1.5, 1.0)[:, None]
        tabulated(tmp_path, values)
        assert places(hati) == [15]
        assert hati("history", "runs.csv", "--format", "json").json["detectable"] is not None


def test_levels_that_recur_are_a_property_and_no_change(tmp_path: Path, hati: Hati) -> None:
    rng = np.random.default_rng(5)
    states = np.repeat(np.arange(10) % 2, 20)
    values = 100.0 + 5.0 * states + rng.normal(size=200)
    tabulated(tmp_path, values[:, None])
    found = hati("history", "runs.csv", "--format", "json").json
    assert found["change_points"] == []
    assert found["recurring"]["regained"] == 4
    assert found["recurring"]["low"] == pytest.approx(100.0, abs=0.5)
    assert found["recurring"]["high"] == pytest.approx(105.0, abs=0.5)
    assert "alternates between two levels" in " ".join(hati("history", "runs.csv").out.split())
    tabulated(tmp_path, values[:100, None])
    found_before = places(hati)  # left and regained twice: each may still be a change
    assert found_before
    assert set(found_before) <= {20, 40, 60, 80}
    tabulated(tmp_path, (values + 20.0 * (np.arange(200) >= 100))[:, None])
    assert places(hati) == [100]


def test_noise_that_wanders_is_no_change(tmp_path: Path, hati: Hati) -> None:
    false = 0
    for seed in range(1, 11):
        rng = np.random.default_rng(seed)
        noise = rng.normal(size=200)
        for place in range(1, 200):
            noise[place] = 0.9 * noise[place - 1] + np.sqrt(0.19) * noise[place]
        tabulated(tmp_path, (100.0 + 2.0 * noise + 2.0 * rng.normal(size=200))[:, None])
        false += bool(places(hati))
    assert false <= 3  # binomial(10, .1): at most 3 with 98.7 %


def test_a_clean_step_is_no_drift(tmp_path: Path, hati: Hati) -> None:
    for seed in range(1, 21):
        values = 100.0 + 2.0 * np.random.default_rng(seed).normal(size=200)
        values[140:] += 5.0
        tabulated(tmp_path, values[:, None])
        found = hati("history", "runs.csv", "--format", "json").json
        assert [abs(change["index"] - 140) <= 5 for change in found["change_points"]] == [True]
        assert found["warnings"] == []


def test_a_start_that_is_no_time_is_an_error(tmp_path: Path, hati: Hati) -> None:
    (tmp_path / "runs.csv").write_text("position,value,started\n0,1.0,today\n0,1.1,later\n1,1.2,now\n1,1.3,soon\n")
    found = hati("history", "runs.csv")
    assert found.status == 2
    assert "is not a time" in found.err
