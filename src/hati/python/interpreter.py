"""Find interpreters on this machine, and define the one that runs the measured code."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from enum import StrEnum
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple

from msgspec import Struct

from hati.core import InputError, digest
from hati.python.injected.installed import installed
from hati.python.installing import VENV
from hati.python.requirements import mentioned

DIGITS: Final = 16
"""The length of digests."""

_PATIENCE = 30.0
_VERSION = Path(__file__).with_name("injected") / "version.py"
_MARK = "hati interpreter:"
_PRINT_FACTS = f"sys.stdout.buffer.write(os.fsencode({_MARK!r} + '\\0'.join([version(), *folders()])))"
_LEAST = 2  # a version and a folder
_FIX = "correct `interpreter` of [python] in hati.toml, or leave it out: then it is the one that runs Hati"


def located(command: str, root: Path) -> str:
    """The file of an interpreter: a path relative to the folder ``root``, or a name on PATH; empty: Hati's own.

    Raises:
        InputError: where it does not exist.
    """
    if not command:
        return sys.executable
    found = str(root / command) if "/" in command else shutil.which(command)
    if found is None or not Path(found).is_file():
        raise InputError(f"there is no interpreter {command!r}", fix=_FIX)
    return found


def version_of(program: str) -> str:
    """The version of a Python, with all that affects its speed, and without a path.

    Raises:
        InputError: where the program is not a Python that measures.
    """
    return _asked(program).version


def packages_of(program: str) -> str:
    """A digest of the names and versions of a Python's installed packages.

    Raises:
        InputError: where the program is not a Python that measures.
    """
    packages = installed(_asked(program).folders)
    return hashlib.sha256(os.fsencode(packages)).hexdigest()[:DIGITS]


class _InterpreterFacts(NamedTuple):
    version: str
    folders: tuple[str, ...]


def _asked(program: str) -> _InterpreterFacts:
    """The facts that an interpreter reports about itself, queried once while its file does not change."""
    status = Path(program).stat()
    return _ask(program, status.st_mtime_ns, status.st_size)


@lru_cache(maxsize=16)
def _ask(program: str, _time: int, _size: int) -> _InterpreterFacts:
    words = [program, "-c", f"{_VERSION.read_text(encoding='utf-8')}\n{_PRINT_FACTS}"]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise InputError(f"{program} cannot be started: {error}", fix=_FIX) from None
    found = os.fsdecode(done.stdout).rpartition(_MARK)[2].split("\0")
    if done.returncode or len(found) < _LEAST:
        said = (os.fsdecode(done.stderr).strip().splitlines() or ["it printed no error message"])[-1]
        raise InputError(f"{program} is not a Python that measures: {said}", fix=_FIX)
    return _InterpreterFacts(found[0], tuple(found[1:]))


_FROZEN = ("", "on", "off")
_INSTALLING = Path(__file__).with_name("installing.py")
_PYTHON, _OWN, _INSTALLER = "python", "hati", "installer"


class Network(StrEnum):
    """Whether packages may be downloaded when an environment is created."""

    REFUSED = "refused"
    ALLOWED = "allowed"


class Environment(Struct, frozen=True):
    """A separate virtual environment for each revision, created once from the revision's lock or project file.

    ``extra`` are requirements that workloads add in every revision; ``options`` are passed to pip or uv, such
    as ``--find-links``. Without ``Network.ALLOWED`` all packages must be on this machine.

    Raises:
        InputError: for an empty requirement or option.
    """

    extra: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    network: Network = Network.REFUSED

    def __post_init__(self) -> None:
        if not all((*self.extra, *self.options)):
            raise InputError("an environment has an empty requirement or option")

    def build(self, version: str) -> tuple[str, ...]:
        """The command that creates it in a revision's tree, with an interpreter of that version.

        Files that it names outside of the tree count by their content.
        """
        words = [f"extra={text}" for text in self.extra] + [f"option={text}" for text in self.options]
        words += [f"network={self.network}", f"version={version}", f"installer={_installer()}"]
        words += [f"content={each}" for each in mentioned((*self.extra, *self.options))]
        escaped = [word.replace("{", "{{").replace("}", "}}") for word in words]
        return (f"{{program:{_OWN}}}", "-I", f"{{program:{_INSTALLER}}}", f"python={{program:{_PYTHON}}}", *escaped)


class Interpreter(Struct, frozen=True):
    """The interpreter of measured code, or the one from which the ``environment`` of each revision is created.

    ``command`` is a name on PATH, or a path relative to the project's folder; empty: the interpreter of Hati. ``roots``
    are the folders of a tree from which modules are imported, if they exist. ``frozen_modules`` is Python's option of
    that name (``on``, ``off``, or ``""`` for Python's default). ``hash_seed`` is that of all runs, or None for a random
    one in each run, which is recorded.

    Raises:
        InputError: for another ``frozen_modules``, or a root that is not below the tree.
    """

    command: str = ""
    roots: tuple[str, ...] = ("src", ".")
    frozen_modules: str = ""
    hash_seed: int | None = None
    environment: Environment | None = None

    def __post_init__(self) -> None:
        if self.frozen_modules not in _FROZEN:
            raise InputError(f"frozen_modules is {self.frozen_modules!r}", fix="write 'on', 'off' or ''")
        if not self.roots or any(root.startswith("/") or ".." in root.split("/") or ":" in root for root in self.roots):
            raise InputError(f"roots are {', '.join(self.roots) or 'missing'}", fix="name folders below the project's")
        if self.hash_seed is not None and not 0 <= self.hash_seed < 2**32:
            raise InputError(f"a hash seed of {self.hash_seed}", fix="give one from 0 to 4294967295")

    @property
    def program(self) -> str:
        """The word that starts it in a tree, in commands of a benchmark with its ``programs``."""
        return f"{{program:{_PYTHON}}}" if self.environment is None else f"./{VENV}/bin/python"

    def programs(self, root: Path) -> tuple[tuple[str, str], ...]:
        """The files on this machine that commands use, by their names.

        Raises:
            InputError: where the interpreter does not exist.
        """
        own = ((_OWN, sys.executable), (_INSTALLER, str(_INSTALLING))) if self.environment else ()
        return ((_PYTHON, self.file(root)), *own)

    def file(self, root: Path) -> str:
        """The interpreter's file on this machine.

        Raises:
            InputError: where the interpreter does not exist.
        """
        return located(self.command, root)

    def version(self, root: Path) -> str:
        """The version of Python, without a path.

        Raises:
            InputError: where the interpreter does not exist.
        """
        return version_of(self.file(root))

    def packages(self, root: Path) -> str:
        """A digest of its installed packages; empty if it measures in a revision's own environment.

        Raises:
            InputError: where the interpreter does not exist.
        """
        return "" if self.environment else packages_of(self.file(root))

    @property
    def arguments(self) -> tuple[str, ...]:
        """The recorder's arguments."""
        words = [f"roots={':'.join(self.roots)}"]
        if self.frozen_modules:
            words.append(f"frozen={self.frozen_modules}")
        if self.hash_seed is not None:
            words.append(f"hash_seed={self.hash_seed}")
        return tuple(words)


@cache
def _installer() -> str:
    """The digest of the program that creates environments: if it changes, they are created again."""
    return digest(_INSTALLING.read_text(encoding="utf-8"), DIGITS)
