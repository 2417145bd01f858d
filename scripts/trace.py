"""Trace Hati's functions in a command: ``python scripts/trace.py [--calls] screen examples/sqlite --budget 16``.

Prints the numbers of Hati's functions and files that are executed, and of its modules that are loaded; with ``--calls``
each function once, in the order of first calls, below the function that called it.
"""

from __future__ import annotations

import sys
from inspect import CO_OPTIMIZED
from pathlib import Path
from statistics import median
from types import CodeType, FrameType
from typing import Any

import hati
from hati.cli import main

_ROOT = str(Path(hati.__file__).parent)
_WITHOUT = {"<lambda>", "<listcomp>", "<genexpr>", "<dictcomp>", "<setcomp>"}


class Trace:
    """Collects the functions that are called, each with the depth of its first call."""

    def __init__(self) -> None:
        self.calls: dict[CodeType, int] = {}

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        """Record a call of one of Hati's functions."""
        code = frame.f_code
        if event == "call" and code not in self.calls and _own(code):
            self.calls[code] = _depth(frame)


def _own(code: CodeType) -> bool:
    """Whether it is a function of Hati's: code of class and module bodies is not optimised."""
    optimised = code.co_flags & CO_OPTIMIZED
    return bool(optimised) and code.co_filename.startswith(_ROOT) and code.co_name not in _WITHOUT


def _depth(frame: FrameType | None) -> int:
    found = 0
    while frame is not None:
        found += _own(frame.f_code)
        frame = frame.f_back
    return found


def _length(code: CodeType) -> int:
    lines = [line for _, _, line in code.co_lines() if line is not None]
    return max(lines) - code.co_firstlineno + 1


def run(words: list[str]) -> int:
    """Run a command, and print which parts of Hati it executed."""
    shown = "--calls" in words
    trace = Trace()
    sys.setprofile(trace)
    try:
        status = main([word for word in words if word != "--calls"])
    finally:
        sys.setprofile(None)
    if shown:
        for code, depth in trace.calls.items():
            place = code.co_filename.removeprefix(_ROOT).removeprefix("/")
            print(f"{'  ' * (depth - 1)}{code.co_qualname}  {place}:{code.co_firstlineno}", file=sys.stderr)
    files = {code.co_filename for code in trace.calls}
    loaded = [name for name in sys.modules if name.partition(".")[0] == "hati"]
    lengths = [_length(code) for code in trace.calls]
    print(
        f"{len(trace.calls)} functions (median length {median(lengths):g} lines) in {len(files)} files; "
        f"{len(loaded)} modules loaded",
        file=sys.stderr,
    )
    return status


if __name__ == "__main__":
    raise SystemExit(run(sys.argv[1:]))
