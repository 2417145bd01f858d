"""The load driver: compiles load programs by the machine's C compiler, runs them together, collects observations."""

from __future__ import annotations

import os
import secrets
import selectors
import shlex
import subprocess
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from shutil import which

import numpy as np

from hati.core import MeasurementError
from hati.generate import (
    CALIBRATED,
    FLAGS,
    Calibration,
    CpuLoad,
    DemandCheck,
    Kernel,
    KernelCalibration,
    Lifetime,
    LoadObservations,
    LoadProgram,
    LoadTask,
    Loop,
    MachineTaskSet,
    Sensor,
    Sequence,
    TaskSet,
    joined,
    load_program,
    read_report,
    source,
)

_LONGEST = 120.0


class LoadDriverError(MeasurementError):
    """An experiment that did not run to its end; ``observations`` are those made before."""

    def __init__(self, message: str, fix: str, observations: object = None) -> None:
        super().__init__(message, fix=fix)
        self.observations = observations


def compiler() -> str:
    """The C compiler with its version and the flags, which determine a unit of work.

    Raises:
        LoadDriverError: if there is none.
    """
    name, *options = _named()
    if which(name) is None:
        raise LoadDriverError(
            f"there is no C compiler `{name}` on this machine",
            "install one, such as by `apt-get install gcc libc6-dev`, or name one in CC",
        )
    version = _compiled("--version")
    return " ".join([*version.stdout.splitlines()[:1], *options, *FLAGS])


def compile_program(source: str, folder: Path, flags: tuple[str, ...] = ()) -> Path:
    """Compile a source in a folder, which is created, and return the path of the program.

    Raises:
        LoadDriverError: if the compiler fails, or nothing can be written.
    """
    compiler()
    file, program = folder / "load.c", folder / "load"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
    except OSError as error:
        raise LoadDriverError(f"cannot write to {folder}: {error.strerror}", "free some space") from None
    done = _compiled(*FLAGS, *flags, str(file), "-o", str(program))
    if done.returncode != 0:
        words = next((line for line in done.stderr.splitlines() if "rror" in line), done.stderr.strip()[:200])
        raise LoadDriverError(
            f"{shlex.join(_named())} cannot compile {file}: {words or f'exit status {done.returncode}'}",
            "install the C library's headers (libc6-dev), or see the source",
        )
    return program


def _named() -> list[str]:
    named = os.environ.get("CC", "")
    try:
        return shlex.split(named) or ["cc"]
    except ValueError:
        raise LoadDriverError(f"CC is `{named}`, whose quotation is not closed", "close it") from None


def _compiled(*arguments: str) -> subprocess.CompletedProcess[str]:
    try:
        return subprocess.run([*_named(), *arguments], capture_output=True, text=True, check=False, timeout=_LONGEST)
    except subprocess.TimeoutExpired:
        raise LoadDriverError(
            f"{shlex.join(_named())} takes longer than {_LONGEST:g} s", "repeat it on a quiet machine"
        ) from None


_UNTIL_READY = 120.0
_UNTIL_REPORTED = 60.0
_HEAD_START_NS = 2_000_000
_CHUNK = 1 << 20
_HERE = "127.0.0.1"


def compile_and_run(
    task_set: TaskSet,
    folder: Path,
    calibration: Calibration | None = None,
    *,
    timeout: float = 600.0,
    flags: tuple[str, ...] = (),
) -> LoadObservations:
    """Run an experiment on this machine; sources, programs and raw observations stay in the folder.

    Args:
        task_set: the experiment; all its machines are this one.
        folder: created if it does not exist; has a folder for each role.
        calibration: for demands in milliseconds.
        timeout: seconds within which the tasks must end.
        flags: further compiler flags, such as those of sanitizers.

    Raises:
        InputError: if a demand needs a calibration that is missing.
        LoadDriverError: if a program cannot be compiled, or did not run to its end.
    """
    programs = [load_program(task_set, role, calibration) for role in task_set.roles]
    folders = [folder / f"role-{number}" for number in range(len(programs))]
    files = [compile_program(source(program), place, flags) for program, place in zip(programs, folders, strict=True)]
    running: list[_Running] = []
    try:
        for role, file in zip(task_set.roles, files, strict=True):
            running.append(_started(role, file))
        problem = _conduct(running, programs, timeout)
        _collect(running)
    finally:
        for each in running:
            each.kill()
    return _observations(programs, running, folders, problem)


