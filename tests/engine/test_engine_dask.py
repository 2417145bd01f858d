"""The engine of a Dask scheduler, with a scheduler and workers that are processes of their own, under mutual TLS."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import count, pairwise
from pathlib import Path

import pytest

from dask_cluster import Authority, Processes, Scheduler, wait_for, with_variables
from hati.core import (
    Batch,
    Benchmark,
    Configuration,
    InputError,
    Job,
    MeasurementError,
    Metric,
    Outcome,
    Reader,
    ReaderKind,
    Run,
    Task,
    Workload,
)
from hati.engine.dask_engine import DaskClient, DaskEngine
from hati.project import ClusterAddress
from hati.store import BatchState, EntryKind, Ledger, open_store
from hati.subject import machine
from hati.testing.conformance import AnyEngine, AnyWork, EngineConformance

READER, METRICS = Reader(ReaderKind.PROCESS), (Metric("wall_time", "s"),)
GOOD = Benchmark("good", ("sleep", "0.12"), READER, METRICS)
BAD = Benchmark("bad", ("false",), READER, METRICS)
SLOW = Benchmark("slow", ("sleep", "2"), READER, METRICS)
LONG = Benchmark("long", ("sleep", "60"), READER, METRICS)
SCRIPT = Path(__file__).with_name("dask_worker_process.py")
_STUDIES = count()

pytestmark = pytest.mark.xdist_group("dask")


class Cluster:
    """A scheduler, a store, and workers for it; a context manager."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.scheduler = Scheduler(folder)
        self.place = str(folder / "store.sqlite")
        self.processes = Processes()

    def __enter__(self) -> Cluster:
        open_store(self.place).close()
        self.scheduler.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self.processes.__exit__()
        self.scheduler.__exit__()

    def start(self, name: str, seconds: float = 60.0, place: str | None = None) -> subprocess.Popen[str]:
        """Start a worker on a machine of that name, and wait until it is registered."""
        words = [place or self.place, str(self.folder), name, str(seconds), self.scheduler.address]
        log = self.folder / f"{name}.log"
        before = log.read_text().count("registered") if log.exists() else 0
        process = self.processes.start([sys.executable, str(SCRIPT), *words], self.scheduler.variables, log)
        wait_for(lambda: process.poll() is not None or log.read_text().count("registered") > before)
        assert process.poll() is None, log.read_text()
        return process

    def engine(self, ledger: Ledger, say: Callable[[str], None] = print) -> DaskEngine:
        """A new engine."""
        with with_variables(self.scheduler.variables):
            return DaskEngine(ledger, (), say, ClusterAddress.parse(self.scheduler.address))


def jobs(benchmark: Benchmark, number: int = 3) -> tuple[Job, ...]:
    """Jobs of a study of their own."""
    study = f"study-{next(_STUDIES)}"
    tasks = [
        Task(study, "design", benchmark.name, Configuration({"level": 2}), "revision", Workload(), each)
        for each in range(number)
    ]
    return tuple(Job(task, benchmark, "s") for task in tasks)


def submit(engine: DaskEngine, works: tuple[Job, ...]) -> None:
    for job in works:
        engine.submit(Batch((job,)))


def leased(ledger: Ledger) -> bool:
    return BatchState.LEASED in ledger.states(range(1, 999)).values()


def kinds(ledger: Ledger) -> Counter[EntryKind]:
    return Counter(entry.what for entry in ledger.history())


def each_once(runs: list[Run], works: tuple[Job, ...], ledger: Ledger) -> None:
    """Nothing was lost, and nothing counted twice."""
    assert sorted(run.task.id for run in runs) == sorted(job.task.id for job in works)
    assert all(run.outcome is Outcome.DONE for run in runs), [run.detail for run in runs]
    accepted = Counter(e.content["run"]["task"] for e in ledger.history() if e.what is EntryKind.ACCEPTED)
    assert {accepted[job.task.id] for job in works} == {1}


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """No worker yet."""
    with Cluster(tmp_path) as found:
        yield found


