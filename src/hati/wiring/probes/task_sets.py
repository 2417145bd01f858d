"""Read, run and keep the user's own experiments and calibrations on this machine."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory, TemporaryFile
from threading import Lock
from types import MappingProxyType
from urllib.parse import quote

import msgspec
import platformdirs
from msgspec import Struct

from hati.core import InputError, MeasurementError, Place, decode, digest
from hati.core.wording import listed, suggestion
from hati.driver import (
    INTERRUPTED,
    CodeError,
    LoadDriverError,
    LoadInterruption,
    RemoteMachine,
    calibrate,
    compile_and_run,
    compiler,
    make_key,
    read_key,
    serve,
)
from hati.engine.locks import FileLock, default_path
from hati.file_errors import write_error
from hati.generate import (
    CALIBRATED,
    Calibration,
    CpuLoad,
    Kernel,
    LoadObservations,
    TaskSet,
    load_program,
    parse_task_set,
    tasks_of,
    yaml_place,
)
from hati.generate.reading import YamlPlaces
from hati.generate.tasks import TaskAttributes
from hati.generate.yaml_text import read_yaml
from hati.packages import added, called, load_entry
from hati.studies.probe.planning import ProbePlanJson, plan_of_task_set
from hati.subject import make_own, remedy, this_machine
from hati.whole_files import replace_file

GROUP = "hati.tasks"
"""The entry points of the kinds of tasks that packages add."""

_PLACE = re.compile(r"(?P<host>[^\s:=]+):(?P<port>[0-9]{1,5})")
_LAST_PORT = 65535
_BOOT = Path("/proc/sys/kernel/random/boot_id")
_SOON = 0.2

Announce = Callable[[str], None]


class LoadRun(Struct, frozen=True, eq=False):
    """An experiment that was run; ``problem`` is the reason if it ended early, else empty."""

    task_set: TaskSet
    folder: Path
    observations: LoadObservations
    problem: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def interrupted(self) -> bool:
        """Whether the user ended it."""
        return self.problem == INTERRUPTED

    @property
    def observed(self) -> bool:
        """Whether any sensor has a value."""
        return any(each.values.size for each in self.observations.series)


def read_task_set(file: Path) -> TaskSet:
    """The task set of a YAML file.

    Raises:
        InputError: where it cannot be read, with the place.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"cannot read it: {reason}", place=Place(str(file)), fix="name a task set in YAML") from None
    return _parsed(text, str(file))


def edit_task_set(file: Path, announce: Announce) -> None:
    """Serve a page on which the task set of a file is composed, until the process is interrupted.

    Args:
        file: in YAML; it is created when it is saved for the first time.
        announce: receives the address of the page and, at the end, that edits are not saved.

    Raises:
        InputError: where the file cannot be read, or is not YAML.
    """
    from hati.editor import EditedFile, PageServer, editor_schema

    kinds = {word: load() for word, load in _added_kinds().items()}
    edited = EditedFile(file, _parsed)
    with PageServer(edited, editor_schema(kinds)) as server:
        announce(f"open {server.address}\nCtrl-C ends the editor")
        try:
            server.serve_forever()
        finally:
            if edited.changed:
                announce(f"not saved: {file}")


def _parsed(text: str, file: str) -> TaskSet:
    kinds = _added_kinds()
    if not kinds:
        return parse_task_set(text, file)
    return called(f"a task of {listed(kinds)}", parse_task_set, text, file, kinds)


def _added_kinds() -> dict[str, Callable[[], type[Struct]]]:
    """The functions that load the kinds of tasks of packages, by the words that follow ``do``."""
    return {entry.name: partial(load_entry, entry, "task kind", _task_kind) for entry in added(GROUP)}


def _task_kind(found: object) -> type[Struct]:
    if not (isinstance(found, type) and issubclass(found, Struct) and callable(getattr(found, "code", None))):
        raise InputError(f"{found!r} is not a Struct with a method code")
    if clash := set(found.__struct_fields__) & {"do", *TaskAttributes.__struct_fields__}:
        raise InputError(f"every task has the key {min(clash)!r}")
    return found


