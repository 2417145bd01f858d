"""Requirements: formulas, the standard of their judgement, the metrics of their methods, and what each cost.

Methods have samples by their names in formulas. Formulas may share the definitions of benchmarks, and runs.
"""

from __future__ import annotations

import dataclasses
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from functools import cached_property

import numpy as np
from msgspec import Struct, field

from hati.core import (
    SINGLE_CALLS,
    Benchmark,
    Configuration,
    InputError,
    Metric,
    Observations,
    Place,
    Revision,
    Run,
    Sample,
    SampledRun,
    Stopping,
    replace,
    sampled,
)
from hati.core.wording import suggestion
from hati.formula import Source
from hati.logic import syntax
from hati.logic.interpret import ALPHA, MARGIN, Interpretation
from hati.logic.syntax import MeasuredStatistic, Method

_USED = {"cpu_time": Metric("cpu_time", "s"), "peak_memory": Metric("peak_memory", "B")}
"""Metrics that are known for whole runs, if no benchmark reports them."""


class SampleCollector(Struct, frozen=True):
    """Samples by the texts of methods; ``history`` holds earlier samples, which estimate the variation of runs.

    ``own`` is the metric of a method that is used if a formula names none; ``missing`` gives the reason why a
    method has no sample, ``failed`` why its runs failed, all or all from some run on. ``reported`` are the metrics
    that a method's benchmark reports itself: metrics of whole runs, which include the start of the interpreter, never
    replace them.
    """

    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    history: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    reported: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def has(self, method: Method) -> bool:
        """Whether samples were given for a method by its name as it is written."""
        return str(method) in self.samples

    def sample(self, measured: MeasuredStatistic) -> Sample:
        """The sample of a method's metric.

        Raises:
            FormulaError: if it has none, or more than one.
        """
        key = str(measured.method)
        if key not in self.samples:
            raise measured.method.error(f"there is no sample of {key}", fix=suggestion(key, tuple(self.samples)))
        metric = measured.metric or self.own.get(key, "")
        used = _USED.keys() - self.reported.get(key, frozenset())
        try:
            return _one(key, _of_metric(key, self.samples[key], metric, used))
        except InputError as error:
            raise measured.error(error.message, fix=error.fix) from None

    def single(self, method: Method) -> bool:
        """Whether each observation of a method's times is one call, as far as its runs show."""
        reported = (each for each in self.samples.get(str(method), ()) if each.metric.name == SINGLE_CALLS)
        return all((run.steady == 1.0).all() for each in reported for run in each.runs)

    def earlier(self, measured: MeasuredStatistic, metric: Metric) -> tuple[SampledRun, ...]:
        """Earlier runs of the same method and metric in the same unit; empty if there are none."""
        known = self.history.get(str(measured.method), ())
        return tuple(run for sample in known if sample.metric == metric for run in sample.runs)

    def unfit(self, error: InputError) -> str:
        """The reason why a relation cannot be judged by these samples; samples from files must be suited to it.

        Raises:
            InputError: always, the error itself.
        """
        raise error


class MeasuredSamples(SampleCollector, frozen=True):
    """Measurements of methods by their full names; a declared name has no samples of its own.

    Unfit measurements leave their relation undecided; the other relations are still reported.
    """

    def has(self, method: Method) -> bool:  # noqa: ARG002  # as those of all books
        """False: the names in a formula refer to its declarations."""
        return False

    def unfit(self, error: InputError) -> str:
        """The reason why a relation cannot be judged."""
        return error.message


def _of_metric(key: str, samples: tuple[Sample, ...], metric: str, whole: Set[str]) -> list[Sample]:
    names = dict.fromkeys(sample.metric.name for sample in samples)
    if not metric and len(names) > 1:
        first = next(iter(names))
        raise InputError(
            f"{key} has several metrics: {', '.join(names)}", fix=f"say which in the formula, as in {first} of {key}"
        )
    found = [sample for sample in samples if metric in {"", sample.metric.name}]
    used = [] if found or metric not in whole else [each for s in samples[:1] if (each := _whole_runs(s, metric))]
    if not (found or used):
        raise InputError(f"{key} has no metric {metric!r}", fix=f"it has {', '.join(names)}")
    return found or used


