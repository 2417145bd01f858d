"""What one combination of three settings does, through `hati screen` and `hati validate`."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Hati = Callable[..., Any]

PROGRAM = """
import json, sys
from random import Random
on = {word.split("=")[0]: word.endswith("on") for word in sys.argv[1:]}
rate = 1000.0
if on["jit"] and on["parallel"] and on["large"]:
    rate *= 0.02
rate *= 1.3 if on["cache"] else 1.0
rate *= 0.9 if on["log"] else 1.0
noise = Random(" ".join(sys.argv[1:])).gauss(0, 0.01)
print(json.dumps({"metric": "rate", "unit": "1/s", "value": rate * (1 + noise)}))
"""

PROJECT = f"""
[subject]
name = "program"

[[benchmark]]
name = "main"
command = ["{sys.executable}", "-S", "program.py", "run={{repetition}}"]
reader = "hati"

[[benchmark.metric]]
name = "rate"
unit = "1/s"
better = "higher"
"""

OPTION = """
[options.{name}]
settings = ["off", "on"]
argument = "{name}={{}}"
"""

THREE = {"jit", "parallel", "large"}
OTHERS = ("cache", "log", "trace", "stats", "check", "sync", "order")


@pytest.fixture
def program(tmp_path: Path) -> Path:
    options = [OPTION.format(name=name) for name in (*sorted(THREE), *OTHERS)]
    (tmp_path / "hati.toml").write_text(PROJECT + "".join(options))
    (tmp_path / "program.py").write_text(PROGRAM)
    return tmp_path


@pytest.mark.acceptance
def test_what_three_settings_do_together_is_named_and_hides_nothing(hati_here: Hati, program: Path) -> None:
    """Pairs alone leave it as noise, and of `log` nothing is shown: the smallest effect that would be is 16 %."""
    done = hati_here("screen", ".", "--budget", "72", "--format", "json")
    assert done.status == 0, done.err
    important = {frozenset(effect["options"]) for effect in done.json["effects"] if effect["important"]}
    assert frozenset(THREE) in important
    assert {name for effect in important for name in effect} == {*THREE, "cache", "log"}
    log = next(effect for effect in done.json["effects"] if effect["options"] == ["log"])
    low, high = log["relative_interval"]
    assert -0.12 < low < high < -0.08
    jit = [each for each in done.json["conditional_effects"] if each["option"] == "jit"]
    assert [each["at"] for each in jit] == [
        {"large": large, "parallel": parallel} for large in ("off", "on") for parallel in ("off", "on")
    ]
    assert [each["relative"] for each in jit] == pytest.approx([0.0, 0.0, 0.0, -0.98], abs=0.02)
    validated = hati_here("validate", ".", "--budget", "12", "--order", "2")
    assert validated.status == 0, validated.err
    assert "confirmed      jit x large x parallel has a relevant effect" in validated.out
    assert "up to order 2, no effects are active but the important ones" in " ".join(validated.out.split())
