"""The store: studies, their choices and their runs, in an SQL database.

Observations are stored raw, in order, with their warm-up, compressed. Each run is committed before ``record`` returns.
Tables are created and upgraded by migrations when a store is opened.
"""

from hati.store.ledger import ATTEMPTS, LEASE_SECONDS, Attempt, Lease, Ledger
from hati.store.ledger_entries import AttemptOutcome, BatchState, EntryKind, LedgerEntry, run_of
from hati.store.merging import Count, Merged, count_merge, merge, source_store
from hati.store.opening import find_store, open_store, read_store
from hati.store.rows import Span
from hati.store.sql import Selection, SqlStore, StudyRecord

__all__ = [
    "ATTEMPTS",
    "LEASE_SECONDS",
    "Attempt",
    "AttemptOutcome",
    "BatchState",
    "Count",
    "EntryKind",
    "Lease",
    "Ledger",
    "LedgerEntry",
    "Merged",
    "Selection",
    "Span",
    "SqlStore",
    "StudyRecord",
    "count_merge",
    "find_store",
    "merge",
    "open_store",
    "read_store",
    "run_of",
    "source_store",
]
