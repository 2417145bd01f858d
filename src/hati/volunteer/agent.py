"""The client's loop: deliver, claim, run, return; what it has begun is on disk, so that it can be killed anywhere."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any, Optional

from .artefacts import Kept
from .connection import BackOff, Connection
from .envelope import opened
from .files import EnvelopeError, JoinError, LimitExceeded, ServerRefusal, Unreachable, locked, remove
from .jobs import JobRunner
from .limits import OwnerTemplate
from .registration import RegisteredMachine
from .sandbox import NoSandbox, Sandbox
from .spool import ClaimFile, Say, Spool

_RENEWALS = 3
"""The number of renewals in the time of a lease."""
_PAUSE = 30.0
"""Seconds until work is asked for again, where the server does not say when."""
_ATTEMPTS = 4
"""How often a server is tried that does not answer, where the client is to end then."""


@dataclass(frozen=True)
class HeldLease:
    """A batch that this machine has for a time: ``seconds`` from each renewal."""

    batch: int
    attempt: int
    seconds: float
    envelope: Any

    @property
    def about(self) -> dict[str, int]:
        """What names it in requests."""
        return {"batch": self.batch, "attempt": self.attempt}


class Agent:
    """Works for one server. ``about`` describes this machine, ``say`` prints what happens, a line at a time."""

    def __init__(
        self,
        connection: Connection,
        member: RegisteredMachine,
        about: dict[str, Any],
        sandbox: Sandbox,
        template: OwnerTemplate,
        kept: Kept,
        say: Say,
    ) -> None:
        self._connection, self._member, self._about = connection, member, about
        self._sandbox, self._template, self._kept, self._say = sandbox, template, kept, say
        self._spool = Spool(member.folder / "spool")
        self._backoff, self._quiet_until = BackOff(), 0.0
        self.runs = self.delivered = 0

    def serve(self, *, once: bool) -> None:
        """Work until there is nothing to do, if only once is wanted; else for ever.

        Raises:
            JoinError: where the server refuses this client, or, once, is not reached.
        """
        failures = 0
        while True:
            try:
                self._deliver()
                wait = self._outside_hours(once=once)
                if wait is None:
                    wait = self._turn()
            except Unreachable as error:
                failures += 1
                if once and failures >= _ATTEMPTS:
                    raise JoinError(f"{error}{self._left()}", "join again later") from None
                if failures == 1:
                    self._say(f"{error}{self._left()}; trying again")
                wait = self._hold(error)
            else:
                failures = 0
                if wait is not None and once:
                    return
            time.sleep(wait or 0.0)

    def _hold(self, error: Unreachable) -> float:
        """The time until the server is tried again, in seconds."""
        left = self._quiet_until - time.monotonic()
        if left <= 0.0:
            left = self._backoff.wait(error.wait)
            self._quiet_until = time.monotonic() + left
        return left

    def _outside_hours(self, *, once: bool) -> Optional[float]:
        """The time until the hours begin, None within them."""
        wait = 0.0 if self._template.hours is None else self._template.hours.wait(datetime.now())
        if not wait:
            return None
        if once:
            self._say(f"nothing is run outside of the hours {self._template.hours}")
        return min(wait, 3600.0)

    def _left(self) -> str:
        count = len(self._spool)
        return f"; {count} result{'' if count == 1 else 's'} kept to be sent later" if count else ""

    def _deliver(self) -> None:
        """Send what is in the spool, unless the server is to be left alone for a while.

        Raises:
            Unreachable: where something is left there.
            JoinError: where the server refuses this client.
        """
        left = self._quiet_until - time.monotonic()
        if len(self._spool) and left > 0.0:
            raise Unreachable(f"{self._connection.url} is tried again later", left)
        try:
            self.delivered += self._spool.deliver(self._connection, self._say)
        except Unreachable as error:
            self._hold(error)
            raise
        self._backoff.reset()

    def _turn(self) -> Optional[float]:
        """Claim a batch and run it, alone on this machine; return when to ask again if there was none."""
        with locked(machine_lock(), self._wait_for_machine, 0o666) as lock:
            assert lock is not None
            self._kept.tidy()
            claim = ClaimFile(self._member.folder / "claim.json")
            lease, wait = self._claimed(claim)
            if lease is None:
                claim.remove()
                return wait
            self._work(lease, claim, lock)
        return None

    def _wait_for_machine(self) -> None:
        self._say("waiting for another hati that measures on this machine")

    def _claimed(self, claim: ClaimFile) -> tuple[Optional[HeldLease], Optional[float]]:
        try:
            answer = self._connection.post("/v1/claim", {"key": claim.key, "client": self._about})
        except ServerRefusal as refusal:
            if claim.resumed:  # by a killed client, whose lease was lost meanwhile
                return None, 0.0
            raise JoinError(f"{self._connection.url} does not give work to this machine: {refusal}") from None
        if answer.status == 204 or not isinstance(answer.body.get("lease"), dict):
            return None, _PAUSE if answer.retry is None else answer.retry
        found = answer.body["lease"]
        try:
            lease = HeldLease(int(found["batch"]), int(found["attempt"]), float(found["seconds"]), found["envelope"])
        except (KeyError, TypeError, ValueError):
            what = "a lease without `batch`, `attempt`, `seconds` or `envelope`"
            raise JoinError(f"{self._connection.url} sends {what}", "install a newer client") from None
        return lease, None

    def _work(self, lease: HeldLease, claim: ClaimFile, lock: int) -> None:
        """Run the jobs of a batch, of which the server leaves out those with a result; give back what is not run."""
        reason, outcome = "", "returned"
        try:
            with self._renewing(lease) as (lost, ending):
                reason = self._run_all(lease, claim, lock, lost, ending)
        except EnvelopeError as refusal:
            reason, outcome = f"refused: {refusal}", "failed"
        except LimitExceeded as exceeded:
            reason, outcome = f"not run here: {exceeded}", "failed"
        except OSError as error:
            reason, outcome = f"not run here: {error.strerror or error}", "failed"
        except ServerRefusal as refusal:
            reason, outcome = f"the artefact is not there: {refusal}", "failed"
        except (Unreachable, JoinError, KeyboardInterrupt):
            self._end(lease, "returned", "the client ended, or did not reach the server")
            claim.remove()
            raise
        if reason:
            self._say(f"batch {lease.batch}: {reason}")
            self._end(lease, outcome, reason)
        claim.remove()
        with suppress(Unreachable):
            self._deliver()

    def _run_all(self, lease: HeldLease, claim: ClaimFile, lock: int, lost: Event, ending: Event) -> str:
        """Run the jobs in order; return why some are given back, empty if none is."""
        envelope = opened(lease.envelope, self._member.machine, self._member.key, time.time())
        if why := next(filter(None, (self._template.excluded(job.settings) for job in envelope.jobs)), ""):
            return why
        if isinstance(self._sandbox, NoSandbox) and any(job.files for job in envelope.jobs):
            raise EnvelopeError("its configuration files are written by the server, and used in a sandbox only")
        artefact = self._kept.artefact(self._connection, envelope.statement.artefact, envelope.size)
        root = self._member.folder / "run"
        remove(root)  # what a killed client left
        root.mkdir(mode=0o700)
        runner = JobRunner(self._sandbox, self._template.limits, self._kept, root, (lock,), lost)
        try:
            for job in envelope.jobs:
                if ending.is_set() or lost.is_set():
                    return "withdrawn"
                claim.begin(job.task)
                self._keep("/v1/result", {**lease.about, **runner.result(envelope.statement, job, artefact)})
                self.runs += 1
                with suppress(Unreachable):
                    self._deliver()
        finally:
            remove(root)
        return ""

    def _keep(self, path: str, body: dict[str, Any]) -> None:
        """Keep a result until it is delivered; where the disk is full, deliver it at once."""
        try:
            self._spool.keep(path, body)
        except OSError as error:
            try:
                self._connection.post(path, body)
            except (Unreachable, ServerRefusal):
                raise LimitExceeded(f"the result cannot be kept: {error.strerror}") from None

    def _end(self, lease: HeldLease, outcome: str, reason: str) -> None:
        """Give a batch back; where the server is not reached, its lease ends later."""
        with suppress(Unreachable, ServerRefusal, JoinError):
            self._deliver()
            self._connection.post("/v1/end", {**lease.about, "outcome": outcome, "reason": reason})

    @contextmanager
    def _renewing(self, lease: HeldLease) -> Iterator[tuple[Event, Event]]:
        """Renew a lease at intervals; yield what is set when it is lost, and when the batch is to end."""
        stopped, lost, ending = Event(), Event(), Event()

        def renew() -> None:
            while not stopped.wait(lease.seconds / _RENEWALS):
                try:
                    answer = self._connection.post("/v1/renew", lease.about)
                except ServerRefusal as refusal:
                    if refusal.status in {404, 409, 410}:
                        lost.set()
                        return
                except (Unreachable, JoinError):
                    continue  # tried again; a lost lease shows when a result is handed in
                else:
                    if answer.body.get("state") == "ending":
                        ending.set()

        thread = Thread(target=renew, daemon=True)
        thread.start()
        try:
            yield lost, ending
        finally:
            stopped.set()
            thread.join(timeout=lease.seconds)


def machine_lock() -> Path:
    """The file whose lock is held by whatever of Hati measures on this machine; ``HATI_LOCK`` names another."""
    named = os.environ.get("HATI_LOCK")
    if named:
        return Path(named)
    common = Path("/tmp")  # noqa: S108 - not TMPDIR, which differs between those who share the machine
    return (common if os.access(common, os.W_OK) else Path(tempfile.gettempdir())) / "hati-machine.lock"
