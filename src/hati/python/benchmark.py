"""From a function, its workload and its instance generator to a benchmark like any other, and how it is recorded."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

from msgspec import Struct

from hati.core import (
    SINGLE_CALLS,
    Benchmark,
    ConfigurationFile,
    InputError,
    Metric,
    Reader,
    ReaderKind,
    Setting,
    Workload,
    canonical_json,
    setting_text,
)
from hati.python.injected.calls import MOST
from hati.python.injection import recorder
from hati.python.interpreter import Interpreter
from hati.python.sources import (
    GivenParameters,
    ParameterizedFunction,
    PythonGenerator,
    PythonMethod,
    WorkingTree,
    functions_with_parameters,
    imported_files,
    named,
    validate_parameters,
)

UNITS: Final = {"wall_time": "s", "cpu_time": "s", "peak_memory": "B"}
"""What can be measured of a function: real and processor time of a call, and the process's peak while one runs."""


class Collector(StrEnum):
    """The garbage collector while a function is measured.

    ``ON`` as Python has it; ``OFF``; ``BETWEEN``: off while calls are timed, and run before each observation.
    """

    ON = "on"
    OFF = "off"
    BETWEEN = "between"


class CallKind(StrEnum):
    """What an observation is of.

    ``BATCHED``: of as many calls as the clocks need, each with an equal share; their mean is that of the calls, and no
    quantile is. ``SINGLE``: of one call, where it is long enough, else as many as they need: the metric
    ``single_calls`` is 1 where it was.
    """

    BATCHED = "batched"
    SINGLE = "single"


class Recording(Struct, frozen=True):
    """How much a run records: ``observations``, or what ``seconds`` allow, whichever is less; at least one.

    Before them come ``warmup`` observations, again within ``seconds``. A batch of calls is as large as it takes for
    reading the clocks to be at most ``overhead`` of an observation, or one call, as ``calls`` says; its arguments, made
    beforehand, take about ``memory`` bytes at most. ``seed``, with the run's repetition, makes the
    workloads' random inputs.

    Raises:
        InputError: for a number out of its range, or a metric that cannot be measured.
    """

    observations: int = 100
    seconds: float = 1.0
    warmup: int = 10
    overhead: float = 0.01
    collector: Collector = Collector.ON
    metrics: tuple[str, ...] = tuple(UNITS)
    seed: int = 0
    calls: CallKind = CallKind.BATCHED
    memory: int = MOST

    def __post_init__(self) -> None:
        if self.observations < 1 or self.warmup < 0 or not self.seconds > 0:
            raise InputError(
                "a run records one observation or more, in more than 0 s, after no fewer than 0 of warm-up"
            )
        if not 0 < self.overhead < 1:
            raise InputError(f"overhead is {self.overhead:g}", fix="give a share above 0 and below 1, such as 0.01")
        if self.memory < 1:
            raise InputError("a batch has no memory for its arguments", fix=f"give it bytes, such as {MOST}")
        for name in self.metrics:
            if name not in UNITS:
                raise InputError(f"a function has no metric {name!r}", fix=f"it has: {', '.join(UNITS)}")

    @property
    def read(self) -> tuple[Metric, ...]:
        """The metrics as a benchmark has them."""
        words = (Metric(SINGLE_CALLS, "1"),) if self.calls is CallKind.SINGLE else ()
        return (*(Metric(name, UNITS[name]) for name in self.metrics), *words)

    @property
    def arguments(self) -> tuple[str, ...]:
        """The recorder's arguments."""
        return (
            f"observations={self.observations}",
            f"seconds={self.seconds!r}",
            f"warmup={self.warmup}",
            f"overhead={self.overhead!r}",
            f"collector={self.collector}",
            f"cpu={'true' if 'cpu_time' in self.metrics else 'false'}",
            f"seed={self.seed}-{{repetition}}",
            f"calls={self.calls}",
            f"memory={self.memory}",
        )


_LOCAL = ("version=", "packages=")
_RECORDER = "recorder.py"


def of_any_interpreter(definition: str) -> str:
    """A definition without the interpreter's version and its packages, where it is of a Python function.

    Else, and where it is empty, the definition as it is.
    """
    if not definition:
        return definition
    known = json.loads(definition)
    if not any(path == _RECORDER for path, _ in known["files"]):
        return definition
    without = {key: [word for word in known[key] or () if not word.startswith(_LOCAL)] for key in ("command", "build")}
    return canonical_json({**known, **without})


_IMPORTS = "imports.txt"
_TYPES = {bool: "bool", int: "int", float: "real", str: "text"}
_OWN = {"work", "revision", "repetition", "port"}
_PATIENCE = 60.0


