"""What git lists of a folder."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path


def git_files(folder: Path, *options: str) -> frozenset[str]:
    """The paths that ``git ls-files`` tells, relative to the folder; none where git or its repository is not there."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    command = ["git", "--literal-pathspecs", "ls-files", "-z", *options]
    try:
        listed = subprocess.run(command, cwd=folder, env=environment, capture_output=True, check=False)
    except FileNotFoundError:
        return frozenset()
    if listed.returncode != 0:
        return frozenset()
    return frozenset(os.fsdecode(name) for name in listed.stdout.split(b"\0") if name)


def tracked(folder: Path, paths: Iterable[str]) -> frozenset[str]:
    """Those of the paths, relative to the folder, that git tracks."""
    asked = list(paths)
    return git_files(folder, "--cached", "--", *asked) if asked else frozenset()
