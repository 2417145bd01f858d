"""The conclusions that tests/report makes serve here too, and the samples of tests/studies."""

from __future__ import annotations

import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent.parent

sys.path[:0] = [str(TESTS / "report"), str(TESTS / "studies")]
