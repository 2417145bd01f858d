"""Randomness that is recorded: every generator comes from a seed and a purpose."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np


def generator(seed: int, *purpose: str) -> np.random.Generator:
    """A random generator for a purpose: different purposes of one seed are independent streams."""
    import numpy as np  # here, so that help is shown without it

    words = hashlib.sha256("\x1f".join(purpose).encode()).digest()[:16]
    spawn_key = tuple(int.from_bytes(words[i : i + 4], "little") for i in range(0, 16, 4))
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=spawn_key)))
