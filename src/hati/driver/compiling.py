"""Compile load programs by the machine's C compiler."""

from __future__ import annotations

import errno
import os
import re
import shlex
import subprocess
from pathlib import Path
from shutil import which

from hati.core import MeasurementError
from hati.generate import FLAGS

_LONGEST = 120.0
_UNWRITTEN = re.compile(
    r"(?:error writing to (?P<file>/[^:]*)|Cannot create temporary file in (?P<folder>/[^:]*)): (?P<reason>.*)"
)
_ERROR = re.compile(r"load\.c:(?P<line>\d+):(?P<column>\d+): (?:fatal )?error: (?P<reason>.*)")


class LoadDriverError(MeasurementError):
    """An experiment that did not run to its end; ``observations`` are those made before."""

    def __init__(self, message: str, fix: str, observations: object = None) -> None:
        super().__init__(message, fix=fix)
        self.observations = observations


class CompileError(LoadDriverError):
    """A source that cannot be compiled; ``position`` is the first error's line and column, None where it has none.

    ``reason`` is the compiler's, without the place.
    """

    def __init__(self, message: str, fix: str, words: str) -> None:
        super().__init__(message, fix)
        found = _ERROR.search(words)
        self.position = (int(found["line"]), int(found["column"])) if found else None
        self.reason = found["reason"] if found else words


def compiler() -> str:
    """The C compiler with its version and the flags, which determine a unit of work.

    Raises:
        LoadDriverError: if there is none.
    """
    name, *options = _named()
    if which(name) is None:
        raise LoadDriverError(
            f"there is no C compiler `{name}` on this machine",
            "install one, such as by `apt-get install gcc libc6-dev`, or name one in CC",
        )
    version = _compiled("--version")
    return " ".join([*version.stdout.splitlines()[:1], *options, *FLAGS])


def compile_program(source: str, folder: Path, flags: tuple[str, ...] = ()) -> Path:
    """Compile a source in a folder, which is created, and return the path of the program.

    Raises:
        LoadDriverError: if the compiler fails, or nothing can be written.
    """
    compiler()
    file, program = write_source(source, folder), folder / "load"
    done = _compiled(*FLAGS, *flags, str(file), "-o", str(program))
    if done.returncode != 0:
        if found := _UNWRITTEN.search(done.stderr):
            place = Path(found["folder"]) if found["folder"] else Path(found["file"]).parent
            fix = "free some space there, or set TMPDIR to another folder"
            message = f"{shlex.join(_named())} cannot write its temporary files to {place}: {found['reason']}"
            raise LoadDriverError(message, fix)
        words = next((line for line in done.stderr.splitlines() if "rror" in line), done.stderr.strip()[:200])
        raise CompileError(
            f"{shlex.join(_named())} cannot compile {file}: {words or f'exit status {done.returncode}'}",
            _remedy(words, folder),
            words,
        )
    return program


def _remedy(words: str, folder: Path) -> str:
    if os.strerror(errno.ENOSPC) in words:
        return f"free some space for {folder}, and in TMPDIR"
    return "install the C library's headers (libc6-dev), or see the source"


def write_source(source: str, folder: Path) -> Path:
    """Write a source to a folder, which is created, and return its path.

    Raises:
        LoadDriverError: if nothing can be written.
    """
    file = folder / "load.c"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
    except OSError as error:
        raise LoadDriverError(f"cannot write to {folder}: {error.strerror}", "free some space") from None
    return file


def _named() -> list[str]:
    named = os.environ.get("CC", "")
    try:
        return shlex.split(named) or ["cc"]
    except ValueError:
        raise LoadDriverError(f"CC is `{named}`, whose quotation is not closed", "close it") from None


def _compiled(*arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run([*_named(), *arguments], capture_output=True, text=True, check=False, timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        raise LoadDriverError(
            f"{shlex.join(_named())} takes longer than {_LONGEST:g} s", "repeat it on a quiet machine"
        ) from None
