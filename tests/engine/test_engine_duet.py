"""Duets: both at once, each on its core, and nothing left where it is broken off."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from hati.core import (
    Batch,
    BatchOrder,
    Benchmark,
    Binding,
    InputError,
    Job,
    Metric,
    Outcome,
    Reader,
    ReaderKind,
    Ready,
    Reset,
    Run,
    Server,
    Task,
    replace,
)
from hati.engine import FileLock, LocalEngine
from hati.subject import duet_cores, machine, pinned_cores
from hati.subject.machine_identity import _two_cores

HATI = Reader(ReaderKind.HATI)
METRICS = (Metric("cpu", "1"), Metric("other", "1"))

# Says on which CPU it is, and whether the other was there at the same time.
MEETING = """
import json, os, pathlib, sys, time
here, other = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
here.touch()
deadline = time.monotonic() + 60
while not other.exists() and time.monotonic() < deadline:
    time.sleep(0.005)
print(json.dumps({"metric": "cpu", "value": min(os.sched_getaffinity(0))}))
print(json.dumps({"metric": "other", "value": int(other.exists())}))
"""


def benchmark(name: str, *command: str) -> Benchmark:
    return Benchmark(name, command, HATI, METRICS)


def together(engine: LocalEngine, both: Sequence[Benchmark], *pairs: tuple[Task, ...]) -> list[Run]:
    """The runs of pairs, which are at once."""
    known = {benchmark.name: benchmark for benchmark in both}
    for pair in pairs:
        engine.submit(Batch(tuple(Job(task, known[task.benchmark], "") for task in pair), BatchOrder.TOGETHER))
    return list(engine.completed())


@pytest.fixture
def cores() -> tuple[int, int]:
    return duet_cores(())


def test_both_run_at_once_each_on_its_core(tmp_path: Path, task: Callable[..., Task], cores: tuple[int, int]) -> None:
    (tmp_path / "meet.py").write_text(MEETING)
    marks = ["a{repetition}", "b{repetition}"]
    both = [benchmark(name, "python3", "-S", "meet.py", *words) for name, words in (("a", marks), ("b", marks[::-1]))]
    with LocalEngine(tmp_path, both, machine(), lock=tmp_path / "lock") as engine:
        runs = together(engine, both, (task("a", 1), task("b", 1)), (task("b", 2), task("a", 2)))
    assert [run.outcome for run in runs] == [Outcome.DONE] * 4
    values = [{o.metric: o.mean for o in run.observations} for run in runs]
    assert [value["other"] for value in values] == [1.0] * 4
    assert [value["cpu"] for value in values] == [*cores, *cores]
    assert [(run.task.benchmark, run.task.repetition) for run in runs] == [("a", 1), ("b", 1), ("b", 2), ("a", 2)]


def test_a_build_is_made_once_before_both(tmp_path: Path, task: Callable[..., Task]) -> None:
    build = ("sh", "-c", "echo built >> ../../builds.txt; sleep 0.05")
    command = ("sh", "-c", 'echo \'{{"metric": "cpu", "value": 1}}\'; echo \'{{"metric": "other", "value": 1}}\'')
    both = [Benchmark(name, command, HATI, METRICS, build=(build,)) for name in "ab"]
    with LocalEngine(tmp_path, both, machine(), lock=tmp_path / "lock") as engine:
        runs = together(engine, both, (task("a"), task("b")))
    assert [run.outcome for run in runs] == [Outcome.DONE] * 2
    assert (tmp_path / ".hati" / "builds.txt").read_text() == "built\n"


def test_an_interrupt_ends_both(tmp_path: Path, task: Callable[..., Task]) -> None:
    script = "touch $0; exec sleep 60"
    both = [benchmark(name, "sh", "-c", script, str(tmp_path / name)) for name in "ab"]

    def interrupt() -> None:
        while not all((tmp_path / name).exists() for name in "ab"):
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    def interrupted(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, interrupted)
    began = time.monotonic()
    try:
        engine = LocalEngine(tmp_path, both, machine(), lock=tmp_path / "lock")
        threading.Thread(target=interrupt).start()
        with engine, pytest.raises(KeyboardInterrupt):
            together(engine, both, (task("a"), task("b")))
    finally:
        signal.signal(signal.SIGINT, before)
    assert time.monotonic() - began < 30
    lock = FileLock(tmp_path / "lock")  # held until the last process has gone
    lock.acquire("s", pytest.fail)
    lock.release()


def test_two_cores_are_needed(tmp_path: Path) -> None:
    def siblings(cpu: int, text: str) -> None:
        folder = tmp_path / f"cpu{cpu}" / "topology"
        folder.mkdir(parents=True)
        (folder / "thread_siblings_list").write_text(text)

    siblings(0, "0,4\n")
    siblings(2, "2-3\n")
    assert _two_cores([0, 4, 5], tmp_path) == (0, 5)
    assert _two_cores([2, 3, 6], tmp_path) == (2, 6)
    assert _two_cores([7, 8], tmp_path) == (7, 8)  # nothing tells of them
    for usable, message in (([0, 4], "are threads of one"), ([0], "there is one that may be used")):
        with pytest.raises(InputError, match=message) as refused:
            _two_cores(usable, tmp_path)
        assert "leave out --duet" in str(refused.value.fix)


def test_what_is_pinned_takes_whole_cores_and_what_may_run_anywhere_takes_the_machine(tmp_path: Path) -> None:
    folder = tmp_path / "cpu0" / "topology"
    folder.mkdir(parents=True)
    (folder / "thread_siblings_list").write_text("0,4")
    server = Server(("true",), Ready(port=True), cpus=(2,))
    one = Benchmark("a", ("true",), HATI, METRICS, cpus=(0,))
    assert pinned_cores([one], tmp_path) == {0, 4}
    assert pinned_cores([one, replace(one, cpus=(1,), server=server)], tmp_path) == {0, 1, 2, 4}
    for anywhere in (
        replace(one, cpus=()),
        replace(one, server=replace(server, cpus=())),
        replace(one, server=replace(server, reload=(("true",),))),
        replace(one, bindings=(Binding("o", setup=(("true",),)),)),
        replace(one, reset=Reset((("true",),))),
        *(replace(one, **{step: (("true",),)}) for step in ("build", "prepare", "setup", "cleanup")),
    ):
        assert not pinned_cores([one, anywhere], tmp_path)


def test_a_benchmark_that_does_more_than_its_command_is_refused() -> None:
    def refused(**more: object) -> str:
        with pytest.raises(InputError) as error:
            duet_cores([Benchmark("a", ("true",), HATI, METRICS, **more)])  # type: ignore[arg-type]  # fields of several types
        return error.value.message

    assert "the prepare of 'a' would run at the same time as the other's command" in refused(prepare=(("true",),))
    assert "the cleanup of 'a'" in refused(cleanup=(("true",),))
    assert "the server of 'a'" in refused(server=Server(("true",), Ready(port=True)))
    assert "'a' has cpus" in refused(cpus=(0,))
