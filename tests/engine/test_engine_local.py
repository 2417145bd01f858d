from __future__ import annotations

import errno
import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from hati.core import Batch, Benchmark, InputError, Job, MeasurementError, Metric, Outcome, Reader, ReaderKind, Task
from hati.engine import FileLock, LocalEngine
from hati.engine.locks import Locks
from hati.subject import Trees, machine
from hati.subject.revisions.trees import Folder, TreeOrigin
from interrupts import heeding_signals

PROCESS = Reader(ReaderKind.PROCESS)
WALL = (Metric("wall_time", "s"),)

# A campaign without end: every run leaves its session, its parent and a child behind.
CAMPAIGN = """
import signal
signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever started the tests may ignore it
import sys
from pathlib import Path
from hati.core import Benchmark, Configuration, Job, Metric, Reader, ReaderKind, Ready, Server, Task, Workload
from hati.engine import LocalEngine
from hati.subject import machine

root, mark = Path(sys.argv[1]), sys.argv[2]
server = Server(("sh", "-c", f"setsid sleep {mark}1 & echo up; sleep {mark}2"), Ready(line="up"))
script = f"touch '{{work}}/x'; (setsid sleep {mark}3 &) ; sleep {mark}4 & sleep 0.02"
reader, metrics = Reader(ReaderKind.PROCESS), (Metric("wall_time", "s"),)
benchmark = Benchmark("good", ("sh", "-c", script), reader, metrics, server=server)
tasks = (Task("s", "d", "good", Configuration(), "r", Workload(), i) for i in range(100_000))
jobs = (Job(task, benchmark, "") for task in tasks)
with LocalEngine(root, [benchmark], machine(), print, lock=root / "lock") as engine:
    for run in engine.run(jobs):
        print(run.outcome, run.detail, flush=True)
"""


def living(mark: str) -> list[str]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes()
        except OSError:
            continue
        if b"sleep\0" + mark.encode() in arguments:
            found.append(folder.name)
    return found