@pytest.fixture
def ledger(cluster: Cluster) -> Iterator[Ledger]:
    """The ledger that they share."""
    with closing(open_store(cluster.place)) as store:
        yield store.ledger


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster of two machines."""
    with Cluster(tmp_path_factory.mktemp("two")) as found:
        for name in ("one", "two"):
            found.start(name)
        yield found


@pytest.fixture
def shared(two: Cluster) -> Iterator[Ledger]:
    """The ledger of the two machines."""
    with closing(open_store(two.place)) as store:
        yield store.ledger


@pytest.mark.acceptance
class TestDaskEngine(EngineConformance):
    @pytest.fixture
    def engine(self, two: Cluster, shared: Ledger) -> Iterator[AnyEngine]:
        wait_for(lambda: not leased(shared))  # of the test before
        with two.engine(shared) as engine:
            engine.hold("study")
            yield engine

    @pytest.fixture
    def good_jobs(self) -> tuple[Job, ...]:
        return jobs(GOOD)

    @pytest.fixture
    def bad_job(self) -> Job:
        return jobs(BAD, 1)[0]

    def test_batches_begin_in_the_order_of_their_release(
        self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...], shared: Ledger
    ) -> None:
        """Machines get them in this order; which of two machines starts its process first is chance."""
        before = len(shared.history())
        for number, works in enumerate((jobs(GOOD), jobs(GOOD)[::-1])):
            submit(engine, works)
            runs = list(engine.completed())
            assert len(runs) == len(works), number
        entries = shared.history()[before:]
        order = [entry.batch for entry in entries if entry.what is EntryKind.LEASED]
        assert order == [entry.number for entry in entries if entry.what is EntryKind.RELEASED]


def test_machines_share_batches_and_none_waits_for_the_other(two: Cluster, shared: Ledger) -> None:
    works = jobs(GOOD, 8)
    with two.engine(shared) as engine:
        assert engine.capacity() == 2
        submit(engine, works)
        runs = list(engine.completed())
    each_once(runs, works, shared)
    assert {run.machine for run in runs} == {machine("one").fingerprint, machine("two").fingerprint}


@pytest.mark.acceptance
def test_a_killed_worker_gives_its_batch_back_at_once(cluster: Cluster, ledger: Ledger) -> None:
    first, works = cluster.start("one"), jobs(SLOW, 1) + jobs(GOOD, 3)
    with cluster.engine(ledger) as engine:
        submit(engine, works)
        wait_for(lambda: leased(ledger))
        cluster.processes.end(first, signal.SIGKILL)
        cluster.start("two")
        began = time.monotonic()
        runs = list(engine.completed())
        assert time.monotonic() - began < 30  # the lease is 60 s
    each_once(runs, works, ledger)
    [failed] = ledger.attempts(1)[:1]
    assert "was lost by the scheduler" in failed.reason


@pytest.mark.acceptance
def test_a_scheduler_that_is_killed_and_started_again_loses_nothing(cluster: Cluster, ledger: Ledger) -> None:
    cluster.start("one")
    works, said = jobs(SLOW, 1) + jobs(GOOD, 4), list[str]()
    with cluster.engine(ledger, said.append) as engine:
        submit(engine, works)
        runs = engine.completed()
        wait_for(lambda: leased(ledger))
        cluster.scheduler.kill()
        made = [next(runs)]  # of the batch in progress, without a scheduler
        cluster.scheduler.start()
        made += runs
    each_once(made, works, ledger)
    assert kinds(ledger)[EntryKind.LEASED] == len(works), "a batch was given out twice"
    assert any("does not answer" in text and "waiting for it" in text for text in said), said


@pytest.mark.acceptance
def test_a_stopped_worker_loses_its_lease_and_its_result_is_late(cluster: Cluster, ledger: Ledger) -> None:
    stopped = cluster.start("one", seconds=1.5)
    works = jobs(SLOW, 1)
    with cluster.engine(ledger) as engine:
        submit(engine, works)
        wait_for(lambda: leased(ledger))
        stopped.send_signal(signal.SIGSTOP)
        cluster.start("two")
        runs = list(engine.completed())
        each_once(runs, works, ledger)
        assert runs[0].machine == machine("two").fingerprint
        stopped.send_signal(signal.SIGCONT)
        wait_for(lambda: kinds(ledger)[EntryKind.DUPLICATE] + kinds(ledger)[EntryKind.LATE] == 1)
        more = jobs(GOOD, 4)
        submit(engine, more)
        each_once(list(engine.completed()), more, ledger)


@pytest.mark.acceptance
def test_two_workers_of_one_machine_never_overlap(cluster: Cluster, ledger: Ledger) -> None:
    for _ in range(2):
        cluster.start("one")
    works = jobs(GOOD, 6)
    with cluster.engine(ledger) as first, cluster.engine(ledger) as second:
        submit(first, works[:3])
        submit(second, works[3:])
        runs = [*first.completed(), *second.completed()]
    each_once(runs, works, ledger)
    times = sorted((run.started.timestamp(), run.started.timestamp() + run.seconds) for run in runs)
    assert all(ended <= began + 0.005 for (_, ended), (began, _) in pairwise(times))


@pytest.mark.acceptance
def test_a_worker_that_is_asked_to_end_gives_its_batch_back(cluster: Cluster, ledger: Ledger) -> None:
    process = cluster.start("one")
    with cluster.engine(ledger) as engine:
        submit(engine, jobs(LONG, 1))
        wait_for(lambda: leased(ledger))
        assert cluster.processes.end(process, signal.SIGTERM) == 0
        assert list(ledger.states([1]).values()) == [BatchState.OPEN]
        assert ledger.present() == ()


def cpu_seconds(process: subprocess.Popen[str]) -> float:
    """The CPU time of all threads of a process so far; other load of the machine does not change it."""
    threads = Path(f"/proc/{process.pid}/task").iterdir()
    return sum(int((thread / "schedstat").read_text().split()[0]) for thread in threads) / 1e9


@pytest.mark.acceptance
@pytest.mark.alone
def test_an_idle_worker_leaves_its_machine_alone(cluster: Cluster) -> None:
    worker = cluster.start("one")
    time.sleep(2)  # it has just registered
    before = cpu_seconds(worker)
    time.sleep(5)
    assert (cpu_seconds(worker) - before) / 5 <= 0.005


def test_workers_with_another_store_are_an_error(cluster: Cluster, ledger: Ledger) -> None:
    cluster.start("one", place=str(cluster.folder / "other.sqlite"))
    with cluster.engine(ledger) as engine:
        submit(engine, jobs(GOOD, 1))
        with pytest.raises(MeasurementError, match=r"not that of the 1 worker at tls://.*by --store"):
            list(engine.completed())


@pytest.mark.acceptance
def test_a_campaign_says_that_no_worker_is_there(cluster: Cluster, ledger: Ledger) -> None:
    said = list[str]()

    def say(text: str) -> None:
        said.append(text)
        cluster.start("one")

    with cluster.engine(ledger, say) as engine:
        submit(engine, jobs(GOOD, 1))
        assert [run.outcome for run in engine.completed()] == [Outcome.DONE]
    assert said == [
        f"waiting for a worker: start one by `hati worker --scheduler {cluster.scheduler.address}`, with the same store"
    ]


STRANGER = """
import asyncio, sys
from distributed import Worker
from hati.engine.dask_worker import labels, security_of
from hati.project import ClusterAddress

