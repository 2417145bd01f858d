"""Runs a job's steps, inside of a sandbox or without one: a program of its own, in one file.

It reads an order as JSON from standard input, and writes a report to standard output. It is the first process of the
sandbox, or adopts the orphans of its commands, so that it waits for each process, and ends them all at a limit.
"""

from __future__ import annotations

import base64
import ctypes
import errno
import json
import os
import resource
import selectors
import signal
import sys
import time
from contextlib import suppress
from typing import Any, Optional

LARGEST_OUTPUT = 16 << 20
_TAIL = 4096
_LOOK = 0.1
"""Seconds between two looks at what the processes use."""
_FULL = 1 << 16
_PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 4, 36


class Exceeded(Exception):  # noqa: N818 - the owner's limit, not an error of the job
    """A limit of the machine's owner is exceeded."""


class ClientGone(Exception):  # noqa: N818 - nobody is left to read of it
    """The client has ended, or has given up the run."""


class Step:
    """A command under way, with what it printed."""

    def __init__(self, argv: list[str], env: dict[str, str]) -> None:
        self.stdout, self.stderr = bytearray(), bytearray()
        self.user = self.system = 0.0
        self.peak = self.voluntary = self.involuntary = 0
        self.status: Optional[int] = None
        self._pipes = os.pipe(), os.pipe(), os.pipe()
        self.load = os.getloadavg()[0]
        self.began = time.monotonic()
        self.pid = os.fork()
        if self.pid == 0:
            _execute(argv, env, [writing for _, writing in self._pipes])
        for _, writing in self._pipes:
            os.close(writing)
        self.out, self.err, failed = (reading for reading, _ in self._pipes)
        with os.fdopen(failed, "rb") as pipe:
            self.error = int(pipe.read() or b"0")
        self.wall = 0.0

    def collect(self) -> None:
        """Wait for each process that has ended, without blocking."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self.user += usage.ru_utime
            self.system += usage.ru_stime
            self.voluntary += usage.ru_nvcsw
            self.involuntary += usage.ru_nivcsw
            self.peak = max(self.peak, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024))
            if pid == self.pid:
                self.wall = time.monotonic() - self.began
                self.status = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)

    def read(self, descriptor: int) -> bool:
        """Take what can be read; False at the end."""
        try:
            part = os.read(descriptor, _FULL)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if descriptor == self.out:
            self.stdout += part
        else:
            self.stderr = (self.stderr + part)[-_TAIL:]
        return bool(part)

    def drain(self) -> None:
        """Take what was printed until now; a process in the background may keep the pipes open."""
        for descriptor in (self.out, self.err):
            os.set_blocking(descriptor, False)
            until = len(self.stdout) + LARGEST_OUTPUT
            before = -1
            while before != len(self.stdout) + len(self.stderr) < until:
                before = len(self.stdout) + len(self.stderr)
                if not self.read(descriptor):
                    break
            os.close(descriptor)


def _execute(argv: list[str], env: dict[str, str], writing: list[int]) -> None:
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)
        os.setsid()
        nothing = os.open(os.devnull, os.O_RDONLY)
        for target, source in enumerate([nothing, *writing[:2]]):
            os.dup2(source, target)
        os.execvpe(argv[0], argv, env)  # noqa: S606 - an argument list is what a job is
    except OSError as error:
        os.write(writing[2], str(error.errno or errno.EIO).encode())
    finally:
        os._exit(127)


class Runner:
    """Performs an order; ``first`` says that this is the first process of its sandbox."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._order = order
        self._limits: dict[str, Any] = order["limits"]
        self._first = os.getpid() == 1
        self._groups: list[int] = []
        self._next = 0.0
        self._wakeup, writing = os.pipe()
        for end in (self._wakeup, writing):
            os.set_blocking(end, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)

    def report(self) -> dict[str, Any]:
        """Perform the steps, and report how they ended."""
        made: dict[str, Any] = {"outcome": "completed", "detail": "", "exceeded": ""}
        try:
            self._write_files()
            for step in self._order["steps"]:
                if not self._performed(step, made):
                    break
            self._clean_up(made)
        except Exceeded as exceeded:
            made["exceeded"] = str(exceeded)
        except OSError as error:
            made["exceeded"] = f"the run's files cannot be written: {error.strerror}"
        finally:
            self.end_all()
        return made

    def _write_files(self) -> None:
        for folder in self._order["folders"]:
            os.makedirs(folder, mode=0o700, exist_ok=True)
        for path, text in self._order["files"]:
            os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
            descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)

    def _performed(self, about: dict[str, Any], made: dict[str, Any]) -> bool:
        """Perform a step; say whether it succeeded."""
        step, problem = self._run(about)
        made["detail"] = self._problem(about, step, problem)
        if made["detail"]:
            self._check_limits(step)
            made["outcome"] = "timeout" if problem == "timeout" and about["measured"] else about["failure"]
        if about["measured"]:
            made["stdout"] = base64.b64encode(step.stdout[:LARGEST_OUTPUT]).decode()
            made["status"], made["seconds"] = step.status, step.wall
            names = ("wall", "user", "system", "peak", "voluntary", "involuntary")
            made["usage"] = {**{name: getattr(step, name) for name in names}, "load": step.load}
            if not made["detail"] and self._order["output"]:
                self._read_output(self._order["output"], made)
        return str(made["outcome"]) == "completed"

    def _problem(self, about: dict[str, Any], step: Step, problem: str) -> str:
        what = about["what"]
        if step.error:
            return f"{what}: cannot start {about['argv'][0]!r}: {os.strerror(step.error)}"
        if problem == "timeout":
            return f"{what} did not end within {about['timeout']:g} s and was killed"
        if problem == "output":
            return f"{what} printed more than 16 MiB and was killed"
        if step.status == 0:
            return ""
        said = (bytes(step.stderr) or bytes(step.stdout[-_TAIL:])).decode("utf-8", "replace").strip()
        if about["failure"] != "not_built":
            said = said.splitlines()[-1].strip()[:200] if said else ""
        status = step.status or 0
        ended = f"signal {-status}" if status < 0 else f"exit status {status}"
        return f"{what} ended with {ended}{f': {said}' if said else ''}"

    def _run(self, about: dict[str, Any]) -> tuple[Step, str]:
        """Run a command to its end, or to a limit; say what the limit was."""
        step = Step(about["argv"], self._order["env"])
        self._groups.append(step.pid)
        problem = ""
        with selectors.DefaultSelector() as waiting:
            for descriptor in (step.out, step.err, self._wakeup, 0):
                waiting.register(descriptor, selectors.EVENT_READ)
            while not problem:
                step.collect()
                if step.status is not None:
                    break
                if time.monotonic() - step.began > about["timeout"]:
                    problem = "timeout"
                elif about["measured"] and len(step.stdout) > LARGEST_OUTPUT:
                    problem = "output"
                else:
                    self._wait(waiting, step, about["measured"])
                    self._watch()
        if problem:
            self.end_all(step)
        step.drain()
        return step, problem

    def _wait(self, waiting: selectors.BaseSelector, step: Step, measured: bool) -> None:
        for key, _ in waiting.select(_LOOK):
            if key.fd == self._wakeup:
                with suppress(BlockingIOError):
                    os.read(self._wakeup, _TAIL)
            elif key.fd == 0:
                raise ClientGone
            elif not step.read(key.fd):
                waiting.unregister(key.fd)
        if not measured:
            step.stdout = step.stdout[-_TAIL:]

    def _watch(self) -> None:
        """Compare what the processes use with the owner's limits.

        Raises:
            Exceeded: where they use more.
        """
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _LOOK
        found = self._processes()
        if len(found) > self._limits["processes"]:
            raise Exceeded(f"more than {self._limits['processes']} processes")
        if sum(_memory(pid) for pid in found) > self._limits["memory"]:
            raise Exceeded(f"more than {self._limits['memory'] >> 20} MiB of memory")
        folder = self._order["watched"]
        if folder and _size(folder) > self._limits["disk"]:
            raise Exceeded(f"more than {self._limits['disk'] >> 20} MiB of files")

    def _check_limits(self, step: Step) -> None:
        """Whether a failed step failed because of a limit: then it is not the subject's failure.

        Raises:
            Exceeded: if so.
        """
        if step.peak > 0.9 * self._limits["memory"]:
            raise Exceeded(f"more than {self._limits['memory'] >> 20} MiB of memory")
        if step.status in {-signal.SIGXCPU, 128 + signal.SIGXCPU}:
            raise Exceeded(f"more than {self._limits['cpu']:g} s of CPU time")
        for folder in self._order["folders"]:
            free = os.statvfs(folder)
            if free.f_bavail * free.f_frsize < _FULL or step.status == -signal.SIGXFSZ:
                raise Exceeded(f"more than {self._limits['disk'] >> 20} MiB of files")

    def _read_output(self, path: str, made: dict[str, Any]) -> None:
        """Read the file that the command wrote; the server finds a missing one."""
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as file:
                data = file.read(LARGEST_OUTPUT + 1)
        except OSError as error:
            made["detail"] = f"the output file cannot be read: {error.strerror}"
            return
        if len(data) > LARGEST_OUTPUT:
            made.update(outcome="failed", detail="the output file has more than 16 MiB")
            return
        made["output"] = base64.b64encode(data).decode()

    def _clean_up(self, made: dict[str, Any]) -> None:
        for about in self._order["cleanup"]:
            step, problem = self._run(about)
            why = self._problem(about, step, problem)
            if why and not made["detail"]:
                made["detail"] = why

    def _processes(self) -> list[int]:
        """All processes of the job."""
        if self._first:
            return [int(name) for name in os.listdir("/proc") if name.isdigit() and name != "1"]
        return _descendants(os.getpid()) if sys.platform == "linux" else []

    def end_all(self, step: Optional[Step] = None) -> None:
        """End all processes of the job, and wait for them; what ``step`` used is counted."""
        until = time.monotonic() + 10.0
        while time.monotonic() < until:
            self._kill()
            if step is not None:
                step.collect()
            with suppress(ChildProcessError):
                while step is None and os.waitpid(-1, os.WNOHANG)[0]:
                    pass
            if not self._processes() and (step is None or step.status is not None):
                return
            time.sleep(0.002)

    def _kill(self) -> None:
        if self._first:
            with suppress(OSError):
                os.kill(-1, signal.SIGKILL)
        elif sys.platform == "linux":
            for pid in self._processes():
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
        else:
            for group in self._groups:
                with suppress(OSError):
                    os.killpg(group, signal.SIGKILL)


