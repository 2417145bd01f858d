"""``hati harness`` from outside, and warm-up that is found when a run is recorded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Hati = Callable[..., Any]


@pytest.fixture
def here(hati_here: Hati) -> Hati:
    """The program's function: a process for each command would take longer than its work."""
    return hati_here


@pytest.fixture
def files(tmp_path: Path) -> Path:
    rng = np.random.default_rng(6)
    levels = 0.02 * np.exp(0.03 * rng.normal(size=6))
    warm = 1.0 + 0.8 * np.exp(-np.arange(200) / 10.0)
    runs = [(level * warm * np.exp(0.01 * rng.normal(size=200))).tolist() for level in levels]
    runs[4] = (np.array(runs[4]) * np.linspace(1.0, 2.0, 200)).tolist()
    runs[5] = runs[5][:10]
    made = [{"warmup": 5, "observations": run, "wall_time": sum(run) + 2.0} for run in runs]
    memory = [{"observations": [1.0, 2.0]}]
    samples = [
        {"benchmark": "orders", "metric": "latency", "unit": "s", "configuration": {"a": 1}, "runs": made},
        {"benchmark": "orders", "metric": "pages", "unit": "page", "runs": memory},
    ]
    (tmp_path / "a.json").write_text(json.dumps({"format": "hati-samples-1", "samples": samples}))
    return tmp_path


def test_steady(here: Hati, files: Path) -> None:
    found = here("harness", "steady", "a.json", "--metric", "latency", "--format", "json").json
    assert [one["state"] for one in found] == ["steady"] * 4 + ["never", "short"]
    assert [one["run"] for one in found] == list(range(6))
    assert all(15 <= one["start"] <= 40 for one in found[:4])
    assert (found[0]["benchmark"], found[0]["metric"], found[0]["configuration"]) == ("orders", "latency", {"a": 1})
    assert (found[0]["observations"], found[0]["warmup"], found[5]["start"]) == (200, 5, None)
    told = here("harness", "steady", "a.json")
    assert told.status == 0
    assert "4 steady, 1 never, 2 short." in told.out
    assert "| orders a=1 latency |" in here("harness", "steady", "a.json", "--format", "markdown").out


def test_observations(here: Hati, files: Path) -> None:
    assert here("harness", "observations", "--format", "json").json["observations"] == 38416
    found = here(
        "harness", "observations", "a.json", "--precision", "0.1", "--metric", "latency", "--format", "json"
    ).json
    assert found["observations"] == 97
    assert found["runs"][0]["observations"] == 195
    assert found["runs"][5]["enough"] is False
    assert "fall short" in here("harness", "observations", "a.json").out


def test_runs(here: Hati, files: Path) -> None:
    latency, pages = here("harness", "runs", "a.json", "--detect", "10%", "--format", "json").json
    assert latency["cost_run"] > 1.9
    assert latency["best"]["seconds"] <= latency["now"]["seconds"]
    assert (pages["best"], pages["cost_observation"]) == (None, None)
    assert len(pages["unknown"]) == 2
    given = here("harness", "runs", "a.json", "--observation-cost", "10ms", "--run-cost", "1m", "--format", "json").json
    assert (given[1]["cost_observation"], given[1]["cost_run"], given[1]["cost_basis"]) == (0.01, 60.0, "given")
    assert "not known: the variance between runs" in " ".join(here("harness", "runs", "a.json").out.split())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("steady", "none.json"), "none.json"),
        (("steady", "a.json", "--tolerance", "0"), "tolerance"),
        (
            ("steady", "a.json", "--metric", "x"),
            "a.json has no samples of the metric 'x'; there are: latency, pages",
        ),
        (("observations", "--quantile", "1"), "the quantile is between 0 and 1"),
        (("runs", "a.json", "--detect", "0"), "the change is between 0 and 1"),
        (("runs", "a.json", "--run-cost", "long"), "long"),
        (("runs", "a.json", "--observation-cost", "0s"), "'0s' is not a valid duration"),
    ],
)
def test_what_is_refused(here: Hati, files: Path, words: tuple[str, ...], message: str) -> None:
    done = here("harness", *words)
    assert (done.status, done.out) == (2, "")
    assert message in " ".join(done.err.split())
    assert "Traceback" not in done.err


def test_warmup_that_is_not_found_is_told_wherever_the_runs_go(here: Hati, fake_project: Path) -> None:
    project = fake_project / "hati.toml"
    project.write_text(project.read_text().replace("warmup = 1", 'warmup = "auto"'))
    found = here("run", "--budget", "2", "--format", "json").json
    (warning,) = found["warnings"]
    assert warning.startswith("2 of 2 runs: warm-up of 'latency' is not known to be over: 3 observations")
    here("export", "--output", "a.json")
    samples = {sample["metric"]: sample for sample in json.loads((fake_project / "a.json").read_text())["samples"]}
    assert samples["latency"]["runs"][0]["remark"] in warning
    assert samples["throughput"]["runs"][0]["remark"] is None
    compared = here("compare", "a.json", "a.json", "--metric", "latency")
    assert "2 of 2 runs of main" in " ".join(compared.out.split())