def _whole_runs(sample: Sample, metric: str) -> Sample | None:
    """The resource usage of whole runs, one value for each; None if it is unknown for any run."""
    kind = _USED[metric]
    values: list[float | None] = [getattr(run.usage, metric) for run in sample.runs]
    if any(value is None for value in values):
        return None
    runs = tuple(
        replace(run, observations=Observations(kind.name, kind.unit, np.array([value], dtype=np.float64), 0))
        for run, value in zip(sample.runs, values, strict=True)
    )
    return replace(sample, metric=kind, runs=runs)


def _one(key: str, samples: list[Sample]) -> Sample:
    if len(samples) == 1:
        return samples[0]
    names = list(dict.fromkeys(sample.benchmark for sample in samples))
    if len(names) > 1:
        listed = ", ".join(names[:5])
        raise InputError(
            f"{key} is {len(samples)} samples, of {listed}{' and others' if len(names) > 5 else ''}",
            fix=f"say which, as in --samples {key}=FILE#{names[0]}",
        )
    raise InputError(
        f"{key} is {len(samples)} samples of {names[0]}: several configurations, revisions, workloads or machines",
        fix="give a file with one of them",
    )


Machines = tuple[str, str]
"""The fingerprints of both machines."""


class DefinedRun(Struct, frozen=True):
    """A run and the definition of its benchmark at that time: canonical JSON, empty if unknown."""

    run: Run
    definition: str


class SetAside(Struct, frozen=True):
    """Runs of a benchmark on a machine that have another definition than the runs taken, and the differing parts."""

    benchmark: str
    machine: str
    runs: int
    differs: tuple[str, ...]


class Former(Struct, frozen=True):
    """A benchmark whose present definition is not the last one run on both machines, and the parts that changed."""

    benchmark: str
    differs: tuple[str, ...]


class TakenRuns(Struct, frozen=True):
    """The runs of one definition of each benchmark; ``unlike`` holds the differing parts if machines share none."""

    runs: tuple[Run, ...]
    set_aside: tuple[SetAside, ...]
    former: tuple[Former, ...]
    unlike: Mapping[str, tuple[str, ...]]


def taken_runs(
    defined: Sequence[DefinedRun], now: Mapping[str, str], machines: Machines, essence: Callable[[str], str]
) -> TakenRuns:
    """The runs of each benchmark's definition ``now``, or else of the latest definition that both machines ran.

    ``essence`` gives the part of a definition that has to be the same on both machines; on a single machine, all of it
    has to be.
    """
    found: dict[str, list[DefinedRun]] = defaultdict(list)
    for each in defined:
        if each.run.machine in machines:
            found[each.run.task.benchmark].append(each)
    choices = {name: _choice(runs, now.get(name, ""), machines, essence) for name, runs in found.items()}
    return TakenRuns(
        tuple(each.run for name, runs in found.items() for each in runs if choices[name].is_taken(each)),
        tuple(left for name, runs in found.items() for left in _left(name, runs, choices[name])),
        tuple(Former(name, each.former) for name, each in choices.items() if each.former),
        {name: each.unlike for name, each in choices.items() if each.unlike},
    )


def differing(one: str, other: str) -> tuple[str, ...]:
    """The parts in which two definitions differ; empty if they are equal."""
    if one == other:
        return ()
    if not (one and other):
        return ("not known",)
    first, second = (json.loads(text) for text in (one, other))
    return tuple(sorted(key for key in first.keys() | second.keys() if first.get(key) != second.get(key)))


class _Choice(Struct, frozen=True):
    """The definition of a benchmark taken on each machine; none if they share none: ``unlike`` holds what differs."""

    taken: Mapping[str, str]
    former: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()

    def is_taken(self, each: DefinedRun) -> bool:
        return self.taken.get(each.run.machine) == each.definition


