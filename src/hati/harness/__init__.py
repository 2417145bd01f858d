"""Decisions about how to measure, without measuring: what was observed comes in, what to do about it comes out.

Which observations of a run are warm-up, and which runs were disturbed.
"""

from hati.harness.interference import disturbances
from hati.harness.warmup import leading, warmup

__all__ = ["disturbances", "leading", "warmup"]
