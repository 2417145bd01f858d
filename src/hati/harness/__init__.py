"""Decisions about how to measure, without measuring: what was observed comes in, what to do about it comes out.

For now: which observations of a run are warm-up.
"""

from hati.harness.warmup import leading, warmup

__all__ = ["leading", "warmup"]