def parse_machines(texts: Sequence[str], key: Path | None) -> dict[str, RemoteMachine]:
    """Read ``NAME=HOST:PORT``: where the agents of a task set's machines listen.

    Raises:
        InputError: for anything else, or where the key is missing or there is no machine that has it.
    """
    if key is not None and not texts:
        raise InputError("--key is of the machines of --on", fix="add --on NAME=HOST:PORT, or leave --key out")
    found = {}
    for text in texts:
        name, _, place = text.partition("=")
        parsed = _parse_place(place)
        if not name or parsed is None:
            raise InputError(f"--on {text!r} is not NAME=HOST:PORT", fix="write it like --on two=10.0.0.2:7411")
        if name in found:
            raise InputError(f"--on names the machine {name!r} twice", fix="name it once")
        if key is None:
            raise InputError("--on needs a key", fix="add --key FILE, with the key of the machine's `hati probe agent`")
        found[name] = RemoteMachine(*parsed, read_key(key))
    return found


def _parse_place(text: str) -> tuple[str, int] | None:
    """The host and the port of ``HOST:PORT``; None where it is something else."""
    found = _PLACE.fullmatch(text)
    if found is None or int(found["port"]) > _LAST_PORT:
        return None
    try:
        found["host"].encode("idna")
    except UnicodeError:
        return None
    return found["host"], int(found["port"])


def serve_load(address: str, file: Path, announce: Announce) -> None:
    """Run load programs for controllers that have the key of this file, until the process is interrupted.

    Raises:
        InputError: where the address cannot be used, or the key neither read nor created.
    """
    place = _parse_place(address)
    if place is None:
        raise InputError(f"cannot listen at {address!r}: it is not HOST:PORT", fix="write it like 10.0.0.2:7411")
    key = make_key(file)
    try:
        listening = socket.create_server(place)
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while")[0]  # create_server adds the address
        raise InputError(
            f"cannot listen at {address!r}: {reason}", fix="give an address of this machine and a free port"
        ) from None
    with listening:
        bound, number = listening.getsockname()
        announce(f"listening at {bound}:{number}; the key is in {file}")
        serve(listening, key, announce, _SharedLock(announce).held)


class _SharedLock:
    """The lock of this machine, which the programs of an experiment hold together."""

    def __init__(self, announce: Announce) -> None:
        self._announce = announce
        self._guard, self._holders = Lock(), 0
        self._held = ExitStack()
        self._waiting = ""

    @contextmanager
    def held(self, controller: str, waiting: Announce) -> Iterator[None]:
        """Hold it; ``controller`` is the identity of the lock that the controller holds.

        Raises:
            MeasurementError: where both locks are one.
        """
        with _opened() as lock:
            if _identity(lock) == controller:
                raise MeasurementError(
                    f"its agent needs the lock {lock.path}, which the controller on that machine holds",
                    fix="leave out --on, or start the agent with HATI_LOCK=FILE",
                )
        if not self._guard.acquire(timeout=_SOON):
            waiting(self._waiting or "waiting for another experiment")
            self._guard.acquire()
        try:
            if self._holders == 0:
                self._held.enter_context(
                    measuring_alone("probe agent", partial(self._wait, waiting), "on the agent's machine")
                )
            self._holders += 1
        finally:
            self._guard.release()
        try:
            yield
        finally:
            with self._guard:
                self._holders -= 1
                if self._holders == 0:
                    self._held.close()

    def _wait(self, waiting: Announce, reason: str) -> None:
        self._waiting = reason
        self._announce(reason)
        waiting(reason)


def run_task_set(
    file: Path,
    now: datetime,
    announce: Announce,
    given: Path | None = None,
    machines: Mapping[str, RemoteMachine] = MappingProxyType({}),
) -> LoadRun:
    """Run the task set of a file; a copy of it, the programs and the raw observations are kept in a folder.

    Args:
        file: in YAML; the folder is under ``.hati`` next to it.
        now: names the folder, in UTC.
        announce: receives progress for people.
        given: a calibration file to use [default: this machine's, which is measured if there is none].
        machines: where the agents of the task set's other machines listen; the rest is this one.

    Raises:
        InputError: where the task set or the calibration cannot be used.
        MeasurementError: where nothing was observed.
    """
    task_set = read_task_set(file)
    _validate_here(task_set, file, machines)
    folder = _folder(file.parent, f"{now:%Y-%m-%dT%H%M%S}-{quote(file.stem, safe='')}")
    (folder / "task-set.yaml").write_bytes(file.read_bytes())
    kernels = _kernels(task_set)
    with measuring_alone(f"probe run {file.name}", announce) as lock:
        calibration = None
        if given is not None:
            calibration = read_calibration(given)
        elif kernels:
            once = _each_once(announce)
            calibration = known_calibration(now, once, kernels) or calibrate_machine(now, once, kernels, folder)
        warnings = (*_together(task_set, machines), *_unstable(calibration, kernels))
        _warn(warnings, announce)
        problem = ""
        try:
            found = compile_and_run(task_set, folder, calibration, machines=machines, announce=announce, lock=lock)
        except CodeError as error:
            place = yaml_place(file.read_text(encoding="utf-8"), str(file), task_set, error.place_in_task)
            words = f"the C of `{error.place_in_task.part}` cannot be compiled: {error.reason}"
            raise InputError(words, place=place, fix="correct it") from None
        except LoadDriverError as error:
            if not isinstance(error.observations, LoadObservations):
                raise
            found, problem = error.observations, str(error)
        except LoadInterruption as interruption:
            found, problem = interruption.observations, INTERRUPTED
    return LoadRun(task_set, folder, found, problem, warnings)


