"""Choose, check, start and read the counter of the events of a benchmark's command."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from hati.core import Benchmark, InputError, Outcome, ReaderKind, replace
from hati.core.benchmark import COUNTED_CALLS, HARDWARE, INSTRUCTIONS, PAGE_FAULTS, SIMULATED, CounterSource, counted
from hati.subject.running.programs import ProcessResult, Program, RunFailure, located
from hati.subject.running.supervisor.program import refused

HASH_SEED: Final = ("PYTHONHASHSEED", "0")
"""The variable that gives Python's sets the same order in all counted runs."""
UNFIXED = (
    "the layout of memory is random, which this container does not let Hati change; counts repeat less well: "
    "start it with --security-opt seccomp=unconfined"
)
_PARANOID = Path("/proc/sys/kernel/perf_event_paranoid")
_FILE = "counts"
_PLACE: Final = "HATI_COUNTS_AT"
"""The variable by which a recorder finds the counts of its process."""
_FIRST = 100
"""The first of the descriptors at which a recorder reads the kernel's counters."""
_MODEL = ("--I1=32768,8,64", "--D1=32768,8,64", "--LL=8388608,16,64")
"""The caches of all simulated runs: size, associativity and line size in bytes, the same on every machine."""
_PARTS = {
    INSTRUCTIONS: ("Ir",),
    "simulated_cache_misses": ("ILmr", "DLmr", "DLmw"),
    "simulated_branch_misses": ("Bcm", "Bim"),
}
"""Callgrind's events: instruction reads; misses of the last level; mispredicted conditional and indirect branches."""


def with_counter_source(benchmark: Benchmark) -> Benchmark:
    """The benchmark with the source of its counts on this machine as part of its definition.

    It is unchanged if no events are counted, or if it names the source itself.
    """
    source = counter_source(benchmark)
    return benchmark if source is benchmark.counters else replace(benchmark, counters=source)


def counter_source(benchmark: Benchmark) -> CounterSource | None:
    """The source of the counts of a benchmark's command on this machine; None if no metric needs one."""
    names = _counted(benchmark)
    if not names or benchmark.counters is not None:
        return benchmark.counters if names else None
    if SIMULATED.intersection(names):
        return CounterSource.VALGRIND
    if HARDWARE.intersection(names) or not refused(names):
        return CounterSource.PERF
    return CounterSource.USAGE if names == (PAGE_FAULTS,) else CounterSource.VALGRIND


def describe_counting(benchmark: Benchmark) -> str:
    """A sentence on how a benchmark's events are counted, and what is fixed for it; empty if none are counted."""
    source, names = counter_source(benchmark), _counted(benchmark)
    if source is None:
        return ""
    how = {
        CounterSource.PERF: "the kernel (perf_event_open), in user mode",
        CounterSource.USAGE: "the kernel (resource usage)",
        CounterSource.VALGRIND: "Valgrind",
    }[source]
    model = SIMULATED.intersection(names)
    what = (
        "the calls, with the processes that they start" if _counts_calls(benchmark) else "all processes of the command"
    )
    seed = dict(benchmark.env).get(HASH_SEED[0], HASH_SEED[1])
    simulated = ", with a simulated cache or branch predictor" if model else ""
    verb = "is" if len(names) == 1 else "are"
    return (
        f"{benchmark.name}: {', '.join(names)} {verb} counted by {how}{simulated}, in {what}; "
        f"address-space randomisation is off, {HASH_SEED[0]}={seed}"
    )


def instruction_counter() -> str:
    """What counts instructions on this machine, or how to make Valgrind count them."""
    if not refused((INSTRUCTIONS,)):
        return "the processor counts them here"
    if shutil.which("valgrind") is not None:
        return f"Valgrind counts them here ({_why_refused(refused((INSTRUCTIONS,)))})"
    return "Valgrind counts them: sudo apt-get install valgrind"


def check_counters(benchmark: Benchmark) -> None:
    """Check that the events of a benchmark can be counted on this machine.

    Raises:
        InputError: where they cannot, with the place of the metric, the reason, and the command that helps.
    """
    source, names = counter_source(benchmark), _counted(benchmark)
    if source is None:
        return
    places = dict(benchmark.metric_places)
    for metric in (each.name for each in benchmark.metrics):
        if metric in names and not source.counts(metric):
            message, fix = _not_by(source, metric)
            raise InputError(f"benchmark {benchmark.name!r}: {message}", place=places.get(metric), fix=fix)
        if metric not in names and source is CounterSource.VALGRIND and not _counts_calls(benchmark):
            raise InputError(
                f"benchmark {benchmark.name!r}: Valgrind counts {names[0]!r}, and under it {metric!r} has no meaning",
                place=places.get(metric),
                fix=f"move {metric!r} to a [[benchmark]] of its own",
            )
    if source is CounterSource.PERF and (error := refused(names)):
        raise InputError(
            f"benchmark {benchmark.name!r}: {', '.join(names)}: {_why_refused(error)}",
            place=places.get(names[0]),
            fix=_remedy(error, names),
        )
    if source is CounterSource.VALGRIND and shutil.which("valgrind") is None:
        raise InputError(
            f"benchmark {benchmark.name!r}: {names[0]!r} needs Valgrind, and there is no program 'valgrind' on PATH",
            place=places.get(names[0]),
            fix="sudo apt-get install valgrind",
        )


