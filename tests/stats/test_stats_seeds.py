"""Golden: the Skoll paper's screening design, its observations, and what it found."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from hati.core import FloatArray
from hati.stats import (
    adaptive_standard_error,
    contrasts,
    degrees_of_freedom,
    least_squares,
    lenth_reference,
    pseudo_standard_error,
)

DATA = Path(__file__).parent / "data"
OPTIONS = [f"o{i}" for i in range(1, 15)]


def table(name: str) -> list[dict[str, str]]:
    with (DATA / name).open() as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


TABLE_2, TABLE_3 = table("seed001_table2.csv"), table("seed001_table3.csv")
MATRIX = np.array([[1 if row[option] == "+" else -1 for option in OPTIONS] for row in TABLE_2], dtype=np.int8)


def response(name: str) -> FloatArray:
    return np.array([float(row[name]) for row in TABLE_2])


def effects(name: str) -> FloatArray:
    return least_squares(contrasts(MATRIX), np.arange(32), np.zeros(32, dtype=int)).effects(response(name))


def test_the_logarithm_of_the_variance_is_the_printed_one() -> None:
    """The printed s^2 is the exponential of the two printed decimals of ln s^2, and so no more exact than these."""
    assert np.log(response("s2")) == pytest.approx(response("ln_s2"), abs=0.0005)


@pytest.mark.parametrize("option", range(14))
@pytest.mark.parametrize("name", ["latency", "ln_s2", "throughput"])
def test_all_42_screening_effects_of_table_3(name: str, option: int) -> None:
    """The seed's are z(-) - z(+), printed with three decimals.

    The 32 values of ln s^2 are printed with two decimals, which gives an effect a standard error of 0.001.
    """
    printed = float(TABLE_3[option][name])
    assert -effects(name)[option] == pytest.approx(printed, abs=0.003 if name == "ln_s2" else 0.00051)


def margin_by_hand(name: str, count: int) -> float:
    """1.5 times the median of the sizes below 2.5 s0, times Student's t; the effects by the inner product of signs."""
    columns = list(MATRIX.T) + [MATRIX[:, i] * MATRIX[:, j] for i in range(14) for j in range(i)]
    columns += [MATRIX[:, i] * MATRIX[:, j] * MATRIX[:, k] for i in range(14) for j in range(i) for k in range(j)]
    distinct = {tuple(column * column[0]): column for column in reversed(columns) if abs(column.sum()) < 32}
    assert len(distinct) == 31
    used = columns[:14] if count == 14 else list(distinct.values())
    sizes = np.abs([column @ response(name) / 16 for column in used])
    below = sizes[sizes < 2.5 * 1.5 * np.median(sizes)]
    return float(1.5 * np.median(below) * stats.t.ppf(0.975, count / 3))


@pytest.mark.parametrize(
    ("name", "contrasts_used", "margin", "found"),
    [
        ("ln_s2", 14, 0.790, ["o2"]),
        ("ln_s2", 31, 0.697, ["o2", "o10"]),
        ("latency", 14, 8.865, ["o2", "o10"]),
        ("latency", 31, 6.655, ["o2", "o10"]),
    ],
)
def test_all_contrasts_recover_what_main_effects_alone_do_not(
    name: str, contrasts_used: int, margin: float, found: list[str]
) -> None:
    """Lenth's own margins of error, from main effects only and from all 31 contrasts.

    The figures are no print of the seed: they are what ``margin_by_hand`` makes of its printed observations.
    """
    all_effects = effects(name)
    used = all_effects[:contrasts_used]
    limit = pseudo_standard_error(used) * stats.t.ppf(0.975, degrees_of_freedom(contrasts_used))
    assert limit == pytest.approx(margin, abs=0.002)
    assert limit == pytest.approx(margin_by_hand(name, contrasts_used))
    assert [option for i, option in enumerate(OPTIONS) if abs(all_effects[i]) > limit] == found


def test_study_wise_latency_and_throughput_show_both_options() -> None:
    reference = lenth_reference(31)
    important = {
        name: [
            option
            for i, option in enumerate(OPTIONS)
            if abs(effects(name)[i]) > reference.critical(0.05, 31) * adaptive_standard_error(effects(name))
        ]
        for name in ("latency", "throughput", "ln_s2")
    }
    assert important == {"latency": ["o2", "o10"], "throughput": ["o2", "o10"], "ln_s2": []}
