"""The process that records, told from children of it that a measured function makes and does not end."""

from __future__ import annotations

import os
import select

from .trouble import Trouble

_PATIENCE = 10.0
"""Seconds that a child has to end, or to come back from what is measured."""
_WHY = "the measured function forks, and the child goes on: end it in the function, by os._exit"


class Original:
    """The process that this is made in; a child of it that comes to ``see`` ends, and ``see_alone`` tells of it."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._read, self._write = os.pipe()

    @property
    def here(self) -> bool:
        """Whether it is this one."""
        return os.getpid() == self._process

    def see(self) -> None:
        """End a child, as nothing that it would measure counts."""
        if not self.here:
            try:
                os.write(self._write, b"!")
            finally:
                os._exit(1)

    def see_alone(self) -> None:
        """See that no child went on: each has ended, or has not come back for long; once, at the end.

        Raises:
            Trouble: where one did.
        """
        os.close(self._write)
        told, _, _ = select.select([self._read], [], [], _PATIENCE)
        if told and os.read(self._read, 1):
            raise Trouble(_WHY)
