"""Where a job's programs run: in bubblewrap's sandbox, or without one where the machine's owner says so."""

from __future__ import annotations

import json
import os
import pkgutil
import platform
import re
import selectors
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from threading import Event
from typing import Any, Union

from .files import JoinError, LimitExceeded
from .limits import Limits

WORK, TREE = "/tmp/work", "/tree"  # noqa: S108 - inside of the sandbox
_PORT = 20_000
"""The port of a run in a sandbox, whose network is its own."""
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/run/current-system")
_SETTINGS = (
    *("alternatives", "fonts", "group", "java-11-openjdk", "java-17-openjdk", "java-21-openjdk", "ld.so.cache"),
    *("ld.so.conf", "ld.so.conf.d", "localtime", "locale.alias", "nsswitch.conf", "passwd", "ssl/certs", "timezone"),
)
"""The part of /etc that programs need, and that holds no secrets."""
_LONGEST_START = 60.0
_LARGEST_REPORT = 64 << 20
_NEWEST_WITH_SHARED_COUNT = (5, 13)
"""Since 5.14 Linux counts the processes of each user namespace separately."""


@dataclass(frozen=True)
class SandboxPlace:
    """The folders of a run as its programs see them, and a free port."""

    work: str
    tree: str
    port: int
    env: Mapping[str, str]


@dataclass(frozen=True)
class Bubblewrap:
    """A sandbox with its own network, processes and users, a read-only system, and private files of limited size."""

    program: str
    name = "bubblewrap"

    @contextmanager
    def place(self, tree: Path, root: Path) -> Iterator[SandboxPlace]:  # noqa: ARG002 - NoSandbox needs them
        """The folders of a run; they vanish with the sandbox."""
        env = {"HOME": WORK, "LANG": "C.UTF-8", "PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": "/tmp"}  # noqa: S108 - inside
        yield SandboxPlace(WORK, TREE, _PORT, env)

    def argv(self, tree: Path, limits: Limits, *, building: bool) -> list[str]:
        """The command that starts the runner in the sandbox; only a build may write to ``tree``."""
        words = [self.program, "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent"]
        words += ["--new-session", "--as-pid-1", "--clearenv", "--cap-drop", "ALL", "--hostname", "hati"]
        for folder in (*_SYSTEM, *_interpreter()):
            words += _same(folder)
        for name in _SETTINGS:
            words += ["--ro-bind-try", f"/etc/{name}", f"/etc/{name}"]
        words += ["--proc", "/proc", "--dev", "/dev"]
        for folder in ("/tmp", "/dev/shm"):  # noqa: S108 - inside of the sandbox
            words += ["--size", str(limits.disk), "--perms", "0700", "--tmpfs", folder]
        words += ["--bind" if building else "--ro-bind", str(tree), TREE]
        words += ["--remount-ro", "/dev", "--remount-ro", "/", "--"]
        return words + _runner()


@dataclass(frozen=True)
class NoSandbox:
    """No sandbox: programs may do what the owner of the machine may do."""

    name = "none (declared by owner)"

    @contextmanager
    def place(self, tree: Path, root: Path) -> Iterator[SandboxPlace]:
        """The folders of a run, which are removed after it."""
        work = root / "work"
        shutil.rmtree(work, ignore_errors=True)
        own = {"HOME": str(work), "LANG": "C.UTF-8", "PATH": os.environ.get("PATH", os.defpath), "TMPDIR": str(work)}
        try:
            yield SandboxPlace(str(work), str(tree), _free_port(), own)
        finally:
            shutil.rmtree(work, ignore_errors=True)

    def argv(self, tree: Path, limits: Limits, *, building: bool) -> list[str]:  # noqa: ARG002 - Bubblewrap needs them
        """The command that starts the runner."""
        return _runner()


Sandbox = Union[Bubblewrap, NoSandbox]


def find(*, without: bool) -> Sandbox:
    """The sandbox of this machine.

    Raises:
        JoinError: where there is none that works, and the owner does not permit to do without.
    """
    if without:
        return NoSandbox()
    fix = "or say `--without-sandbox`: jobs may then do on this machine what you may do"
    if sys.platform != "linux":
        raise JoinError(f"there is no sandbox for {platform.system()}", f"join from Linux {fix}")
    program = shutil.which("bwrap")
    if program is None:
        raise JoinError("there is no sandbox: bubblewrap is not installed", f"apt-get install bubblewrap, {fix}")
    found = Bubblewrap(program)
    tried = subprocess.run(
        [*found.argv(Path("/usr"), Limits(), building=False)[: -len(_runner())], "/bin/true"],
        capture_output=True,
        check=False,
        text=True,
        timeout=_LONGEST_START,
    )
    if tried.returncode:
        said = tried.stderr.strip().splitlines()[-1:] or [f"exit status {tried.returncode}"]
        raise JoinError(
            f"the sandbox cannot be started: {said[0]}",
            f"install bubblewrap 0.8 or later and permit user namespaces, {fix}",
        )
    return found