def _choice(known: Sequence[DefinedRun], now: str, machines: Machines, essence: Callable[[str], str]) -> _Choice:
    latest = sorted(known, key=lambda each: each.run.started, reverse=True)
    on = {
        machine: dict.fromkeys(each.definition for each in latest if each.run.machine == machine)
        for machine in machines
    }
    there = [{essence(definition) for definition in definitions} for definitions in on.values()]
    common = there[0] & there[1] if all(there) else there[0] | there[1]
    if not common:
        return _Choice({}, unlike=differing(*(essence(next(iter(definitions))) for definitions in on.values())))
    meant = next(found for text in (now, *(each.definition for each in latest)) if (found := essence(text)) in common)
    taken = {
        machine: next(text for text in (now, *definitions) if text in definitions and essence(text) == meant)
        for machine, definitions in on.items()
        if definitions
    }
    return _Choice(taken, former=differing(meant, essence(now)))


def _left(name: str, known: Sequence[DefinedRun], choice: _Choice) -> Iterator[SetAside]:
    """The runs of other definitions than the one that is taken."""
    others = Counter((each.run.machine, each.definition) for each in known if not choice.is_taken(each))
    for (machine, definition), count in others.items():
        if machine in choice.taken:
            yield SetAside(name, machine, count, differing(definition, choice.taken[machine]))


STAGE = "assert"


class Made(Struct, frozen=True):
    """Runs in the order of their rounds, by their benchmark and revision."""

    runs: Mapping[tuple[str, str], tuple[Run, ...]]

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Made:
        """Group runs given in any order."""
        found: dict[tuple[str, str], list[Run]] = defaultdict(list)
        for run in sorted(runs, key=lambda run: run.task.repetition):
            found[run.task.benchmark, run.task.revision].append(run)
        return cls({key: tuple(each) for key, each in found.items()})


class MeasuredMethod(Struct, frozen=True):
    """A method that formulas write as ``method``: a benchmark of a revision, of the default configuration.

    ``own`` is the metric that is used if a formula names none; empty if the benchmark has only one.
    """

    method: str
    benchmark: Benchmark
    revision: Revision
    configuration: Configuration
    own: str = ""

    @property
    def identity(self) -> list[object]:
        """All that determines what its runs do."""
        return [self.method, self.benchmark.definition, self.revision.id, dict(self.configuration)]

    def unit(self, metric: str) -> str | None:
        """The unit of a metric per call, by default of ``own``; None for a metric not reported by the benchmark."""
        units = {each.name: each.unit.removesuffix("/op") for each in self.benchmark.metrics}
        return units.get(metric or self.own)

    @property
    def key(self) -> tuple[str, str]:
        """The key of its runs: methods with equal keys share their runs."""
        return self.benchmark.name, self.revision.id

    def runs(self, made: Made) -> tuple[Run, ...]:
        """Its runs, whatever their outcome."""
        return made.runs.get(self.key, ())

    def samples(self, made: Made) -> tuple[Sample, ...]:
        """A sample of each metric that a run has, with runs in the order of their rounds.

        Raises:
            InputError: if runs have incompatible units.
        """
        runs = self.runs(made)
        return tuple(sample for metric in self.benchmark.metrics if (sample := self._sample(metric, runs)))

    def _sample(self, metric: Metric, runs: Sequence[Run]) -> Sample | None:
        """The sample of a metric; None if no run has the metric."""
        observed = ((run, run.of(metric.name)) for run in runs)
        found = tuple(sampled(run, values) for run, values in observed if values is not None)
        if not found:
            return None
        benchmark = self.benchmark
        return Sample(benchmark.name, metric, found, self.configuration, self.revision.id, benchmark.workload)


class Standard(Struct, frozen=True):
    """An interpretation, the level of each relation and of alarms together, and the tolerance.

    ``stopping`` is ``ANYTIME`` if runs were made in rounds and tested after each: both sides of a relation are then
    paired by round. ``seed`` is the seed of the draws of interpretations with histories.

    Raises:
        InputError: for a level or a margin that is out of range.
    """

    interpretation: Interpretation = Interpretation.DEFAULT
    alpha: float = ALPHA
    margin: float = MARGIN
    seed: int = 1
    stopping: Stopping = Stopping.FIXED

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 0.5:
            raise InputError(
                f"--alpha {self.alpha:g} is not a valid level", fix="write one such as 1% or 0.01, below 50%"
            )
        if not 0.0 <= self.margin < 1.0:
            raise InputError(
                f"--margin {self.margin:g} is not a valid margin", fix="write one such as 2% or 0.02, below 100%"
            )


