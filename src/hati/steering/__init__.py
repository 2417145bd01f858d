"""The choice of a machine's next batch: pure, from what is open, what is in progress, and what the machine has.

Also the state of a ledger as values.
"""

from hati.steering.choosing import Client, ClientKind, Queue, Requirements, SteeringDecision, choose, obstacle, unmet
from hati.steering.status import FailedBatch, LeaseStatus, LedgerStatus, MachineStatus, StudyStatus, Waiting

__all__ = [
    "Client",
    "ClientKind",
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
