"""The engine whose batches are run by workers that are registered at a Dask scheduler."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any
from uuid import uuid4

from hati.core import Batch, Job, MeasurementError
from hati.core.wording import counted, listed
from hati.engine.dask_worker import (
    NothingToRun,
    labelled,
    machine_label,
    prepare_dask,
    reason_of,
    run_next_batch,
    security_of,
)
from hati.engine.engines import ANYWHERE, Placement
from hati.engine.workers import WorkersEngine
from hati.project import ClusterAddress
from hati.steering import Requirements
from hati.store import BatchState, Ledger

_REFRESH_SECONDS = 1.0
_POLL_SECONDS = 0.1
_CONNECT_SECONDS, _AGAIN_SECONDS = 10.0, 2.0
"""Time limits of the first connection, and of each attempt to connect again."""
_GONE_SECONDS = 3.0
"""The time for which a worker may be missing at the scheduler, as after a short break of its connection."""
_NAMED = 5


class DaskClient:
    """A connection to a scheduler and its workers, each machine of which is asked for one batch at a time.

    ``machines`` maps the keys of workers to the identities of their machines; ``errors`` maps those of machines to why
    they could not be asked.
    """

    def __init__(self, address: ClusterAddress) -> None:
        prepare_dask()
        self.machines = dict[str, str]()
        self.errors = dict[str, str]()
        self._address = address
        self._security = security_of(address, "client")
        self._client: Any = None
        self._scheduler = ""
        self._missing = dict[str, float]()
        self._asked = dict[str, Any]()
        self._nothing = set[str]()
        self._ended = SimpleQueue[tuple[str, Any]]()
        self._changed = Event()

    def connect(self, seconds: float) -> None:
        """Connect, unless there is a connection.

        Raises:
            OSError: where the scheduler does not answer.
        """
        from distributed import Client

        if self._client is not None and self._client.status == "running":
            return
        self.close()
        self._client = Client(str(self._address), security=self._security, timeout=seconds, set_as_default=False)

    def refresh(self) -> tuple[str, ...]:
        """Read which workers are there; return the keys of those that have gone while the scheduler stayed.

        Raises:
            OSError: where the scheduler does not answer.
        """
        scheduler = self._client.scheduler  # asked directly: the client's own copy hides errors
        found = self._client.sync(scheduler.identity, n_workers=-1, callback_timeout=_AGAIN_SECONDS)
        known = filter(None, (labelled(each["resources"]) for each in found["workers"].values()))
        here = {worker: machine for machine, worker in known}
        now = time.monotonic()
        left = {} if found["id"] != self._scheduler else {**self.machines, **self._missing}
        self._missing = {worker: self._missing.get(worker, now) for worker in left if worker not in here}
        gone = tuple(worker for worker, since in self._missing.items() if now - since > _GONE_SECONDS)
        for worker in gone:
            del self._missing[worker]
        self._scheduler, self.machines = found["id"], here
        return gone

    def ask(self, machines: Iterable[str]) -> None:
        """Ask machines for a batch, but those that have a request, or answered lately that there is nothing."""
        self._collect()
        for machine in machines:
            if machine not in self._asked and machine not in self._nothing:
                future = self._client.submit(
                    run_next_batch, key=f"hati-{uuid4().hex}", resources={machine_label(machine): 1}, retries=0
                )
                self._asked[machine] = future
                future.add_done_callback(lambda future, machine=machine: self._end(machine, future))

    def ask_again(self) -> None:
        """Ask also those that answered that there is nothing."""
        self._nothing.clear()

    def wait(self, seconds: float) -> None:
        """Wait until a request has been answered, no longer than a time."""
        self._changed.wait(seconds)
        self._changed.clear()

    def close(self) -> None:
        """End the connection; batches in progress are finished."""
        self._asked.clear()
        self._nothing.clear()
        if self._client is not None:
            with suppress(OSError):
                self._client.close(timeout=_AGAIN_SECONDS)
            self._client = None

    def _end(self, machine: str, future: Any) -> None:
        """Note an answer; called in Dask's thread."""
        self._ended.put((machine, future))
        self._changed.set()

    def _collect(self) -> None:
        with suppress(Empty):
            while True:
                machine, future = self._ended.get_nowait()
                error = future.exception() if future.status == "error" else None
                if self._asked.get(machine) is future:
                    del self._asked[machine]
                    if error is not None:
                        self._nothing.add(machine)
                    if error is not None and not isinstance(error, NothingToRun):
                        self.errors[machine] = reason_of(error)