def all_gone(mark: str) -> bool:
    deadline = time.monotonic() + 60
    while living(mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


@pytest.fixture
def campaign(tmp_path: Path) -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts the endless campaign with a mark, and returns once its first run is done."""
    (tmp_path / "campaign.py").write_text(CAMPAIGN)
    started: list[subprocess.Popen[str]] = []

    def start(mark: str) -> subprocess.Popen[str]:
        command = [sys.executable, str(tmp_path / "campaign.py"), str(tmp_path), mark]
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=heeding_signals
        )
        started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "done \n"
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()


def test_nothing_survives_a_sigkill_at_any_moment(
    campaign: Callable[[str], subprocess.Popen[str]], tmp_path: Path
) -> None:
    rng = np.random.default_rng(20261120)
    for moment in (*rng.uniform(0, 0.08, size=4), None):
        mark = f"51{time.time_ns()}"
        process = campaign(mark)
        if moment is None:
            while not living(mark):
                assert process.poll() is None
        else:
            time.sleep(moment)
        process.kill()
        process.wait()
        assert all_gone(mark)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_nothing_survives_a_signal(
    campaign: Callable[[str], subprocess.Popen[str]], tmp_path: Path, number: signal.Signals
) -> None:
    mark = f"52{time.time_ns()}"
    process = campaign(mark)
    time.sleep(0.03)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == -number
    assert all_gone(mark)
    if number == signal.SIGINT:
        assert "KeyboardInterrupt" in errors
        assert [path.name for path in (tmp_path / ".hati/work").iterdir()] == ["CACHEDIR.TAG"]


def test_what_a_killed_campaign_left_is_removed_by_the_next(
    campaign: Callable[[str], subprocess.Popen[str]], tmp_path: Path, task: Callable[..., Task]
) -> None:
    stale = tmp_path / ".hati/work/stale"
    campaign(f"53{time.time_ns()}").kill()
    stale.mkdir(exist_ok=True)
    with engine(tmp_path) as local:
        assert [run.outcome for run in local.run((a_job(task()),))] == [Outcome.DONE]
    assert [path.name for path in (tmp_path / ".hati/work").iterdir()] == ["CACHEDIR.TAG"]


def a_job(task: Task) -> Job:
    return Job(task, Benchmark("good", ("true",), PROCESS, WALL), "")


def engine(root: Path, waiting: Callable[[str], None] = print, command: tuple[str, ...] = ("true",)) -> LocalEngine:
    return LocalEngine(root, [Benchmark("good", command, PROCESS, WALL)], machine(), waiting, lock=root / "lock")


def test_another_hati_waits_until_the_first_has_ended(
    campaign: Callable[[str], subprocess.Popen[str]], tmp_path: Path, task: Callable[..., Task]
) -> None:
    mark = f"54{time.time_ns()}"
    first = campaign(mark)
    messages: list[str] = []

    def waiting(message: str) -> None:
        messages.append(message)
        first.kill()

    with engine(tmp_path, waiting) as second:
        next(iter(second.run((a_job(task()),))))
        assert living(mark) == []  # the lock outlives a killed hati for as long as its processes do
    assert messages == [
        f"waiting for another hati (process {first.pid}, s in {tmp_path}) that measures on this machine; "
        "set HATI_LOCK=FILE to use another lock, if they cannot disturb each other"
    ]


def test_one_process_does_not_wait_for_itself(tmp_path: Path, task: Callable[..., Task]) -> None:
    with engine(tmp_path) as first, engine(tmp_path) as second:
        list(first.run((a_job(task()),)))
        with pytest.raises(MeasurementError, match="this process measures already; close the other engine"):
            list(second.run((a_job(task()),)))
        first.close()
        assert [run.outcome for run in second.run((a_job(task()),))] == [Outcome.DONE]


def test_one_folder_is_for_one_hati_whatever_they_lock_of_the_machine(
    campaign: Callable[[str], subprocess.Popen[str]], tmp_path: Path, task: Callable[..., Task]
) -> None:
    mark = f"57{time.time_ns()}"
    first = campaign(mark)
    messages: list[str] = []

    def waiting(message: str) -> None:
        messages.append(message)
        first.kill()

    good = Benchmark("good", ("true",), PROCESS, WALL)
    with LocalEngine(tmp_path, [good], machine(), waiting, lock=tmp_path / "another lock") as second:
        assert [run.outcome for run in second.run((a_job(task()),))] == [Outcome.DONE]
        assert living(mark) == []
    assert messages == [f"waiting for another hati (process {first.pid}, s) that measures in {tmp_path}"]


def test_benchmarks_on_cores_of_their_own_wait_for_each_other_on_one_core_alone(tmp_path: Path) -> None:
    def locked(core: int, folder: str) -> Locks:
        locks = Locks(tmp_path / "lock", {core}, tmp_path)
        try:
            locks.take("s", pytest.fail, lambda: tmp_path / folder)
        except MeasurementError:
            locks.release()
            raise
        return locks

    held = [locked(0, "a"), locked(1, "b")]
    with pytest.raises(MeasurementError, match="measures already"):
        locked(0, "c")
    held[0].release()
    held[0] = locked(0, "c")
    for locks in held:
        locks.release()


def test_what_may_run_anywhere_waits_for_what_is_pinned(tmp_path: Path, task: Callable[..., Task]) -> None:
    (tmp_path / "a").mkdir()
    cpu = min(os.sched_getaffinity(0))
    pinned = Benchmark("good", ("true",), PROCESS, WALL, cpus=(cpu,))
    with LocalEngine(tmp_path / "a", [pinned], machine(), pytest.fail, lock=tmp_path / "lock") as first:
        list(first.run((a_job(task()),)))
        with engine(tmp_path) as other, pytest.raises(MeasurementError, match="measures already"):
            list(other.run((a_job(task()),)))


def test_a_holder_of_the_same_number_in_another_container_is_waited_for(tmp_path: Path) -> None:
    opened = f"import fcntl; f = open({str(tmp_path / 'lock')!r}, 'a')"
    script = f"{opened}; fcntl.flock(f, 2); print(1, flush=True); input()"
    command = [sys.executable, "-c", script]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        (tmp_path / "lock").write_text(f"{os.getpid()} s")
        messages: list[str] = []

        def waiting(message: str) -> None:
            messages.append(message)
            holder.kill()

        lock = FileLock(tmp_path / "lock")
        lock.acquire("t", waiting)
        lock.release()
    assert len(messages) == 1


def test_a_lock_is_held_on_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "pwrite", full)
    lock = FileLock(tmp_path / "lock")
    lock.acquire("s", pytest.fail)
    assert (lock.held, str(lock.holder())) == (True, "")
    lock.release()


def test_where_nothing_can_be_locked_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refusing(*_: object) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refusing)
    messages: list[str] = []
    FileLock(tmp_path / "lock").acquire("s", messages.append)
    assert messages == [
        f"warning: {tmp_path / 'lock'} cannot be locked (No locks available); "
        "see that no other hati measures on this machine"
    ]


def test_tasks_are_run_in_the_order_of_the_plan(tmp_path: Path, task: Callable[..., Task]) -> None:
    tasks = tuple(task(repetition=n) for n in (3, 1, 2))
    with engine(tmp_path) as local:
        assert [run.task for run in local.run(map(a_job, tasks))] == list(tasks)


def test_what_can_never_run_is_refused_before_anything_runs(tmp_path: Path, task: Callable[..., Task]) -> None:
    good, never = (
        Benchmark("good", ("touch", str(tmp_path / "ran")), PROCESS, WALL, cpus=cpus) for cpus in ((), (4711,))
    )
    with engine(tmp_path) as local, pytest.raises(InputError, match="CPU 4711, which is not there"):
        local.submit(Batch((Job(task(), good, ""), Job(task(repetition=2), never, ""))))
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / ".hati").exists()


def test_no_write_permission_is_told_and_the_lock_given_up(tmp_path: Path, task: Callable[..., Task]) -> None:
    (tmp_path / ".hati").write_text("")
    with engine(tmp_path) as local:
        with pytest.raises(MeasurementError, match="cannot write to"):
            list(local.run((a_job(task()),)))
        (tmp_path / ".hati").unlink()
        with engine(tmp_path) as other:
            assert len(list(other.run((a_job(task()),)))) == 1


def test_who_waits_for_the_lock_in_vain_leaves_what_its_holder_made(tmp_path: Path, task: Callable[..., Task]) -> None:
    lock = FileLock(tmp_path / "lock")
    lock.acquire("s", pytest.fail)
    made = tmp_path / ".hati/trees/made"
    made.mkdir(parents=True)
    trees = Trees(tmp_path, {"r1": TreeOrigin(Folder(tmp_path))})
    good = Benchmark("good", ("true",), PROCESS, WALL)
    local = LocalEngine(tmp_path, [good], machine(), print, lock=tmp_path / "lock", trees=trees)
    with local, pytest.raises(MeasurementError, match="measures already"):
        list(local.run((a_job(task()),)))
    assert made.is_dir()
    assert lock.holder() == (str(os.getpid()), "s", "")
    lock.release()


class TestLock:
    def test_it_is_for_all_users(self, tmp_path: Path) -> None:
        lock = FileLock(tmp_path / "lock")
        assert (tmp_path / "lock").stat().st_mode & 0o777 == 0o666
        lock.acquire("s", print)
        assert lock.holder() == (str(os.getpid()), "s", "")
        lock.release()
        lock.release()

    def test_it_does_not_follow_a_link(self, tmp_path: Path) -> None:
        (tmp_path / "precious").write_text("data")
        (tmp_path / "lock").symlink_to("precious")
        with pytest.raises(MeasurementError, match=r"cannot lock .*; remove that file"):
            FileLock(tmp_path / "lock")
        assert (tmp_path / "precious").read_text() == "data"

    @pytest.mark.parametrize("text", ["", "?", "12\x1b[2J", "12 a\x1b[2J", "12 a\x1b[2J\n/b\x1b[2J"])
    def test_what_others_wrote_into_it_is_not_shown_as_it_is(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "lock").write_text(text)
        assert FileLock(tmp_path / "lock").holder() == ("12" if text.startswith("12 ") else "", "", "")

    def test_it_is_free_when_released(self, tmp_path: Path) -> None:
        for _ in range(2):
            lock = FileLock(tmp_path / "lock")
            lock.acquire("s", pytest.fail)
            lock.release()
