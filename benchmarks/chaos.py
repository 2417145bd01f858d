"""``python -m benchmarks.chaos``: campaigns run by workers, while workers, campaigns and servers are disturbed.

Three machines (names on this one, each with a lock of its own) run a campaign whose program notes when it begins and
ends. They are workers that look into the store, workers at a Dask scheduler, or volunteers of a server (``--by``).
Faults come at random moments: a worker is killed, stopped for longer than its lease and continued, or asked to
end; a second worker starts on a machine; the campaign, the scheduler or the server of volunteers, or a PostgreSQL
server is killed. What ended is started again. A campaign is wrong where a task has no run or two, where a result that
the ledger accepted has no run, where two runs of one machine overlapped, or where a process is left.

Some runs are longer than a lease. 300 faults take about ten minutes. A campaign that has no end is given up only
where no batch was done for over an hour, and counted apart. ``--folder F`` keeps the results of campaigns there, and
repeats none that it has: a benchmark that was killed goes on with the next one. ``--by all`` shares the faults among
the three.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

import psutil

from benchmarks.markdown import table
from hati.core import ExitStatus, HatiError, InputError
from hati.store import EntryKind, Selection, read_store
from hati.store.ledger_claims import LONGEST_BACKOFF_SECONDS

FAULTS, MACHINES, RUNS = 300, ("one", "two", "three"), 90
LEASE_SECONDS, STOPPED_SECONDS, START_SECONDS, LEFT_SECONDS = 3.0, 5.0, 180.0, 3.0
STALLED_SECONDS, LOOK_SECONDS = LONGEST_BACKOFF_SECONDS + 300.0, 5.0
"""The time without a new result after which a campaign is given up: a volunteer's machine waits up to an hour."""
_ENDS_WITH_PARENT = ("setpriv", "--pdeathsig", "KILL")
"""What starts a process that ends with the benchmark, also where that is killed."""
HOST, INVITATION = "127.0.0.1", "come-in"
HATI = str(Path(sys.executable).with_name("hati"))

PROJECT = """\
[subject]
name = "chaos"

[[benchmark]]
name    = "main"
command = ["sh", "subject.sh", "{repetition}"]
reader  = "regex"
metric  = [{ name = "latency", unit = "us", pattern = 'latency: (\\d+)' }]
"""
SUBJECT = """\
place=${PWD#FOLDER/}
machine=${place%%[-/]*}
CHAOS_LOG=FOLDER/$machine.log
echo "begin $$ $(date +%s%N)" >> "$CHAOS_LOG"
if [ $(($1 % 15)) = 7 ]; then sleep 4.5; else sleep 0.15; fi
echo "end $$ $(date +%s%N)" >> "$CHAOS_LOG"
echo "latency: $((1000 + $1 * 37 % 11))"
"""


class Fault(StrEnum):
    """What happens to a campaign that workers run."""

    KILLED = "worker killed"
    STOPPED = "worker stopped beyond its lease"
    ENDED = "worker asked to end"
    SECOND = "second worker on a machine"
    CAMPAIGN = "campaign killed"
    MIDDLE = "scheduler or server of volunteers killed"
    DATABASE = "database killed"


@dataclass(frozen=True)
class Server:
    """A database server of one's own: ``database`` makes a place for a store, ``restart`` kills and starts it."""

    database: Callable[[], str]
    restart: Callable[[], None]


@dataclass
class Middle:
    """What workers and the campaign share: the store alone; ``process`` stands between them, if there is one."""

    folder: Path
    store: str
    port: int = 0
    process: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """What is made before the campaign."""

    def command(self) -> Sequence[str]:
        """The process between them; empty: there is none."""
        return ()

    def engine(self) -> Sequence[str]:
        """The words of the campaign's engine."""
        return ("--engine", "workers")

    def worker(self, name: str) -> Sequence[str]:
        """The command of a worker on a machine; ``name`` may have an ending where it is a second one."""
        place = str(self.folder / name.partition("-")[0])
        return (HATI, "worker", place, "--store", self.store, "--lease", f"{LEASE_SECONDS}s")

    def start(self) -> None:
        """Start the process between them, at the same address as before."""
        command = self.command()
        if command:
            with (self.folder / "middle.err").open("ab") as errors:
                self.process = subprocess.Popen(
                    [*_ENDS_WITH_PARENT, *command], cwd=self.folder, stdout=errors, stderr=errors
                )
            deadline = time.monotonic() + START_SECONDS
            while not listens(self.port) and time.monotonic() < deadline:
                time.sleep(0.05)  # its output has another form in each version

    def kill(self) -> bool:
        """End it as a crash does; whether there is one."""
        if self.process is None:
            return False
        self.process.kill()
        self.process.wait()
        return True