def _counts_calls(benchmark: Benchmark) -> bool:
    """Whether a recorder counts the events of a function's calls."""
    return COUNTED_CALLS in dict(benchmark.env)


def _counted(benchmark: Benchmark) -> tuple[str, ...]:
    if _counts_calls(benchmark):
        return tuple(dict(benchmark.env)[COUNTED_CALLS].split(","))
    if benchmark.reader.kind != ReaderKind.PROCESS:
        return ()
    return counted([metric.name for metric in benchmark.metrics])


def _not_by(source: CounterSource, metric: str) -> tuple[str, str]:
    if metric == PAGE_FAULTS:
        return (
            "Valgrind counts the instructions, and under it 'page_faults' has no meaning",
            "move 'page_faults' to a [[benchmark]] of its own",
        )
    if metric in SIMULATED:
        return f"{metric!r} is counted by Valgrind, not by {source.value}", 'write counters = "valgrind", or remove it'
    simulated = f"simulated_{metric}"
    fix = f'write "{simulated}"' if simulated in SIMULATED else f'measure "{INSTRUCTIONS}"'
    return f"{metric!r} is counted by the processor, not by {source.value}", f"{fix}, or move it to another benchmark"


def _why_refused(error: int) -> str:
    if error in {errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV}:
        return "this machine has no hardware counters for them; virtual machines rarely have any"
    if error in {errno.EACCES, errno.EPERM}:
        level = _PARANOID.read_text().strip() if _PARANOID.exists() else "unknown"
        return f"the kernel or a container does not permit perf_event_open (kernel.perf_event_paranoid is {level})"
    return "the kernel has no perf_event_open"


def _remedy(error: int, names: Iterable[str]) -> str:
    if error in {errno.EACCES, errno.EPERM}:
        return "sudo sysctl kernel.perf_event_paranoid=2; in a container also: --cap-add PERFMON"
    known = [f"simulated_{name}" for name in names if f"simulated_{name}" in SIMULATED]
    return (
        f'measure {" and ".join(f""""{name}" """.strip() for name in (known or [INSTRUCTIONS]))}, which Valgrind counts'
    )


def counted_program(program: Program, benchmark: Benchmark, folder: Path) -> Program:
    """The program with its events counted; Valgrind writes into the folder.

    Raises:
        InputError: where the program does not exist.
    """
    source, names = counter_source(benchmark), _counted(benchmark)
    if source is None:
        return program
    calls = _counts_calls(benchmark)
    if source is not CounterSource.VALGRIND:
        count, first = (names, _FIRST if calls else 0) if source is CounterSource.PERF else ((), 0)
        place = {_PLACE: f"perf:{first}" if first else "usage"} if calls else {}
        return replace(program, layout=True, count=count, count_from=first, env={**program.env, **place})
    files = f"{folder / _FILE}"
    simulated = [
        *(["--cache-sim=yes", *_MODEL] if "simulated_cache_misses" in names else []),
        *(["--branch-sim=yes"] if "simulated_branch_misses" in names else []),
    ]
    argv = (
        *("valgrind", "--quiet", "--vgdb=no", "--tool=callgrind", "--trace-children=yes"),
        "--dump-before=fork",  # else the counts before the fork would be counted for the child again
        *(["--dump-before=getppid"] if calls else []),  # by which the recorder marks the calls
        f"--callgrind-out-file={files.replace('%', '%%')}.%p",
        *simulated,
        *(located(program), *program.argv[1:]),
    )
    sums = ",".join("+".join(_PARTS[name]) for name in names)
    place = {_PLACE: f"valgrind:{sums}:{files}"} if calls else {}
    return replace(program, argv=argv, layout=True, env={**program.env, **place})


def counts_of(ending: ProcessResult, benchmark: Benchmark, folder: Path) -> Mapping[str, float]:
    """The counts of a program, by the names of the benchmark's counted metrics; none if a recorder prints them.

    Raises:
        RunFailure: where a count is missing.
    """
    source, names = counter_source(benchmark), _counted(benchmark)
    if _counts_calls(benchmark):
        return {}
    if source is CounterSource.USAGE:
        return {PAGE_FAULTS: float(ending.faults)}
    if source is CounterSource.PERF:
        lost = [name for name in names if ending.counts[name] is None]
        if lost:
            why = f"the processor has too few counters for {', '.join(names)} at once; measure fewer of them"
            raise RunFailure(Outcome.UNREADABLE, why, ending)
        return {name: float(ending.counts[name] or 0) for name in names}
    if source is None:
        return {}
    totals = [found for path in sorted(folder.glob(f"{_FILE}.*")) if (found := _totals(path))]
    if not totals:
        raise RunFailure(Outcome.UNREADABLE, "Valgrind wrote no counts: was the command killed?", ending)
    return {name: float(sum(found.get(event, 0) for found in totals for event in _PARTS[name])) for name in names}


def _totals(path: Path) -> dict[str, int]:
    """The counts of one process, by Callgrind's names; empty if the process was killed before it wrote them."""
    events: list[str] = []
    with path.open(encoding="utf-8", errors="replace") as lines:
        for line in lines:
            if line.startswith("events:"):
                events = line.split()[1:]
            elif line.startswith("totals:"):
                return dict(zip(events, map(int, line.split()[1:]), strict=False))
    return {}