class _Running:
    """A load program that was started, with its output so far."""

    def __init__(self, role: MachineTaskSet, file: Path) -> None:
        self.role = role
        self.process = subprocess.Popen(
            [file.resolve()],
            cwd=file.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.output = bytearray()
        self.open = True

    @property
    def stdout(self) -> int:
        """The descriptor of its output."""
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def has(self, word: str) -> bool:
        """Whether it has written a line that begins with the word."""
        head = bytes(self.output[:_CHUNK])
        return head.startswith(f"{word} ".encode()) or f"\n{word} ".encode() in head

    def words(self, word: str) -> list[str]:
        """The words after it on the first line that begins with it; empty if there is no such line yet."""
        lines = [line.split() for line in bytes(self.output[:_CHUNK]).decode(errors="replace").splitlines()]
        return next((line[1:] for line in lines if line[:1] == [word]), [])

    @property
    def ended(self) -> bool:
        """Whether the program has finished, or has begun to report."""
        return not self.open or self.has("clocks")

    def tell(self, line: str) -> None:
        """Write a line to it, unless it is gone."""
        assert self.process.stdin is not None
        with suppress(OSError):
            os.write(self.process.stdin.fileno(), f"{line}\n".encode())

    def read(self) -> None:
        """Read the output that is available."""
        data = os.read(self.stdout, _CHUNK)
        self.output += data
        self.open = bool(data)

    def kill(self) -> None:
        """Kill the program, and its load with it."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _started(role: MachineTaskSet, file: Path) -> _Running:
    try:
        return _Running(role, file)
    except OSError as error:
        raise LoadDriverError(
            f"cannot start {file}: {error.strerror}", "use a folder whose file system permits programs"
        ) from None


def _conduct(running: list[_Running], programs: list[LoadProgram], timeout: float) -> str:
    """Start the programs together, and stop them when the tasks are done; return the problem, empty if none."""
    problem = ""
    if not _await(running, lambda each: each.has("ready"), _UNTIL_READY):
        problem = f"it was not ready within {_UNTIL_READY:g} s"
    elif not _connect(running, programs):
        problem = f"its machine task sets were not connected within {_UNTIL_READY:g} s"
    elif not any(each.ended for each in running):
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + _HEAD_START_NS
        for each in running:
            each.tell(f"start {start}")
        waited = [each for each in running if each.role.task and each.role.until is Lifetime.TASK]
        if not _await(running, lambda each: each not in waited or each.has("done"), timeout):
            problem = f"it did not end within {timeout:g} s"
    for each in running:
        each.tell("stop")
    return problem


def _connect(running: list[_Running], programs: list[LoadProgram]) -> bool:
    """Connect the programs to their peers; return whether all were connected, or one ended, within the time."""
    token = secrets.token_hex(16)
    ports = {program.role: each.words("ready") for program, each in zip(programs, running, strict=True)}
    for each in running:
        each.tell(f"token {token}")
    connecting = [each for program, each in zip(programs, running, strict=True) if program.peers]
    for program, each in zip(programs, running, strict=True):
        for number, peer in enumerate(program.peers):
            each.tell(f"peer {number} {_HERE} {' '.join(ports[peer])}")
        if program.peers:
            each.tell("connect")
    return _await(running, lambda each: each not in connecting or each.has("connected"), _UNTIL_READY)


def _await(running: list[_Running], reached: Callable[[_Running], bool], timeout: float) -> bool:
    """Read until all have reached a point, or one has ended; return whether that was within the time."""
    return _read(running, lambda: all(map(reached, running)) or any(each.ended for each in running), timeout)


def _read(running: list[_Running], enough: Callable[[], bool], timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for each in running:
            if each.open:
                selector.register(each.stdout, selectors.EVENT_READ, each)
        while not enough():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in selector.select(left):
                each = key.data
                each.read()
                if not each.open:
                    selector.unregister(each.stdout)
    return True


def _collect(running: list[_Running]) -> None:
    """Read the reports; a load that goes on is terminated, and its program reports what it has."""
    for end in (lambda _: None, lambda each: each.process.terminate()):
        for each in running:
            end(each)
        if _read(running, lambda: not any(each.open for each in running), _UNTIL_REPORTED):
            return


def _observations(
    programs: list[LoadProgram], running: list[_Running], folders: list[Path], problem: str
) -> LoadObservations:
    """The observations of all programs, which are also written to the folders.

    Raises:
        LoadDriverError: if something went wrong, with the observations.
    """
    found, problems = list[LoadObservations](), [problem] if problem else []
    for program, each, folder in zip(programs, running, folders, strict=True):
        text = each.output.decode(errors="replace")
        report = read_report(program, text)
        found.append(report.observations)
        if report.problem and not problem:
            problems.append(f"the machine task set {program.role!r} failed: {report.problem}")
        try:
            (folder / "observations.txt").write_text(text, encoding="utf-8")
        except OSError as error:
            problems.append(f"cannot write to {folder}: {error.strerror}")
    observations = joined(found)
    if problems:
        raise LoadDriverError("; ".join(problems), _remedy(problems[0]), observations)
    return observations


def _remedy(problem: str) -> str:
    if "No space left" in problem:
        return "free some space, or use a smaller file"
    if "CPU set" in problem:
        return f"this machine has CPUs {', '.join(map(str, sorted(os.sched_getaffinity(0))))}"
    if "not permitted" in problem:
        return "run it as root, or leave out the policy, priority or niceness"
    return "what was observed before is kept"


DEMANDS_MS = (0.1, 1.0, 5.0, 50.0)
EXECUTIONS = 30
_PILOT_UNITS = 2_000
_CALIBRATING_MS = 5.0


def calibrate(folder: Path, kernels: Iterable[Kernel] = CALIBRATED, *, machine: str = "") -> Calibration:
    """Calibrate kernels on this machine.

    Args:
        folder: the folder of the experiments; created if it does not exist.
        kernels: the kernels to calibrate.
        machine: the identity of the machine.

    Raises:
        LoadDriverError: if the experiments cannot be run.
    """
    chosen = tuple(kernels)
    pilot = _measured(folder / "pilot", {_name(each): (each, _PILOT_UNITS) for each in chosen}, 9)
    first = Calibration(tuple(KernelCalibration(each, _per_unit(pilot, each, _PILOT_UNITS)) for each in chosen))
    units = {(each, demand): first.units(each, demand) for each in chosen for demand in (*DEMANDS_MS, _CALIBRATING_MS)}
    works = {_name(each): (each, units[each, _CALIBRATING_MS]) for each in chosen}
    before = _measured(folder / "before", works, EXECUTIONS)
    checked = {
        _name(each, demand): (each, units[each, demand or _CALIBRATING_MS])
        for each in chosen
        for demand in (None, *DEMANDS_MS)
    }
    found = _measured(folder / "checked", checked, EXECUTIONS)
    made = []
    for each in chosen:
        work = units[each, _CALIBRATING_MS]
        ns, ns_before = _per_unit(found, each, work), _per_unit(before, each, work)
        checks = tuple(_check(found[_name(each, demand)], demand, units[each, demand] * ns) for demand in DEMANDS_MS)
        shortest, *_, longest = checks
        linearity = (1 + longest.error) / (1 + shortest.error) - 1
        made.append(KernelCalibration(each, ns, _cv(found[_name(each)]), linearity, ns / ns_before - 1, checks))
    return Calibration(tuple(made), machine, compiler())


_Times = np.ndarray[tuple[int, ...], np.dtype[np.int64]]


def _measured(folder: Path, works: dict[str, tuple[Kernel, int]], times: int) -> dict[str, _Times]:
    """The CPU times in ns of each work; all works run one after the other, ``times`` times.

    One unmeasured execution precedes those of each kernel, to warm up the caches.
    """
    tasks: tuple[LoadTask, ...] = ()
    for kernel, group in groupby(works.items(), key=lambda work: work[1][0]):
        named = list(group)
        warming = CpuLoad(kernel, units=named[0][1][1])
        measured = (CpuLoad(kernel, units=units, name=name, sensors=(Sensor.CPU,)) for name, (_, units) in named)
        tasks = (*tasks, warming, *measured)
    role = MachineTaskSet("calibration", "here", Loop(Sequence(tasks), count=times))
    observed = compile_and_run(TaskSet("calibration", ("here",), (role,)), folder)
    found = {name: observed.values(name, Sensor.CPU) for name in works}
    for name, values in found.items():
        if not (values > 0).all():
            raise LoadDriverError(f"the CPU time of {name} is 0", "see whether the machine's CPU clock works", observed)
    return found


def _name(kernel: Kernel, demand: float | None = None) -> str:
    return f"{kernel}" if demand is None else f"{kernel} {demand:g} ms"


def _per_unit(found: dict[str, _Times], kernel: Kernel, units: int) -> float:
    return float(np.median(found[_name(kernel)])) / units


def _check(values: _Times, demand_ms: float, expected_ns: float) -> DemandCheck:
    return DemandCheck(demand_ms, float(np.median(values)) / expected_ns - 1, _cv(values))


def _cv(values: _Times) -> float:
    return float(values.std(ddof=1) / values.mean())
