"""Which batch a machine runs next: a pure choice from what is open, what is under way, and what the machine has."""

from hati.steering.choosing import Client, OpenBatches, Requirements, SteeringDecision, choose, obstacle, unmet

__all__ = ["Client", "OpenBatches", "Requirements", "SteeringDecision", "choose", "obstacle", "unmet"]
