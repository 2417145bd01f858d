"""Commands of others, whose output and time have limits."""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from hati.core import MeasurementError

_CHUNK = 1 << 16


class OutputLimitError(MeasurementError):
    """A command that prints more than is read."""


def run_bounded(command: Sequence[str], text: str, seconds: float, most: int) -> subprocess.CompletedProcess[str]:
    """Run a command; bytes of its output that are not UTF-8 are replaced.

    Args:
        command: the program and its arguments.
        text: its standard input, of which it may leave a part.
        seconds: the time after which it is killed.
        most: the bytes of its standard output, and of its standard error, beyond which it is killed.

    Raises:
        OSError: if it cannot be started.
        subprocess.TimeoutExpired: if it takes longer.
        OutputLimitError: if it prints more.
    """
    deadline = time.monotonic() + seconds
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, bufsize=0, stdin=pipe, stdout=pipe, stderr=pipe)
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    out, error = bytearray(), bytearray()
    try:
        _exchange(process.stdin, text.encode(), {process.stdout: out, process.stderr: error}, deadline, most)
        status = process.wait(max(0.0, deadline - time.monotonic()))
    except TimeoutError:
        raise subprocess.TimeoutExpired(command, seconds) from None
    finally:
        with suppress(PermissionError):  # of another user, as by sudo
            process.kill()
        for each in (process.stdin, process.stdout, process.stderr):
            each.close()
        with suppress(subprocess.TimeoutExpired):
            process.wait(1.0)
    return subprocess.CompletedProcess(command, status, out.decode(errors="replace"), error.decode(errors="replace"))


def _exchange(stdin: IO[bytes], left: bytes, outputs: dict[IO[bytes], bytearray], deadline: float, most: int) -> None:
    """Write to a process, and read from it until it closes all outputs.

    Raises:
        TimeoutError: if it does not until the deadline.
    """
    os.set_blocking(stdin.fileno(), False)
    with selectors.DefaultSelector() as selector:
        selector.register(stdin, selectors.EVENT_WRITE)
        for pipe, found in outputs.items():
            selector.register(pipe, selectors.EVENT_READ, found)
        while any(each.data is not None for each in selector.get_map().values()):
            if time.monotonic() >= deadline:
                raise TimeoutError
            for key, _ in selector.select(deadline - time.monotonic()):
                if key.data is None:
                    left = _written(stdin, left)
                    if not left:
                        selector.unregister(stdin)
                        stdin.close()
                elif part := os.read(key.fd, _CHUNK):
                    key.data.extend(part)
                    if len(key.data) > most:
                        raise OutputLimitError(f"prints more than {most >> 20} MiB")
                else:
                    selector.unregister(key.fileobj)


def _written(stdin: IO[bytes], text: bytes) -> bytes:
    """What is left of a text after a part was written; nothing where nobody reads it."""
    try:
        return text[os.write(stdin.fileno(), text[:_CHUNK]) :]
    except BrokenPipeError:
        return b""
    except BlockingIOError:
        return text
