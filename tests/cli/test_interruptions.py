"""Interrupted commands: quiet while they load, and with what is kept once a study is under way."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from interrupts import heeding_signals

LOADING = """
import builtins, signal, sys
real, sent = builtins.__import__, []

def load(name, *rest):
    if name == {module!r} and not sent:
        sent.append(name)
        {interruption}
    return real(name, *rest)

builtins.__import__ = load
sys.argv = ['hati', *{words!r}]
from hati.cli import main
sys.exit(main())
"""
SENT = "signal.raise_signal(signal.SIGINT)"
LOST = """class Freed:
            def __del__(self): signal.raise_signal(signal.SIGINT)
        Freed()"""
"""An interruption in a finalizer, as when an import releases its lock."""
SOURCES = Path(__file__).parents[2] / "src"


def loading(module: str, interruption: str, *words: str) -> subprocess.CompletedProcess[str]:
    """A command that is interrupted as it imports a module."""
    script = LOADING.format(module=module, interruption=interruption, words=words)
    command = [sys.executable, "-c", script]
    return subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=heeding_signals)


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("importlib.metadata", ("--version",)),
        ("typer", ("space", "count")),
        ("hati.harness.document", ("studies",)),
    ],
)
@pytest.mark.parametrize("interruption", [SENT, LOST], ids=["sent", "in a finalizer"])
def test_a_command_that_is_interrupted_as_it_loads_ends_quietly(
    interruption: str, module: str, words: tuple[str, ...]
) -> None:
    done = loading(module, interruption, *words)
    assert (done.returncode, done.stdout) == (130, "")
    assert done.stderr in {"", "interrupted\n"}


def test_nothing_is_loaded_before_interruptions_are_heeded() -> None:
    script = f"import sys; sys.path.append({str(SOURCES)!r}); import hati.cli; print(*sys.modules)"
    command = [sys.executable, "-S", "-c", script]
    loaded = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert not {"collections", "contextlib", "enum", "signal", "typing"} & set(loaded)


def test_a_command_that_is_asked_to_end_twice_ends_once() -> None:
    """As by `timeout`, which sends the signal to the command, and to its group."""
    script = "import os, signal, sys, time\nfrom hati.cli import app\n"
    script += "def study(*_, obj, **__):\n    obj.add('the same command')\n"
    script += "    try: os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)\n"
    script += "    except KeyboardInterrupt:\n"
    script += "        os.kill(os.getpid(), signal.SIGTERM); time.sleep(0.1); print('ended')\n"
    script += "        return 130\n"
    script += "app._program = lambda *_: study\nsys.exit(app.run(['run']))"
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, check=False, preexec_fn=heeding_signals)
    assert (done.returncode, done.stdout) == (130, "ended\n")
    assert done.stderr == "interrupted: what was recorded is kept; the same command goes on from there\n"