def plan_task_set(
    file: Path, given: Path | None = None, machines: Mapping[str, RemoteMachine] = MappingProxyType({})
) -> tuple[TaskSet, ProbePlanJson]:
    """The task set of a file, and its planned time; its inputs are checked as by ``run_task_set``, nothing is touched.

    Raises:
        InputError: as ``run_task_set``, but for C that cannot be compiled.
    """
    task_set = read_task_set(file)
    _validate_here(task_set, file, machines)
    if given is not None:
        calibration = read_calibration(given)
        for role in task_set.roles:
            load_program(task_set, role, calibration)
    return task_set, plan_of_task_set(task_set)


def _each_once(announce: Announce) -> Announce:
    """Announces each text once: the machine's identity is asked for more than once."""
    said = set[str]()

    def once(text: str) -> None:
        if text not in said:
            said.add(text)
            announce(text)

    return once


def _validate_here(task_set: TaskSet, file: Path, machines: Mapping[str, RemoteMachine]) -> None:
    """Check that the other machines are in the task set, and that this one has the CPUs of its tasks."""
    for name in machines:
        if name not in task_set.machines:
            raise InputError(f"{file} has no machine {name!r}", fix=suggestion(name, task_set.machines))
    usable = os.sched_getaffinity(0)
    for number, role in enumerate(task_set.roles):
        if role.machine in machines:
            continue
        for path, task in tasks_of(task_set, role, ("roles", number, "task")):
            if missing := sorted({*task.cpus} - usable):
                yaml = read_yaml(file.read_text(encoding="utf-8"), str(file))
                raise InputError(
                    f"this machine has no CPU {', '.join(map(str, missing))} for this process",
                    place=YamlPlaces(str(file), yaml).of((*path, "cpus")),
                    fix=f"it may use {', '.join(map(str, sorted(usable)))}",
                )


def _together(task_set: TaskSet, machines: Mapping[str, RemoteMachine]) -> Iterator[str]:
    """A warning if several machines of the task set are this one."""
    here = dict.fromkeys(role.machine for role in task_set.roles if role.machine not in machines)
    if len(here) > 1:
        fix = "name where an agent listens on another: --on NAME=HOST:PORT"
        yield f"the machines {listed(here)} are all this one; {fix}"


@contextmanager
def measuring_alone(what: str, announce: Announce, where: str = "on this machine") -> Iterator[str]:
    """Hold the lock of this machine, so that no other hati measures; the identity of the lock.

    Args:
        what: names the measurement.
        announce: receives who has the lock.
        where: names this machine.
    """
    with _opened() as lock:
        lock.acquire(what, announce, where)
        yield _identity(lock)


@contextmanager
def _opened() -> Iterator[FileLock]:
    """The lock of this machine, which is released and closed afterwards."""
    lock = FileLock(default_path())
    try:
        yield lock
    finally:
        lock.release()


def _identity(lock: FileLock) -> str:
    """The machine, since its start, and the file of a lock: the same for all processes that it excludes."""
    found = os.fstat(lock.fd)
    return f"{_BOOT.read_text().strip() if _BOOT.exists() else ''} {found.st_dev} {found.st_ino}"


def calibrate_machine(now: datetime, announce: Announce, kernels: tuple[Kernel, ...], folder: Path) -> Calibration:
    """Calibrate kernels on this machine, and keep the calibration with the machine's identity.

    Raises:
        LoadDriverError: where a kernel cannot be measured.
        InputError: where the calibration could not be kept, before anything is measured.
    """
    file = _calibration_file(now, announce)
    _prepare_writable(file.parent, "set XDG_STATE_HOME to a folder that can be written")
    machine = this_machine(now, announce)
    announce(f"calibrating {listed(kernels)}")
    made = calibrate(folder / "calibration", kernels, machine=machine.states[-1].name)
    kept = _read_kept(file)
    others = () if kept is None else tuple(each for each in kept.kernels if each.kernel not in kernels)
    write_calibration(Calibration((*others, *made.kernels), made.machine, made.compiler), file)
    return made