class Scheduler(Middle):
    """A Dask scheduler, without certificates on this host's loopback address."""

    def command(self) -> Sequence[str]:
        """The scheduler."""
        words = ("--no-dashboard", "--host", HOST, "--port", str(self.port))
        return (sys.executable, "-m", "distributed.cli.dask_scheduler", *words)

    def engine(self) -> Sequence[str]:
        """The words of the campaign's engine."""
        return ("--engine", f"tcp://{HOST}:{self.port}")

    def worker(self, name: str) -> Sequence[str]:
        """The command of a worker that registers at the scheduler."""
        return (*super().worker(name), "--scheduler", f"tcp://{HOST}:{self.port}")


class Volunteers(Middle):
    """A server of volunteers; a second client on a machine is registered by another name."""

    def prepare(self) -> None:
        """Sign the project, whose statement goes into the store."""
        signing = ("grid", "sign", "campaign", "--key", "owner", "--store", self.store)
        for words in (("grid", "key", "--out", "owner"), signing):
            subprocess.run([HATI, *words], cwd=self.folder, check=True, capture_output=True)

    def command(self) -> Sequence[str]:
        """The server."""
        words = ("--store", self.store, "--port", str(self.port), "--invitation", INVITATION)
        return (HATI, "serve", "campaign", "--volunteers", *words, "--lease", f"{LEASE_SECONDS}s")

    def engine(self) -> Sequence[str]:
        """The words of the campaign's engine."""
        return ("--engine", "volunteers")

    def worker(self, name: str) -> Sequence[str]:
        """The command of a client, whose folder has the name of its machine."""
        words = ("--invitation", INVITATION, "--key", str(self.folder / "owner.pub"), "--without-sandbox")
        home = ("--name", name, "--home", str(self.folder / name))
        return (HATI, "join", f"http://{HOST}:{self.port}", *words, *home)


MIDDLES = {"store": Middle, "scheduler": Scheduler, "volunteers": Volunteers}
EACH, SQLITE = "all", "sqlite"


def listens(port: int) -> bool:
    """Whether something listens at a port of this host."""
    with socket.socket() as asking:
        return asking.connect_ex((HOST, port)) == 0


def free_port() -> int:
    """A port of this host at which nothing listens."""
    with socket.socket() as asking:
        asking.bind((HOST, 0))
        return int(asking.getsockname()[1])


