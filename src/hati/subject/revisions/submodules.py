"""The submodules of a commit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from hati.core import InputError
from hati.subject.revisions.commands import CommandError, asked, texts


class Submodule(NamedTuple):
    """A path in a commit, and the commit of another repository that belongs there."""

    path: str
    commit: str


def repositories(
    submodules: Sequence[Submodule], top: Path, folder: Path, common: Path
) -> Iterator[tuple[Submodule, Path]]:
    """The submodules that the user's work tree ``top`` has initialised, each with its repository.

    ``folder`` has the files of the commit, ``common`` is the repository of the work tree.

    Raises:
        InputError: where one of them has not the commit.
    """
    names = _names(folder) if submodules else {}
    for submodule in submodules:
        place = top / submodule.path
        own = common / "modules" / names.get(submodule.path, submodule.path)
        if (place / ".git").exists():
            [told] = texts(asked(("git", "rev-parse", "--absolute-git-dir"), place), b"\n")
            own = Path(told)
        if not (own / "objects").is_dir():
            continue
        try:
            asked(("git", "--git-dir", str(own), "cat-file", "-e", f"{submodule.commit}^{{commit}}"), folder)
        except CommandError:
            raise InputError(
                f"the submodule {submodule.path} has no commit {submodule.commit[:12]} here",
                fix=f"git -C {place} fetch",
            ) from None
        yield submodule, own


def _names(folder: Path) -> dict[str, str]:
    """The names of submodules by their paths, as the commit's own ``.gitmodules`` says."""
    if not (folder / ".gitmodules").is_file():
        return {}
    command = ("git", "config", "--null", "--file", ".gitmodules", "--get-regexp", r"^submodule\..*\.path$")
    try:
        entries = texts(asked(command, folder))
    except CommandError:
        return {}
    return {path: key.removeprefix("submodule.").removesuffix(".path") for key, _, path in map(_split, entries)}


def _split(entry: str) -> tuple[str, str, str]:
    return entry.partition("\n")
