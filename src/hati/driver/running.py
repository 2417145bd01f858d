"""The load driver: compiles the programs of a task set, starts them together, and collects their observations.

Programs are controlled by lines on their standard input and output, which nobody else can write to: each reports when
it is ready, all get the same start time on the monotonic clock, and they end when the controller says so or is gone.
On another machine an agent passes these lines on, and the start time is that of its clock.
"""

from __future__ import annotations

import os
import secrets
import selectors
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import MappingProxyType

from hati.core import replace
from hati.driver.agent import ANYWHERE, Announce, CompileRequest
from hati.driver.compiling import CompileError, LoadDriverError, compile_program, write_source
from hati.driver.programs import CHUNK, HERE, ControlledProgram, RemoteMachine, RemoteProgram, mute
from hati.generate import (
    Calibration,
    CodePlace,
    Lifetime,
    LoadObservations,
    LoadProgram,
    MachineTaskSet,
    TaskSet,
    code_place,
    joined,
    load_program,
    read_report,
    source,
)

_UNTIL_READY = 120.0
_UNTIL_REPORTED = 60.0
_HEAD_START_NS = 2_000_000
_REMOTE_HEAD_START_NS = 500_000_000
"""Longer than the kernel waits before it sends a lost segment again, which is 200 ms or more."""


Machines = Mapping[str, RemoteMachine]
"""The machines of a task set that are not this one, by their names there."""


def compile_and_run(
    task_set: TaskSet,
    folder: Path,
    calibration: Calibration | None = None,
    *,
    timeout: float = 600.0,
    flags: tuple[str, ...] = (),
    machines: Machines = MappingProxyType({}),
    announce: Announce = mute,
    lock: str = "",
) -> LoadObservations:
    """Run an experiment; sources, programs of this machine and raw observations stay in the folder.

    Args:
        task_set: the experiment; machines that are not in ``machines`` are this one.
        folder: created if it does not exist; has a folder for each role.
        calibration: for demands in milliseconds, on all machines.
        timeout: seconds within which the tasks must end.
        flags: further compiler flags, such as those of sanitizers.
        machines: where the agents of other machines listen.
        announce: receives what they wait for.
        lock: what is held meanwhile, which an agent cannot hold, too; empty if nothing is.

    Raises:
        InputError: if a demand needs a calibration that is missing.
        LoadDriverError: if a program cannot be compiled, or did not run to its end.
        LoadInterruption: if it is interrupted after the programs were started.
    """
    programs = [load_program(task_set, role, calibration) for role in task_set.roles]
    sources = [source(program) for program in programs]
    folders = [folder / f"role-{number}" for number in range(len(programs))]
    files = [
        write_source(text, place) if role.machine in machines else _compiled(program, text, place, flags)
        for program, role, text, place in zip(programs, task_set.roles, sources, folders, strict=True)
    ]
    running: list[ControlledProgram] = []
    try:
        for program, role, text, file in zip(programs, task_set.roles, sources, files, strict=True):
            if role.machine in machines:
                request = CompileRequest(text, flags, lock)
                running.append(RemoteProgram.started(role, machines[role.machine], request, announce))
            else:
                running.append(_started(role, file, (ANYWHERE,) if machines and program.receives else ()))
        try:
            problem = _conduct(running, programs, timeout)
            _collect(running)
        except KeyboardInterrupt:
            problem = INTERRUPTED
            _collect(running)
    finally:
        for each in running:
            each.kill()
    observations, problems = _observed(programs, running, folders, problem)
    if problem == INTERRUPTED:
        raise LoadInterruption(observations)
    if problems:
        raise LoadDriverError("; ".join(problems), _remedy(problems[0], observations), observations)
    return observations


class CodeError(LoadDriverError):
    """C of one's own that cannot be compiled, with its place."""

    def __init__(self, place: CodePlace, error: CompileError) -> None:
        super().__init__(error.message, error.fix or "")
        self.place_in_task, self.reason = place, error.reason


def _compiled(program: LoadProgram, text: str, folder: Path, flags: tuple[str, ...]) -> Path:
    try:
        return compile_program(text, folder, flags)
    except CompileError as error:
        place = error.position and code_place(program, text, *error.position)
        if place is None:
            raise
        raise CodeError(place, error) from None


INTERRUPTED = "it was interrupted"


class LoadInterruption(KeyboardInterrupt):
    """An experiment that was interrupted; ``observations`` are those made before."""

    def __init__(self, observations: LoadObservations) -> None:
        super().__init__(INTERRUPTED)
        self.observations = observations


