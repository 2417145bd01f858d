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

    def nearest(self, text: str) -> str:
        """What to write in place of a name that is none."""
        ...

    def base(self) -> Revision | None:
        """The revision that what is in the folder now stems from; None where there is none yet."""
        ...

    def main(self) -> Revision | None:
        """The newest revision of the main branch, as far as there is one by a usual name."""
        ...

    def main_branch(self) -> str:
        """The name of the main branch."""
        ...

    def merge_base(self, first: Revision, second: Revision) -> Revision:
        """The newest revision of which all is in both.

        Raises:
            InputError: where there is none.
        """
        ...

    def before(self, revision: Revision) -> Revision:
        """The one before it on its line.

        Raises:
            InputError: where there is none.
        """
        ...

    def between(self, first: Revision, last: Revision) -> Sequence[Revision]:
        """Those after ``first`` up to ``last``, oldest first, on one line.

        Raises:
            InputError: where ``last`` does not come after ``first``.
        """
        ...

    def inside(self, first: Revision, last: Revision) -> Sequence[str]:
        """The ids of all revisions that ``last`` comes from and ``first`` does not, itself among them."""
        ...

    def contains(self, whole: Revision, part: str) -> bool:
        """Whether a revision is the one of the id ``part``, or comes from it."""
        ...

    def put(self, revision: str, folder: Path) -> None:
        """Write the files of the revision of that id into an empty folder.

        Raises:
            InputError: where they are not all there.
            OSError: where they cannot be written.
        """
        ...
