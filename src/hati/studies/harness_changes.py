"""What changed in the files that measure, between revisions that are compared."""

from __future__ import annotations

from msgspec import Struct

from hati.core.wording import listed

_NAMED = 6


class HarnessChange(Struct, frozen=True):
    """The files of the harness that differ between two revisions, which are named as in tables.

    None are named if it is not known, as the repository no longer has the commits.
    """

    before: str
    after: str
    files: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """A warning that a difference may be that of the benchmark."""
        if not self.files:
            return (
                f"it is not known whether the benchmark changed too between {self.before} and {self.after}: "
                "the repository no longer has all of these commits"
            )
        return (
            f"the benchmark changed too between {self.before} and {self.after}: {listed(self.files, _NAMED)}; "
            "a difference there may come from the benchmark, and not from the subject"
        )