class _Running(ControlledProgram):
    """A load program that was started on this machine."""

    def __init__(self, role: MachineTaskSet, file: Path, arguments: tuple[str, ...]) -> None:
        super().__init__(role)
        self.process = subprocess.Popen(
            [file.resolve(), *arguments],
            cwd=file.parent,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def fileno(self) -> int:
        """The descriptor of its output."""
        assert self.process.stdout is not None
        return self.process.stdout.fileno()

    def tell(self, line: str) -> None:
        """Write a line to it, unless it is gone."""
        assert self.process.stdin is not None
        with suppress(OSError):
            os.write(self.process.stdin.fileno(), f"{line}\n".encode())

    def read(self) -> None:
        """Read the output that is available."""
        data = os.read(self.fileno(), CHUNK)
        self.output += data
        self.open = bool(data)

    def terminate(self) -> None:
        """End its load; it reports what it has."""
        self.process.terminate()

    def kill(self) -> None:
        """Kill the program, and its load with it."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _started(role: MachineTaskSet, file: Path, arguments: tuple[str, ...]) -> _Running:
    try:
        return _Running(role, file, arguments)
    except OSError as error:
        raise LoadDriverError(
            f"cannot start {file}: {error.strerror}", "use a folder whose file system permits programs"
        ) from None


def _conduct(running: Sequence[ControlledProgram], programs: Sequence[LoadProgram], timeout: float) -> str:
    """Start the programs together, and wait until the tasks are done; return the problem, empty if none."""
    problem = ""
    if not _await(running, lambda each: each.has("ready"), _UNTIL_READY):
        problem = f"it was not ready within {_UNTIL_READY:g} s"
    elif not _connect(running, programs):
        problem = f"its machine task sets were not connected within {_UNTIL_READY:g} s"
    elif not any(each.ended for each in running):
        farthest = max(each.clock.uncertainty for each in running)
        remote = any(isinstance(each, RemoteProgram) for each in running)
        head_start = (_REMOTE_HEAD_START_NS if remote else _HEAD_START_NS) + 8 * farthest
        start = time.clock_gettime_ns(time.CLOCK_MONOTONIC) + head_start
        for each in running:
            each.tell(f"start {start + each.clock.offset}")
        waited = [each for each in running if each.role.task and each.role.until is Lifetime.TASK]
        if not _await(running, lambda each: each not in waited or each.has("done"), timeout):
            problem = f"it did not end within {timeout:g} s"
    return problem


def _connect(running: Sequence[ControlledProgram], programs: Sequence[LoadProgram]) -> bool:
    """Connect the programs to their peers; return whether all were connected, or one ended, within the time."""
    token = secrets.token_hex(16)
    by_role = {each.role.name: each for each in running}
    ports = {program.role: each.words("ready") for program, each in zip(programs, running, strict=True)}
    for each in running:
        each.tell(f"token {token}")
    connecting = [each for program, each in zip(programs, running, strict=True) if program.peers]
    for program, each in zip(programs, running, strict=True):
        for number, peer in enumerate(program.peers):
            each.tell(f"peer {number} {_seen_from(each, by_role[peer])} {' '.join(ports[peer])}")
        if program.peers:
            each.tell("connect")
    return _await(running, lambda each: each not in connecting or each.has("connected"), _UNTIL_READY)


def _seen_from(one: ControlledProgram, other: ControlledProgram) -> str:
    """The address of a program's machine as another program reaches it."""
    if one.role.machine == other.role.machine or one.address == other.address:
        return HERE
    return one.controller if other.address == HERE else other.address


def _await(running: Sequence[ControlledProgram], reached: Callable[[ControlledProgram], bool], timeout: float) -> bool:
    """Read until all have reached a point, or one has ended; return whether that was within the time."""
    return _read(running, lambda: all(map(reached, running)) or any(each.ended for each in running), timeout)


def _read(running: Sequence[ControlledProgram], enough: Callable[[], bool], timeout: float) -> bool:
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for each in running:
            if each.open:
                selector.register(each, selectors.EVENT_READ, each)
        while not enough():
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            for key, _ in selector.select(left):
                each = key.data
                each.read()
                if not each.open:
                    selector.unregister(each)
    return True


def _collect(running: Sequence[ControlledProgram]) -> None:
    """Stop the programs, and read their reports; a load that goes on is terminated, and reports what it has."""
    for each in running:
        each.tell("stop")
    for end in (lambda _: None, lambda each: each.terminate()):
        for each in running:
            end(each)
        if _read(running, lambda: not any(each.open for each in running), _UNTIL_REPORTED):
            return


def _observed(
    programs: Sequence[LoadProgram], running: Sequence[ControlledProgram], folders: Sequence[Path], problem: str
) -> tuple[LoadObservations, list[str]]:
    """The observations of all programs, which are also written to the folders, and all that went wrong."""
    found, problems = list[LoadObservations](), [problem] if problem else []
    for program, each, folder in zip(programs, running, folders, strict=True):
        text = each.output.decode(errors="replace")
        report = read_report(program, text)
        found.append(report.observations)
        if each.gone:
            problems.append(f"the machine {each.role.machine!r} of {program.role!r} is gone: {each.gone}")
        elif report.problem and not problem:
            problems.append(f"the machine task set {program.role!r} failed: {report.problem}")
        try:
            (folder / "observations.txt").write_text(text, encoding="utf-8")
        except OSError as error:
            problems.append(f"cannot write to {folder}: {error.strerror}")
    gone = {each.role.machine for each in running if each.gone}
    remote = [each for each in running if isinstance(each, RemoteProgram) and each.role.machine not in gone]
    observations = replace(joined(found), machines={each.role.machine: each.clock for each in remote})
    return observations, problems


def _remedy(problem: str, observations: LoadObservations) -> str:
    if "No space left" in problem:
        return "free some space, or use a smaller file"
    if "CPU set" in problem:
        return f"this machine has CPUs {', '.join(map(str, sorted(os.sched_getaffinity(0))))}"
    if "not permitted" in problem:
        return "run it as root, or leave out the policy, priority or niceness"
    if any(each.values.size for each in observations.series):
        return "what was observed before is kept"
    return "nothing was observed"
