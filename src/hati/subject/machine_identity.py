"""The permanent identity of a machine, by a file of its states or a given name, and the cores for benchmarks."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from urllib.parse import quote, unquote

import msgspec
import platformdirs

from hati.core import MACHINE_NAME, Benchmark, InputError, Machine, MachineState, decode, digest, replace
from hati.core.wording import listed
from hati.whole_files import durable_file, replace_file


def machine(name: str = "") -> Machine:
    """This machine as it is now: name, processor, number of CPUs, memory, system, kernel and architecture.

    The name, by default the host's, is included, so that two machines of one model are distinct: their runs are not
    pooled. Properties that change from hour to hour (load, frequency) are not included.
    """
    properties = {
        "architecture": platform.machine(),
        "cpus": str(os.cpu_count() or 1),
        "kernel": platform.release(),
        "memory": _memory(),
        MACHINE_NAME: name or platform.node(),
        "processor": _processor(),
        "system": _system(),
    }
    return Machine.of(properties)


def _memory() -> str:
    """The memory to a tenth of a GiB: kernels of one version reserve slightly different amounts."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{total / 2**30:.1f} GiB"


def _processor() -> str:
    match = re.search(r"^(?:model name|Hardware|cpu model)\s*:\s*(.+)$", _cpu_info(), re.MULTILINE)
    return match[1].strip() if match else platform.processor()


def _cpu_info() -> str:
    """What the kernel lists of the CPUs; empty if it lists none."""
    with suppress(OSError):
        return Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    return ""


_INSTRUCTIONS = re.compile(r"^(?:flags|Features|CPU implementer|CPU part)\s*:\s*(.+)$", re.MULTILINE)
_OF_BUILDS = ("architecture", "processor", "system")


def build_class(machine: Machine) -> str:
    """The class of this machine, now in the last state of ``machine``: it runs what others of its class built.

    A compiler may use all instructions of the processor that it runs on.
    """
    known = dict(machine.properties)
    instructions = sorted(set(_INSTRUCTIONS.findall(_cpu_info())))
    return digest([*(known.get(name, "") for name in _OF_BUILDS), *instructions])


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


_CPUS = Path("/sys/devices/system/cpu")
_INTERLEAVED = "leave out --duet: the runs of a pair then follow each other"


def duet_cores(benchmarks: Iterable[Benchmark], folder: Path = _CPUS) -> tuple[int, int]:
    """Two CPUs of different cores that this process may use, for two runs at once; ``folder`` lists their cores.

    Raises:
        InputError: where fewer than two cores are available, a benchmark is pinned to CPUs, or it runs more than its
            command, which would disturb the other run.
    """
    for benchmark in benchmarks:
        _check(benchmark)
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return _two_cores(usable, folder)


def pinned_cores(benchmarks: Iterable[Benchmark], folder: Path = _CPUS) -> frozenset[int]:
    """The CPUs of the cores to which all programs of benchmarks are pinned; empty if a program may run anywhere."""
    found = set[int]()
    for benchmark in benchmarks:
        programs = [benchmark.cpus, *([benchmark.server.cpus] if benchmark.server else [])]
        if not all(programs) or any(_unpinned(benchmark).values()):
            return frozenset()
        found |= {sibling for cpus in programs for cpu in cpus for sibling in _siblings(cpu, folder)}
    return frozenset(found)


def _unpinned(benchmark: Benchmark) -> dict[str, object]:
    """The steps of a benchmark that may run on any CPU, and whether it has them."""
    setup = benchmark.setup or any(binding.setup for binding in benchmark.bindings)
    reload = (benchmark.server and benchmark.server.reload) or any(binding.reload for binding in benchmark.bindings)
    steps = {"build": benchmark.build, "prepare": benchmark.prepare, "setup": setup, "cleanup": benchmark.cleanup}
    return {**steps, "reload": reload, "reset": benchmark.reset}


def _two_cores(usable: Sequence[int], folder: Path) -> tuple[int, int]:
    if len(usable) < 2:
        raise InputError("a duet needs two cores, and there is one that may be used", fix=_INTERLEAVED)
    first = usable[0]
    second = next((cpu for cpu in usable[1:] if cpu not in _siblings(first, folder)), None)
    if second is None:
        names = ", ".join(map(str, usable))
        raise InputError(f"a duet needs two cores, and the CPUs {names} are threads of one", fix=_INTERLEAVED)
    return first, second


