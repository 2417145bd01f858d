"""Benchmarks for the methods in formulas, and the formulas that Python files state for their functions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

from msgspec import Struct

from hati.core import Benchmark, InputError, Place, Revision, RevisionKind, Setting, Workload, replace
from hati.core.benchmark import counted
from hati.core.wording import suggestion
from hati.formula import Source
from hati.logic.syntax import (
    Callee,
    Declarations,
    Expression,
    Generator,
    MeasuredStatistic,
    Method,
    MethodAlias,
    NamedGenerator,
    Number,
    PerformanceFormula,
    PerformanceSide,
    Relation,
    Text,
    parse_formula,
)
from hati.project import FILE, Past, Project, PythonTable, read_project
from hati.python import (
    SELF,
    CallKind,
    Collector,
    Environment,
    GeneratorError,
    Interpreter,
    Network,
    PythonGenerator,
    PythonMethod,
    Recording,
    StatedFunction,
    declared,
    python_benchmark,
    read_statements,
    validate_installable,
)
from hati.studies.assertion import MeasuredMethod, Requirement, asks_single_calls
from hati.subject import Revisions, with_counter_source
from hati.subject.running.programs import RunFailure
from hati.wiring.formulas.loading import Misstated

if TYPE_CHECKING:
    from hati.wiring.workplace import Workplace

Environments = Callable[[Revision], Environment | None]
"""The environment of a past revision; None: that of the working tree."""


def interpreter_of(table: PythonTable) -> Interpreter:
    """The interpreter for the functions of the working tree."""
    usual = Interpreter()
    return Interpreter(table.interpreter, table.roots or usual.roots, table.frozen_modules, table.hash_seed)


def interpreter_around(root: Path) -> Interpreter:
    """The interpreter for the project in a folder; the default one without a project file.

    Raises:
        InputError: for an invalid file.
    """
    return interpreter_of(read_project(root).python if (root / FILE).is_file() else PythonTable())


def recording_of(table: PythonTable) -> Recording:
    """The settings of recording: the project's, else the defaults."""
    said = table.recording
    found = Recording()
    return replace(
        found,
        observations=found.observations if said.observations is None else said.observations,
        seconds=found.seconds if said.seconds is None else said.seconds,
        warmup=found.warmup if said.warmup is None else said.warmup,
        overhead=found.overhead if said.overhead is None else said.overhead,
        collector=found.collector if said.collector is None else Collector(said.collector),
        memory=found.memory if said.memory is None else said.memory,
    )


def environments_of(project: Project, revisions: Revisions) -> Environments:
    """Return a function that gives each past revision with other requirements than today's a separate environment.

    A release of a package gets none: it is installed with its requirements. The function raises an InputError for a
    revision with malformed requirements, or with a format that Hati does not install.
    """
    said = project.python.environment
    if said.past is Past.TODAY:
        return lambda _: None
    network = Network.ALLOWED if said.network else Network.REFUSED
    environment = Environment(said.extra, said.options, network)

    today = cache(partial(declared, project.root))

    @cache
    def found(revision: Revision) -> Environment | None:
        if revision.kind is RevisionKind.PACKAGE:
            return None
        with TemporaryDirectory(prefix="hati-") as folder:
            try:
                tree = revisions.trees(Path(folder)).tree(revision.id).folder
            except RunFailure:  # measuring reports it
                return None
            needed = declared(tree, str(revision))
            if needed is None or needed == today():
                return None
            validate_installable(tree, str(revision))
        return environment

    return found


_WALL = "wall_time"
_SEPARATOR = ":"
_HERE = {"", "."}
_OF_ITS_OWN = " in its own environment"


class AskedMetrics(Struct, frozen=True):
    """The metrics of a method that formulas use, ``""`` for its default, and whether they need single calls."""

    metrics: frozenset[str] = frozenset()
    calls: CallKind = CallKind.BATCHED

    @classmethod
    def of(cls, side: PerformanceSide) -> AskedMetrics:
        """The metrics of a side. Batches of calls are enough for means and their linear functions."""
        calls = CallKind.SINGLE if asks_single_calls(side) else CallKind.BATCHED
        return cls(frozenset({side.measured.metric}), calls)

    def __or__(self, other: AskedMetrics) -> AskedMetrics:
        """The metrics of both; single calls if either needs them."""
        single = CallKind.SINGLE in {self.calls, other.calls}
        return AskedMetrics(self.metrics | other.metrics, CallKind.SINGLE if single else CallKind.BATCHED)


