"""Projects to run the program on, and a way to run it."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from golden_json import held

from forked import Server
from hati.cli import main

HATI = str(Path(sys.executable).with_name("hati"))

_COMMAND = re.compile(r"""^ *(hati .*)$|`(hati (?:'[^']*'|"[^"]*"|[^`'"])*)`""", re.MULTILINE)


def printed_commands(text: str) -> list[list[str]]:
    """The words of each command in an output, without the program's name: on its own line, or in backquotes."""
    return [shlex.split(own or inline)[1:] for own, inline in _COMMAND.findall(text)]


SUBJECT = """
import json, sys
settings = dict(word.split("=") for word in sys.argv[1:])
latency = 0.010
latency *= 1.5 if settings["a"] == "on" else 1.0
latency *= 0.8 if settings["b"] == "on" else 1.0
noise = sum(ord(c) * (i + 7) for i, c in enumerate(" ".join(sys.argv[1:]))) % 97 / 97 - 0.5
noise += (int(settings["repetition"]) * 37 % 11) / 11 - 0.5
print("some other output")
print(json.dumps({"metric": "latency", "values": [9.0, latency * (1 + 0.004 * noise), latency * (1 + 0.005 * noise)]}))
print(json.dumps({"metric": "throughput", "unit": "1/s", "value": 1 / latency}))
"""

OPTIONS = "abcdef"

PROJECT = """
[subject]
name = "fake"

[[benchmark]]
name = "main"
command = ["PYTHON", "-S", "subject.py", "repetition={repetition}"]
reader = "hati"
warmup = 1
timeout = "20s"

[[benchmark.metric]]
name = "latency"
unit = "s"

[[benchmark.metric]]
name = "throughput"
unit = "1/s"
better = "higher"
""" + "".join(f'\n[options.{name}]\nsettings = ["off", "on"]\nargument = "{name}={{}}"\n' for name in OPTIONS)


@pytest.fixture(autouse=True)
def _clock_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The windows of the clock's readings follow each other without a wait."""
    monkeypatch.setattr("hati.probing.executing._BETWEEN_WINDOWS", 0.0)


@dataclass(frozen=True)
class Done:
    """What became of a command."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return held(json.loads(self.out))


Hati = Callable[..., Done]


@pytest.fixture
def hati(tmp_path: Path, hati_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Hati:
    """Runs the program in the test's folder."""
    results = tmp_path_factory.mktemp("results")

    def run(*arguments: str, env: Mapping[str, str] | None = None, folder: Path = tmp_path) -> Done:
        # A lock of its own: these tests measure nothing that others would disturb.
        environment = {**os.environ, "COLUMNS": "80", "HATI_LOCK": str(tmp_path.parent / "lock"), **(env or {})}
        environment.pop("HATI_STORE", None)
        return Done(*hati_server.run(arguments, folder, environment, results))

    return run


@pytest.fixture
def hati_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Hati:
    """The same in the test's own process, which is quicker."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("HATI_LOCK", str(tmp_path.parent / "lock"))
    monkeypatch.delenv("HATI_STORE", raising=False)

    def run(*arguments: str, folder: Path = tmp_path) -> Done:
        monkeypatch.chdir(folder)
        capfd.readouterr()
        status = main(arguments)
        return Done(status, *capfd.readouterr())

    return run


@pytest.fixture
def fake_project(tmp_path: Path) -> Path:
    """A project with six options, of which a and b matter, whose values are a function of the settings."""
    (tmp_path / "hati.toml").write_text(PROJECT.replace("PYTHON", sys.executable))
    (tmp_path / "subject.py").write_text(SUBJECT)
    return tmp_path
