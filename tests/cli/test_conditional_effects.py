"""Effects at each setting of another option, and an option that hides the others, through `hati screen`."""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import printed_commands

Hati = Callable[..., Any]

SERVER = """
import json, sys
from random import Random
on = {word.split("=")[0]: word.endswith("on") for word in sys.argv[1:]}
tps = 1000.0
if on["jit"]:
    tps *= 0.04
else:
    tps *= 1.0 if on["fsync"] else 1.41
    tps *= 1.0 if on["commit"] else 1.2
noise = Random(" ".join(sys.argv[1:])).gauss(0, 0.01)
print(json.dumps({"metric": "tps", "unit": "1/s", "value": tps * (1 + noise)}))
"""

PROJECT = f"""
[subject]
name = "server"

[[benchmark]]
name = "main"
command = ["{sys.executable}", "-S", "server.py", "run={{repetition}}"]
reader = "hati"

[[benchmark.metric]]
name = "tps"
unit = "1/s"
better = "higher"
"""

OPTION = """
[options.{name}]
settings = ["off", "on"]
default = "{default}"
argument = "{name}={{}}"
"""

DEFAULTS = {"jit": "off", "fsync": "on", "commit": "on", "log": "off", "trace": "off"}


@pytest.fixture
def server(tmp_path: Path) -> Path:
    """A server whose option jit makes all others irrelevant; jit=off is the default."""
    options = [OPTION.format(name=name, default=default) for name, default in DEFAULTS.items()]
    (tmp_path / "hati.toml").write_text(PROJECT + "".join(options))
    (tmp_path / "server.py").write_text(SERVER)
    return tmp_path


def test_effects_are_reported_at_each_setting_of_the_option_that_they_depend_on(hati_here: Hati, server: Path) -> None:
    done = hati_here("screen", ".", "--budget", "64", "--format", "json")
    assert done.status == 0, done.err
    found = [each for each in done.json["conditional_effects"] if each["option"] == "fsync"]
    assert [each["at"] for each in found] == [{"jit": "off"}, {"jit": "on"}]
    assert {(each["from"], each["to"], each["interaction"]) for each in found} == {("off", "on", "found")}
    off, on = found
    assert off["relative"] == pytest.approx(1 / 1.41 - 1, abs=0.02)
    assert off["relative_interval"][0] < 1 / 1.41 - 1 < off["relative_interval"][1]
    assert on["relative"] == pytest.approx(0.0, abs=0.02)
    text = " ".join(hati_here("screen", ".", "--budget", "64").out.split())
    assert "Effects on tps at each setting of another option" in text


@pytest.mark.acceptance
def test_an_option_that_hides_the_others_is_fixed_by_the_command_that_is_shown(hati_here: Hati, server: Path) -> None:
    done = hati_here("screen", ".", "--budget", "64")
    words = " ".join(done.out.split())
    assert re.search(r"jit (and its interactions explain|explains) (99|100)\.\d % of the variance", words)
    assert "Fix `jit=off` and screen the rest:" in words
    (command,) = printed_commands(done.out)
    assert command == ["screen", "--metric", "tps", "--set", "jit=off", "--budget", "64"]
    (page,) = (server / ".hati" / "reports").glob("*.html")
    assert "--set jit=off" in page.read_text()
    rest = hati_here(*command, "--format", "json")
    assert rest.status == 0, rest.err
    effects = {tuple(effect["options"]): effect["relative"] for effect in rest.json["effects"]}
    assert effects["fsync",] == pytest.approx(1 / 1.41 - 1, abs=0.02)
    assert set(rest.json["important"]) == {"fsync", "commit"}
    assert rest.json["dominating"] is None


@pytest.mark.acceptance
def test_the_command_that_is_shown_keeps_the_template(hati_here: Hati, server: Path) -> None:
    template = ("--set", "log == 'off' or trace == 'off'", "--set", "commit=on")
    done = hati_here("screen", ".", "--budget", "64", *template)
    (command,) = printed_commands(done.out)
    assert command[:3] == ["screen", "--metric", "tps"]
    assert command[3:-2] == ["--set", "log == 'off' or trace == 'off'", "--set", "commit=on", "--set", "jit=off"]
    rest = hati_here(*command, "--format", "json")
    assert rest.status == 0, rest.err
    assert rest.json["important"] == ["fsync"]