def point_of(
    place: Workplace,
    find: Callable[[str], Revision],
    environments: Environments,
    method: Method,
    asked: AskedMetrics,
) -> MeasuredMethod:
    """The benchmark of a method: the one in hati.toml with its name, else a Python function.

    ``find`` resolves the name of a revision, and ``environments`` gives the environment of a past one; ``asked`` are
    the metrics that formulas use of the method in any revision.

    Raises:
        InputError: for an unknown method, parameter or revision.
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
    return MeasuredMethod(str(method), benchmark, revision, configuration, own)


def is_function(place: Workplace, method: Method) -> bool:
    """Whether a method is a Python function, and not a benchmark of hati.toml."""
    return _SEPARATOR in method.name and all(method.name != each.name for each in place.project.benchmarks)


def _check_callee(callee: Callee) -> None:
    """Refuse a method in the notation for Java, which cannot be measured."""
    if callee.member or callee.constructor or callee.types:
        raise InputError(
            f"{callee} has a member, a constructor or types",
            fix="write module:Class.method, and an instance generator for its object",
        )


def _own(benchmark: Benchmark) -> str:
    return benchmark.metrics[0].name if len(benchmark.metrics) == 1 else ""


def validate_metric(point: MeasuredMethod, asked: MeasuredStatistic) -> None:
    """Check that a method reports the requested metric, or a single one if none is named.

    Raises:
        FormulaError: where it does not.
    """
    names, metric = [each.name for each in point.benchmark.metrics], asked.metric
    if not metric and not point.own:
        listed = ", ".join(names)
        raise asked.error(f"{point.method} has several metrics: {listed}", fix=f"say which: {names[0]} of ...")
    every = list(dict.fromkeys([*names, "cpu_time", "peak_memory"]))
    if metric and metric not in every:
        raise asked.error(f"{point.benchmark.name} has no metric {metric!r}", fix=suggestion(metric, every))


def _of_project(benchmark: Benchmark, method: Method) -> Benchmark:
    """A benchmark of hati.toml with the arguments of a method, in order or by name."""
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
    bracketed = f"({', '.join(repr(value) for value in given.values())})" if given else ""
    return replace(benchmark, name=f"{benchmark.name}{bracketed}", workload=Workload(given))


def _of_python(place: Workplace, method: Method, asked: AskedMetrics, environment: Environment | None) -> Benchmark:
    named = {argument.name: _setting(argument.value) for argument in method.arguments if argument.name}
    listed = [_setting(argument.value) for argument in method.arguments if not argument.name]
    if named and listed:
        raise InputError(
            f"{method} has parameters with names ({', '.join(named)}) and without", fix="write all in one way"
        )
    if twice := [name for name in named if sum(argument.name == name for argument in method.arguments) > 1]:
        raise InputError(f"{method} has parameter {twice[0]} twice", fix="give it once")
    interpreter = interpreter_of(place.project.python)
    recording = _recording(method, recording_of(place.project.python), asked)
    parameters: Mapping[str, Setting] | list[Setting] = named or listed
    with _placing(method):
        found = python_benchmark(
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
    return with_counter_source(found)


def _recording(method: Method, usual: Recording, asked: AskedMetrics) -> Recording:
    """The recording of what formulas ask of a function: its times and memory, or counts of its events.

    Raises:
        FormulaError: where they ask for both.
    """
    counts = counted(sorted(asked.metrics))
    wanted = {metric or _WALL for metric in asked.metrics} | (set() if counts else {_WALL})
    metrics = tuple(name for name in dict.fromkeys([*usual.metrics, *counts]) if name in wanted)
    try:
        return replace(usual, metrics=metrics, calls=asked.calls)
    except InputError as error:
        raise method.error(error.message, fix=error.fix) from None


def _generator(method: Method, generator: Generator | None) -> PythonGenerator | str:
    """A generator with its arguments; a bare name is one of the method's module."""
    if generator is None:
        return ""
    if generator.revision:
        raise generator.error(
            f"{generator} has a revision", fix="generators are those of the working tree; leave it out"
        )
    name = generator.callee.name
    reference = name if _SEPARATOR in name else f"{method.name.partition(_SEPARATOR)[0]}:{name}"
    return PythonGenerator(PythonMethod.parse(reference), tuple(map(_setting, generator.arguments)))


