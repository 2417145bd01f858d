"""Makes a virtual environment in a revision's tree: a program of its own, with the standard library alone.

What is installed is what that revision says: ``uv.lock`` by ``uv sync`` where uv is there, else as constraints; then
``requirements.txt`` (or the only ``requirements*.txt``), and the project itself, editable, where it can be installed.
A release of a package is there already: beside it only the extra requirements are installed.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VENV = ".hati-venv"
"""The folder of the environment, in the revision's tree."""

_RELEASE = ".packages"
_CONSTRAINTS = Path(VENV, "constraints.txt")
_OLDEST_PIP = (22, 3)  # the first that installs into another interpreter's environment
_OFFLINE = "; nothing may be downloaded here: network = true below [python.environment] of hati.toml allows it"
_BRANCHES = "×╰├─▶│ "


class InstallationError(Exception):
    """What could not be done, in one line."""


@dataclass(frozen=True)
class Wishes:
    """The interpreter of the environment, and what is installed and handed on besides."""

    python: str
    extra: tuple[str, ...]
    options: tuple[str, ...]
    offline: bool

    @classmethod
    def parse(cls, words: Sequence[str]) -> Wishes:
        """Read ``key=value`` arguments."""
        pairs = [word.partition("=")[::2] for word in words]
        listed = {key: tuple(value for name, value in pairs if name == key) for key in ("extra", "option")}
        told = dict(pairs)
        return cls(told.get("python", "python3"), listed["extra"], listed["option"], told.get("network") != "allowed")

    @property
    def uv(self) -> tuple[str, ...]:
        """What every uv is told."""
        return (*self.options, *(["--offline"] if self.offline else []))

    @property
    def pip(self) -> tuple[str, ...]:
        """What every pip is told."""
        return (*self.options, *(["--no-index"] if self.offline else []))


def main(words: Sequence[str]) -> int:
    """Make the environment of the folder that this runs in."""
    wishes = Wishes.parse(words)
    is_release = os.environ.get("PYTHONPATH", "").endswith(_RELEASE)
    try:
        install(Path(), wishes, shutil.which("uv"), is_release)
    except InstallationError as error:
        sys.stderr.write(f"{error}{_OFFLINE if wishes.offline else ''}\n")
        return 1
    return 0


def install(tree: Path, wishes: Wishes, uv: str | None, is_release: bool) -> None:  # noqa: FBT001 - decided outside
    """Make the environment, with what the tree says unless it is that of a package's release.

    Raises:
        InstallationError: naming the program that failed, with what it said.
    """
    if uv and not is_release and (tree / "uv.lock").is_file():
        words = [uv, "sync", "--frozen", "--no-dev", "--quiet", "--python", wishes.python, *wishes.uv]
        _run(words, tree, {"UV_PROJECT_ENVIRONMENT": VENV})
        wanted = list(wishes.extra)
    else:
        offline = ["--offline"] if wishes.offline else []
        made = [uv, "venv", "--quiet", *offline, "--python", wishes.python, VENV] if uv else _venv(wishes.python)
        _run(made, tree)
        wanted = [*([] if is_release else requirements(tree)), *wishes.extra]
    if wanted:
        _run([*_installer(wishes.python, uv, tree), *(wishes.uv if uv else wishes.pip), *wanted], tree)


def requirements(tree: Path) -> list[str]:
    """What pip is to install for a tree: arguments."""
    wanted: list[str] = []
    if constraints := _locked(tree):
        (tree / _CONSTRAINTS).write_text("\n".join(constraints), encoding="utf-8")
        wanted += ["--constraint", str(_CONSTRAINTS)]
    listed = [tree / "requirements.txt"] if (tree / "requirements.txt").is_file() else [*tree.glob("requirements*.txt")]
    installed = ["--editable", "."] if _can_be_installed(tree) else []
    if len(listed) == 1:
        installed = ["--requirement", listed[0].name, *installed]
    return [*wanted, *installed] if installed else []


def _locked(tree: Path) -> list[str]:
    """The versions that ``uv.lock`` has of packages from an index; of one with several the index decides."""
    file = tree / "uv.lock"
    if not file.is_file():
        return []
    found: dict[str, set[str]] = {}
    for package in _toml(file).get("package", []):
        if "registry" in package.get("source", {}) and "version" in package:
            found.setdefault(package["name"], set()).add(package["version"])
    return [f"{name}=={version}" for name, versions in found.items() if len(versions) == 1 for version in versions]


def _can_be_installed(tree: Path) -> bool:
    if (tree / "setup.py").is_file():
        return True
    file = tree / "pyproject.toml"
    return file.is_file() and not {"build-system", "project"}.isdisjoint(_toml(file))


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InstallationError(f"{file.name}: {error}") from None


def _venv(python: str) -> list[str]:
    return [python, "-m", "venv", "--without-pip", VENV]


def _installer(python: str, uv: str | None, tree: Path) -> list[str]:
    """uv, the interpreter's own pip from outside of the environment, or one that is put into it."""
    inner = f"{VENV}/bin/python"
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", inner]
    quiet = ["install", "--quiet", "--disable-pip-version-check", "--no-input"]
    told = subprocess.run([python, "-m", "pip", "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"pip (\d+)\.(\d+)", told.stdout)
    if version and (int(version[1]), int(version[2])) >= _OLDEST_PIP:
        return [python, "-m", "pip", "--python", inner, *quiet]
    _run([inner, "-m", "ensurepip", "--default-pip"], tree)
    return [inner, "-m", "pip", *quiet]


def _run(words: Sequence[str], tree: Path, more: Mapping[str, str] | None = None) -> None:
    own = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}}
    own.setdefault("SETUPTOOLS_SCM_PRETEND_VERSION", "0")  # a tree of a revision is no repository that it could ask
    try:
        done = subprocess.run(
            words, cwd=tree, env={**own, **(more or {})}, capture_output=True, text=True, errors="replace", check=False
        )
    except OSError as error:
        raise InstallationError(f"cannot start {words[0]!r}: {error.strerror}") from None
    sys.stderr.write(done.stdout + done.stderr)
    if done.returncode != 0:
        raise InstallationError(f"{Path(words[0]).name} failed: {_why(done.stderr or done.stdout)}")


def _why(said: str) -> str:
    """The error in one line: pip's last one, or uv's with what caused it."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    if errors:
        return errors[-1]
    began = next((i for i, line in enumerate(lines) if line.startswith(("error: ", "×"))), len(lines) - 1)
    return " ".join(line.removeprefix("error: ").lstrip(_BRANCHES) for line in lines[began:]) or "it said nothing"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
