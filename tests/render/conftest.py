"""Makes the conclusions and samples of tests/studies importable."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent

sys.path[:0] = [str(TESTS / "studies")]