def _siblings(cpu: int, folder: Path) -> set[int]:
    """The CPUs on the same core, as the kernel lists them: ``0,4`` or ``0-1``; itself where it lists none."""
    try:
        text = (folder / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text()
        ends = [[int(end) for end in part.split("-")] for part in text.strip().split(",")]
    except (OSError, ValueError):
        return {cpu}
    return {each for part in ends for each in range(part[0], part[-1] + 1)}


def _check(benchmark: Benchmark) -> None:
    steps = _unpinned(benchmark) | {"build": None, "reload": None, "server": benchmark.server}  # builds precede runs
    for name, value in steps.items():
        if value:
            raise InputError(
                f"in a duet the {name} of {benchmark.name!r} would run at the same time as the other's command",
                fix=_INTERLEAVED,
            )
    if benchmark.cpus:
        raise InputError(
            f"in a duet each run has a core of its own, and {benchmark.name!r} has cpus",
            fix=f"remove cpus from the benchmark, or {_INTERLEAVED}",
        )


GIVEN_NAME = "HATI_MACHINE"
"""The environment variable that names this machine, as for containers, whose host names are random."""
_SHOWN = 3
_HARDWARE_APART = "+"
"""Separates a name and a hash of hardware in a file's name; a plus in a name is quoted."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


def given_name() -> str:
    """The given name of this machine; empty without one.

    Raises:
        InputError: where it is not a valid name.
    """
    name = os.environ.get(GIVEN_NAME, "").strip()
    if name and not _NAME.fullmatch(name):
        raise InputError(
            f"{GIVEN_NAME}={name!r} is not a machine's name", fix="use letters, digits, dots, hyphens and underscores"
        )
    return name


def this_machine(now: datetime, announce: Callable[[str], None], folder: Path | None = None) -> Machine:
    """This machine with all its observed states, the current one last; a new state is stored.

    A file for each name and hardware stores the states, since hosts may share a home folder. A machine with a given
    name is the same wherever it has that name, so its first state is the name alone.

    Args:
        now: the time, in UTC.
        announce: called if the identity cannot be stored, or if the folder has records of other machines.
        folder: the folder of the files [default: a folder of the user's].
    """
    name = given_name()
    present = replace(machine(name).states[0], since=now)
    folder = folder or platformdirs.user_state_path("hati") / "machines"
    namesake = folder / f"{quote(present.name, safe='')}.json"
    kept, known = namesake, _read(namesake)
    differs = () if name or known is None else _other_hardware(known, present)
    if differs:
        kept = namesake.with_stem(f"{namesake.stem}{_HARDWARE_APART}{digest(present.hardware, length=12)}")
        known = _read(kept)
    first = Machine((MachineState(((MACHINE_NAME, name),)),)) if name else Machine((present,))
    found = (known or first).in_state(present)
    if found == known:
        return found
    if known is None and not name:
        _report_others(folder, present, differs, announce)
    try:
        return _keep(kept, found, new=known is None)
    except OSError as error:
        if not name:
            announce(
                f"warning: {kept} cannot be written ({error.strerror}), so a new kernel would look like another "
                f"machine; set {GIVEN_NAME} to a name for this one"
            )
        return found


def _other_hardware(known: Machine, present: MachineState) -> tuple[str, ...]:
    """The changes since a machine's last state if it never had the current hardware; else empty."""
    states = [state for state in known.states if state.hardware]
    same = not states or present.hardware in {state.hardware for state in states}
    return () if same else states[-1].changes(present)


def _report_others(
    folder: Path, present: MachineState, differs: tuple[str, ...], announce: Callable[[str], None]
) -> None:
    """Announce which recorded machine this one may be, if the folder has records."""
    others = sorted({unquote(file.stem.partition(_HARDWARE_APART)[0]) for file in folder.glob("*.json")})
    if differs:
        announce(
            f"{present.name} is counted as another machine than that of this name whose record is in {folder}, "
            f"since {listed(differs)}; if it is the same one, set {GIVEN_NAME}={present.name}"
        )
    elif others:
        announce(
            f"{present.name} is counted as another machine than {listed(others, _SHOWN)}, whose record is in "
            f"{folder}; if it is one of them under a new name, set {GIVEN_NAME}={others[0]}"
        )


def _read(file: Path) -> Machine | None:
    """The machine in a file; None without the file.

    Raises:
        InputError: where the file is damaged.
    """
    try:
        return decode(file.read_bytes(), Machine)
    except OSError:
        return None
    except (msgspec.MsgspecError, InputError) as error:
        raise InputError(
            f"{file} does not hold a machine's states: {error}",
            fix=f"remove the file, or set {GIVEN_NAME} to a name for this machine",
        ) from error


def _keep(file: Path, machine: Machine, *, new: bool) -> Machine:
    """Write the file as a whole; return the machine, or the one that another process wrote first."""
    file.parent.mkdir(parents=True, exist_ok=True)
    content = [msgspec.json.format(msgspec.json.encode(machine))]
    if not new:
        replace_file(file, content)
        return machine
    with durable_file(file.parent, content) as written, suppress(FileExistsError):
        file.hardlink_to(written)
    return _read(file) or machine