@dataclass
class Grid:
    """The processes of a campaign: workers by machine, what is between, and the command that waits for them."""

    folder: Path
    store: str
    middle: Middle
    workers: dict[str, list[subprocess.Popen[bytes]]] = field(default_factory=lambda: {name: [] for name in MACHINES})
    stopped: dict[int, float] = field(default_factory=dict)
    command: subprocess.Popen[bytes] | None = None

    def prepare(self) -> None:
        """Write a copy of the project for each machine and for the campaign."""
        for name in (*MACHINES, "campaign"):
            (self.folder / name).mkdir(parents=True)
            (self.folder / name / "hati.toml").write_text(PROJECT)
            (self.folder / name / "subject.sh").write_text(SUBJECT.replace("FOLDER", str(self.folder)))
        self.middle.prepare()
        self.middle.start()

    def start_worker(self, name: str) -> None:
        """Start a worker on a machine."""
        second = f"{name}-second" if self.workers[name] else name
        self.workers[name].append(self._start(name, self.middle.worker(second)))

    def start_campaign(self) -> None:
        """Start the campaign, or go on with it."""
        place = str(self.folder / "campaign")
        words = ("run", place, "--budget", str(RUNS), *self.middle.engine(), "--store", self.store)
        self.command = self._start("campaign", (HATI, *words))

    def _start(self, name: str, command: Sequence[str]) -> subprocess.Popen[bytes]:
        lock = self.folder / f"lock-{name}"
        environment = {**os.environ, "HATI_MACHINE": name, "HATI_LOCK": str(lock)}
        environment.pop("HATI_STORE", None)
        with (self.folder / f"{name}.err").open("ab") as errors:
            command = [*_ENDS_WITH_PARENT, *command]
            return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=errors)

    def tend(self) -> None:
        """Continue workers that were stopped for long enough, and start one on each machine that has none."""
        for process in [each for many in self.workers.values() for each in many]:
            if self.stopped.get(process.pid, time.monotonic() + 1) <= time.monotonic():
                process.send_signal(signal.SIGCONT)
                del self.stopped[process.pid]
        for name, many in self.workers.items():
            many[:] = [process for process in many if process.poll() is None]
            if not many:
                self.start_worker(name)

    def ended(self) -> int | None:
        """The status of the campaign; None while it runs."""
        return None if self.command is None else self.command.poll()

    def close(self) -> None:
        """End all."""
        for process in [each for many in self.workers.values() for each in many]:
            process.send_signal(signal.SIGCONT)
            process.terminate()
        for process in [each for many in self.workers.values() for each in many]:
            process.wait(START_SECONDS)
        if self.command is not None and self.command.poll() is None:
            self.command.kill()
            self.command.wait()
        self.middle.kill()


def cause(fault: Fault, grid: Grid, rng: random.Random, server: Server | None) -> bool:
    """Let a fault happen; whether it could."""
    name = rng.choice(MACHINES)
    worker = rng.choice(grid.workers[name]) if grid.workers[name] else None
    match fault:
        case Fault.SECOND:
            if len(grid.workers[name]) > 1:
                return False
            grid.start_worker(name)
        case Fault.CAMPAIGN if grid.command is not None and grid.ended() is None:
            grid.command.kill()
            grid.command.wait()
            grid.start_campaign()
        case Fault.MIDDLE if grid.middle.kill():
            grid.middle.start()
        case Fault.DATABASE if server is not None:
            server.restart()
        case Fault.STOPPED if worker is not None and worker.pid not in grid.stopped:
            worker.send_signal(signal.SIGSTOP)
            grid.stopped[worker.pid] = time.monotonic() + STOPPED_SECONDS
        case Fault.KILLED | Fault.ENDED if worker is not None and worker.poll() is None:
            worker.send_signal(signal.SIGKILL if fault is Fault.KILLED else signal.SIGTERM)
            grid.stopped.pop(worker.pid, None)
        case _:
            return False
    return True


@dataclass(frozen=True)
class Disturbed:
    """A campaign: its faults; the numbers of results that were accepted, and that came late or twice; what was wrong.

    ``given_up`` is the number of failed runs: batches at which workers ended three times. ``unfinished`` is how a
    campaign without new results was given up; that it lacks runs is not wrong then.
    """

    faults: dict[str, int]
    accepted: int
    aside: int
    given_up: int
    wrong: tuple[str, ...]
    unfinished: str = ""


class Progress:
    """Watches the number of batches that are done in a store, from a time in seconds on."""

    def __init__(self, store: str, now: float) -> None:
        self._store, self._done = store, 0
        self._changed = self._looked = now

    def stalled(self, now: float) -> bool:
        """Whether it is long ago that one more was done; it looks every few seconds."""
        if now - self._looked >= LOOK_SECONDS:
            self._looked = now
            with suppress(HatiError), closing(read_store(self._store)) as store:  # a database may be away
                done = sum(study.done for study in store.ledger.status().studies)
                self._done, self._changed = done, now if done != self._done else self._changed
        return now - self._changed >= STALLED_SECONDS


