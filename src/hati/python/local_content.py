"""Digests of what is on this machine: files by their content, and repositories as a clone finds them."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from hati.core import InputError, digest

_MADE = {"build", "dist", "node_modules", "__pycache__"}
_MADE_KINDS = (".so", ".pyd", ".dll", ".dylib", ".o", ".obj", ".a", ".lib", ".pyc", ".pyo", ".egg", ".egg-info", ".log")
_MARKS = {"pyvenv.cfg", "CACHEDIR.TAG"}
_ABSENT = {errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG}


def content(tree: Path, place: Path) -> dict[str, str]:
    """A digest of an archive or of a folder's sources, by its path from the tree; none of the tree itself.

    Raises:
        OSError: for a file or a folder that cannot be read.
    """
    place = normal(place)
    if place == normal(tree) or not is_there(place):
        return {}
    files = [place] if is_file(place) else sorted(_sources(place))
    whole = {os.path.relpath(file, place): _hash(file) for file in files}
    return {os.path.relpath(place, tree): digest(whole)}


def normal(path: Path) -> Path:
    """The path without ``..``."""
    return Path(os.path.normpath(path))


def is_there(place: Path) -> bool:
    """Whether there is anything.

    Raises:
        OSError: where that cannot be seen.
    """
    return _mode(place) is not None


def is_file(place: Path) -> bool:
    """Whether there is a file.

    Raises:
        OSError: where that cannot be seen.
    """
    return stat.S_ISREG(_mode(place) or 0)


def walked(folder: Path) -> Iterator[tuple[Path, list[str], list[str]]]:
    """Each folder, from the top, with the names of the folders and of all else in it; none of a folder that is none.

    Raises:
        OSError: for a folder that cannot be listed.
    """
    if stat.S_ISDIR(_mode(folder) or 0):
        yield from ((Path(place), folders, names) for place, folders, names in os.walk(folder, onerror=_refused))


def _refused(error: OSError) -> NoReturn:
    raise error


def _mode(place: Path) -> int | None:
    try:
        return place.stat().st_mode
    except ValueError:  # such a name no file can have
        return None
    except OSError as error:
        if error.errno in _ABSENT:
            return None
        raise


def _hash(file: Path) -> str:
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _sources(folder: Path) -> Iterator[Path]:
    """What decides what is installed of a folder: all but what is hidden, was built or logged, and environments."""
    for here, folders, names in walked(folder):
        if here != folder and not _MARKS.isdisjoint(names):
            folders.clear()
            continue
        folders[:] = [name for name in folders if _is_source(name)]
        yield from (here / name for name in names if _is_source(name) and is_file(here / name))


def _is_source(name: str) -> bool:
    return not (name.startswith(".") or name in _MADE or name.endswith(_MADE_KINDS))


_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def commits(tree: Path, place: Path, revision: str) -> dict[str, str]:
    """A digest of the commits that a branch, a tag, a ref or ``HEAD`` is, by the repository's path from the tree.

    None of a commit, which is always the same, of what no revision is called, of a repository that is not there, and
    of the tree itself.

    Raises:
        InputError: where git cannot read it.
        OSError: where it cannot be seen whether it is there.
    """
    place = normal(place)
    if _COMMIT.fullmatch(revision) or "\0" in revision or place == normal(tree) or not is_there(place):
        return {}
    names = {revision, f"refs/heads/{revision}", f"refs/tags/{revision}"}
    told = [line for line in _asked(place, revision).splitlines() if line.partition("\t")[2] in names]
    return {f"{os.path.relpath(place, tree)}@{revision}": digest(told)}


def _asked(repository: Path, revision: str) -> str:
    command = ["git", "ls-remote", "--", str(repository), revision]
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    try:
        done = subprocess.run(
            command, env={**own, "LC_ALL": "C.UTF-8"}, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise InputError(f"git cannot read {repository}: it is not installed", fix="install git") from None
    except OSError as error:
        raise InputError(
            f"git cannot be started to read {repository}: {error.strerror}", fix="see whether git works by itself"
        ) from None
    if done.returncode:
        said = [*done.stderr.decode("utf-8", "replace").splitlines(), "it said nothing"][0].removeprefix("fatal: ")
        raise InputError(f"git cannot read {repository}: {said}", fix=f"see what `git ls-remote {repository}` says")
    return done.stdout.decode("utf-8", "replace")