class DaskEngine(WorkersEngine):
    """Releases batches into a ledger, and asks machines for them through a scheduler when they are idle.

    The ledger alone knows batches, attempts and results; Dask says which workers are there. A worker that it lost gives
    its batch back at once. If the scheduler ends, batches in progress are finished, and asking goes on when there is
    one again.

    Raises:
        InputError: where Dask or a certificate is missing.
    """

    def __init__(
        self,
        ledger: Ledger,
        machines: Sequence[str],
        waiting: Callable[[str], None],
        address: ClusterAddress,
        asked: Requirements | None = None,
        placement: Placement = ANYWHERE,
    ) -> None:
        super().__init__(ledger, machines, waiting, asked, placement)
        self.nobody = f"waiting for a worker: start one by `hati worker --scheduler {address}`, with the same store"
        self._address = address
        self._cluster = DaskClient(address)
        self._refreshed: float | None = None
        self._connected = False
        self._known = frozenset[str]()
        self._present_workers = 0

    def hold(self, study: str) -> None:
        """Connect to the scheduler.

        Raises:
            MeasurementError: where it does not answer.
        """
        super().hold(study)
        self._refresh()

    def capacity(self) -> int:
        """One batch for each present worker, at least one, minus the released batches."""
        self._refresh()
        return max(1, self._present_workers) - len(self._out)

    def submit(self, batch: Batch[Job]) -> None:
        """Release a batch, and ask idle machines for it."""
        super().submit(batch)
        self._refresh()
        self._cluster.ask_again()
        self._ask()

    def close(self) -> None:
        """Withdraw the released batches, and leave the scheduler."""
        super().close()
        self._cluster.close()

    def _pause(self, _: float) -> None:
        if self._refresh():
            self._cluster.ask_again()
        self._ask()
        self._cluster.wait(_POLL_SECONDS)  # its answer comes when a batch is done; other results can wait

    def _ask(self) -> None:
        if any(each.state is BatchState.OPEN for each in self._out) and self._connected:
            here = self._cluster.machines
            self._cluster.ask(dict.fromkeys(here[worker] for worker in here if worker in self._known))
        for machine, reason in self._cluster.errors.items():
            self._say(f"machine {machine} cannot be asked for a batch: {reason}")

    def _refresh(self) -> bool:
        """Read at intervals which workers are there; whether it was done.

        Raises:
            MeasurementError: where the scheduler has never answered.
        """
        now, first = time.monotonic(), self._refreshed is None
        if self._refreshed is not None and now - self._refreshed < _REFRESH_SECONDS:
            return False
        self._connected = False
        try:
            self._cluster.connect(_CONNECT_SECONDS if first else _AGAIN_SECONDS)
            for worker in self._cluster.refresh():
                self._ledger.lose(worker, f"worker {worker} was lost by the scheduler at {self._address}")
            self._known |= self._ledger.workers()  # also one that was lost meanwhile, and is there again
            self._present_workers = len(self._present())
            self._connected = True
        except OSError as error:
            text = f"the scheduler at {self._address} does not answer: {reason_of(error)}"
            if first:
                fix = "start it by `dask scheduler`, or name another one"
                raise MeasurementError(text, fix=fix) from None
            self._say(f"{text}; waiting for it")
        self._refreshed = time.monotonic()
        return True

    def _say_why(self) -> None:
        """Say also which workers have another store.

        Raises:
            MeasurementError: where all have: no batch would ever be run.
        """
        here = self._cluster.machines
        strangers = sorted(set(here) - self._known)
        if strangers and len(strangers) == len(here) and not self._ledger.present():
            raise MeasurementError(
                f"the store of this campaign is not that of the {counted(len(here), 'worker')} at {self._address}: "
                f"{listed(strangers, _NAMED)}",
                fix="give workers and campaign the same store by --store: one in PostgreSQL, or a file on this host",
            )
        if strangers:
            self._say(f"workers with another store are not used: {listed(strangers, _NAMED)}")
        super()._say_why()
