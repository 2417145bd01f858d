"""How a run ended."""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How a run ended."""

    DONE = "done"
    FAILED = "failed"
    TIMEOUT = "timeout"
    UNREADABLE = "unreadable"
    NOT_STARTED = "not started"
    NOT_BUILT = "not built"

    @property
    def started(self) -> bool:
        """Whether there was a process to tell of."""
        return self not in {Outcome.NOT_STARTED, Outcome.NOT_BUILT}