def perform(
    sandbox: Sandbox,
    tree: Path,
    order: dict[str, Any],
    limits: Limits,
    kept: Sequence[int],
    lost: Event,
    *,
    building: bool,
) -> dict[str, Any]:
    """Perform an order, and return the runner's report; ``lost`` ends it before.

    The descriptors ``kept`` stay open until the last process of it has ended.

    Raises:
        LimitExceeded: where the run exceeds a limit of the owner, is ended from outside, or cannot be started.
    """
    argv = sandbox.argv(tree, limits, building=building)
    own = isinstance(sandbox, Bubblewrap) and _counts_own_processes()
    about = {"memory": limits.memory, "disk": limits.disk, "processes": limits.processes, "cpu": limits.cpu}
    line = json.dumps({**order, "kept": list(kept), "limits": {**about, "own_processes": own}}).encode() + b"\n"
    longest = sum(step["timeout"] + 15.0 for step in [*order["steps"], *order["cleanup"]]) + _LONGEST_START
    process = subprocess.Popen(
        argv,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=tuple(kept),
        start_new_session=True,
        env={} if isinstance(sandbox, Bubblewrap) else None,
    )
    try:
        report = _exchanged(process, line, time.monotonic() + longest, lost)
    finally:
        _end(process)
    if report.get("exceeded"):
        raise LimitExceeded(report["exceeded"])
    return report


def _exchanged(process: subprocess.Popen[bytes], line: bytes, until: float, lost: Event) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with suppress(BrokenPipeError):
        process.stdin.write(line)
        process.stdin.flush()
    taken = {process.stdout: bytearray(), process.stderr: bytearray()}
    with selectors.DefaultSelector() as waiting:
        for pipe in taken:
            waiting.register(pipe, selectors.EVENT_READ)
        while waiting.get_map():
            if lost.is_set():
                raise LimitExceeded("the run was given up: its lease is lost")
            if time.monotonic() > until or len(taken[process.stdout]) > _LARGEST_REPORT:
                raise LimitExceeded("the run did not end in time")
            for key, _ in waiting.select(0.25):
                part = os.read(key.fd, 1 << 16)
                taken[key.fileobj] += part  # type: ignore[index]  # one of the two pipes
                if not part:
                    waiting.unregister(key.fileobj)
    try:
        report: dict[str, Any] = json.loads(taken[process.stdout])
    except ValueError:
        said = taken[process.stderr].decode("utf-8", "replace").strip().splitlines()[-1:] or ["no report"]
        raise LimitExceeded(f"the run was ended from outside: {said[0][:200]}") from None
    return report


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the runner, whose processes end with it: it sees that its input is closed, and a sandbox is killed."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    with suppress(OSError):
        process.stdin.close()
    try:
        process.wait(20.0)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    process.stdout.close()
    process.stderr.close()


@lru_cache(maxsize=1)
def _runner() -> list[str]:
    source = pkgutil.get_data(__package__, "runner.py")
    assert source is not None
    interpreter = getattr(sys, "_base_executable", "") or sys.executable
    return [os.path.realpath(interpreter), "-I", "-S", "-c", source.decode()]


def _interpreter() -> list[str]:
    """The folder of Python, where it is not one of the system's."""
    prefix = os.path.realpath(sys.base_prefix)
    return [] if any(_within(prefix, top) for top in _SYSTEM) else [prefix]


def check_hidden(*folders: Path) -> None:
    """Check that a sandbox does not show private folders.

    Raises:
        JoinError: where one is in a folder of the system or of Python.
    """
    shown = (*_SYSTEM, os.path.realpath(sys.base_prefix))
    for folder in map(os.path.realpath, folders):
        for top in shown:
            if _within(folder, top):
                raise JoinError(
                    f"{folder} is in {top}, which a sandbox shows", "choose another `--home`, user or Python"
                )


def _within(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder}/")


def _same(folder: str) -> list[str]:
    """The arguments that show a folder, or the link that it is, in the sandbox."""
    if os.path.islink(folder):
        return ["--symlink", os.readlink(folder), folder]
    return ["--ro-bind-try", folder, folder]


def _counts_own_processes() -> bool:
    found = re.match(r"(\d+)\.(\d+)", platform.release())
    newer = found is not None and (int(found[1]), int(found[2])) > _NEWEST_WITH_SHARED_COUNT
    return newer and os.geteuid() != 0


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
