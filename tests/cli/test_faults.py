"""Faults of Hati itself never end with the status of a verdict."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Hati


def failing(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    """`hati space` after some code in Python."""
    program = f"import sys\n{code}\nfrom hati.cli import main\nsys.exit(main({['space', *arguments]!r}))"
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)


BROKEN = """import hati.cli.app as p
def broken(*_, **__): raise RuntimeError('two\\nlines')
p._program = lambda *_: broken"""


def test_a_fault_has_a_status_of_its_own_and_no_traceback() -> None:
    done = failing(BROKEN)
    assert done.returncode == 70
    assert done.stderr.startswith("error: a fault in Hati at <string>:3: RuntimeError: two lines; report it with")
    assert "Traceback" not in done.stderr


def test_debugging_shows_where_a_fault_is_and_keeps_the_status() -> None:
    done = failing(BROKEN, "--debug")
    assert done.returncode == 70
    assert "Traceback" in done.stderr


def test_debugging_keeps_the_status_of_bad_input(tmp_path: Path) -> None:
    done = failing("", "count", str(tmp_path / "nowhere"), "--debug")
    assert done.returncode == 2
    assert "Traceback" in done.stderr


def test_what_cannot_be_loaded_is_no_verdict() -> None:
    done = failing("sys.modules['typer'] = None")
    assert done.returncode == 70
    assert "Hati cannot be loaded: ModuleNotFoundError" in done.stderr


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone whose submodule is not initialised."""
    identity = ("-c", "user.name=a", "-c", "user.email=a@b", "-c", "protocol.file.allow=always")

    def git(*arguments: str, folder: Path = tmp_path) -> None:
        subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)

    for name in ("library", "project"):
        git("init", "-q", name)
        git("commit", "-q", "--allow-empty", "-m", name, folder=tmp_path / name)
    metric = '[[benchmark.metric]]\nname = "wall_time"\nunit = "s"\n'
    (tmp_path / "project/hati.toml").write_text(
        '[subject]\nname = "x"\n[[benchmark]]\nname = "b"\ncommand = ["true"]\nreader = "process"\n' + metric
    )
    git("submodule", "add", "-q", str(tmp_path / "library"), "lib", folder=tmp_path / "project")
    git("add", "--all", folder=tmp_path / "project")
    git("commit", "-q", "-m", "with a library", folder=tmp_path / "project")
    git("clone", "-q", "project", "clone")
    return tmp_path / "clone"


def test_a_submodule_that_is_not_initialised_is_no_fault(clone: Path, hati: Hati) -> None:
    before = hati("run", "--budget", "2", "--format", "json", folder=clone)
    assert before.status == 0, before.err
    (clone / "lib/new.c").write_text("int main;")
    after = hati("run", "--budget", "2", "--format", "json", folder=clone)
    assert after.json["revision"] != before.json["revision"]


NASTY = """
[subject]
name = "nasty"

[[benchmark]]
name = "b"
command = ["sh", "-c", "case {how} in kill) kill -9 $PPID;; stop) kill -STOP $PPID; sleep 1;; esac"]
reader = "process"

[[benchmark.metric]]
name = "wall_time"
unit = "s"

[options.how]
settings = ["well", "kill", "stop"]
"""


def test_a_benchmark_that_attacks_what_watches_over_it_fails_and_others_are_measured(
    tmp_path: Path, hati: Hati
) -> None:
    (tmp_path / "hati.toml").write_text(NASTY)
    done = hati(
        "run", "--set", "how=well", "--set", "how=kill", "--set", "how=stop", "--budget", "6", "--format", "json"
    )
    assert done.status == 0, done.err
    assert done.json["runs"] == {"done": 2, "failed": 4}
    assert "was killed or stopped, by the command" in done.json["failures"][0]
