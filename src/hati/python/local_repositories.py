"""Digests of what is asked for of git repositories on this machine, as a clone finds it."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from hati.core import InputError, digest
from hati.python.local_content import is_there, normal

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
