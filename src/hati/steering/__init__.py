"""Which batch a machine runs next: a pure choice from what is open, what is under way, and what the machine has.

Also what a ledger shows of all that, as values.
"""

from hati.steering.choosing import Client, Queue, Requirements, SteeringDecision, choose, obstacle, unmet
from hati.steering.status import FailedBatch, LeaseStatus, LedgerStatus, MachineStatus, StudyStatus, Waiting

__all__ = [
    "Client",
    "FailedBatch",
    "LeaseStatus",
    "LedgerStatus",
    "MachineStatus",
    "Queue",
    "Requirements",
    "SteeringDecision",
    "StudyStatus",
    "Waiting",
    "choose",
    "obstacle",
    "unmet",
]