def disturbed(folder: Path, store: str, seed: int, faults: int, server: Server | None, by: str) -> Disturbed:
    """Run a campaign to its end, with at most that number of faults."""
    rng, made = random.Random(seed), Counter[str]()
    grid = Grid(folder, store, MIDDLES[by](folder, store, free_port()))
    grid.prepare()
    for name in MACHINES:
        grid.start_worker(name)
    grid.start_campaign()
    progress, wrong, unfinished = Progress(store, time.monotonic()), list[str](), ""
    try:
        while grid.ended() is None and not progress.stalled(time.monotonic()):
            time.sleep(rng.uniform(0.1, 1.0))  # faults come at random times
            if made.total() < faults and grid.ended() is None:
                fault = rng.choice(list(Fault))
                made[fault] += cause(fault, grid, rng, server)
            grid.tend()
            if grid.ended() == ExitStatus.NOT_MEASURED:  # the database was away for longer than a call is repeated
                grid.start_campaign()
        said = (folder / "campaign.err").read_text()[-300:]
        if grid.ended() is None:
            unfinished = f"no new result for {STALLED_SECONDS:,.0f} s: {said}"
        elif grid.ended() != 0:
            wrong.append(f"status {grid.ended()}: {said}")
    finally:
        grid.close()
    wrong += [*left_running(folder), *overlaps(folder)]
    with closing(read_store(store)) as kept:
        tasks = [run.task.id for run in kept.runs(Selection())]
        failed = sum(run.outcome.value != "done" for run in kept.runs(Selection()))
        history = kept.ledger.history()
    accepted = [entry.content["run"]["task"] for entry in history if entry.what is EntryKind.ACCEPTED]
    wrong += counted_twice(tasks, accepted)
    wrong += () if unfinished else lost(tasks, accepted, failed)
    kinds = Counter(entry.what for entry in history)
    aside = kinds[EntryKind.LATE] + kinds[EntryKind.DUPLICATE]
    return Disturbed(dict(made), len(accepted), aside, failed, tuple(wrong), unfinished)


def counted_twice(tasks: Sequence[str], accepted: Sequence[str]) -> Iterator[str]:
    """What is counted twice."""
    if len(set(tasks)) < len(tasks):
        yield f"{len(tasks) - len(set(tasks))} tasks counted twice"
    if len(set(accepted)) < len(accepted):
        yield f"{len(accepted) - len(set(accepted))} results accepted twice"


def lost(tasks: Sequence[str], accepted: Sequence[str], given_up: int) -> Iterator[str]:
    """What a finished campaign lacks."""
    if len(set(tasks)) != RUNS:
        yield f"{len(set(tasks))} tasks, not {RUNS}"
    if without := set(accepted) - set(tasks):
        yield f"{len(without)} accepted results have no run"
    if len(set(accepted)) + given_up < RUNS:
        yield f"{RUNS - len(set(accepted)) - given_up} runs without a result"


def left_running(folder: Path) -> Iterator[str]:
    """Processes that still use the folder, once they had time to end."""
    deadline = time.monotonic() + LEFT_SECONDS
    while found := _mentioning(str(folder)):
        if time.monotonic() > deadline:
            yield f"left running: {found}"
            return
        time.sleep(0.05)  # no event reports the end of others' processes


def _mentioning(text: str) -> list[int]:
    found = psutil.process_iter(["cmdline", "cwd"])
    return [each.pid for each in found if text in " ".join([*(each.info["cmdline"] or ()), each.info["cwd"] or ""])]


def overlaps(folder: Path) -> Iterator[str]:
    """Runs that began while another run of their machine was under way; a killed one notes no end, and hides none."""
    for name in MACHINES:
        log = folder / f"{name}.log"
        began, under_way = dict[str, int](), list[tuple[int, int]]()
        for what, process, at in [line.split() for line in log.read_text().splitlines()] if log.exists() else []:
            if what == "begin":
                began[process] = int(at)
            else:
                under_way.append((began[process], int(at)))
        starts = sorted(began.values())
        both = sum(first < start < last for first, last in under_way for start in starts)
        if both:
            yield f"{both} runs of machine {name} overlapped"


def read_campaigns(kept: Path) -> list[Disturbed]:
    """The campaigns of a file; the last line is left out where its writer was killed."""
    lines = kept.read_text().splitlines(keepends=True)
    whole = [line for line in lines if line.endswith("\n")]
    if whole != lines:
        kept.write_text("".join(whole))
    return [Disturbed(**json.loads(line)) for line in whole]


