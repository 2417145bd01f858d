"""Programs and campaigns that tests interrupt."""

from __future__ import annotations

import contextlib
import signal
from typing import Any

from hati.campaign import campaign
from hati.core import Budget, Evidence, Plan, Run, Study
from hati.testing import FakeEngine, MemoryStore


def heeding_signals() -> None:
    """Tests may run in the background, where a shell or nohup has signals ignored."""
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def run_until_killed(study: Study[Any], engine: FakeEngine, store: MemoryStore, budget: Budget, after: int) -> None:
    """A campaign that is killed when the store has the number of runs ``after``; one that ends before is not."""

    class KilledError(Exception):
        pass

    def kill(run: Run, evidence: Evidence, plan: Plan) -> None:
        if len(store.kept) == after:
            raise KilledError

    with contextlib.suppress(KilledError):
        campaign(study, engine, store, budget, kill)
