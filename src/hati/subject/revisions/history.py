"""What is asked of a repository."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from hati.core import Revision


class History(Protocol):
    """A repository that the project is in: its revisions, and the files of each."""

    @property
    def top(self) -> Path:
        """The folder that a revision's files are those of."""
        ...

    def find(self, text: str) -> Revision | None:
        """The revision that is called so, or None.

        Raises:
            InputError: where the repository cannot be read.
        """
        ...

    def between(self, first: Revision, last: Revision) -> Sequence[Revision]:
        """Those after ``first`` up to ``last``, oldest first, on one line.

        Raises:
            InputError: where ``last`` does not come after ``first``.
        """
        ...

    def put(self, revision: str, folder: Path) -> None:
        """Write the files of the revision of that id into an empty folder.

        Raises:
            InputError: where they are not all there.
            OSError: where they cannot be written.
        """
        ...
