"""The process that records, told from children of it that a measured function makes and does not end."""

from __future__ import annotations

import os

from .trouble import Trouble

_WHY = "the measured function forks, and the child goes on: end it in the function, by os._exit"


class Original:
    """The process that this is made in; a child of it that comes to ``see`` ends, and ``see_alone`` tells of it."""

    def __init__(self) -> None:
        self._process = os.getpid()
        self._read, self._write = os.pipe()
        os.set_blocking(self._read, False)

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
        """See that no child went on.

        Raises:
            Trouble: where one did.
        """
        try:
            os.read(self._read, 1)
        except OSError:  # nothing is there to be read
            return
        raise Trouble(_WHY)
