"""A worker that campaigns ask for batches through a Dask scheduler, instead of asking the ledger at intervals.

A task of Dask is only a request: "run the next batch that the ledger has for your machine". Batches and results go
through the ledger, so a request that is lost, or is made twice, does no harm.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import time
from asyncio import wrap_future
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from hati.core import InputError, MeasurementError
from hati.engine.worker import Worker
from hati.project import ClusterAddress

if TYPE_CHECKING:
    from distributed import Security


Role = Literal["client", "worker", "scheduler"]
_MACHINE, _WORKER = "hati-machine:", "hati-worker:"
_INSTALL = "install it: pip install 'hati[grid]'"


class NothingToRun(Exception):  # noqa: N818 - an answer, not an error
    """The ledger has no batch for the machine that was asked."""


async def run_next_batch() -> None:
    """Have the worker of this machine run the next batch, whose results are in the ledger when this returns.

    Raises:
        NothingToRun: where there is none for the machine.
    """
    from distributed import get_worker

    worker: Any = get_worker()
    if not await wrap_future(worker.hati_requests.add()):
        raise NothingToRun


def labels(machine: str, worker: str) -> dict[str, float]:
    """The resources of a Dask worker: the machine, of which a request needs all, and the worker's key."""
    return {machine_label(machine): 1.0, f"{_WORKER}{worker}": 1.0}


def machine_label(machine: str) -> str:
    """The resource that a request to a machine needs."""
    return f"{_MACHINE}{machine}"


def labelled(resources: Mapping[str, float]) -> tuple[str, str] | None:
    """The machine and the worker's key among a Dask worker's resources; None for a worker that is not Hati's."""
    found = {prefix: name.removeprefix(prefix) for name in resources for prefix in _PREFIXES if name.startswith(prefix)}
    return (found[_MACHINE], found[_WORKER]) if len(found) == len(_PREFIXES) else None


_PREFIXES = (_MACHINE, _WORKER)


