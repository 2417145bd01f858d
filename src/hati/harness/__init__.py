"""Decisions about how to measure, without measuring: what was observed comes in, what to do about it comes out.

Which observations of a run are warm-up, in which order pairs of runs are made, and when to stop making them.
"""

from hati.harness.interleaving import first_of_pair
from hati.harness.stopping import RULES, AnytimeValid, FixedSize, StoppingRule
from hati.harness.warmup import leading, warmup

__all__ = [
    "RULES",
    "AnytimeValid",
    "FixedSize",
    "StoppingRule",
    "first_of_pair",
    "leading",
    "warmup",
]
