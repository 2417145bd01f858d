"""A worker: takes batches from a ledger for this machine, runs them, and returns the results to the ledger."""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread

from hati.core import Batch, HatiError, Job, Run, replace
from hati.engine.local import say_nothing
from hati.engine.serial import SerialEngine
from hati.steering import Choose, Client, choose, unmet
from hati.store import LEASE_SECONDS, AttemptOutcome, BatchState, EntryKind, Lease, Ledger

_SHORTEST, _LONGEST = 0.01, 0.5
"""Seconds between two requests for work."""
_FAILURES = 3
"""The number of successive failed batches that are taken for the machine's fault."""
_RENEWALS = 3
"""The number of renewals in the time of a lease."""

Say = Callable[[str], None]
MakeSerialEngine = Callable[[Batch[Job], Say], SerialEngine[Job]]
HasFiles = Callable[[str, str], bool]
Observe = Callable[[Run], None]


def watch_nothing(_: Run) -> None:
    """Do nothing."""


class Worker:
    """Runs batches on this machine, one at a time; locks of the machine are held while there is work.

    ``client`` is the machine; ``has`` says whether it has the files with a digest, of a revision; ``make`` makes the
    engine that runs a batch here. The engine calls the second argument of ``make`` where it has to wait for the
    machine: the batch is then returned. ``observe`` is called with each run, ``announce`` with a sentence where a batch
    is not run. A lease lasts for ``seconds``, and is renewed. ``choose`` chooses among the waiting batches.
    """

    def __init__(
        self,
        ledger: Ledger,
        client: Client,
        has: HasFiles,
        make: MakeSerialEngine,
        observe: Observe = watch_nothing,
        seconds: float = LEASE_SECONDS,
        announce: Say = say_nothing,
        choose: Choose = choose,
    ) -> None:
        self._choose = choose
        self._ledger, self._client, self._has, self._make = ledger, client, has, make
        self._observe, self._seconds, self._announce = observe, seconds, announce
        self._lease: Lease | None = None
        self._key = f"{client.name}-{secrets.token_hex(4)}"
        self._asked: set[str] = set()
        self._engine: SerialEngine[Job] | None = None
        self._about: object = None
        self._failures = 0
        self._renewed = -math.inf

    @property
    def key(self) -> str:
        """The worker's name in the ledger, another one for each worker."""
        return self._key

    @property
    def machine(self) -> str:
        """The identity of its machine."""
        return self._client.machine

    def serve(self, idle: float) -> None:
        """Work until nothing has been open for this machine for ``idle`` seconds.

        Raises:
            HatiError: where several successive batches fail here.
        """
        pause, since = _SHORTEST, time.monotonic()
        with self.present():
            while True:
                self.renew_presence()
                if self.run_next():
                    pause, since = _SHORTEST, time.monotonic()
                    continue
                if time.monotonic() - since >= idle:
                    return
                time.sleep(min(pause, max(0.0, since + idle - time.monotonic())))
                pause = min(2 * pause, _LONGEST)
                if pause == _LONGEST:
                    self.rest()

    @contextmanager
    def present(self) -> Iterator[None]:
        """Be present in the ledger; at the end what is kept between batches is closed, and the worker leaves."""
        try:
            yield
        finally:
            self.rest()
            self._ledger.leave(self._key)

    def renew_presence(self) -> float:
        """Enter the ledger, or renew the presence there, when that is due; the seconds until it is due again."""
        interval = self._seconds / _RENEWALS
        if time.monotonic() - self._renewed > interval:
            self._ledger.enter(self._key, self._client, self._seconds)
            self._ledger.expire()  # no more often: an idle worker leaves its machine quiet
            self._renewed = time.monotonic()
        return self._renewed + interval - time.monotonic()

    def run_next(self) -> bool:
        """Run the next batch for this machine; False where there is none.

        Raises:
            HatiError: where several successive batches fail here.
        """
        lease = self._next()
        if lease is not None:
            self._work(lease)
        return lease is not None

    def rest(self) -> None:
        """Close the engine that is kept from one batch to the next, and so release the locks of the machine."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None

    def _next(self) -> Lease | None:
        """The lease of a batch whose requirements this machine meets; None where there is none."""
        wanted = self._ledger.wanted(self._client.machine)
        for each in wanted:
            for sources, revision in zip(each.sources, each.revisions, strict=False):
                if sources not in self._asked:
                    self._asked.add(sources)
                    if self._has(sources, revision):
                        self._client = replace(self._client, sources=(*self._client.sources, sources))
        if not any(not unmet(each, self._client) for each in wanted):
            return None
        return self._ledger.claim(self._key, self._client, self._choose, self._seconds)

    def _work(self, lease: Lease) -> None:
        """Run a batch; if it is withdrawn, stop after the run in progress."""
        try:
            with self._renewing(lease):
                ended = self._run(lease)
        except HatiError as error:
            self._fail(lease, AttemptOutcome.FAILED, str(error))
            self._failures += 1
            if self._failures >= _FAILURES:
                raise
        except Exception as error:  # a batch at which each worker ends has to come to an end
            self._fail(lease, AttemptOutcome.CRASHED, f"the worker ended by {type(error).__name__}: {error}")
            raise
        except BaseException:
            self.rest()
            self._ledger.end(lease, AttemptOutcome.RETURNED, f"the worker on {self._client.name} ended")
            raise
        else:
            self._failures = 0
            if not ended:
                self._ledger.end(lease, AttemptOutcome.RETURNED, "withdrawn")

    def _run(self, lease: Lease) -> bool:
        """Run the jobs of a batch, unless it was returned during the wait; whether all were accepted."""
        self._lease = lease
        engine = self._engine_for(lease.batch)
        engine.hold(lease.batch.members[0].task.study)
        if self._lease is None:
            return False
        engine.submit(lease.batch)
        accepted, number = 0, len(lease.batch.members)
        for made, run in enumerate(engine.completed(), start=1):
            accepted += self._ledger.accept(lease, run) is EntryKind.ACCEPTED
            self._observe(run)
            if made < number and self._ledger.standing(lease) is not BatchState.LEASED:
                engine.withdraw(lease.batch)
        return accepted == number

    def _wait(self, sentence: str) -> None:
        """Return the batch: another machine may be free before this one is."""
        self._announce(sentence)
        if self._lease is not None:
            self._ledger.end(self._lease, AttemptOutcome.RETURNED, f"{self._client.name}: {sentence}")
            self._lease = None

    def _fail(self, lease: Lease, outcome: AttemptOutcome, reason: str) -> None:
        self.rest()
        self._announce(f"batch {lease.number} was not run: {reason}")
        self._ledger.end(lease, outcome, f"{self._client.name}: {reason}")

    def _engine_for(self, batch: Batch[Job]) -> SerialEngine[Job]:
        """The engine of the last batch if it serves this one too: builds and started servers are used again."""
        about = [(job.benchmark.definition, job.sources) for job in batch.members]
        if self._engine is None or about != self._about:
            self.rest()
            self._engine, self._about = self._make(batch, self._wait), about
        return self._engine

    @contextmanager
    def _renewing(self, lease: Lease) -> Iterator[None]:
        """Renew a lease at intervals."""
        ended = Event()

        def renew() -> None:
            while not ended.wait(self._seconds / _RENEWALS):
                with suppress(HatiError):  # it is tried again; a lease that is lost shows when a result is handed in
                    self._ledger.renew(lease, self._seconds)

        thread = Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
