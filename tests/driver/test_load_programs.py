"""Load programs on this machine: compiled, run, observed."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread, Timer
from time import sleep

import numpy as np
import psutil
import pytest
from scipy import stats

from hati.core import replace
from hati.driver import LoadDriverError, compile_and_run, compiler
from hati.driver.running import _Running
from hati.generate import (
    FLAGS,
    CodeLoad,
    CpuLoad,
    DiskLoad,
    DiskOperation,
    Kernel,
    Lifetime,
    LoadObservations,
    LoadTask,
    Loop,
    MachineTaskSet,
    MemoryAccess,
    MemoryLoad,
    NarrowInterval,
    NetworkLoad,
    NetworkPattern,
    NetworkProtocol,
    Parallel,
    Sensor,
    Sequence,
    TaskSet,
    Until,
)
from hati.generate.observations import load_run_json, load_run_table

BOTH = (Sensor.RESPONSE, Sensor.CPU)
GOLDEN = Path(__file__).parents[1] / "generate" / "golden"


@pytest.fixture(autouse=True)
def _quickly_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without optimisation: what a unit of work takes is not tested here."""
    monkeypatch.setattr("hati.driver.compiling.FLAGS", tuple(flag for flag in FLAGS if not flag.startswith("-O")))


def one(task: LoadTask) -> TaskSet:
    return TaskSet("test", ("here",), (MachineTaskSet("only", "here", task),))


@pytest.mark.acceptance
def test_every_execution_of_every_sensor_is_observed(tmp_path: Path) -> None:
    work = [
        CpuLoad(kernel, units=50, name=kernel.value, sensors=BOTH)
        for kernel in (Kernel.MANDELBROT, Kernel.FIBONACCI, Kernel.SORT, Kernel.MEMORY)
    ]
    rest = (
        MemoryLoad(MemoryAccess.CHASE, 1 << 14, 100, name="chase", sensors=BOTH),
        MemoryLoad(MemoryAccess.TRIAD, 1 << 14, 2, name="triad", sensors=BOTH),
        DiskLoad(DiskOperation.WRITE, 4096, 1 << 14, name="disk", sensors=BOTH),
        CpuLoad(Kernel.SPIN, demand_ms=0.1, name="spin", sensors=BOTH),
        CpuLoad(Kernel.WAIT, demand_ms=0.1, name="wait", sensors=BOTH),
    )
    observed = compile_and_run(one(Loop(Sequence((*work, *rest)), count=7)), tmp_path)
    for task in (*work, *rest):
        for sensor in BOTH:
            (series,) = observed.named(task.name, sensor)
            assert len(series.values) == len(series.starts) == 7
            assert (series.starts[1:] > series.starts[:-1]).all()
    assert (observed.values("spin", Sensor.RESPONSE) >= 99_000).all()
    assert (observed.values("wait", Sensor.CPU) < observed.values("wait", Sensor.RESPONSE)).all()
    assert observed.clocks["only"].response > 0


def test_code_of_ones_own_is_prepared_executed_and_cleaned_up_for_each_thread(tmp_path: Path) -> None:
    code = CodeLoad(
        declare="int times;",
        prepare='if (own->times != 0) fail("somebody else was here");',
        execute="own->times++; struct timespec nap = {0, 1000000}; nanosleep(&nap, NULL);",
        clean_up='char name[32]; snprintf(name, sizeof name, "%p", (void *)own); FILE *file = fopen(name, "w");'
        ' fprintf(file, "%d", own->times); fclose(file);',
        name="code",
        sensors=(Sensor.RESPONSE,),
    )
    observed = compile_and_run(one(Parallel((Loop(code, count=3),), copies=2)), tmp_path)
    assert [len(each.values) for each in observed.named("code", Sensor.RESPONSE)] == [3, 3]
    assert (observed.values("code", Sensor.RESPONSE) >= 1_000_000).all()
    assert [file.read_text() for file in (tmp_path / "role-0").glob("0x*")] == ["3", "3"]