def _descendants(root: int) -> list[int]:
    parents: dict[int, int] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                parents[int(name)] = int(file.read().rpartition(b")")[2].split()[1])
    found, known = [root], {root}
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid and child not in known]
        known.update(found)
    return found[1:]


def _memory(pid: int) -> int:
    """The memory that a process does not share, in bytes; 0 where that is not known."""
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm", "rb") as file:
        _, resident, shared = map(int, file.read().split()[:3])
        return max(0, resident - shared) * resource.getpagesize()
    return 0


def _size(folder: str) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with suppress(OSError):
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
    return total


def _set_limits(limits: dict[str, Any]) -> None:
    chosen = {"RLIMIT_CORE": 0, "RLIMIT_FSIZE": limits["disk"]}
    if limits["cpu"] is not None:
        chosen["RLIMIT_CPU"] = int(limits["cpu"])
    if limits["own_processes"]:  # else those of the whole user would count
        chosen["RLIMIT_NPROC"] = limits["processes"] + 8
    for name, most in chosen.items():
        number = getattr(resource, name, None)
        if number is not None:
            with suppress(OSError, ValueError):
                hard = resource.getrlimit(number)[1]
                lowered = most if hard == resource.RLIM_INFINITY else min(most, hard)
                resource.setrlimit(number, (lowered, lowered + 1 if name == "RLIMIT_CPU" else lowered))


def _prepare_linux() -> None:
    """Adopt orphans; hide the descriptors of this process from the job; be the first to be ended without memory."""
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    with suppress(OSError), open("/proc/self/oom_score_adj", "w") as file:  # not permitted afterwards
        file.write("1000")
    library.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def main() -> None:
    """Perform the order in the first line of standard input, which stays open as long as the client lives."""
    order = json.loads(_first_line(0))
    for descriptor in order["kept"]:
        with suppress(OSError):
            os.set_inheritable(descriptor, False)
    report = os.dup(1)
    os.dup2(2, 1)
    os.chdir(order["cwd"])
    if sys.platform == "linux":
        with suppress(OSError, AttributeError):
            _prepare_linux()
    _set_limits(order["limits"])
    runner = Runner(order)
    with suppress(ClientGone, BrokenPipeError), os.fdopen(report, "w") as file:
        json.dump(runner.report(), file)
    os._exit(0)


def _first_line(descriptor: int) -> bytes:
    line = bytearray()
    while not line.endswith(b"\n"):
        part = os.read(descriptor, _FULL)
        if not part:
            os._exit(0)
        line += part
    return bytes(line)


if __name__ == "__main__":
    main()
