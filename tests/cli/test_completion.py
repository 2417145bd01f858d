"""``hati completion``: what the scripts ask, and what the program answers."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from conftest import Hati


def shell(command: list[str], **variables: str) -> str:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    own = {**os.environ, "PATH": path, **variables}
    return subprocess.run(command, env=own, capture_output=True, text=True, check=True, timeout=60).stdout


@pytest.mark.parametrize(
    ("words", "expected"),
    [("hati comp", "compare compare-effects completion"), ("hati findings ack", "acknowledge"),
     ("hati screen --rel", "--relevant"), ("hati run --format m", "markdown")],
)  # fmt: skip
def test_bash_completes(words: str, expected: str) -> None:
    typed = words.split()
    script = f"""
      source <(hati completion bash)
      COMP_WORDS=({words}) COMP_CWORD={len(typed) - 1}
      $(complete -p hati | sed 's/.*-F \\([^ ]*\\).*/\\1/') hati
      echo "${{COMPREPLY[@]}}"
    """
    assert shell(["bash", "--norc", "-c", script]).strip() == expected


def test_zsh_and_fish_are_answered(hati_here: Hati) -> None:
    for name, word in (("zsh", "#compdef hati"), ("fish", "complete --command hati")):
        done = hati_here("completion", name)
        assert done.status == 0
        assert word in done.out
        assert f"_HATI_COMPLETE=complete_{name}" in done.out
        if shutil.which(name):
            subprocess.run([name, "-n"], input=done.out, text=True, check=True)
    asked = {"_TYPER_COMPLETE_ARGS": "hati scr", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}
    for name in ("zsh", "fish"):
        assert "screen" in shell(["hati"], _HATI_COMPLETE=f"complete_{name}", **asked)


def test_an_unknown_shell_is_refused(hati_here: Hati) -> None:
    done = hati_here("completion", "tcsh")
    assert done.status == 2
    assert "'bash', 'zsh', 'fish'" in done.err
