"""Changes of a metric that is analysed as it is, through `hati screen` and `hati validate`."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Hati = Callable[..., Any]

PROGRAM = """
import json, sys
from random import Random
on = dict(word.split("=") for word in sys.argv[1:])
value = {VALUE} + Random(" ".join(sys.argv[1:])).gauss(0, 1.0)
print(json.dumps({"metric": "size", "unit": "ms", "value": max(0, round(value - 0.3, {DIGITS}))}))
"""

PROJECT = f"""
[subject]
name = "program"

[[benchmark]]
name = "main"
command = ["{sys.executable}", "-S", "program.py", "run={{repetition}}"]
reader = "hati"

[[benchmark.metric]]
name = "size"
unit = "ms"
better = "lower"
"""

OPTION = """
[options.{name}]
settings = {settings}
default = {default}
argument = "{name}={{}}"
"""

CACHE = '85.0 - 60.0 * (on["cache"] == "on") + 4.0 * (on["log"] == "on")'
CODEC = '{"none": 0.0, "lz": 3.0, "zstd": 12.0}[on["codec"]]'


def project(folder: Path, value: str, first: str, settings: list[str], digits: int) -> None:
    options = {first: settings, **{name: ["off", "on"] for name in ("log", "trace", "jit", "check")}}
    written = (OPTION.format(name=name, settings=of, default=repr(of[0])) for name, of in options.items())
    (folder / "hati.toml").write_text(PROJECT + "".join(written).replace("'", '"'))
    (folder / "program.py").write_text(PROGRAM.replace("{VALUE}", value).replace("{DIGITS}", str(digits)))


def test_from_85_to_25_is_71_percent_less(hati_here: Hati, tmp_path: Path) -> None:
    project(tmp_path, CACHE, "cache", ["off", "on"], digits=3)
    done = hati_here("screen", ".", "--budget", "40", "--format", "json")
    assert done.status == 0, done.err
    assert (done.json["scale"], done.json["relative_to"]) == ("raw", "first setting")
    cache = done.json["effects"][0]
    assert cache["options"] == ["cache"]
    assert cache["relative"] == pytest.approx(-60.0 / 87.0, abs=0.02)
    low, high = cache["relative_interval"]
    assert -1.0 < low < cache["relative"] < high < -0.6
    for each in done.json["conditional_effects"]:
        if each["option"] == "log":
            size = 4.0 / (85.0 if each["at"] == {"cache": "off"} else 25.0)
            assert each["relative"] == pytest.approx(size, abs=0.05)
    validated = hati_here("validate", ".", "--budget", "16", "--format", "json")
    assert validated.status in (0, 1), validated.err
    [again] = [each for each in validated.json["effects"] if each["options"] == ["cache"]]
    assert again["relative"] == pytest.approx(-60.0 / 87.0, abs=0.03)


def test_a_change_from_a_mean_that_may_be_zero_has_no_upper_end(hati_here: Hati, tmp_path: Path) -> None:
    project(tmp_path, CODEC, "codec", ["none", "lz", "zstd"], digits=0)
    done = hati_here("screen", ".", "--budget", "36", "--format", "json")
    assert done.status == 0, done.err
    codec = done.json["effects"][0]
    assert codec["options"] == ["codec"]
    assert codec["relative_interval"][1] is codec["relative"] is None
    assert codec["relative_interval"][0] > 5.0
    text = " ".join(hati_here("report", ".").out.split())
    assert " or more " in text
    assert "Change of ?: the mean that it is from may be zero" in text
    assert re.search(r"codec=none \(best\) to zstd \(worst\) \+1[0-9.]+ ms", text)