@dataclasses.dataclass(frozen=True)
class Requirement:
    """A formula with the names that it may use, and the text from which it was read.

    ``seen`` holds names that denote a method at the place of the formula, such as ``SELF`` on a function.

    Raises:
        InputError: if it has too many relations, an empty set or arithmetic without a value.
    """

    formula: syntax.PerformanceFormula
    source: Source
    declarations: syntax.Declarations = dataclasses.field(default_factory=syntax.Declarations)
    name: str = ""
    seen: Mapping[str, str] = dataclasses.field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        self.ground  # noqa: B018  # what cannot be expanded is refused when it is built

    @cached_property
    def ground(self) -> syntax.PerformanceFormula:
        """The formula without variables; declared names stay."""
        return syntax.expand(self.formula, self.declarations, source=self.source)

    @cached_property
    def relations(self) -> tuple[syntax.Relation, ...]:
        """The performance relations without variables, in order of reading."""
        return self.ground.find(syntax.Relation)

    @property
    def place(self) -> Place:
        """The place where it is written."""
        return self.source.place(self.formula.offset)

    def resolved(self, relation: syntax.Relation, book: SampleCollector) -> syntax.Relation:
        """A relation with declarations in place of its names, except names that were measured."""
        sides = (self._side(side, book) for side in (relation.left, relation.right))
        return replace(relation, left=next(sides), right=next(sides))

    def _side(self, side: syntax.RelationSide, book: SampleCollector) -> syntax.RelationSide:
        if not isinstance(side, syntax.PerformanceSide) or book.has(side.measured.method):
            return side
        method = self.declarations.resolved(side.measured.method)
        if method.name in self.seen:
            method = replace(method, callee=replace(method.callee, name=self.seen[method.name]))
        return replace(side, measured=replace(side.measured, method=method))

    @contextmanager
    def placing(self, node: syntax.PerformanceFormula | syntax.Method) -> Iterator[None]:
        """Add the place of a part to errors in it, or that of the node that the error names."""
        try:
            yield
        except InputError as error:
            if error.place is not None:
                raise
            offset = getattr(error, "offset", node.offset)
            raise self.source.error(offset, error.message, error.fix) from None


def methods_of(relation: syntax.Relation) -> tuple[str, ...]:
    """The texts of the methods in a relation."""
    sides = (relation.left, relation.right)
    return tuple(str(side.measured.method) for side in sides if isinstance(side, syntax.PerformanceSide))


class Cost(Struct, frozen=True):
    """The runs of a formula's methods, whatever their outcome, and their seconds.

    ``shared`` is the number of runs that other formulas need, too: they count in each formula. In ``booked``, their
    seconds are divided equally among these formulas.
    """

    runs: int
    shared: int
    seconds: float
    booked: float = 0.0


def costs_of(requirements: Sequence[Requirement], points: Mapping[str, MeasuredMethod], runs: Made) -> tuple[Cost, ...]:
    """The cost of each formula, in order."""
    made = {key: {run.task.id: run for run in point.runs(runs)} for key, point in points.items()}
    each = [_runs(requirement, made) for requirement in requirements]
    formulas = Counter(task for runs in each for task in runs)
    return tuple(
        Cost(
            len(runs),
            sum(formulas[task] > 1 for task in runs),
            sum(run.seconds for run in runs.values()),
            sum(run.seconds / formulas[task] for task, run in runs.items()),
        )
        for runs in each
    )


def _runs(requirement: Requirement, made: Mapping[str, Mapping[str, Run]]) -> dict[str, Run]:
    """The runs of a formula's methods by task, each once."""
    relations = (requirement.resolved(relation, SampleCollector()) for relation in requirement.relations)
    methods = dict.fromkeys(method for relation in relations for method in methods_of(relation))
    return {task: run for method in methods for task, run in made[method].items()}