@pytest.mark.acceptance
def test_the_command_that_is_shown_keeps_an_option_whose_name_has_a_blank_or_a_comma(
    hati_here: Hati, server: Path
) -> None:
    """Such a name is in backquotes only where it would not be read as one, and its setting is given once."""
    toml = (server / "hati.toml").read_text()
    for name, other in (("trace", "trace all"), ("log", "log,more")):
        toml = toml.replace(f"[options.{name}]", f'[options."{other}"]')
    (server / "hati.toml").write_text(toml)
    done = hati_here("screen", ".", "--budget", "64", "--set", "trace all=on", "--set", "`log,more`=off")
    assert done.status == 0, done.err
    (command,) = printed_commands(done.out)
    assert command[:4] == ["screen", "--metric", "tps", "--set"]
    assert sorted(command[4:-2:2]) == ["`log,more`=off", "jit=off", "trace all=on"]
    rest = hati_here(*command, "--format", "json")
    assert rest.status == 0, rest.err
    assert set(rest.json["important"]) == {"fsync", "commit"}


@pytest.mark.acceptance
def test_an_option_hides_the_others_of_many_as_well(hati_here: Hati, server: Path) -> None:
    """Of few runs for many options each option's columns explain a part of every other's."""
    more = "".join(OPTION.format(name=f"more{i}", default="off") for i in range(12))
    (server / "hati.toml").write_text((server / "hati.toml").read_text() + more)
    done = hati_here("screen", ".", "--budget", "31", "--format", "json")  # too few for an interim look
    assert done.status == 0, done.err
    assert done.json["dominating"]["option"] == "jit"
    assert "narrowed" not in done.json["dominating"]
    (jit,) = (effect for effect in done.json["effects"] if effect["options"] == ["jit"])
    assert jit["share"] < done.json["dominating"]["share"]


def test_where_effects_are_the_same_everywhere_nothing_is_reported(hati_here: Hati, fake_project: Path) -> None:
    done = hati_here("screen", ".", "--metric", "latency", "--budget", "64", "--format", "json")
    assert (done.json["conditional_effects"], done.json["dominating"]) == ([], None)


@pytest.fixture
def large_server(server: Path) -> Path:
    """The server with seven more options that do nothing: not all configurations can be run."""
    more = [OPTION.format(name=f"x{place}", default="off") for place in range(7)]
    (server / "hati.toml").write_text((server / "hati.toml").read_text() + "".join(more))
    return server


def test_later_runs_are_made_at_the_better_setting_of_an_option_that_hides_the_others(
    hati_here: Hati, large_server: Path
) -> None:
    done = hati_here("screen", ".", "--budget", "64", "--format", "json")
    assert done.status == 0, done.err
    assert set(done.json["important"]) == {"jit", "fsync", "commit"}
    effects = {tuple(effect["options"]): effect["relative"] for effect in done.json["effects"]}
    assert effects["jit",] == pytest.approx(0.04 / math.sqrt(1.41 * 1.2) - 1, abs=0.01)
    assert effects["fsync",] == pytest.approx(1 / 1.41 - 1, abs=0.02)
    narrowed = done.json["dominating"]["narrowed"]
    assert (narrowed["setting"], narrowed["runs"]) == ("off", 16)
    report = " ".join(hati_here("report", ".").out.split())
    assert "From run 17 on, all runs were made at jit=off" in report
    assert "hati screen --metric tps --set jit=on" in report
    assert done.json["runs"]["done"] == 64


@pytest.mark.acceptance
def test_what_is_found_at_the_better_setting_is_recommended_and_validated(hati_here: Hati, large_server: Path) -> None:
    advised = hati_here("screen", ".", "--budget", "110", "--recommend", "--format", "json")
    assert advised.status == 0, advised.err
    (advice, *_) = advised.json["recommendation"]["configurations"]
    assert (advice["confirmed"], advice["set"]["fsync"]) == (True, "off")
    validated = hati_here("validate", ".", "--budget", "24", "--format", "json")
    assert validated.status == 0, validated.err
    assert {tuple(effect["options"]) for effect in validated.json["effects"]} >= {("fsync",), ("commit",)}
