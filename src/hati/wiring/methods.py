"""What formulas call methods, as benchmarks that can be measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from msgspec import Struct

from hati.core import Benchmark, InputError, Revision, Setting, Workload, replace
from hati.core.wording import suggestion
from hati.logic.syntax import (
    Callee,
    Expression,
    Generator,
    Measured,
    Method,
    NodeError,
    Number,
    Performance,
    Text,
)
from hati.python import Calls, Environment, GeneratorError, PythonGenerator, PythonMethod, python_benchmark
from hati.studies.assertion import Point, asks_single_calls
from hati.wiring.pythons import Environments, interpreter_of, recording_of
from hati.wiring.workplace import Workplace

_WALL = "wall_time"
_SEPARATOR = ":"
_HERE = {"", "."}
_OF_ITS_OWN = " in its own environment"


class Asked(Struct, frozen=True):
    """The metrics that formulas ask of a method, ``""`` for its own, and what they have to know of its calls."""

    metrics: frozenset[str] = frozenset()
    calls: Calls = Calls.BATCHED

    @classmethod
    def of(cls, side: Performance) -> Asked:
        """What a side asks: of batches only means and what is linear in them are known."""
        calls = Calls.SINGLE if asks_single_calls(side) else Calls.BATCHED
        return cls(frozenset({side.measured.metric}), calls)

    def __or__(self, other: Asked) -> Asked:
        """What both ask together."""
        single = Calls.SINGLE in {self.calls, other.calls}
        return Asked(self.metrics | other.metrics, Calls.SINGLE if single else Calls.BATCHED)


def point_of(
    place: Workplace,
    find: Callable[[str], Revision],
    environments: Environments,
    method: Method,
    asked: Asked,
) -> Point:
    """What is measured of a method: one of hati.toml by its name, else a Python function.

    ``find`` gives a revision by what people call it, ``environments`` what it runs in if it is not the working tree's;
    ``asked`` is what is asked of the method in any revision.

    Raises:
        InputError: where there is none that is called so, or it has no such parameters or revision.
    """
    for callee in (method.callee, *(part.callee for part in (method.workload, method.instance) if part)):
        _check_callee(callee)
    known = {benchmark.name: benchmark for benchmark in place.project.benchmarks}
    if method.name in known:
        benchmark, own = _of_project(known[method.name], method), _own(known[method.name])
    elif is_function(place, method):
        past = method.revision not in _HERE
        environment = environments(find(method.revision)) if past else None
        benchmark, own = _of_python(place, method, asked, environment), _WALL
    else:
        file = place.project.file
        raise InputError(
            f"there is no method {method.name!r}{'' if file.exists() else f', and no {file.name} in {file.parent}'}",
            fix=suggestion(method.name, list(known)) if known else "write a Python function as module:function",
        )
    revision = find(method.revision or ".")
    configuration = place.project.space.default if method.name in known else type(place.project.space.default)({})
    return Point(str(method), benchmark, revision, configuration, own)


def is_function(place: Workplace, method: Method) -> bool:
    """Whether a method is a Python function, and none of hati.toml."""
    return _SEPARATOR in method.name and all(method.name != each.name for each in place.project.benchmarks)


def _check_callee(callee: Callee) -> None:
    """What is written as for Java is not measured."""
    if callee.member or callee.constructor or callee.types:
        raise InputError(
            f"{callee} has a member, a constructor or types",
            fix="write module:Class.method, and an instance generator for its object",
        )


def _own(benchmark: Benchmark) -> str:
    return benchmark.metrics[0].name if len(benchmark.metrics) == 1 else ""


def see_metric(point: Point, asked: Measured) -> None:
    """See that a method tells the metric that is asked of it, or one alone where none is named.

    Raises:
        NodeError: where it does not.
    """
    names, metric = [each.name for each in point.benchmark.metrics], asked.metric
    if not metric and not point.own:
        listed = ", ".join(names)
        raise NodeError(asked, f"{point.method} has several metrics: {listed}", fix=f"say which: {names[0]} of ...")
    every = list(dict.fromkeys([*names, "cpu_time", "peak_memory"]))
    if metric and metric not in every:
        raise NodeError(asked, f"{point.benchmark.name} has no metric {metric!r}", fix=suggestion(metric, every))


def _of_project(benchmark: Benchmark, method: Method) -> Benchmark:
    """One of hati.toml with the parameters of its use, in order or by name."""
    if method.workload or method.instance:
        raise InputError(
            f"{method.name} is a benchmark of hati.toml, which has no generators", fix="leave the [..] out"
        )
    names = benchmark.workload.declared
    given = {name: benchmark.workload[name] for name in names}
    known, seen = ", ".join(names) or "none", set[str]()
    for place, argument in enumerate(method.arguments):
        name = argument.name or (names[place] if place < len(names) else "")
        if name not in given:
            raise InputError(f"{benchmark.name} has no parameter for {argument}", fix=f"its workload has: {known}")
        if name in seen:
            raise InputError(f"{method} has parameter {name} twice", fix=f"give it once; its workload has: {known}")
        seen.add(name)
        given[name] = _setting(argument.value)
    told = f"({', '.join(repr(value) for value in given.values())})" if given else ""
    return replace(benchmark, name=f"{benchmark.name}{told}", workload=Workload(given))


def _of_python(place: Workplace, method: Method, asked: Asked, environment: Environment | None) -> Benchmark:
    named = {argument.name: _setting(argument.value) for argument in method.arguments if argument.name}
    listed = [_setting(argument.value) for argument in method.arguments if not argument.name]
    if named and listed:
        raise InputError(
            f"{method} has parameters with names ({', '.join(named)}) and without", fix="write all in one way"
        )
    if twice := [name for name in named if sum(argument.name == name for argument in method.arguments) > 1]:
        raise InputError(f"{method} has parameter {twice[0]} twice", fix="give it once")
    wanted = {_WALL, *asked.metrics}
    recording, interpreter = recording_of(place.project.python), interpreter_of(place.project.python)
    metrics = tuple(name for name in recording.metrics if name in wanted)
    recording = replace(recording, metrics=metrics, calls=asked.calls)
    parameters: Mapping[str, Setting] | list[Setting] = named or listed
    with _placing(method):
        return python_benchmark(
            method.name,
            workload=_generator(method, method.workload),
            instance=_generator(method, method.instance),
            parameters=parameters,
            root=place.project.root,
            recording=recording,
            interpreter=replace(interpreter, environment=environment),
            name=f"{without_revision(method)}{_OF_ITS_OWN if environment else ''}",
            timeout=place.project.python.recording.timeout,
        )


def _generator(method: Method, generator: Generator | None) -> PythonGenerator | str:
    """A generator with its arguments; a bare name is one of the method's module."""
    if generator is None:
        return ""
    if generator.revision:
        raise NodeError(
            generator, f"{generator} has a revision", fix="generators are those of the working tree; leave it out"
        )
    name = generator.callee.name
    reference = name if _SEPARATOR in name else f"{method.name.partition(_SEPARATOR)[0]}:{name}"
    return PythonGenerator(PythonMethod.parse(reference), tuple(map(_setting, generator.arguments)))


@contextmanager
def _placing(method: Method) -> Iterator[None]:
    """Places what is refused of a generator's arguments where they were read."""
    try:
        yield
    except GeneratorError as error:
        where = method.workload if error.kind == "workload" else method.instance
        raise NodeError(where or method, error.message, fix=error.fix) from None


def _setting(value: Expression) -> Setting:
    if isinstance(value, Number | Text):
        return value.value
    raise InputError(f"{value} is not a parameter", fix="use a number or a text")


def is_called(method: Method, definition: Mapping[str, object], benchmark: str) -> bool:
    """Whether a benchmark of that name and definition is the method's, as ``point_of`` names it, on some workload."""
    if _SEPARATOR in method.name:
        return benchmark == f"{without_revision(method)}{_OF_ITS_OWN if definition['build'] else ''}"
    return benchmark.partition("(")[0] == method.name


def without_revision(method: Method) -> Method:
    """The method as it is in the working tree."""
    return replace(method, revision="")
