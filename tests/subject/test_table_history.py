"""Histories from tables, and what is said of tables that are none."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import Better, InputError
from hati.studies.regression import Series
from hati.subject.table import read_series, read_sheet
from hati.subject.table.sheet import parse_delimited

HEAD = "position,value\n"
ROWS = "".join(f"{place},{place / 10}\n" for place in range(10))


def series(text: str, metric: str | None = None, unit: str | None = None) -> tuple[Series, ...]:
    return read_series(parse_delimited(text, "s.csv", "0"), metric, unit=unit)


def only(text: str, metric: str | None = None) -> Series:
    (found,) = series(text, metric)
    return found


def test_positions_are_in_the_order_of_their_numbers() -> None:
    rows = ROWS.splitlines(keepends=True)
    found = only(HEAD + "".join(rows[5:] + rows[:5]))
    assert found.positions == tuple(map(str, range(10)))
    assert found.values.tolist() == [place / 10 for place in range(10)]


def test_revisions_are_in_the_order_of_the_rows() -> None:
    names = ("c9", "a1", "f4", "b2", "d0", "e5", "aa", "bb")
    found = only("revision,value\n" + "".join(f"{name},1\n" for name in (*names, "c9")))
    assert found.positions == names
    assert found.runs.tolist() == [2, 1, 1, 1, 1, 1, 1, 1]


def test_a_position_orders_and_a_revision_names() -> None:
    found = only("position,revision,value\n" + "".join(f"{9 - place},r{place},{place}\n" for place in range(9)))
    assert found.positions[0] == "r8"
    assert found.values[0] == 8.0


def test_rows_of_one_position_are_its_runs() -> None:
    text = "position,run,value\n" + "".join(f"{place},{run},{place + run}\n" for run in (0, 1) for place in range(8))
    found = only(text)
    assert found.runs.tolist() == [2] * 8
    assert found.values.tolist() == [place + 0.5 for place in range(8)]
    assert only(HEAD + "".join(f"{place},1@3\n" for place in range(8))).values.tolist() == [2.0] * 8


def test_each_set_of_machines_is_one_of_its_own() -> None:
    rows = "".join(f"{place},{name},{place + 10 * (name == 'b')}\n" for place in range(9) for name in "ab")
    found = only("position,machine,value\n" + rows + "9,b,9\n9,b,11\n9,a,0\n10,a,7\n11,b,8\n")
    assert found.machines.tolist() == [0] * 10 + [1, 2]
    assert found.values.tolist() == [place + 5.0 for place in range(9)] + [5.0, 7.0, 8.0]
    assert found.runs.tolist() == [2] * 9 + [3, 1, 1]


def test_series_have_the_names_of_their_benchmarks() -> None:
    rows = "".join(f"{place},{name},x,{place}\n" for place in range(8) for name in "ab")
    assert [each.name for each in series("position,benchmark,series,value\n" + rows)] == ["x a", "x b"]


def test_the_metric_is_named_by_its_column() -> None:
    rows = "".join(f"{place},{place},{place * 2}\n" for place in range(8))
    found = only("revision,latency (ms),throughput\n" + rows, "latency")
    assert (found.metric.name, found.metric.unit, found.metric.better) == ("latency", "ms", Better.LOWER)
    assert only("revision,latency (ms),value\n" + rows).metric.name == "value"


def test_rows_without_a_value_are_left_out() -> None:
    assert only(HEAD + ROWS + "10,\n11,nan\n12,5\n").positions[-2:] == ("9", "12")


@pytest.mark.parametrize(
    ("text", "metric", "said"),
    [
        ("place,value\n" + ROWS, None, "s.csv:1:1: there is no column 'position' or 'revision'"),
        (HEAD + ROWS, "latency", "there is no column 'latency' for --metric"),
        (HEAD + ROWS + "10,fast\n", None, "s.csv:12:4: 'fast' is not a valid number"),
        (HEAD + ROWS + "10,inf\n", None, "s.csv:12:4: 'inf' is not a valid number"),
        (HEAD + ROWS + "10,1e101\n", None, "s.csv:12:4: '1e101' is too large"),
        (HEAD + ROWS + ",1\n", None, "s.csv:12:1: the row has no position"),
        (HEAD + ROWS + "11\n", None, "s.csv:12:1: cells in the row: 1"),
        (HEAD, None, "s.csv:1: the table has no rows"),
        ("", None, "s.csv: the file is empty"),
        (HEAD + "0,1\n1,2\n", None, "the series has 2 values"),
        (HEAD + "0,\n1,\n", None, "s.csv: the column 'value' has no values"),
        ("position,series,value\n0,x,1\n", None, "the series 'x' has 1 value"),
        ("position,latency,size\n0,1,2\n1,2,3\n", None, "several columns could be the metric"),
        ("position,position,value\n0,1,2\n", None, "there are two columns 'position'"),
        ("position,run,value\n0,0,1\n0,0,2\n", None, "s.csv:3:3: the run '0' of '0' is there twice"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(text: str, metric: str | None, said: str) -> None:
    with pytest.raises(InputError) as error:
        series(text, metric)
    assert said in str(error.value)


@given(st.text("position,value\n\r\"';0123456789.-enai@ ", max_size=200))
def test_any_text_is_series_or_an_error(text: str) -> None:
    try:
        found = series(text)
    except InputError:
        return
    assert all(np.isfinite(each.values).all() for each in found)


def test_a_file_is_read(tmp_path: Path) -> None:
    file = tmp_path / "s.csv"
    file.write_text(HEAD + ROWS)
    assert len(read_series(read_sheet(file))[0]) == 10
