"""Creates a virtual environment in a revision's tree: a separate program, with the standard library only.

It installs what the revision requires. With uv, ``uv sync`` installs a project that has ``uv.lock``. Otherwise locks
are constraints, for ``requirements.txt`` (or the only ``requirements*.txt``) and the project itself, editable, if it
can be installed. Requirements in other files alone are refused.
A release of a package is installed already: only the extra requirements are added.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

VENV = ".hati-venv"
"""The environment's folder in the revision's tree."""
TODAY = 'set past = "today" below [python.environment] of hati.toml to run past revisions in today\'s installation'
"""The fix if a revision's requirements cannot be installed."""

LOCKS = ("uv.lock", "poetry.lock", "pdm.lock", "pylock.toml")
"""Lock files."""
OTHERS = ("Pipfile", "Pipfile.lock", "environment.yml", "environment.yaml")
"""Files with requirements that are not supported here."""

_RELEASE = ".packages"
_CONSTRAINTS = Path(VENV, "constraints.txt")
_OLDEST_PIP = (22, 3)  # the first with --python: it installs into another interpreter's environment
_OFFLINE = "; nothing may be downloaded here: network = true below [python.environment] of hati.toml allows it"
_BRANCHES = "×╰├─▶│ "


class InstallationError(Exception):
    """The step that failed, in one line."""


class RefusedError(InstallationError):
    """The requirements of a tree that cannot be installed, in one line."""


@dataclass(frozen=True)
class Wishes:
    """The interpreter of the environment, extra requirements, and options for uv or pip."""

    python: str
    extra: tuple[str, ...]
    options: tuple[str, ...]
    offline: bool

    @classmethod
    def parse(cls, words: Sequence[str]) -> Wishes:
        """Read ``key=value`` arguments."""
        pairs = [word.partition("=")[::2] for word in words]
        listed = {key: tuple(value for name, value in pairs if name == key) for key in ("extra", "option")}
        named = dict(pairs)
        return cls(named.get("python", "python3"), listed["extra"], listed["option"], named.get("network") != "allowed")

    @property
    def uv(self) -> tuple[str, ...]:
        """The options of every uv command."""
        return (*self.options, *(["--offline"] if self.offline else []))

    @property
    def pip(self) -> tuple[str, ...]:
        """The options of every pip command."""
        return (*self.options, *(["--no-index"] if self.offline else []))


def main(words: Sequence[str]) -> int:
    """Create the environment in the current folder."""
    wishes = Wishes.parse(words)
    is_release = os.environ.get("PYTHONPATH", "").endswith(_RELEASE)
    try:
        install(Path(), wishes, shutil.which("uv"), is_release)
    except InstallationError as error:
        fix = f"; {TODAY}" if isinstance(error, RefusedError) else _OFFLINE if wishes.offline else ""
        sys.stderr.write(f"{error}{fix}\n")
        return 1
    return 0


def install(tree: Path, wishes: Wishes, uv: str | None, is_release: bool) -> None:  # noqa: FBT001 - decided outside
    """Create the environment, with the requirements of the tree unless it is a package's release.

    Raises:
        InstallationError: with the name of the program that failed, and its message.
    """
    if uv and not is_release and (tree / "uv.lock").is_file() and _can_be_installed(tree):
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
    """The arguments for pip to install a tree's requirements, with its locked versions as constraints.

    Raises:
        InstallationError: as ``installed``, and if a lock is not valid TOML.
    """
    wanted = installed(tree)
    if constraints := _locked(tree) if wanted else []:
        (tree / _CONSTRAINTS).write_text("\n".join(constraints), encoding="utf-8")
        return ["--constraint", str(_CONSTRAINTS), *wanted]
    return wanted


def installed(tree: Path) -> list[str]:
    """The arguments for pip to install a tree's requirements, without constraints; empty if it has none.

    Raises:
        RefusedError: if the tree has requirements only in unsupported files.
        InstallationError: if its project file is not valid TOML.
    """
    listed = [tree / "requirements.txt"] if (tree / "requirements.txt").is_file() else [*tree.glob("requirements*.txt")]
    files = ["--requirement", listed[0].name] if len(listed) == 1 else []
    found = [*files, *(["--editable", "."] if _can_be_installed(tree) else [])]
    if not found and (said := ", ".join(_said(tree))):
        raise RefusedError(f"neither uv nor pip can install the requirements from {said} alone")
    return found


