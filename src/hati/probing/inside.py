"""Kernels inside of a container or virtual machine, which a command reaches: copied there, run there, and removed."""

from __future__ import annotations

import base64
import errno
import os
import re
import shlex
import subprocess
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from hati.core import MeasurementError
from hati.probing.bounded import OutputLimitError, run_bounded
from hati.probing.kernel import KernelProgram
from hati.probing.process_marks import is_abandoned, own_mark

_COPY = """\
set -e
[ -d "${{TMPDIR-}}" ] || TMPDIR=/tmp
case $TMPDIR in *[!A-Za-z0-9/._-]*) TMPDIR=/tmp;; esac
for mark in "${{TMPDIR%/}}"/hati-probe-*/owner; do
    if [ -f "$mark" ]; then echo "$mark $(cat "$mark")"; fi
done
folder=$(mktemp -d "${{TMPDIR%/}}/hati-probe-XXXXXX")
trap '[ $? = 0 ] || rm -r "$folder"' EXIT
echo {owner} > "$folder/owner"
base64 -d > "$folder/kernels" <<'END'
{program}END
chmod 700 "$folder/kernels"
echo "$folder"
"""
_FOLDER = re.compile(r"(?:/[\w.-]+)*/hati-probe-\w+")
_LONGEST, _MOST = 60.0, 2**20
_PASSES = "it has to pass standard input and output, as `docker exec -i NAME` does, and `systemd-run --pipe`"


def copied(program: KernelProgram, prefix: Sequence[str]) -> KernelProgram:
    """The program after a copy of it is where the command ``prefix`` runs what follows it.

    There must be ``sh``, ``base64`` and a folder for temporary files whose programs can be run. What a killed process
    of this machine left there is removed.

    Raises:
        MeasurementError: where it cannot be copied.
    """
    text = base64.encodebytes(program.path.read_bytes()).decode()
    said = _run(prefix, ["sh"], _COPY.format(program=text, owner=shlex.quote(own_mark())))
    marks, _, folder = said.strip().rpartition("\n")
    if not _FOLDER.fullmatch(folder):
        raise MeasurementError(f"`{shlex.join(prefix)} sh` does not do what it reads", fix=_PASSES)
    for line in marks.splitlines():
        path, _, mark = line.partition("/owner ")
        if _FOLDER.fullmatch(path) and is_abandoned(mark):
            remove(KernelProgram.at(Path(path) / "kernels"), prefix)
    return KernelProgram.at(Path(folder) / "kernels")


def remove(program: KernelProgram, prefix: Sequence[str]) -> None:
    """Remove what ``copied`` made; it stays where the command no longer works, so that no result is lost."""
    with suppress(MeasurementError):
        _run(prefix, ["rm", "-r", str(program.path.parent)])


def _run(prefix: Sequence[str], words: Sequence[str], text: str = "") -> str:
    command = [*prefix, *words]
    try:
        done = run_bounded(command, text, _LONGEST, _MOST)
    except OSError as error:
        raise MeasurementError(f"`{command[0]}` cannot be started: {error.strerror}", fix="install it") from error
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"`{shlex.join(command)}` takes longer than {_LONGEST:g} s", fix=_PASSES) from None
    except OutputLimitError as error:
        raise MeasurementError(f"`{shlex.join(command)}` {error.message}", fix=_PASSES) from None
    if done.returncode:
        said = " ".join(done.stderr.split()[-40:]) or f"exit status {done.returncode}"
        fix = f"see whether `{shlex.join([*prefix, 'true'])}` works"
        if os.strerror(errno.ENOSPC) in said:
            fix = "free some space inside in its folder for temporary files, or set TMPDIR there to another one"
        raise MeasurementError(f"`{shlex.join(command)}` does not work: {said}", fix=fix)
    return done.stdout