def _unstable(calibration: Calibration | None, kernels: Sequence[Kernel]) -> Iterator[str]:
    """A warning of each of these kernels whose calibration is unstable, with the error that is too large."""
    for each in calibration.kernels if calibration is not None else ():
        if each.kernel in kernels and not each.stable:
            name, error = each.largest_error
            yield (
                f"the calibration of the kernel {each.kernel} is unstable ({name} {error:+.1%}); "
                "calibrate on a quiet machine: hati probe calibrate"
            )


def _warn(warnings: Iterable[str], announce: Announce) -> None:
    for each in warnings:
        announce(f"warning: {each}")


def _prepare_writable(folder: Path, fix: str) -> None:
    """Create a folder, and check that files can be written there.

    Raises:
        InputError: where they cannot.
        MeasurementError: where the disk is full.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        TemporaryFile(dir=folder).close()
    except OSError as error:
        raise write_error(folder, error, fix) from None


def calibrate_kernels(now: datetime, announce: Announce, save: Path | None = None) -> Calibration:
    """Calibrate all kernels on this machine, and keep the calibration; ``save`` is a file for a copy.

    Raises:
        MeasurementError: where a kernel cannot be measured, or the disk is full.
        InputError: where the file cannot be written.
    """
    if save is not None and (save.is_file() or not save.exists()):  # else a device or a pipe
        _prepare_writable(save.resolve().parent, "name another file")
    with measuring_alone("probe calibrate", announce), TemporaryDirectory(prefix="hati-") as folder:
        made = calibrate_machine(now, announce, CALIBRATED, Path(folder))
    _warn(_unstable(made, CALIBRATED), announce)
    if save is not None:
        try:
            write_calibration(made, save)
        except OSError as error:
            raise write_error(save, error, "name another file") from None
    return made


def known_calibration(now: datetime, announce: Announce, kernels: tuple[Kernel, ...]) -> Calibration | None:
    """This machine's calibration with its current compiler; None if it lacks one of these kernels."""
    kept = _read_kept(_calibration_file(now, announce))
    if kept is None or not set(kernels) <= {each.kernel for each in kept.kernels}:
        return None
    return kept


def read_calibration(file: Path) -> Calibration:
    """The calibration in a file, of this machine or another.

    Raises:
        InputError: where the file is not a calibration.
    """
    try:
        return decode(file.read_bytes(), Calibration)
    except OSError as error:
        reason = error.strerror or ""
    except msgspec.MsgspecError as error:
        reason = str(error)
    except InputError as error:
        reason = error.message
    raise InputError(f"{file} is not a calibration: {reason}", fix="write one by `hati probe calibrate --save FILE`")


def write_calibration(made: Calibration, file: Path) -> None:
    """Write a calibration to a file, for this machine or another."""
    replace_file(file, [msgspec.json.format(msgspec.json.encode(made)), b"\n"])


def _calibration_file(now: datetime, announce: Announce) -> Path:
    """The file of this machine's calibration, one for each hardware and compiler."""
    state = this_machine(now, announce).states[-1]
    identity = digest(f"{state.hardware} {compiler()}", length=12)
    folder = platformdirs.user_state_path("hati") / "calibrations"
    return folder / f"{quote(state.name, safe='')}-{identity}.json"


def _read_kept(file: Path) -> Calibration | None:
    return read_calibration(file) if file.exists() else None


def _kernels(task_set: TaskSet) -> tuple[Kernel, ...]:
    """The kernels that have to be calibrated for the task set."""
    tasks = [task for role in task_set.roles for _, task in tasks_of(task_set, role)]
    needed = {task.kernel for task in tasks if isinstance(task, CpuLoad) and task.demand_ms is not None}
    return tuple(kernel for kernel in CALIBRATED if kernel in needed)


def _folder(root: Path, name: str) -> Path:
    """A new folder under ``.hati/probe``.

    Raises:
        MeasurementError: where it cannot be created.
    """
    try:
        make_own(root)
        for number in range(1, 1000):
            folder = root / ".hati" / "probe" / (name if number == 1 else f"{name}-{number}")
            if not folder.exists():
                folder.mkdir(parents=True)
                return folder
    except OSError as error:
        raise MeasurementError(f"cannot write to {root / '.hati'}: {error.strerror}", fix=remedy(error)) from None
    raise MeasurementError(f"{root / '.hati' / 'probe'} is full of experiments of this second", fix="try again")