def prepare_dask() -> None:
    """Load Dask, and silence it: what goes wrong is reported by Hati.

    Raises:
        InputError: where it is not installed.
    """
    try:
        import distributed  # noqa: F401 - whether it is installed
    except ModuleNotFoundError:
        raise InputError("clusters need Dask", fix=_INSTALL) from None
    for name in ("distributed", "tornado", "asyncio"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def security_of(address: ClusterAddress, role: Role) -> Security:
    """The certificates of Dask's configuration, with which both ends prove who they are.

    Raises:
        InputError: where an address needs them, and one is missing or cannot be used.
    """
    from distributed import Security

    if address.scheme != "tls":
        return Security()
    settings = {"ca_file": "ca-file", "cert": f"{role}.cert", "key": f"{role}.key"}
    made = Security(require_encryption=True)
    found: dict[str, Any] = made.get_tls_config_for_role(role)
    for field, name in settings.items():
        if not found[field]:
            raise InputError(
                f"{address} needs a certificate: `distributed.comm.tls.{name}` is not set in Dask's configuration",
                fix=f"set it in ~/.config/dask/tls.yaml, or set {_variable(name)} to the path of a PEM file",
            )
    try:
        made.get_connection_args(role)
    except (OSError, ssl.SSLError) as error:
        paths = ", ".join(str(found[field]) for field in settings)
        raise InputError(
            f"a certificate for {address} cannot be used: {error.strerror or error} ({paths})",
            fix="correct `distributed.comm.tls` in Dask's configuration",
        ) from None
    return made


def reason_of(error: BaseException) -> str:
    """The innermost reason of a failed connection that is in words."""
    reason, cause = type(error).__name__, error.__cause__
    reason = " ".join(str(error).split()) or reason
    while cause is not None:
        reason = " ".join(str(cause).split()) or reason
        cause = cause.__cause__
    return reason


def _variable(name: str) -> str:
    """The environment variable that sets a value of Dask's configuration."""
    words = name.upper().replace(".", "__").replace("-", "_")
    return f"DASK_DISTRIBUTED__COMM__TLS__{words}"


_QUIET = {
    "distributed.worker.profile.enabled": False,
    "distributed.worker.http.routes": [],
    "distributed.worker.memory.spill": False,
    "distributed.worker.memory.pause": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.terminate": False,
    "distributed.admin.tick.interval": "60s",
    "distributed.admin.tick.cycle": "60s",
    "distributed.admin.tick.limit": "1h",
    "distributed.admin.system-monitor.interval": "60s",
}
"""Dask's settings with which an idle worker leaves its machine alone."""
_NEEDLESS = ("find_missing", "shift_counters", "tick", "ticks")
"""What a Dask worker does at intervals for data that it has; ours has none."""
_HEARTBEAT_SECONDS = 10.0
"""Below a thirtieth of the time after which a scheduler takes a silent worker for dead by default."""
_AGAIN_SECONDS = 1.0
_CONNECT_SECONDS = 20.0
_REST_SECONDS = 0.5
"""The time without a request after which the locks of the machine are released."""


class Requests:
    """Requests for the next batch, from Dask's thread to the one that runs batches."""

    def __init__(self) -> None:
        self._queue = SimpleQueue[Future[bool]]()

    def add(self) -> Future[bool]:
        """Add a request; its result is whether a batch was run."""
        future = Future[bool]()
        self._queue.put(future)
        return future

    def answer(self, run_next: Callable[[], bool], seconds: float) -> bool:
        """Answer the next request, if one comes within a time; whether one came."""
        try:
            future = self._queue.get(timeout=max(0.0, seconds))
        except Empty:
            return False
        if future.set_running_or_notify_cancel():
            try:
                future.set_result(run_next())
            except BaseException:
                future.set_exception(NothingToRun())
                raise
        return True


def serve_requests(worker: Worker, address: ClusterAddress, idle: float, announce: Callable[[str], None]) -> None:
    """Run batches for a machine whenever a campaign asks for one, until none has asked for ``idle`` seconds.

    The batch in progress is finished when the scheduler ends; then it connects again as soon as there is one.

    Raises:
        InputError: where certificates are missing.
        HatiError: where several successive batches fail here.
    """
    with worker.present():
        worker.renew_presence()  # whoever sees the worker at the scheduler finds it in the ledger
        with DaskThread(worker, address, announce) as thread:
            since, awake = time.monotonic(), False
            while not thread.failed:
                due = worker.renew_presence()
                left = since + idle - time.monotonic()
                if thread.requests.answer(worker.run_next, min(due, left, _REST_SECONDS if awake else due)):
                    since, awake = time.monotonic(), True
                elif left <= 0:
                    return
                else:
                    worker.rest()
                    awake = False
        raise MeasurementError(
            f"Dask's worker ended: {thread.failed}", fix=f"see that {address} has the same version of Dask"
        )


class DaskThread:
    """A Dask worker in a thread of its own; a context manager.

    It registers again at whichever scheduler answers at the address. ``failed`` says why it gave up, empty while it
    has not.
    """

    def __init__(self, worker: Worker, address: ClusterAddress, announce: Callable[[str], None]) -> None:
        prepare_dask()
        self.requests = Requests()
        self.failed = ""
        self._address, self._announce = address, announce
        self._security = security_of(address, "worker")
        self._name, self._labels = worker.key, labels(worker.machine, worker.key)
        self._loop = asyncio.new_event_loop()
        self._ended = Event()
        self._task: asyncio.Task[None] | None = None
        self._thread = Thread(target=self._run, name="dask-worker", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self._ended.set()
        with suppress(RuntimeError):  # the loop has ended
            self._loop.call_soon_threadsafe(lambda: self._task and self._task.cancel())
        self._thread.join(timeout=_CONNECT_SECONDS)

    def _run(self) -> None:
        import dask

        with dask.config.set(_QUIET):
            asyncio.set_event_loop(self._loop)
            self._task = self._loop.create_task(self._stay_connected())
            try:
                self._loop.run_until_complete(self._task)
            except asyncio.CancelledError:
                return
            except Exception as error:  # noqa: BLE001 - reported by the thread that runs batches
                self.failed = reason_of(error)
                self.requests.add().cancel()  # so that it looks

    async def _stay_connected(self) -> None:
        """Register, and register again whenever the connection was lost."""
        said = ""
        while not self._ended.is_set():
            try:
                async with self._dask_worker() as worker:
                    self._announce(f"registered at {self._address}")
                    said = ""
                    await worker.finished()
                text = f"the scheduler at {self._address} has gone; waiting for it"
            except (OSError, TimeoutError) as error:
                text = f"the scheduler at {self._address} does not answer ({reason_of(error)}); trying again"
            if text != said:
                self._announce(text)
                said = text
            await asyncio.sleep(_AGAIN_SECONDS)

    def _dask_worker(self) -> Any:
        """A Dask worker with one thread and one machine's label, which does next to nothing while it is idle."""
        made = _quiet_worker()(
            str(self._address),
            name=self._name,
            nthreads=1,
            resources=self._labels,
            security=self._security,
            memory_limit=0,
            dashboard_address="127.0.0.1:0",
            death_timeout=_CONNECT_SECONDS,
        )
        for name in _NEEDLESS:
            made.periodic_callbacks.pop(name, None)
        made.hati_requests = self.requests
        return made


def _quiet_worker() -> Any:
    import distributed

    class QuietWorker(distributed.Worker):
        """A worker that gives a sign of life seldom, whatever the scheduler proposes."""

        async def heartbeat(self) -> None:
            await super().heartbeat()
            self.periodic_callbacks["heartbeat"].callback_time = 1000 * _HEARTBEAT_SECONDS

    return QuietWorker