@contextmanager
def _placing(method: Method) -> Iterator[None]:
    """Add the place in the formula to errors in a generator's arguments."""
    try:
        yield
    except GeneratorError as error:
        where = method.workload if error.kind == "workload" else method.instance
        raise (where or method).error(error.message, fix=error.fix) from None


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


T = TypeVar("T", Generator, Method)


def requirements_of(file: Path, root: Path) -> Iterator[Requirement]:
    """The formulas of a Python file of the project ``root``, in order; each is named as its function.

    Raises:
        InputError: where the file cannot be imported, or a formula is malformed.
    """
    for each in stated_in(file, root):
        if isinstance(each, Misstated):
            raise each.error
        yield each


def stated_in(file: Path, root: Path) -> Iterator[Requirement | Misstated]:
    """The formulas of a Python file in order; a malformed one is a ``Misstated``.

    Raises:
        InputError: where the file cannot be imported.
    """
    statements = read_statements(file, root, interpreter_around(root))
    yield from (_stated(text, each, str(file)) for each in statements for text in each.formulas)


def _stated(text: str, stated: StatedFunction, file: str) -> Requirement | Misstated:
    try:
        return _requirement(text, stated, file)
    except InputError as error:
        return Misstated(_name(stated), text, error)


def _requirement(text: str, stated: StatedFunction, file: str) -> Requirement:
    formula = parse_formula(text, file, line=stated.line)
    try:
        declarations = _declarations(formula, stated)
    except InputError as error:
        raise InputError(error.message, place=Place(file, stated.line), fix=error.fix) from None
    formula = parse_formula(text, file, line=stated.line, declarations=declarations)
    seen = {**stated.known, SELF: stated.method}
    return Requirement(formula, Source(text, file, stated.line), declarations, _name(stated), seen)


def _name(stated: StatedFunction) -> str:
    return stated.method.rpartition(":")[2]


def _declarations(formula: PerformanceFormula, stated: StatedFunction) -> Declarations:
    """The aliases of a formula, as methods or as generators according to their use, and the generators in its scope."""
    methods = list(_methods(formula))
    generators = [each.callee.name for method in methods for each in (method.workload, method.instance) if each]
    named = _followed(generators, {**stated.known, **stated.aliases}, _stated_generator)
    called = _followed([method.name for method in methods], stated.aliases, _method)
    return Declarations(
        (
            *(NamedGenerator(name, generator) for name, generator in named.items()),
            *(MethodAlias(name, method) for name, method in called.items()),
        )
    )


def _followed(names: Iterable[str], texts: Mapping[str, str], read: Callable[[str], T]) -> dict[str, T]:
    """The definitions of the names, and of the names that these definitions use."""
    found: dict[str, T] = {}
    left = sorted(names, reverse=True)
    while left:
        name = left.pop()
        if name in texts and name not in found:
            found[name] = read(texts[name])
            left.append(found[name].callee.name)
    return found


def _methods(formula: PerformanceFormula) -> Iterator[Method]:
    for relation in formula.find(Relation):
        for side in (relation.left, relation.right):
            if isinstance(side, PerformanceSide):
                yield side.measured.method


def _stated_generator(text: str) -> Generator:
    """A generator as formulas write it: in brackets."""
    found = _method(f"{SELF}[{text}]").workload
    assert found is not None
    return found


def _method(text: str) -> Method:
    """A method as formulas write it.

    Raises:
        InputError: for a text that is not a method.
    """
    relation = parse_formula(f"{text} <= 1 s", "alias")
    if not isinstance(relation, Relation) or not isinstance(relation.left, PerformanceSide):
        raise InputError(
            f"{text!r} is not a valid name of a method", fix="write module:function, or give the function itself"
        )
    return relation.left.measured.method