def python_benchmark(
    method: str,
    *,
    workload: str | PythonGenerator = "",
    instance: str | PythonGenerator = "",
    parameters: GivenParameters = (),
    root: Path,
    recording: Recording | None = None,
    interpreter: Interpreter | None = None,
    name: str = "",
    cpus: tuple[int, ...] = (),
    timeout: float | None = None,
) -> Benchmark:
    """The benchmark of ``method`` on what ``workload`` and ``instance`` make of the ``parameters``.

    All three are ``module:function`` or ``module:Class.method``; workload and instance may have arguments of their own
    behind, as in ``module:function('uniform')``, which come before the parameters. The method is that of the revision
    a task is for; workload and instance, and a method that measures itself, are those of the working tree ``root``,
    whichever that revision is. The benchmark includes the contents of their files and of the files that these import
    from there, the interpreter's version and its packages. Parameters in order get the names that the
    workload's have (else the instance's, else the method's own). The name is that of the method and its generators
    unless one is given; ``timeout``, in seconds, is a minute and ten times the recording time.

    Raises:
        InputError: for a malformed reference, a generator that the working tree does not have, a parameter with a
        name that commands use, and where the working tree shows that a generator does not take its arguments, or
        needs more.
    """
    recording, interpreter = recording or Recording(), interpreter or Interpreter()
    root = root.resolve()
    tree, version = WorkingTree(root, interpreter.roots), interpreter.version(root)
    packages = interpreter.packages(root)
    target = PythonMethod.parse(method)
    generators = _generators(workload=workload, instance=instance)
    taken = [*(each.method for each in generators.values()), *([target] if tree.measures(target) else [])]
    marks, imported = _marks(tree, taken), _imported(tree, taken)
    every = functions_with_parameters(tree, target, generators)
    given = _named(parameters, tree, every)
    validate_parameters(method, parameters, tree, every)
    words = [word for kind, generator in generators.items() for word in _generator_words(kind, generator)]
    return Benchmark(
        name or _called(target, [*generators.values()]),
        (
            *(interpreter.program, "-S", "-E", f"{{file:{_RECORDER}}}", f"method={target}", *words),
            *("working={work}/../../..", *interpreter.arguments, *recording.arguments),
            *(_word(key, value, parameters) for key, value in given.items()),
            *(f"source={_literal(mark)}" for mark in marks),
            *(f"imports={{file:{_IMPORTS}}}", f"version={_literal(version)}"),
            *([f"packages={packages}"] if packages else []),
        ),
        Reader(ReaderKind.HATI),
        recording.read,
        build=() if interpreter.environment is None else (interpreter.environment.build(version),),
        files=(
            ConfigurationFile(_RECORDER, _as_it_is(recorder()), "hati's recorder"),
            ConfigurationFile(_IMPORTS, _as_it_is("\n".join(imported)), "what workloads import"),
        ),
        timeout=_PATIENCE + 10 * recording.seconds if timeout is None else timeout,
        cpus=cpus,
        workload=Workload(given),
        programs=interpreter.programs(root),
    )


def _generators(**given: str | PythonGenerator) -> dict[str, PythonGenerator]:
    """Those that there are, by their kinds."""
    return {
        kind: PythonGenerator.parse(each) if isinstance(each, str) else each for kind, each in given.items() if each
    }


def _named(
    parameters: GivenParameters, tree: WorkingTree, every: Sequence[ParameterizedFunction]
) -> dict[str, Setting]:
    given = named(parameters, tree, every)
    for key in given:
        if key in _OWN or not key.isidentifier():
            raise InputError(f"a parameter may not be named {key!r}", fix="rename the generator's parameter")
    return given


def _generator_words(kind: str, generator: PythonGenerator) -> list[str]:
    """The recorder's arguments for a generator."""
    own = [f"{kind}.argument={_TYPES[type(value)]}:={_literal(setting_text(value))}" for value in generator.arguments]
    return [f"{kind}={generator.method}", *own]


def _word(key: str, value: Setting, parameters: GivenParameters) -> str:
    """The recorder's argument for a parameter: without its name where it was given by position."""
    name = key if isinstance(parameters, Mapping) else ""
    return f"parameter={_TYPES[type(value)]}:{name}={{{key}}}"


def _marks(tree: WorkingTree, taken: Sequence[PythonMethod]) -> list[str]:
    """The files of the working tree's functions, with their contents' hashes."""
    for each in taken:
        tree.taken(each)
    files = {file for each in taken if (file := tree.file(each.module)) is not None}
    return sorted(map(tree.mark, files))


def _imported(tree: WorkingTree, taken: Sequence[PythonMethod]) -> list[str]:
    """The same with the files of all that they import."""
    return sorted(map(tree.mark, imported_files(tree, {each.module for each in taken})))


def _called(method: PythonMethod, generators: Sequence[PythonGenerator]) -> str:
    listed = ", ".join(generator.name for generator in generators)
    return f"{method}[{listed}]" if listed else str(method)


def _literal(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def _as_it_is(source: str) -> str:
    return f"{{% raw %}}{source}{{% endraw %}}"
