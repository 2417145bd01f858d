"""Programs and campaigns that tests interrupt."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterable
from typing import Any

import psutil

from hati.campaign import campaign
from hati.core import Budget, Evidence, Plan, Run, Study
from hati.testing import FakeEngine, MemoryStore


def heeding_signals() -> None:
    """Tests may run in the background, where a shell or nohup has signals ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def still_running(processes: Iterable[psutil.Process], seconds: float = 60.0) -> list[psutil.Process]:
    """Those that have not ended within a time, which are then killed.

    What has ended stays a zombie until the first process of the machine reads its status, which may take seconds.
    """
    until = time.monotonic() + seconds
    while (left := [each for each in processes if _runs(each)]) and time.monotonic() < until:
        time.sleep(0.01)
    for each in left:
        each.kill()
    return left


def _runs(process: psutil.Process) -> bool:
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def run_until_killed(study: Study[Any], engine: FakeEngine, store: MemoryStore, budget: Budget, after: int) -> None:
    """A campaign that is killed when the store has the number of runs ``after``; one that ends before is not."""

    class KilledError(Exception):
        pass

    def kill(run: Run, evidence: Evidence, plan: Plan) -> None:
        if len(store.kept) == after:
            raise KilledError

    with contextlib.suppress(KilledError):
        campaign(study, engine, store, budget, kill)
