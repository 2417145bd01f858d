"""Results of two machines, joined by revisions that both measured: files and histories."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Hati = Callable[..., Any]


def sample(rng: np.random.Generator, revision: str, machine: str, level: float) -> dict[str, object]:
    runs = [{"observations": [level * float(np.exp(0.005 * rng.standard_normal()))]} for _ in range(8)]
    about = {"benchmark": "main", "metric": "time", "unit": "s", "revision": revision, "machine": machine}
    return {**about, "runs": runs}


def written(file: Path, samples: Sequence[dict[str, object]]) -> str:
    file.write_text(json.dumps({"format": "hati-samples-1", "samples": samples}))
    return file.name


@pytest.fixture
def sides(tmp_path: Path) -> Path:
    """Two revisions on two machines, the second 30 % slower: 10 % is the change."""
    rng = np.random.default_rng(1)
    written(tmp_path / "before.json", [sample(rng, "r8", "old", 0.1)])
    written(tmp_path / "after.json", [sample(rng, "r9", "new", 0.1 * 1.3 * 1.1)])
    for number in (1, 4):
        own = [
            sample(rng, f"r{place}", machine, 0.1 * (1.3 if machine == "new" else 1.0) * (1.0 + 0.02 * place))
            for place in range(number)
            for machine in ("old", "new")
        ]
        written(tmp_path / f"bridges{number}.json", own)
    return tmp_path


def row(hati: Hati, *words: str) -> dict[str, Any]:
    compared = hati("compare", "before.json", "after.json", *words, "--fail-on", "none", "--format", "json")
    (found,) = json.loads(compared.out)["comparisons"]
    return {**found, "warnings": " ".join(compared.err.split())}


def test_without_a_bridge_the_needed_runs_are_named(hati: Hati, sides: Path) -> None:
    found = row(hati)
    assert (found["verdict"], found["p_value"], found["interval"]) == ("inconclusive", None, None)
    joining = {"machines": ["old", "new"], "revisions": [], "ratio": None, "interval": None, "bridges_needed": None}
    assert found["joining"] == joining
    assert "measure r8 on new as well" in found["warnings"]
    assert "three or more revisions with several runs each on both machines" in found["warnings"]


def test_a_single_bridge_has_an_interval_and_no_verdict(hati: Hati, sides: Path) -> None:
    found = row(hati, "--history", "bridges1.json")
    assert (found["verdict"], found["p_value"]) == ("inconclusive", None)
    assert found["interval"][0] < 1.1 < found["interval"][1]
    assert found["interval"][0] > 1.05
    assert "joined by one revision, r0" in found["warnings"]
    assert "measure another revision on both machines" in found["warnings"]


def test_bridges_join_and_their_variance_is_included(hati: Hati, sides: Path) -> None:
    found = row(hati, "--history", "bridges4.json")
    assert found["verdict"] == "slower"
    assert found["joining"]["revisions"] == ["r0", "r1", "r2", "r3"]
    assert found["joining"]["interval"][0] < 1.3 < found["joining"]["interval"][1]
    assert found["interval"][0] < 1.1 < found["interval"][1]
    direct = hati("compare", "before.json", "after.json", "--fail-on", "none", "--history", "bridges4.json")
    assert "by r0, r1, r2, r3, measured on both" in " ".join(direct.out.split())
    assert "measured on different machines" not in direct.out
    assert hati("compare", "before.json", "after.json", "--history", "bridges4.json").status == 1


def test_the_bootstrap_leaves_joined_intervals(hati: Hati, sides: Path) -> None:
    words = ("--history", "bridges4.json")
    assert row(hati, *words)["interval"] == row(hati, *words, "--interval", "bootstrap")["interval"]


def test_a_bridge_needs_several_runs_of_one_benchmark_on_both_machines(hati: Hati, sides: Path) -> None:
    document = json.loads((sides / "bridges4.json").read_text())
    for place, each in enumerate(document["samples"]):
        each["runs"] = each["runs"][: 1 if place < 4 else 8]
        each["benchmark"] = "other" if place >= 6 else "main"
    (sides / "bridges4.json").write_text(json.dumps(document))
    assert row(hati, "--history", "bridges4.json")["joining"]["revisions"] == ["r2"]


def history(rng: np.random.Generator, bridges: int, change: float) -> str:
    rows = ["revision,machine,latency (ms)"]
    for place in range(40):
        level = 10.0 * (change if place >= 20 else 1.0)
        both = 20 - bridges <= place < 20
        for machine in ("old", "new") if both else ("new",) if place >= 20 else ("old",):
            own = level * (1.3 if machine == "new" else 1.0)
            rows += [f"r{place:02},{machine},{own * float(np.exp(0.005 * rng.standard_normal()))}" for _ in range(3)]
    return "\n".join(rows)


@pytest.mark.parametrize(
    ("bridges", "change", "shown", "warning"),
    [
        (0, 1.1, [], "three or more positions, such as r19"),
        (1, 1.1, [], "r19 alone was measured on both"),
        (4, 1.1, [("r20", "slower", 4)], ""),
        (4, 1.0, [], ""),
    ],
)
def test_a_history_is_joined_at_a_change_of_machine(
    hati: Hati, tmp_path: Path, bridges: int, change: float, shown: list[tuple[str, str, int]], warning: str
) -> None:
    (tmp_path / "history.csv").write_text(history(np.random.default_rng(3), bridges, change))
    found = json.loads(hati("history", "history.csv", "--format", "json").out)
    assert [(each["position"], each["verdict"], each["bridges"]) for each in found["change_points"]] == shown
    (handover,) = found["handovers"]
    assert (handover["position"], handover["machines"], len(handover["bridges"])) == ("r20", ["old", "new"], bridges)
    assert warning in " ".join(found["warnings"])
    if bridges:
        assert handover["interval"][0] < change - 1.0 < handover["interval"][1]
    text = " ".join(hati("history", "history.csv").out.split())
    assert "change of machine old to new at r20: " in text
    assert found["machines"] == 2
