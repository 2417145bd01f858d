"""The simulations are those of ``benchmarks/``, which lies beside ``tests/``."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2]))
