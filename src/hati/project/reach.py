"""Options that reach no benchmark: a program that never gets their settings cannot depend on them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hati.core import Benchmark, Binding, InputError
from hati.core.benchmark import names
from hati.core.wording import listed
from hati.project.project import Project
from hati.space import Space
from hati.space.constraint import mentioned


def unreached(project: Project) -> tuple[str, ...]:
    """The options whose settings reach no benchmark and on which no other option depends; none without benchmarks."""
    if not project.benchmarks:
        return ()
    used = set(_mentioned(project.space)).union(*map(_used, project.benchmarks))
    templates = [file.template for benchmark in project.benchmarks for file in benchmark.files]
    left = (name for name in project.space.names if name not in used)
    return tuple(name for name in left if not any(name in template for template in templates))


def unreached_warning(project: Project) -> str:
    """The warning of these options; empty without any."""
    found = unreached(project)
    if not found:
        return ""
    words = ("option", "reaches", "its setting is") if len(found) == 1 else ("options", "reach", "their settings are")
    return (
        f"{words[0]} {listed(found)} {words[1]} no benchmark, so that {words[2]} without effect: write argument, env,"
        f" setup, or a placeholder such as {{{found[0]}}} in a command"
    )


def _mentioned(space: Space) -> Iterator[str]:
    """The options that conditions and constraints mention."""
    for option in space.options:
        if option.active_if is not None:
            yield from mentioned(option.active_if)
    for constraint in space.constraints:
        yield from mentioned(constraint)


def _used(benchmark: Benchmark) -> set[str]:
    """The options that a benchmark's bindings and commands use."""
    bound = {binding.option for binding in benchmark.bindings if _reaches(binding)}
    return bound | {placeholder for text in _texts(benchmark) for placeholder in _placeholders(text)}


def _reaches(binding: Binding) -> bool:
    return binding.argument is not None or binding.env is not None or bool(binding.setup or binding.reload)


def _texts(benchmark: Benchmark) -> Iterator[str]:
    """The texts of a benchmark that may have placeholders."""
    commands = [benchmark.command, *benchmark.build, *benchmark.prepare, *benchmark.cleanup, *benchmark.setup]
    if benchmark.server is not None:
        commands += [benchmark.server.command, *benchmark.server.reload]
    if benchmark.reset is not None:
        commands += benchmark.reset.commands
    for binding in benchmark.bindings:
        commands += (*binding.setup, *(binding.reload or ()), (binding.argument or "",))
    for command in commands:
        yield from command
    yield from (value for _, value in benchmark.env)
    yield from filter(None, (benchmark.output, *(file.path for file in benchmark.files)))


def _placeholders(text: str) -> Iterable[str]:
    try:
        return [placeholder.name for placeholder in names(text)]
    except InputError:
        return []
