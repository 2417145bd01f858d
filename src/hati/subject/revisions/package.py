"""A release of a Python package, from the index that pip is configured with."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from hati.core import InputError, Revision, RevisionKind
from hati.subject.revisions.directory import copy_tree

_RELEASE = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)==([A-Za-z0-9][A-Za-z0-9.!+_-]*)")
PACKAGES = ".packages"
"""The folder in a tree that a package is installed into; benchmarks find it by ``PYTHONPATH``."""


def package_revision(text: str) -> Revision | None:
    """The revision that ``name==version`` stands for; None for other texts."""
    return Revision(text, RevisionKind.PACKAGE) if _RELEASE.fullmatch(text) else None


class Package:
    """Releases of packages, installed beside a copy of the project's own files: those of its benchmarks."""

    def __init__(self, top: Path) -> None:
        self.top = top

    def put(self, revision: str, folder: Path) -> None:
        """Copy the project's files, and install the wheel and what it depends on for the ``python3`` of the benchmarks.

        Raises:
            InputError: where pip fails, with what it said.
            OSError: where they cannot be written.
        """
        copy_tree(self.top, folder)
        target = folder / PACKAGES
        command = ["python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]
        command += ["--only-binary", ":all:", "--no-compile", "--target", str(target), revision]
        try:
            done = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        except FileNotFoundError:
            raise InputError(f"{revision} cannot be installed: there is no python3") from None
        if done.returncode != 0:
            said = [line for line in done.stderr.decode("utf-8", "replace").splitlines() if line.startswith("ERROR: ")]
            why = said[-1].removeprefix("ERROR: ") if said else f"pip ended with {done.returncode}"
            raise InputError(f"{revision} cannot be installed: {why}", fix="see `python3 -m pip install` of it")
