"""A second process that watches over the supervisor, which a benchmark may kill or stop."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from typing import NoReturn

from .process_tree import ProcessTree, kill

GIVE_UP_SECONDS = 10.0
"""On a process that the kernel does not let die."""
_ASKING = (signal.SIGTERM, signal.SIGINT)
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def watch_over(*closed: int) -> None:
    """Go on in a new process, over which the one until now watches, without the descriptors ``closed``.

    The one watched over is killed where it is stopped: nothing would be measured or ended any more. When it ends, all
    that it leaves is killed. When the watchdog ends first, the other is asked to end.
    """
    _control(_PR_SET_CHILD_SUBREAPER, 1)
    me = os.getpid()
    watched = os.fork()
    if watched:
        for fd in closed:
            os.close(fd)
        _watch(watched)
    os.setpgid(0, 0)  # so that no signal to a group is for both
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
    tree, deadline = ProcessTree(), time.perf_counter() + GIVE_UP_SECONDS
    while time.perf_counter() < deadline:
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:
            return
        for pid in tree.below():
            kill(pid)
        time.sleep(0.0005)  # what was killed takes a moment to end


def _control(option: int, value: int) -> None:
    if ctypes.CDLL(None).prctl(option, value, 0, 0, 0) != 0:
        sys.exit("hati needs a kernel with PR_SET_CHILD_SUBREAPER")
