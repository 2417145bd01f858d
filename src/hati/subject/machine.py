"""The identity of a machine, and its cores that benchmarks are pinned to."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from hati.core import MACHINE_NAME, Benchmark, InputError, Machine


def machine(name: str = "") -> Machine:
    """This machine as it is now: name, processor, number of CPUs, memory, system, kernel and architecture.

    The name, by default the host's, is among them, so that two machines of one make are two: their runs are not
    pooled. What changes from hour to hour (load, frequency) is not.
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
    """To a tenth of a GiB: kernels of one version keep slightly different parts for themselves."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return f"{total / 2**30:.1f} GiB"


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return platform.processor()
    match = re.search(r"^(?:model name|Hardware|cpu model)\s*:\s*(.+)$", text, re.MULTILINE)
    return match[1].strip() if match else platform.processor()


def _system() -> str:
    try:
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    except OSError:
        return platform.system()


_CPUS = Path("/sys/devices/system/cpu")
_INTERLEAVED = "leave out --duet: the runs of a pair then follow each other"


def duet_cores(benchmarks: Iterable[Benchmark], folder: Path = _CPUS) -> tuple[int, int]:
    """Two CPUs that this process may use, of different cores, for two runs at once; ``folder`` lists their cores.

    Raises:
        InputError: where fewer than two are available, or a benchmark has CPUs of its own, or does more than its
        command, which would disturb the other run.
    """
    for benchmark in benchmarks:
        _check(benchmark)
    usable = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return _two_cores(usable, folder)


def pinned_cores(benchmarks: Iterable[Benchmark], folder: Path = _CPUS) -> frozenset[int]:
    """The CPUs of the cores that all that benchmarks run is pinned to; none where something of it may run anywhere."""
    found = set[int]()
    for benchmark in benchmarks:
        programs = [benchmark.cpus, *([benchmark.server.cpus] if benchmark.server else [])]
        if not all(programs) or any(_unpinned(benchmark).values()):
            return frozenset()
        found |= {sibling for cpus in programs for cpu in cpus for sibling in _siblings(cpu, folder)}
    return frozenset(found)


def _unpinned(benchmark: Benchmark) -> dict[str, object]:
    """The steps of a benchmark that run on any CPU, and whether it has them."""
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
    steps = _unpinned(benchmark) | {"build": None, "reload": None, "server": benchmark.server}  # builds come first
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