def test_the_cpu_time_of_processes_that_code_starts_is_reported_beside_the_sensors(tmp_path: Path) -> None:
    execute = """
        for (pid_t pid = fork(); ; ) {
            if (pid == 0) {
                while (cpu_time() < 20000000u) {
                }
                _exit(0);
            }
            waitpid(pid, NULL, 0);
            break;
        }"""
    code = CodeLoad(execute=execute, prepare=execute, name="code", sensors=(Sensor.CPU,))
    observed = compile_and_run(one(code), tmp_path)
    assert observed.values("code", Sensor.CPU)[0] < 20_000_000
    (spent,) = observed.children_cpu.values()
    assert 19_900_000 <= spent < 39_000_000, "once, and not while it is prepared"
    (note,) = (each for each in load_run_table(load_run_json("Own", "f", observed, "")).notes if "started" in each)
    assert note.endswith("of CPU time, which its sensors do not count.")
    assert not compile_and_run(one(replace(code, execute=";", prepare="")), tmp_path).children_cpu


def test_code_that_cannot_be_prepared_or_compiled_is_named(tmp_path: Path) -> None:
    with pytest.raises(LoadDriverError, match="no such device: "):
        compile_and_run(one(CodeLoad("own->unused = 1;", prepare='fail("no such device");')), tmp_path / "a")
    with pytest.raises(LoadDriverError, match=r"cannot compile .*load\.c:\d+:\d+: error: .*nonsense"):
        compile_and_run(one(CodeLoad("nonsense = 1;")), tmp_path / "b")


def test_code_that_takes_long_ends_with_its_parallel(tmp_path: Path) -> None:
    endless = CodeLoad("while (going_on) sched_yield();", name="endless", sensors=(Sensor.RESPONSE,))
    stops = Parallel((endless, CpuLoad(Kernel.WAIT, demand_ms=20)), until=Until.FIRST)
    (seen,) = compile_and_run(one(stops), tmp_path).values("endless", Sensor.RESPONSE)
    assert 0 < seen < 10_000_000_000  # it may start later than the other load


def test_a_loop_ends_once_an_interval_is_narrow(tmp_path: Path) -> None:
    work = CpuLoad(Kernel.MANDELBROT, units=20, name="work", sensors=BOTH)
    until = NarrowInterval("work", Sensor.RESPONSE, margin=0.05)
    wide = NarrowInterval("work", Sensor.RESPONSE, margin=1e-9)
    observed = compile_and_run(one(Loop(work, count=20_000, until=until)), tmp_path / "narrow")
    times = observed.values("work", Sensor.RESPONSE).astype(float)
    numbers = np.arange(1.0, len(times) + 1.0)
    means = np.cumsum(times) / numbers
    squares = np.array([np.sum((times[:n] - means[n - 1]) ** 2) for n in range(1, len(times) + 1)])
    errors = np.sqrt(squares[9:] / (numbers[9:] - 1.0) / numbers[9:])
    halves = stats.t.ppf(0.975, numbers[9:] - 1.0) * errors / means[9:]
    assert 10 <= len(times) < 20_000
    assert halves[-1] <= 0.0505
    assert (halves[:-1] > 0.0495).all()
    assert observed.wide == 0
    limited = compile_and_run(one(Loop(work, count=50, until=wide)), tmp_path / "wide")
    assert (len(limited.values("work", Sensor.RESPONSE)), limited.wide) == (50, 1)


