"""``python3 count.py MODULE:FUNCTION N SEED``: how many of the interpreter's instructions a call takes."""

from __future__ import annotations

import importlib
import json
import random
import sys
from string import ascii_letters
from types import FrameType
from typing import Any

SHORTEST, LONGEST = 5, 20


class Steps:
    """Counts the instructions of all functions that are called while it traces."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> Steps:
        """Ask for every instruction of a function, and count those."""
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        self.count += event == "opcode"
        return self


def main(method: str, n: int, seed: str) -> None:
    module, _, function = method.partition(":")
    called = getattr(importlib.import_module(module), function)
    rng = random.Random(seed)
    words = ["".join(rng.choices(ascii_letters, k=rng.randint(SHORTEST, LONGEST))) for _ in range(n)]
    steps = Steps()
    sys.settrace(steps)
    called(words)
    sys.settrace(None)
    print(json.dumps({"metric": "steps", "value": steps.count}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
