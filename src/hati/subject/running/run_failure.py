"""Why a run has no observations."""

from __future__ import annotations

import re
import signal
from typing import TYPE_CHECKING

from hati.core import Outcome

if TYPE_CHECKING:
    from hati.subject.running.programs import ProcessResult, Program


_ENOUGH = 200
_HINT = re.compile(r"^usage:|--help\b|for more information", re.IGNORECASE)


class RunFailure(Exception):  # noqa: N818 - it ends a run, not the program: the run is recorded with it
    """A run that came to nothing: how it ended, why, and what is known of the program that did it."""

    def __init__(self, outcome: Outcome, detail: str, ending: ProcessResult | None = None) -> None:
        super().__init__(detail)
        self.outcome = outcome
        self.detail = detail
        self.ending = ending


class SupervisorLost(RunFailure):
    """One whose supervisor was lost: the same may go well when it is tried again."""


def failure(what: str, program: Program, ending: ProcessResult, why: str = "") -> str:
    """Why a program that has ended did not end well, in a line; empty where it did.

    ``why`` is the line that says it, the last one of its output where none is known.
    """
    if ending.problem == "timeout":
        return f"{what} did not end within {program.timeout:g} s and was killed; raise `timeout` or give it less to do"
    if ending.problem == "output":
        return f"{what} printed more than 16 MiB and was killed; let it print less"
    if ending.exit == 0:
        return ""
    return f"{what} ended with {_status(ending.exit)}{f': {why}' if why else last_line(ending)}"


def last_line(ending: ProcessResult) -> str:
    """The last line that a program printed, other than hints at its usage, to be put behind a message."""
    lines = [line.strip() for line in ending.output.splitlines() if line.strip()]
    said = [line for line in lines if not _HINT.search(line)] or lines
    return f": {said[-1][:_ENOUGH]}" if said else ""


def _status(status: int | None) -> str:
    if status is None or status >= 0:
        return f"exit status {status}"
    try:
        return f"signal {signal.Signals(-status).name}"
    except ValueError:
        return f"signal {-status}"