def _said(tree: Path) -> Iterator[str]:
    """The files, and tables of the project file, whose requirements are not installed."""
    project = tree / "pyproject.toml"
    data = _toml(project) if project.is_file() else {}
    for keys in ("tool.poetry", "dependency-groups"):
        if part(data, keys):
            yield f"[{keys}] of {project.name}"
    yield from (name for name in (*LOCKS, *OTHERS) if (tree / name).is_file())
    yield from sorted(file.name for file in tree.glob("requirements*.txt"))
    if any((tree / "requirements").glob("**/*.txt")):
        yield "requirements/"
    options = tree / "setup.cfg"
    if options.is_file() and "install_requires" in options.read_text(errors="replace"):
        yield options.name


def _locked(tree: Path) -> list[str]:
    """The locked versions of packages from an index; a package with several versions is left to the index."""
    found: dict[str, set[str]] = {}
    for file in (tree / name for name in LOCKS):
        data = _toml(file) if file.is_file() else {}
        for package in packages(data):
            name, version = package.get("name"), package.get("version")
            if isinstance(name, str) and isinstance(version, str) and _is_indexed(package, file.name):
                found.setdefault(name, set()).add(version)
    return [f"{name}=={version}" for name, versions in found.items() if len(versions) == 1 for version in versions]


def packages(data: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The packages in a lock."""
    listed = [*_listed(data.get("package")), *_listed(data.get("packages"))]
    return [each for each in listed if isinstance(each, dict)]


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _is_indexed(package: Mapping[str, Any], lock: str) -> bool:
    """Whether a package is from an index, so that its version identifies it."""
    source = package.get("source")
    if lock == "uv.lock":
        return isinstance(source, dict) and "registry" in source
    if isinstance(source, dict) and source.get("type") != "legacy":
        return False
    return not package.keys() & {"git", "url", "path", "vcs", "directory", "archive"}


def _can_be_installed(tree: Path) -> bool:
    if (tree / "setup.py").is_file():
        return True
    file = tree / "pyproject.toml"
    if not file.is_file():
        return False
    data = _toml(file)
    if part(data, "tool.poetry") and (part(data, "tool.poetry.package-mode") is False or "build-system" not in data):
        return False
    return not {"build-system", "project"}.isdisjoint(data)


def part(data: Mapping[str, Any], keys: str) -> Any:
    """The value below keys that are separated by dots; None if there is none."""
    found: Any = data
    for key in keys.split("."):
        found = found.get(key) if isinstance(found, dict) else None
    return found


def _toml(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise InstallationError(f"{file.name}: {error}") from None


def _venv(python: str) -> list[str]:
    return [python, "-m", "venv", "--without-pip", VENV]


def _installer(python: str, uv: str | None, tree: Path) -> list[str]:
    """The command that installs: uv, the interpreter's own pip, or a pip inside the environment."""
    inner = f"{VENV}/bin/python"
    if uv:
        return [uv, "pip", "install", "--quiet", "--python", inner]
    quiet = ["install", "--quiet", "--disable-pip-version-check", "--no-input"]
    reported = subprocess.run([python, "-m", "pip", "--version"], capture_output=True, text=True, check=False)
    version = re.match(r"pip (\d+)\.(\d+)", reported.stdout)
    if version and (int(version[1]), int(version[2])) >= _OLDEST_PIP:
        return [python, "-m", "pip", "--python", inner, *quiet]
    _run([inner, "-m", "ensurepip", "--default-pip"], tree)
    return [inner, "-m", "pip", *quiet]


def _run(words: Sequence[str], tree: Path, more: Mapping[str, str] | None = None) -> None:
    own = {name: value for name, value in os.environ.items() if name not in {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}}
    own.setdefault("SETUPTOOLS_SCM_PRETEND_VERSION", "0")  # a revision's tree is not a repository
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
    """The error in one line: pip's last one, or uv's with its causes."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")]
    if errors:
        return errors[-1]
    began = next((i for i, line in enumerate(lines) if line.startswith(("error: ", "×"))), len(lines) - 1)
    return " ".join(line.removeprefix("error: ").lstrip(_BRANCHES) for line in lines[began:]) or "it printed no error"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