@contextmanager
def emptied(folder: Path | None) -> Iterator[Path]:
    """A folder without what a killed benchmark left there, removed at the end; a temporary one where none is given."""
    if folder is None:
        with tempfile.TemporaryDirectory() as name:
            yield Path(name)
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    yield folder
    shutil.rmtree(folder)


def campaigns(faults: int, server: Server | None, folder: Path | None, by: str) -> Iterator[Disturbed]:
    """Campaigns, seeds 1, 2 ..., until that number of faults; in SQLite where there is no server."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        folder = folder.resolve()  # processes have other working folders
    name = by if server is None else f"{by}-postgresql"
    kept = None if folder is None else folder / f"campaigns-{name}.jsonl"
    known = read_campaigns(kept) if kept and kept.exists() else []
    yield from known
    made, seed = sum(sum(each.faults.values()) for each in known), len(known)
    while made < faults:
        seed += 1
        with emptied(folder and folder / f"campaign-{name}") as own:
            place = f"{own}/store.sqlite" if server is None else server.database()
            found = disturbed(own / "grid", place, seed, faults - made, server, by)
        made += sum(found.faults.values())
        if kept is not None:
            with kept.open("a") as stream:
                stream.write(json.dumps(found.__dict__) + "\n")
        yield found


def shown(found: Iterator[Disturbed], faults: int) -> Iterator[Disturbed]:
    """The campaigns, with a line for each of them while the others are to come."""
    made = 0
    for number, each in enumerate(found, 1):
        made += sum(each.faults.values())
        words = f"campaign {number}: {made:,} of {faults:,} faults, {each.accepted} results, {len(each.wrong)} wrong"
        print(f"{words}{each.unfinished and ', no end'}", file=sys.stderr, flush=True)
        yield each


def result(
    faults: int = FAULTS, server: Server | None = None, folder: Path | None = None, by: str = "store"
) -> tuple[str, bool]:
    """The table, and whether nothing was wrong."""
    found = list(shown(campaigns(faults, server, folder, by), faults))
    counts = sum((Counter(each.faults) for each in found), Counter[str]())
    rows = [[fault.value, str(counts[fault.value])] for fault in Fault]
    wrong = [text for each in found for text in each.wrong]
    unfinished = [each.unfinished for each in found if each.unfinished]
    note = (
        f"{len(found)} campaigns of {RUNS} runs on three workers: {sum(each.accepted for each in found):,} results "
        f"accepted, {sum(each.aside for each in found)} late or second ones kept aside, "
        f"{sum(each.given_up for each in found)} runs given up after three attempts, {len(wrong)} wrong, "
        f"{len(unfinished)} campaigns without an end."
    )
    listed = "".join(f"- {text}\n" for text in [*wrong, *unfinished][:20])
    return table(
        f"Campaigns under faults; workers by: {by}", ["fault", "number"], rows, note
    ) + listed, not wrong and not unfinished


@contextmanager
def own_server(store: str) -> Iterator[Server | None]:
    """A PostgreSQL server that is killed as a fault; none for SQLite."""
    if store == SQLITE:
        yield None
        return
    sys.path.append(str(Path(__file__).parent.parent / "tests"))
    postgres = importlib.import_module("postgres")
    found = postgres.programs()
    if found is None:
        raise InputError("PostgreSQL is not installed", fix="install it, or leave out --store")
    with postgres.PostgresServer(found) as server:

        def restart() -> None:
            server.stop()
            server.start()

        yield Server(server.database, restart)


def main(words: Sequence[str] | None = None) -> int:
    """Print the table; 1 where something was wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--faults", type=int, default=FAULTS)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--by", choices=(*MIDDLES, EACH), default="store")
    parser.add_argument("--store", choices=(SQLITE, "postgresql"), default=SQLITE)
    asked = parser.parse_args(words)
    engines = MIDDLES if asked.by == EACH else (asked.by,)
    with own_server(asked.store) as server:
        found = [result(math.ceil(asked.faults / len(engines)), server, asked.folder, by) for by in engines]
    print("\n".join(text for text, _ in found))
    return 0 if all(held for _, held in found) else 1


if __name__ == "__main__":
    sys.exit(main())