def test_the_compiler_named_in_cc_may_have_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A launcher such as ccache, and options; these are part of what determines a unit of work."""
    monkeypatch.setenv("CC", "env gcc -DX='a b'")
    monkeypatch.setattr("hati.driver.compiling.FLAGS", FLAGS)
    assert compiler().endswith(" gcc -DX=a b -std=c11 -O2 -pthread")
    work = CpuLoad(Kernel.SORT, units=1, name="work", sensors=(Sensor.CPU,))
    assert len(compile_and_run(one(work), tmp_path).values("work", Sensor.CPU)) == 1
    monkeypatch.setenv("CC", "gcc '-m64")
    with pytest.raises(LoadDriverError, match="CC is `gcc '-m64`, whose quotation is not closed"):
        compiler()


def test_a_mean_below_the_clocks_cost_is_not_known(tmp_path: Path) -> None:
    """Its corrected mean is negative: no interval is within a part of it."""
    text = (GOLDEN / "narrow-worker.c").read_text()
    struct = text[text.index("struct estimate {") : text.index("static int is_narrow")]
    function = text[text.index("static int is_narrow") :].split("\n}\n")[0] + "\n}\n"
    program = tmp_path / "narrow.c"
    program.write_text(
        "#include <stdatomic.h>\n#include <stdint.h>\nstruct series { _Atomic uint64_t count; uint64_t *data; };\n"
        f"{struct}{function}"
        "int main(void)\n{\n    uint64_t data[24];\n    double quantile[4] = {2, 0, 0, 0};\n"
        "    for (int i = 0; i < 24; i++)\n        data[i] = 100 + (uint64_t)(i / 2 % 2);\n"
        "    struct series series = {12, data};\n    struct estimate low = {0}, high = {0};\n"
        "    return is_narrow(&low, &series, 200, 0.05, 10, quantile)\n"
        "        + 2 * is_narrow(&high, &series, 0, 0.05, 10, quantile);\n}\n"
    )
    subprocess.run(["cc", str(program), "-o", str(tmp_path / "narrow")], check=True, timeout=60)
    assert subprocess.run([str(tmp_path / "narrow")], check=False, timeout=60).returncode == 2


def test_utilisation_is_that_of_all_threads(tmp_path: Path) -> None:
    idle = CpuLoad(Kernel.WAIT, demand_ms=20, name="idle", sensors=(Sensor.UTILISATION,))
    busy = CpuLoad(Kernel.SPIN, demand_ms=20, name="busy", sensors=(Sensor.UTILISATION, Sensor.CPU, Sensor.RESPONSE))
    two = Parallel(
        (CpuLoad(Kernel.SPIN, demand_ms=20),),
        copies=2,
        name="two",
        sensors=(Sensor.UTILISATION, Sensor.CPU, Sensor.RESPONSE),
    )
    observed = compile_and_run(one(Sequence((idle, busy, two))), tmp_path)
    assert observed.values("idle", Sensor.UTILISATION)[0] < 0.05e9
    for name in ("busy", "two"):
        used, elapsed, part = (
            observed.values(name, each)[0] for each in (Sensor.CPU, Sensor.RESPONSE, Sensor.UTILISATION)
        )
        assert part == pytest.approx(1e9 * used / elapsed, rel=1e-4)


def test_the_end_of_one_stops_the_others(tmp_path: Path) -> None:
    endless = Loop(CpuLoad(Kernel.SPIN, demand_ms=0.05, name="endless", sensors=(Sensor.RESPONSE,)))
    short = CpuLoad(Kernel.SPIN, demand_ms=20, name="short", sensors=BOTH)
    observed = compile_and_run(one(Parallel((endless, short), until=Until.FIRST)), tmp_path)
    assert len(observed.values("short", Sensor.CPU)) == 1
    assert len(observed.values("endless", Sensor.RESPONSE)) > 1


@pytest.mark.acceptance
def test_what_was_observed_before_a_failure_is_kept(tmp_path: Path) -> None:
    first = CpuLoad(Kernel.MANDELBROT, units=10, name="first", sensors=(Sensor.RESPONSE,))
    never = CpuLoad(Kernel.WAIT, demand_ms=60_000)
    with pytest.raises(LoadDriverError, match="did not end within") as caught:
        compile_and_run(one(Sequence((Loop(first, count=5), never))), tmp_path, timeout=0.3)
    assert isinstance(caught.value.observations, LoadObservations)
    assert len(caught.value.observations.values("first", Sensor.RESPONSE)) == 5
    assert "series 0 5 0" in (tmp_path / "role-0" / "observations.txt").read_text()


@pytest.mark.acceptance
def test_a_peer_answers_and_all_begin_together(tmp_path: Path) -> None:
    def exchange(protocol: NetworkProtocol, pattern: NetworkPattern, size: int) -> Loop:
        name = f"{protocol} {pattern}"
        return Loop(NetworkLoad("server", protocol, pattern, size, 3, name=name, sensors=(Sensor.RESPONSE,)), count=20)

    tcp, udp = NetworkProtocol.TCP, NetworkProtocol.UDP
    ping, stream = NetworkPattern.PING_PONG, NetworkPattern.STREAM
    client = Sequence((exchange(tcp, ping, 64), exchange(udp, ping, 64), exchange(tcp, stream, 100_000)))
    spin = CpuLoad(Kernel.SPIN, demand_ms=0.2, name="spin", sensors=(Sensor.RESPONSE,))
    roles = (
        MachineTaskSet("client", "one", client),
        MachineTaskSet("server", "two"),
        MachineTaskSet("background", "one", Loop(spin), until=Lifetime.OTHERS),
    )
    observed = compile_and_run(TaskSet("test", ("one", "two"), roles), tmp_path)
    for name in ("tcp ping_pong", "udp ping_pong", "tcp stream"):
        assert len(observed.values(name, Sensor.RESPONSE)) == 20
    assert len(observed.values("spin", Sensor.RESPONSE)) > 0
    assert all((series.starts >= 0).all() for series in observed.series)
    assert observed.messages_lost == 0
    assert set(observed.clocks) == {"client", "server", "background"}


def test_a_peer_that_learns_the_token_last_answers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tell, known = _Running.tell, Event()

    def late(self: _Running, line: str) -> None:
        if self.role.name == "server" and line.startswith("token"):
            Timer(0.2, lambda: (tell(self, line), known.set())).start()
            return
        if self.role.name == "server":
            known.wait(60.0)  # its lines stay in their order
        tell(self, line)

    monkeypatch.setattr(_Running, "tell", late)
    load = NetworkLoad("server", NetworkProtocol.TCP, NetworkPattern.PING_PONG, 100, 5, name="ping", sensors=BOTH)
    roles = (MachineTaskSet("client", "one", load), MachineTaskSet("server", "one"))
    observed = compile_and_run(TaskSet("test", ("one",), roles), tmp_path)
    assert len(observed.values("ping", Sensor.RESPONSE)) == 1


def test_without_a_compiler_nothing_is_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LoadDriverError, match=r"there is no C compiler `cc` on this machine; install one"):
        compile_and_run(one(CpuLoad(Kernel.SORT, units=1)), tmp_path / "x")


@pytest.mark.parametrize(
    ("reason", "fix"),
    [
        ("no headers", "install"),
        ("final link failed: No space left on device", "free some space for .*/x/role-0, and in TMPDIR"),
    ],
)
def test_a_compiler_that_fails_is_quoted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reason: str, fix: str
) -> None:
    broken = tmp_path / "cc"
    broken.write_text(f"#!/bin/sh\necho load.c:1: error: {reason} >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(LoadDriverError, match=rf"cc cannot compile .*: load.c:1: error: {reason}; {fix}"):
        compile_and_run(one(CpuLoad(Kernel.SORT, units=1)), tmp_path / "x")


@pytest.mark.parametrize(
    "words",
    [
        "error writing to /no/folder/cc1.s",
        "load.c:9:1: fatal error: error writing to /no/folder/cc1.s",
        "Cannot create temporary file in /no/folder/",
    ],
)
def test_the_folder_that_the_compiler_cannot_write_to_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: str
) -> None:
    broken = tmp_path / "cc"
    broken.write_text(f"#!/bin/sh\necho {words}: No space left on device >&2\nexit 1\n")
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(LoadDriverError) as caught:
        compile_and_run(one(CpuLoad(Kernel.SORT, units=1)), tmp_path / "x")
    start = "cc cannot write its temporary files to /no/folder: No space left on device"
    assert str(caught.value).startswith(start)
    assert str(caught.value).endswith("; free some space there, or set TMPDIR to another folder")


def test_a_compiler_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = tmp_path / "cc"
    hanging.write_text("#!/bin/sh\nexec sleep 600\n")
    hanging.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr("hati.driver.compiling._LONGEST", 0.1)
    with pytest.raises(LoadDriverError, match=r"cc takes longer than 0\.1 s; repeat"):
        compile_and_run(one(CpuLoad(Kernel.SORT, units=1)), tmp_path / "x")


def test_a_folder_without_programs_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    making = tmp_path / "cc"
    making.write_text("#!/bin/sh\nfor file; do :; done\n[ $# = 1 ] || touch $file\n")
    making.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    with pytest.raises(LoadDriverError, match=r"cannot start .*load: Permission denied; use a folder"):
        compile_and_run(one(CpuLoad(Kernel.SORT, units=1)), tmp_path / "x")


def test_a_load_that_dies_leaves_what_it_observed(tmp_path: Path) -> None:
    first = CpuLoad(Kernel.MANDELBROT, units=10, name="first", sensors=(Sensor.RESPONSE,))
    killing = Thread(target=_kill_load, args=(str(tmp_path),))
    killing.start()
    with pytest.raises(LoadDriverError, match="'only' failed: it was killed by signal 9") as caught:
        compile_and_run(one(Loop(Sequence((first, CpuLoad(Kernel.WAIT, demand_ms=1))), duration_ms=60_000)), tmp_path)
    killing.join()
    assert isinstance(caught.value.observations, LoadObservations)
    assert len(caught.value.observations.values("first", Sensor.RESPONSE)) > 0


def _kill_load(folder: str) -> None:
    """Kill the loading process of the program in a folder once it runs."""
    for _ in range(600):
        for process in psutil.Process().children(recursive=True):
            with suppress(psutil.Error):
                inner = process.parent()
                if process.exe().startswith(folder) and inner is not None and inner.exe() == process.exe():
                    sleep(0.3)
                    process.kill()
                    return
        sleep(0.05)


def test_a_full_disk_leaves_what_was_observed(tmp_path: Path, small_disk: Path) -> None:
    first = CpuLoad(Kernel.MANDELBROT, units=10, name="first", sensors=(Sensor.RESPONSE,))
    append = DiskLoad(DiskOperation.APPEND_SYNC, 4096, 1 << 21, directory=str(small_disk))
    with pytest.raises(LoadDriverError, match="cannot write the file: No space left on device; free") as caught:
        compile_and_run(one(Loop(Sequence((first, append)), count=400)), tmp_path / "x")
    assert isinstance(caught.value.observations, LoadObservations)
    assert len(caught.value.observations.values("first", Sensor.RESPONSE)) == 1024 // 4 + 1


def test_what_is_not_permitted_is_refused_before_the_start(tmp_path: Path) -> None:
    task = CpuLoad(Kernel.SORT, units=1, name="far", sensors=(Sensor.CPU,), cpus=(1000,))
    with pytest.raises(LoadDriverError, match="cannot set the CPU set: Invalid argument") as caught:
        compile_and_run(one(task), tmp_path)
    assert "this machine has CPUs" in str(caught.value.fix)


@pytest.mark.acceptance
def test_the_driver_adds_less_than_a_microsecond_to_a_task(tmp_path: Path) -> None:
    nothing = CpuLoad(Kernel.MANDELBROT, units=0)
    tasks = 1000
    measured = Loop(nothing, count=tasks, name="loop", sensors=(Sensor.CPU,))
    sensed = CpuLoad(Kernel.MANDELBROT, units=0, name="nothing", sensors=(Sensor.RESPONSE,))
    inner = Loop(sensed, count=tasks, name="sensed", sensors=(Sensor.CPU,))
    observed = compile_and_run(one(Loop(Sequence((measured, inner)), count=30)), tmp_path)
    assert np.median(observed.values("loop", Sensor.CPU)) / tasks < 1000
    assert np.median(observed.values("sensed", Sensor.CPU)) / tasks < 1000
    assert np.median(observed.values("nothing", Sensor.RESPONSE)) < 1000
