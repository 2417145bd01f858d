"""Serve hati's requests one after the other, and track every process; a watchdog process watches this one."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import select
import signal
import sys
import time
from typing import NoReturn

from .program import Contention, Message, ProcessTree, StartedProgram, ask_to_end, group, kill, memory


class HangUp(Exception):  # noqa: N818 - not an error: hati has ended
    """The other end of the socket is closed."""


def _keep_from_children(fd: int) -> None:
    """Keep started programs from inheriting a descriptor."""
    fcntl.fcntl(fd, fcntl.F_SETFD, fcntl.FD_CLOEXEC)


class Channel:
    """Receives requests and sends replies over the socket ``fd``, which no child inherits."""

    def __init__(self, fd: int) -> None:
        _keep_from_children(fd)
        self.fd = fd

    def receive(self) -> Message:
        """The next request.

        Raises:
            HangUp: where hati has ended.
        """
        message: Message = json.loads(self._exactly(int.from_bytes(self._exactly(4), "big")))
        return message

    def send(self, reply: Message) -> None:
        """Answer a request."""
        text = json.dumps(reply).encode()
        data = len(text).to_bytes(4, "big") + text
        try:
            while data:
                data = data[os.write(self.fd, data) :]
        except OSError as error:
            raise HangUp from error

    def _exactly(self, size: int) -> bytes:
        parts = []
        while size:
            try:
                part = os.read(self.fd, size)
            except OSError as error:
                raise HangUp from error
            if not part:
                raise HangUp
            parts.append(part)
            size -= len(part)
        return b"".join(parts)


_GIVE_UP_SECONDS = 10.0
"""The time after which it gives up on a process that cannot be killed."""
_ASKING = (signal.SIGTERM, signal.SIGINT)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def _watch_over(*closed: int) -> None:
    """Continue in a new process; the current one becomes its watchdog, without the descriptors ``closed``.

    The watchdog kills the new process if it is stopped, since nothing would be measured or ended any more. When the new
    process ends, all processes that it leaves are killed. If the watchdog ends first, the new process is asked to end.
    """
    _control(_PR_SET_CHILD_SUBREAPER, 1)
    me = os.getpid()
    watched = os.fork()
    if watched:
        for fd in closed:
            os.close(fd)
        _watch(watched)
    os.dup2(sys.stdin.fileno(), sys.stdout.fileno())  # hati sees by the watchdog's output that it has ended
    os.setpgid(0, 0)  # so that a signal to a group never reaches both
    _control(_PR_SET_CHILD_SUBREAPER, 1)
    _control(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != me:
        sys.exit()


def _watch(watched: int) -> NoReturn:
    for number in _ASKING:
        signal.signal(number, lambda *_: _pass_on(watched))
    while (ended := os.waitid(os.P_PID, watched, os.WEXITED | os.WSTOPPED)) and ended.si_code == os.CLD_STOPPED:
        os.kill(watched, signal.SIGKILL)
    for number in _ASKING:
        signal.signal(number, signal.SIG_IGN)
    _end_all()
    os._exit(0)


def _pass_on(watched: int) -> None:
    try:  # noqa: SIM105 - contextlib would make the process larger
        os.kill(watched, signal.SIGTERM)
    except ProcessLookupError:
        pass


def _end_all() -> None:
    """Kill and reap all descendants."""
    tree, deadline = ProcessTree(), time.perf_counter() + _GIVE_UP_SECONDS
    while time.perf_counter() < deadline:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for pid in tree.below():
            kill(pid)
        time.sleep(0.0005)  # a killed process takes a moment to end


def _control(option: int, value: int) -> None:
    if ctypes.CDLL(None).prctl(option, value, 0, 0, 0) != 0:
        sys.exit("hati needs a kernel with PR_SET_CHILD_SUBREAPER")


_SAMPLE_SECONDS = 0.02
_SAMPLE_SHARE = 0.02  # the largest fraction of the time for sampling the tree's memory


class Service:
    """Runs a command to its end, keeps a server running meanwhile, and ends their remaining processes.

    ``bystanders`` are the pids and process groups from before the command was started (a server, background processes
    of `prepare`): they are neither counted nor killed with the command.
    """

    def __init__(self, channel: Channel, spool: int) -> None:
        self.channel = channel
        self.spool = spool
        self.tree = ProcessTree()
        self.command: StartedProgram | None = None
        self.server: StartedProgram | None = None
        self.bystanders: set[int] = set()
        self.asked = False
        self.rang = 0
        self.poll = select.poll()
        self.wake, wake_end = os.pipe()
        os.set_blocking(self.wake, False)
        os.set_blocking(wake_end, False)
        signal.signal(signal.SIGCHLD, self.ring)
        signal.set_wakeup_fd(wake_end, warn_on_full_buffer=False)
        self.poll.register(self.wake, select.POLLIN)
        self.poll.register(channel.fd, select.POLLIN | select.POLLRDHUP)

    def ring(self, _: int, __: object) -> None:
        """Record when a child ended: it is reaped, and the end of its pipes is seen, somewhat later."""
        self.rang = time.perf_counter_ns()

    def serve(self) -> None:
        """Answer requests until hati ends; leave no process behind."""
        answers = {"run": self.run, "start": self.start, "look": self.look, "clear": self.clear}
        try:
            while True:
                while not self.asked:
                    self.step(None)
                self.asked = False
                request = self.channel.receive()
                try:
                    reply = answers[request["do"]](request)
                except OSError as error:
                    reply = {"error": error.errno}
                except ValueError:  # a NUL, or an '=' in a variable's name
                    reply = {"error": errno.EINVAL}
                self.channel.send(reply)
        except HangUp:
            pass
        finally:
            self.clear({"patience": 0.0})

    def run(self, request: Message) -> Message:
        """Run a program to its end; end its remaining processes unless the request keeps them (`prepare`)."""
        self.bystanders = self.alive()
        os.ftruncate(self.spool, 0)
        os.lseek(self.spool, 0, os.SEEK_SET)
        contention = Contention(request["cpus"])
        command = self.command = self.follow(StartedProgram(request, self.spool if request["limit"] else None))
        problem = self.attend(command, command.began * 1e-9 + request["timeout"])
        contended = contention.since()
        if self.server is not None:  # the server waits for CPUs too, and is not counted
            contended["pressure"] = None
        stuck = self.end_others() if problem or not request["leave"] else set()
        self.forget(command)
        self.command = None
        return {**command.report(), **contended, "problem": problem, "stuck": sorted(stuck)}

    def start(self, request: Message) -> Message:
        """Start a server and return at once."""
        self.server = self.follow(StartedProgram(request, None))
        return self.server.report()

    def look(self, request: Message) -> Message:
        """The state of the server, after an event or after `seconds`."""
        self.step(request["seconds"])
        return self.server.report() if self.server else {}

    def clear(self, request: Message) -> Message:
        """Ask the server to end, wait `patience` seconds, and then kill everything that is left."""
        self.bystanders = set()
        report: Message = {}
        server = self.server
        if server is not None:
            already = server.status is not None
            if not already and request["patience"]:
                ask_to_end(server.pid)
                self.attend(server, time.perf_counter() + request["patience"])
            self.end_others()
            self.forget(server)
            self.server = None
            report = {**server.report(), "already": already}
        return {**report, "stuck": sorted(self.end_others())}

    def follow(self, program: StartedProgram) -> StartedProgram:
        """Watch a program's output."""
        for fd in program.pipes:
            self.poll.register(fd, select.POLLIN)
        return program

    def forget(self, program: StartedProgram) -> None:
        """Read the rest of a program's output and stop watching it."""
        for fd in program.pipes:
            self.poll.unregister(fd)
        program.close()

    def attend(self, program: StartedProgram, deadline: float) -> str:
        """Wait until a program ends, or kill it; return why it was killed, else an empty text."""
        sample, problem = time.perf_counter() + _SAMPLE_SECONDS, ""
        while program.status is None:
            now = time.perf_counter()
            if not problem and (now >= deadline or program.printed > program.limit):
                problem = "timeout" if now >= deadline else "output"
                deadline = now + _GIVE_UP_SECONDS
                kill(program.pid)
            elif now >= deadline:
                break
            if now >= sample:
                sample = self.sample(program)
            self.step(min(deadline, sample) - now)
        return problem

    def sample(self, program: StartedProgram) -> float:
        """Sample the memory of the command's tree; return the time of the next sample."""
        began = time.perf_counter()
        tree = self.others()
        if program is self.command and len(tree) > 1:  # for a single process the kernel's own figure is exact
            program.peak = max(program.peak, sum(map(memory, tree)))
        now = time.perf_counter()
        return now + max(_SAMPLE_SECONDS, (now - began) / _SAMPLE_SHARE)

    def step(self, timeout: float | None) -> None:
        """Wait for an event, at most ``timeout`` seconds, and handle it."""
        for fd, event in self.poll.poll(None if timeout is None else max(0.0, timeout * 1000)):
            if fd == self.wake:
                os.read(self.wake, 1 << 10)
                self.reap()
            elif fd == self.channel.fd:
                if event & (select.POLLRDHUP | select.POLLHUP | select.POLLERR):
                    raise HangUp
                self.asked = True
            else:
                self.drain(fd)

    def drain(self, fd: int) -> None:
        """Read the output of a program."""
        for program in (self.command, self.server):
            if program is not None and fd in program.pipes:
                program.drain(fd)

    def reap(self) -> bool:
        """Reap ended children and count their resources; False if no child is left."""
        while True:
            try:
                dead = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT) if self.bystanders else None
                bystander = dead is not None and self.stands_by(dead.si_pid)
                pid, status, usage = os.wait4(dead.si_pid if dead else -1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            for program in (self.command, self.server):
                if program is not None and program.pid == pid and program.status is None:
                    ended = self.rang if self.rang > program.began else time.perf_counter_ns()
                    program.status, program.wall = status, ended - program.began
            if self.command is not None and not bystander:
                self.command.add(usage)

    def stands_by(self, pid: int) -> bool:
        """Whether a process or its group is from before the command was started."""
        return bool(self.bystanders) and (pid in self.bystanders or group(pid) in self.bystanders)

    def others(self) -> set[int]:
        """All running processes, in any process group, that are neither bystanders nor their descendants."""
        found = {pid for pid in self.tree.below() if not self.stands_by(pid)}
        return found - self.tree.below(self.bystanders) if found and self.bystanders else found

    def alive(self) -> set[int]:
        """The pids and the process groups of all running processes."""
        if not self.reap():
            return set()
        pids = self.tree.below()
        return pids | {group(pid) for pid in pids}

    def end_others(self) -> set[int]:
        """Kill and reap all processes except the bystanders; return those that could not be killed."""
        deadline = time.perf_counter() + _GIVE_UP_SECONDS
        while self.reap():
            left = self.others()
            if not left or time.perf_counter() > deadline:
                return left
            for pid in left:
                kill(pid)
            time.sleep(0.0005)
        return set()


def main() -> None:
    """Serve on the socket whose descriptor is the first argument; the second is the spool for standard output.

    Further descriptors are kept open while the supervisor lives: a lock is held until the last process has ended.
    """
    channel, spool, *kept = map(int, sys.argv[1:])
    for fd in (spool, *kept):
        _keep_from_children(fd)
    _watch_over(channel, spool)
    for number in (*_ASKING, signal.SIGHUP):  # the kernel hangs up a stopped process whose watchdog was killed
        signal.signal(number, lambda *_: sys.exit())
    Service(Channel(channel), spool).serve()
