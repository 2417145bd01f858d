"""`hati predict`, from a file to an answer."""

from __future__ import annotations

import sys
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
        ("mix =", 'arrivals = "constant"\nmix =', "the arrivals of workload 'users' are not Poisson"),
        ("cores = 4", 'cores = 4\npolicy = "fcfs"', "resource 'server' serves first come, first served"),
        (
            "[workloads.users]",
            "[workloads.clerks]\npopulation = 3\nthink = '1s'\nmix = { web = 1 }\n[workloads.users]",
            "it has closed workloads together with open ones",
        ),
    ],
)
def test_a_model_without_an_exact_answer_is_simulated(
    model: Path, hati_here: Hati, old: str, new: str, reason: str
) -> None:
    model.write_text(MODEL.replace(old, new).replace("0.95", "0.85").replace("0.05", "0.15"))
    words = ("predict", "model.toml", "--requests", "200", "--seed", "5")
    done = hati_here(*words)
    assert done.status == 0, done.err
    assert f"simulation: no exact closed form: {reason}" in " ".join(done.out.split())
    assert "In brackets: the 95 % interval over 10 replications." in done.out
    values = hati_here(*words, "--format", "json").json
    assert values == hati_here(*words, "--format", "json").json
    low, high = values["requests"][0]["response"]["interval"]
    assert low < values["requests"][0]["response"]["value"] < high


def test_requests_that_are_too_rare_are_named(model: Path, hati_here: Hati) -> None:
    model.write_text(MODEL.replace("mix =", 'arrivals = "constant"\nmix =').replace("0.95", "0.9999"))
    model.write_text(model.read_text().replace("0.05", "0.0001"))
    done = hati_here("predict", "model.toml", "--requests", "100")
    assert done.status == 2
    assert "fewer than 10 requests to 'report' of 'users'; simulate more than 100 requests, such as by" in done.err
    assert done.err.rstrip().endswith("--requests 3000"), "as if each replication had one of them"


def test_a_simulation_needs_its_extra(model: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "simpy", None)
    model.write_text(MODEL.replace("mix =", 'arrivals = "constant"\nmix ='))
    done = hati_here("predict", "model.toml")
    assert done.status == 2
    assert "install SimPy: pip install 'hati[simulation]'" in done.err


def test_each_load_of_a_range_is_answered(model: Path, hati_here: Hati) -> None:
    done = hati_here("predict", "model.toml", "--over", "users.rate=100/min..4000/min", "--points", "3")
    assert done.status == 0
    assert "2,050  overloaded" in done.out
    assert done.out.endswith("`server` saturates first, at 2,017 1/min of `users`.\n")
    values = hati_here("predict", "model.toml", "--over", "users.rate=100/min..4000/min", "--format", "json").json
    assert values["format"] == "hati-predict-over-1"
    assert len(values["points"]) == 10
    assert values["saturation"]["load"] == pytest.approx(4 / (0.95 * 0.02 + 0.05 * 2.0))
    model.write_text(MODEL.replace("500/min", "100/min"))
    single = hati_here("predict", "model.toml", "--format", "json").json
    assert values["points"][0]["requests"] == single["requests"]
    assert values["points"][-1]["overloads"][0]["busy"] == pytest.approx(4000 / 60 * 0.119)


@pytest.mark.parametrize(
    ("over", "error"),
    [
        ("usres.rate=1..2", "--over:1:1: there is no workload 'usres'; did you mean 'users'?"),
        ("users.population=1..2", "--over:1:7: 'population' is not the load of an open workload; write users.rate"),
        ("users.rate=1/min..5/fort", "--over:1:19: '5/fort' is not a rate"),
        ("users.rate=0..2", "--over:1:12: '0' is not a rate above 0"),
        ("users.rate=5..2", "--over:1:12: the range does not grow; give the smaller load first"),
        ("users.rate=5", "--over:1:1: 'users.rate=5' is not a range of a load"),
    ],
)
@pytest.mark.usefixtures("model")
def test_a_wrong_range_is_refused_with_its_place(hati_here: Hati, over: str, error: str) -> None:
    done = hati_here("predict", "model.toml", "--over", over)
    assert done.status == 2
    assert error in done.err


@pytest.mark.usefixtures("model")
def test_points_need_a_range(hati_here: Hati) -> None:
    assert hati_here("predict", "model.toml", "--points", "5").status == 2


@pytest.mark.acceptance
@pytest.mark.usefixtures("model")
def test_the_page_of_a_range_has_its_chart(hati_here: Hati, tmp_path: Path) -> None:
    page = tmp_path / "loads.html"
    done = hati_here("predict", "model.toml", "--over", "users.rate=1..40", "--format", "html", "-o", "loads.html")
    assert done.status == 0
    assert "Load curve of model.toml" in page.read_text()
    assert "the load at which the first resource saturates" in page.read_text()
