"""The process that records, told from children of it that a measured function makes and does not end."""

from __future__ import annotations

import os
import select

from .trouble import Trouble

_PATIENCE = 10.0
"""Seconds that a child has to end, or to come back from what is measured."""
_WHY = "the measured function forks, and the child goes on: end it in the function, by os._exit"


class Original:
    """The process that this is made in; of a child of it that comes to ``see``, or ``fails``, ``see_alone`` tells."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)  # of what is more than a pipe holds only the first is told

    @property
    def here(self) -> bool:
        """Whether it is this one."""
        return os.getpid() == self._process

    def see(self) -> None:
        """End a child, as nothing that it would measure counts."""
        if not self.here:
            try:
                self._leave("")
            finally:
                os._exit(1)

    def fails(self, why: str) -> None:
        """Leave it to the original to tell that this failed, if it is a child."""
        if not self.here:
            self._leave(why)

    def see_alone(self) -> None:
        """See that no child came back: each has ended by itself, or has not come back for long; once, at the end.

        Raises:
            Trouble: where one did.
        """
        os.close(self._write)
        first = self._left()
        if first.startswith(b"\n"):
            raise Trouble(_WHY)
        if first:
            while self._left():  # the last word is the original's
                pass
            why = first.decode("utf-8", "replace").splitlines()[0]
            raise Trouble(f"a child that the measured function forks failed: {why}")

    def _leave(self, why: str) -> None:
        """A line for the original; whole, as it is no longer than what is written at once."""
        try:  # noqa: SIM105 - contextlib would be loaded beside what is measured
            os.write(self._write, why.encode("utf-8", "replace")[: select.PIPE_BUF - 1] + b"\n")
        except OSError:  # the pipe is full, or the original has ended
            pass

    def _left(self) -> bytes:
        told, _, _ = select.select([self._read], [], [], _PATIENCE)
        return os.read(self._read, select.PIPE_BUF) if told else b""
