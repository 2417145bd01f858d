"""The program with the kernels: compiled once for each version and compiler, run with a time limit."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import platformdirs

from hati.core import FloatArray, InputError, MeasurementError, digest
from hati.driver import compile_program, compiler
from hati.generate import with_kernels

_SOURCE = Path(__file__).with_name("kernels.c")
_REFUSED = {
    "sched_setscheduler: Operation not permitted": (
        "the kernel permits no real-time priority here",
        "run it as root, or permit it: `ulimit -r 1`, or `setcap cap_sys_nice=ep` for the program",
    ),
}
Series = dict[str, FloatArray]
"""Arrays by name; those that a kernel prints several times are numbered: ``NAME/0``, ``NAME/1`` ..."""


class NotPermittedError(MeasurementError):
    """An operation that this machine or its kernel does not permit."""


class KernelProgram:
    """The compiled program of the kernels.

    Raises:
        MeasurementError: if it cannot be compiled here.
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._path = _compiled(folder or platformdirs.user_cache_path("hati") / "probe")

    def run(self, *arguments: object, timeout: float = 120.0, prefix: Sequence[str] = ()) -> Series:
        """Run a kernel, and return the arrays that it writes, in the units in their names.

        Raises:
            NotPermittedError: if the operating system does not permit it.
            MeasurementError: if it fails, or takes longer than ``timeout`` seconds.
        """
        command = [*prefix, str(self._path), *map(str, arguments)]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, check=False)
        except subprocess.TimeoutExpired:
            raise MeasurementError(
                f"the kernel {arguments[0]} takes longer than {timeout:g} s", fix="repeat it when the machine is quiet"
            ) from None
        if done.returncode:
            said = " ".join(done.stderr.split()) or f"exit status {done.returncode}"
            if said in _REFUSED:
                raise NotPermittedError(_REFUSED[said][0], fix=_REFUSED[said][1])
            raise MeasurementError(f"the kernel {arguments[0]} ends early: {said}")
        return _numbered(done.stdout)


def _numbered(text: str) -> Series:
    """The arrays of a kernel's lines; those without a value are left out."""
    lines = list(_lines(text))
    names = [name for name, _ in lines]
    counts: dict[str, int] = {}
    found: Series = {}
    for name, values in lines:
        number = counts[name] = counts.get(name, -1) + 1
        if values.size:
            found[name if names.count(name) == 1 else f"{name}/{number}"] = values
    return found


def _lines(text: str) -> Iterator[tuple[str, FloatArray]]:
    for line in text.splitlines():
        name, _, values = line.partition(":")
        yield name, np.array(values.split(), dtype=np.float64)


def _compiled(folder: Path) -> Path:
    source = with_kernels(_SOURCE.read_text(encoding="utf-8"))
    path = folder / digest([source, compiler()])
    if path.exists():
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=folder) as own:
            compile_program(source, Path(own)).replace(path)
    except OSError as error:
        raise InputError(f"{folder} cannot be written: {error.strerror}", fix="free some space, or set HOME") from error
    return path
