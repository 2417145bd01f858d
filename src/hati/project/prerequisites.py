"""What a project's benchmarks need and this machine lacks, and units that are other spellings of known ones."""

from __future__ import annotations

import os
import pwd
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from hati.core import Benchmark, setting_text
from hati.core.benchmark import names
from hati.core.metric import respelled
from hati.project.project import Project, by_workers, commands_of

_VARIABLE = "env:"


def misspelled_units(project: Project) -> Iterator[str]:
    """A warning for each metric whose unit is another spelling of a known one."""
    for metric in dict.fromkeys(metric for benchmark in project.benchmarks for metric in benchmark.metrics):
        meant = respelled(metric.unit)
        if meant is not None:
            yield f"{metric.unit!r}, the unit of metric {metric.name!r}, cannot be converted: write unit = {meant!r}"


def unmet_prerequisites(project: Project, environment: Mapping[str, str]) -> Iterator[str]:
    """A warning for each missing CPU, variable that is not set, unknown user, and program that is not installed.

    None if other machines run the benchmarks.

    Args:
        project: with its benchmarks.
        environment: the environment variables of this process.
    """
    for benchmark in () if by_workers(project.engine) else project.benchmarks:
        yield from _missing_cpus(benchmark)
        yield from _unset(benchmark, environment)
        yield from _unknown_user(benchmark)
        yield from _not_installed(benchmark, project.root, environment)


def options_without_choice(project: Project) -> Iterator[str]:
    """A warning for each option that has one setting, and so no effect."""
    for option in project.space.options:
        if len(option.settings) == 1:
            yield (
                f"option {option.name!r} has one setting, {setting_text(option.settings[0])}, and cannot have an "
                "effect: add another, or write it into the command"
            )


def empty_arguments(project: Project) -> Iterator[str]:
    """A warning for each option with an empty setting that is an argument of its own."""
    bindings = (binding for benchmark in project.benchmarks for binding in benchmark.bindings)
    alone = dict.fromkeys(binding.option for binding in bindings if (binding.argument or "").strip() == "{}")
    for option in project.space.options:
        if option.name in alone and "" in option.settings:
            yield (
                f"the setting '' of option {option.name!r} passes an empty argument: to pass none, leave it out, add "
                f"an option with settings = [false, true], and name it in active_if of [options.{option.name}]"
            )


def _missing_cpus(benchmark: Benchmark) -> Iterator[str]:
    used = {*benchmark.cpus, *(benchmark.server.cpus if benchmark.server else ())}
    available = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else used
    if missing := sorted(used - available):
        yield (
            f"benchmark {benchmark.name!r} is to run on CPU {', '.join(map(str, missing))}, which is not there; "
            f"available: {', '.join(map(str, sorted(available)))}"
        )


def _unset(benchmark: Benchmark, environment: Mapping[str, str]) -> Iterator[str]:
    for name, text in benchmark.env:
        for placeholder in names(text):
            variable = placeholder.name.removeprefix(_VARIABLE)
            if placeholder.name != variable and variable not in environment:
                yield (
                    f"env.{name} of benchmark {benchmark.name!r} needs the environment variable {variable!r}, which is "
                    f"not set: set it, as in `export {variable}=...`"
                )


def _unknown_user(benchmark: Benchmark) -> Iterator[str]:
    if benchmark.user is None:
        return
    try:
        pwd.getpwnam(benchmark.user)
    except KeyError:
        yield (
            f"there is no user {benchmark.user!r}, who runs benchmark {benchmark.name!r}: correct `user`, or make one: "
            f"useradd --system {benchmark.user}"
        )


def _not_installed(benchmark: Benchmark, root: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The programs that are not found; those in the project's folder may be made by a build."""
    path = dict(benchmark.env).get("PATH", environment.get("PATH", ""))
    for program in dict.fromkeys(command[0] for command in commands_of(benchmark)):
        own = "/" in program
        if "{" in program + path or (own and benchmark.build):
            continue
        if shutil.which(str((root / program).absolute()) if own else program, path=path) is None:
            what = "does not exist, or is not executable" if own else "is not installed"
            yield f"the program {program!r} of benchmark {benchmark.name!r} {what}"
