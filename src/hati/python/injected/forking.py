"""Distinguishes the recording process from children that a measured function forks and does not end."""

from __future__ import annotations

import os
import select

from .trouble import Trouble

_PATIENCE = 10.0
"""Seconds for a child to end, or to return from the measured function."""
_WHY = "the measured function forks, and the child returns from it: end the child in the function, with os._exit"


class Original:
    """The process that creates this object.

    A forked child that reaches ``check`` or ``fails`` reports to it through a pipe; then ``check_alone`` raises.
    """

    def __init__(self) -> None:
        self._process = os.getpid()
        self._read, self._write = os.pipe()
        os.set_blocking(self._write, False)  # only the first report counts: a full pipe may drop others

    @property
    def here(self) -> bool:
        """Whether the current process is the original."""
        return os.getpid() == self._process

    def check(self) -> None:
        """End the current process if it is a child, as its measurements do not count."""
        if not self.here:
            try:
                self._leave("")
            finally:
                os._exit(1)

    def fails(self, why: str) -> None:
        """Report a failure to the original if the current process is a child."""
        if not self.here:
            self._leave(why)

    def check_alone(self) -> None:
        """Check once, at the end, that no child returned: all have ended, or none reports for ``_PATIENCE`` seconds.

        Raises:
            Trouble: if a child returned or failed.
        """
        os.close(self._write)
        first = self._left()
        if first.startswith(b"\n"):
            raise Trouble(_WHY)
        if first:
            while self._left():  # wait for the children: the original's message must be the last
                pass
            why = first.decode("utf-8", "replace").splitlines()[0]
            raise Trouble(f"a child that the measured function forks failed: {why}")

    def _leave(self, why: str) -> None:
        """Send a line to the original, cut to what a pipe writes atomically."""
        try:  # noqa: SIM105 - the measured process must not load contextlib
            os.write(self._write, why.encode("utf-8", "replace")[: select.PIPE_BUF - 1] + b"\n")
        except OSError:  # the pipe is full, or the original has ended
            pass

    def _left(self) -> bytes:
        ready, _, _ = select.select([self._read], [], [], _PATIENCE)
        return os.read(self._read, select.PIPE_BUF) if ready else b""
