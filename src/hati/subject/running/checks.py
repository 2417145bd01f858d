"""What makes every run of a benchmark impossible, found before the first."""

from __future__ import annotations

import os
from itertools import chain
from pathlib import PurePath

from hati.core import Benchmark, ConfigurationFile, InputError
from hati.core.placeholders import names
from hati.subject.readers import check_reader
from hati.subject.running.programs import switched_user


def check_benchmark(benchmark: Benchmark) -> None:
    """See that the benchmark's reader, files and CPUs are possible.

    Raises:
        InputError: naming what is not, and the fix.
    """
    check_reader(benchmark)
    for file in benchmark.files:
        template_names(file)
        if ".." in PurePath(file.path).parts:
            raise InputError(f"file {file.path!r} is outside of the work folder", fix="leave '..' out of its path")
    check_cpus(benchmark.name, benchmark.cpus)
    switched_user(benchmark.user)
    if benchmark.server is not None:
        check_cpus(benchmark.name, benchmark.server.cpus)


def template_names(file: ConfigurationFile) -> frozenset[str]:
    """The names that a file's template uses.

    Raises:
        InputError: with the place, where its syntax is wrong.
    """
    from hati.subject.files.templates import check_template  # with Jinja2, which most benchmarks can do without

    return check_template(file)


def check_cpus(name: str, cpus: tuple[int, ...]) -> None:
    """See that CPUs may be used.

    Raises:
        InputError: naming those that may.
    """
    available = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else set(cpus)
    missing = [cpu for cpu in cpus if cpu not in available]
    if missing:
        raise InputError(
            f"benchmark {name!r} is to run on CPU {', '.join(map(str, missing))}, which is not there",
            fix=f"available: {', '.join(map(str, sorted(available)))}",
        )


def needs_port(benchmark: Benchmark) -> bool:
    """Whether anything of the benchmark names the port."""
    return bool(benchmark.server and benchmark.server.ready.port) or _mentions(benchmark, "port")


def needs_work(benchmark: Benchmark) -> bool:
    """Whether anything of the benchmark is in the work folder, or names it."""
    return bool(benchmark.files) or _mentions(benchmark, "work")


def _mentions(benchmark: Benchmark, placeholder: str) -> bool:
    server = benchmark.server
    commands = [
        benchmark.command,
        *benchmark.prepare,
        *benchmark.setup,
        *benchmark.cleanup,
        *((server.command, *server.reload) if server else ()),
        *(command for binding in benchmark.bindings for command in (*binding.setup, *(binding.reload or ()))),
    ]
    texts = [
        *chain.from_iterable(commands),
        *(template for _, template in benchmark.env),
        *([server.log] if server and server.log else []),
        *(binding.argument for binding in benchmark.bindings if binding.argument),
        *(file.path for file in benchmark.files),
        *([benchmark.output] if benchmark.output else []),
    ]
    return any(found.name == placeholder for text in texts for found in names(text)) or any(
        placeholder in template_names(file) for file in benchmark.files
    )
