"""`hati predict`, from a file to an answer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Hati

MODEL = """
[resources.server]
cores = 4

[components]
web.demands = { server = "20ms" }
report.demands = { server = "2s" }

[workloads.users]
rate = "500/min"
mix = { web = 0.95, report = 0.05 }
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    file = tmp_path / "model.toml"
    file.write_text(MODEL)
    return file


def test_a_model_is_answered(model: Path, hati_here: Hati) -> None:
    done = hati_here("predict", "model.toml")
    assert done.status == 0
    assert "closed form: the model is an open network of product form" in done.out
    assert "M/G/4-PS" in done.out
    values = hati_here("predict", "model.toml", "--format", "json").json
    assert values["format"] == "hati-predict-1"
    busy = 500 / 60 * (0.95 * 0.02 + 0.05 * 2.0) / 4
    assert values["resources"][0]["utilisation"]["value"] == pytest.approx(busy)
    assert done.out.endswith("Busiest resource: `server`, 24.8 %.\n")


def test_an_overload_ends_with_1(model: Path, hati_here: Hati) -> None:
    model.write_text(MODEL.replace("500/min", "50/s"))
    done = hati_here("predict", "model.toml")
    assert done.status == 1
    assert "Overloaded: `server` would need 5.95 of its 4 cores." in done.out


def test_a_broken_model_is_refused_with_its_place(model: Path, hati_here: Hati) -> None:
    model.write_text(MODEL.replace("web = 0.95", "wbe = 0.95"))
    done = hati_here("predict", "model.toml")
    assert done.status == 2
    assert "model.toml:11:9: there is no component 'wbe'; did you mean 'web'?" in done.err


def test_the_model_is_not_overwritten(model: Path, hati_here: Hati) -> None:
    assert hati_here("predict", "model.toml", "--output", "model.toml").status == 2


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ('rate = "500/min"', "population = 9999\nthink = '1s'", "its closed workloads have more than 4,096 states"),
        ("mix =", 'arrivals = "constant"\nmix =', "the arrivals of workload 'users' are not Poisson"),
        ("cores = 4", 'cores = 4\npolicy = "fcfs"', "resource 'server' serves first come, first served"),
    ],
)
def test_a_model_without_an_exact_answer_is_refused(
    model: Path, hati_here: Hati, old: str, new: str, reason: str
) -> None:
    model.write_text(MODEL.replace(old, new))
    done = hati_here("predict", "model.toml")
    assert done.status == 2
    assert f"the model cannot be answered exactly: {reason}" in done.err
