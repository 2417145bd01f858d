"""Against what a revision is compared."""

from __future__ import annotations

from pathlib import Path

from hati.core import InputError, Revision, RevisionKind
from hati.subject import Revisions

PREVIOUS = "previous"
MERGE_BASE = "merge-base"


def reference_of(revisions: Revisions, revision: Revision, wanted: str | None, start: Path | None = None) -> Revision:
    """The revision of that name; ``previous``: the one before; ``merge-base``: where it left the main branch.

    Where nothing is said that last one, or the one before where it is on the main branch itself; of what is in the
    folder now the last commit, unless that is what is there. Paths of folders count from ``start``, else from the
    current folder.

    Raises:
        InputError: where there is no such revision.
    """
    if wanted not in {None, PREVIOUS, MERGE_BASE}:
        return revisions.find(str(wanted), start)
    history = revisions.history
    if history is None:
        raise InputError(
            "there is no repository to find the previous revision in",
            fix="name the reference by --reference, such as ./before",
        )
    here = revision.kind is RevisionKind.DIRECTORY
    commit = history.base() if here else revision
    if commit is None:
        raise InputError("the repository has no commit yet", fix="name a folder by --reference, such as ./before")
    if wanted != PREVIOUS:
        main = history.main()
        if main is None and wanted is not None:
            raise InputError("there is no main branch by a usual name", fix="name the reference by --reference")
        base = None if main is None else history.merge_base(commit, main)
        if base is not None and (base.id != commit.id or wanted is not None):
            return revisions.known(base)
    return revisions.known(commit if here else history.before(commit))
