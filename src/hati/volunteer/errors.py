"""Errors of the client: each is one line, with what to do about it."""

from __future__ import annotations

from typing import Optional

BAD_INPUT, CANNOT_RUN = 2, 4
"""Exit statuses: what the user gave is wrong; nothing can be run here."""


class JoinError(Exception):
    """The client cannot go on; ``fix`` says what to do, ``status`` is the exit status."""

    def __init__(self, message: str, fix: str = "", status: int = CANNOT_RUN) -> None:
        super().__init__(f"{message}; {fix}" if fix else message)
        self.status = status


class EnvelopeError(Exception):
    """An envelope or an artefact that is not run; the batch is given back with this reason."""


class LimitExceeded(Exception):  # noqa: N818 - the client goes on
    """A run that was ended since it exceeded a limit of the machine's owner: not a failure of the subject."""


class Unreachable(Exception):  # noqa: N818 - it is tried again
    """The server is not reached, or, if ``answered``, asks to come back, after ``wait`` seconds if it says when."""

    def __init__(self, message: str, wait: Optional[float] = None, *, answered: bool = False) -> None:
        super().__init__(message)
        self.wait, self.answered = wait, answered


class ServerRefusal(Exception):  # noqa: N818 - its status says what it means
    """A request that the server refused, with the HTTP status and its reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
