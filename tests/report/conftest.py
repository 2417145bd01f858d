"""Makes the examples importable however the tests are started, and the samples of tests/studies."""

from __future__ import annotations

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent

sys.path[:0] = [str(HERE), str(HERE.parent / "studies")]