async def main(address):
    security = security_of(ClusterAddress.parse(address), "worker")
    async with Worker(address, security=security, resources=labels("stranger", "its-worker"), nthreads=1) as worker:
        await worker.finished()

asyncio.run(main(sys.argv[1]))
"""


def test_why_a_machine_cannot_be_asked_is_kept(cluster: Cluster) -> None:
    cluster.processes.start(
        [sys.executable, "-c", STRANGER, cluster.scheduler.address],
        cluster.scheduler.variables,
        cluster.folder / "stranger.log",
    )
    with with_variables(cluster.scheduler.variables):
        client = DaskClient(ClusterAddress.parse(cluster.scheduler.address))
    with closing(client):
        client.connect(10.0)
        wait_for(lambda: not client.refresh() and "stranger" in client.machines.values())

        def answered() -> bool:
            client.ask(["stranger"])
            return bool(client.errors)

        wait_for(answered)
    assert "hati_requests" in client.errors["stranger"]


def test_nobody_is_let_in_without_a_certificate(two: Cluster, shared: Ledger, tmp_path: Path) -> None:
    """Neither with none, nor with one of another authority."""
    address = ClusterAddress.parse(two.scheduler.address)
    with (
        with_variables(two.scheduler.authority.variables()),
        pytest.raises(InputError, match=r"`distributed.comm.tls.client.cert` is not set.*CLIENT__CERT"),
    ):
        DaskEngine(shared, (), print, address)
    foreign = {**Authority(tmp_path / "foreign").variables("client")}
    foreign["DASK_DISTRIBUTED__COMM__TLS__CA_FILE"] = str(two.scheduler.authority.path)
    with (
        with_variables(foreign),
        DaskEngine(shared, (), print, address) as engine,
        pytest.raises(MeasurementError, match="does not answer"),
    ):
        engine.hold("study")


def test_a_scheduler_that_is_not_there_is_an_error(
    two: Cluster, shared: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hati.engine.dask_engine._CONNECT_SECONDS", 1.0)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))  # bound and not listening: connections are refused, and nobody else gets the port
        address = ClusterAddress.parse(f"tls://127.0.0.1:{silent.getsockname()[1]}")
        with (
            with_variables(two.scheduler.variables),
            DaskEngine(shared, (), print, address) as engine,
            pytest.raises(MeasurementError, match=r"does not answer: (.*refused|Timed out)"),
        ):
            engine.hold("study")
