"""Whether the functions, workloads and instances of benchmarks can be found: one interpreter imports all of them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from hati.core import Benchmark
from hati.python.injection import recorder
from hati.python.interpreter import Interpreter

_RECORDER = "recorder.py"
_KINDS = ("method", "workload", "instance")
_PATIENCE = 60.0


def names_of(benchmark: Benchmark) -> tuple[tuple[str, str], ...]:
    """The kinds and references of what the benchmark of a Python function names; none of another benchmark."""
    recorded = any(file.path == _RECORDER for file in benchmark.files)
    return tuple(_named(benchmark.command)) if recorded else ()


def _named(command: Iterable[str]) -> Iterator[tuple[str, str]]:
    for word in command:
        kind, equals, text = word.partition("=")
        if equals and kind in _KINDS:
            yield kind, text


def unresolved(names: Iterable[tuple[str, str]], root: Path, tree: Path, interpreter: Interpreter) -> dict[str, str]:
    """Return why references cannot be measured in the revision whose files are in ``tree``, by reference.

    Workloads and instances are those of the project ``root``.

    They are looked up by the interpreter that would measure them. Where its process ends early, nothing is known, and
    nothing is returned: the first run shows why.
    """
    wanted = [f"named.{kind}={text}" for kind, text in sorted(set(names))]
    if not wanted:
        return {}
    with TemporaryDirectory(prefix="hati-") as folder:
        script = Path(folder, _RECORDER)
        script.write_text(recorder(), encoding="utf-8")
        words = [interpreter.file(root), "-S", "-E", str(script), f"working={root.resolve()}"]
        try:
            done = subprocess.run(
                [*words, *interpreter.arguments, *wanted],
                cwd=tree,
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATIENCE,
                check=False,
            )
            return dict(json.loads(done.stdout)) if done.returncode == 0 else {}
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return {}
