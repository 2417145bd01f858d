"""Requirements: formulas, the standard of their judgement, the metrics of their methods, and what each cost.

The runs of a method may be shared by other formulas.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property

from msgspec import Struct

from hati.core import (
    Benchmark,
    Configuration,
    InputError,
    Metric,
    Place,
    Revision,
    Run,
    Sample,
    Stopping,
    replace,
    sampled,
)
from hati.formula import Source
from hati.logic import syntax
from hati.logic.interpret import ALPHA, MARGIN, Interpretation
from hati.studies.assertion.samples import SampleCollector

STAGE = "assert"


class Made(Struct, frozen=True):
    """Runs in the order of their rounds, by their benchmark and revision."""

    runs: Mapping[tuple[str, str], tuple[Run, ...]]

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Made:
        """Of runs in any order."""
        found: dict[tuple[str, str], list[Run]] = defaultdict(list)
        for run in sorted(runs, key=lambda run: run.task.repetition):
            found[run.task.benchmark, run.task.revision].append(run)
        return cls({key: tuple(each) for key, each in found.items()})


class MeasuredMethod(Struct, frozen=True):
    """A method that formulas write as ``method``: a benchmark of a revision, of the default configuration.

    ``own`` is the metric that is meant where a formula names none; empty where the benchmark has but one.
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
        """The unit of a metric for a call, by default of its own; None for one that its benchmark does not report."""
        units = {each.name: each.unit.removesuffix("/op") for each in self.benchmark.metrics}
        return units.get(metric or self.own)

    @property
    def key(self) -> tuple[str, str]:
        """The key of its runs: methods with equal keys share their runs."""
        return self.benchmark.name, self.revision.id

    def runs(self, made: Made) -> tuple[Run, ...]:
        """Its runs, whatever became of them."""
        return made.runs.get(self.key, ())

    def samples(self, made: Made) -> tuple[Sample, ...]:
        """One of each metric that a run has, runs in the order of their rounds.

        Raises:
            InputError: where runs are of unlike units.
        """
        runs = self.runs(made)
        return tuple(sample for metric in self.benchmark.metrics if (sample := self._sample(metric, runs)))

    def _sample(self, metric: Metric, runs: Sequence[Run]) -> Sample | None:
        """None where no run has the metric."""
        observed = ((run, run.of(metric.name)) for run in runs)
        found = tuple(sampled(run, values) for run, values in observed if values is not None)
        if not found:
            return None
        benchmark = self.benchmark
        return Sample(benchmark.name, metric, found, self.configuration, self.revision.id, benchmark.workload)


class Standard(Struct, frozen=True):
    """An interpretation, the level of each relation and of alarms together, and the tolerance.

    ``stopping`` is ``ANYTIME`` where runs were made in rounds and looked at after each: both sides of a relation then
    are paired by their rounds. ``seed`` is of the draws that interpretations with histories make.

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


@dataclass(frozen=True)
class Requirement:
    """A formula with the names that it may use, and the text that it was read from.

    ``seen`` are names that mean a method where the formula is stated, such as ``SELF`` on a function.

    Raises:
        InputError: where it has too many relations, an empty set or arithmetic without a value.
    """

    formula: syntax.PerformanceFormula
    source: Source
    declarations: syntax.Declarations = field(default_factory=syntax.Declarations)
    name: str = ""
    seen: Mapping[str, str] = field(default_factory=dict, hash=False)

    def __post_init__(self) -> None:
        self.ground  # noqa: B018  # what cannot be expanded is refused when it is built

    @cached_property
    def ground(self) -> syntax.PerformanceFormula:
        """The same without variables; names that are declared stay."""
        return syntax.expand(self.formula, self.declarations, source=self.source)

    @cached_property
    def relations(self) -> tuple[syntax.Relation, ...]:
        """The performance relations without variables, in order of reading."""
        return self.ground.find(syntax.Relation)

    @property
    def place(self) -> Place:
        """Where it is written."""
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
    """The texts of the methods that a relation is about."""
    sides = (relation.left, relation.right)
    return tuple(str(side.measured.method) for side in sides if isinstance(side, syntax.PerformanceSide))


class Cost(Struct, frozen=True):
    """The runs of a formula's methods, whatever became of them, and their seconds.

    ``shared`` of the runs are of methods that other formulas are about too: they are among the runs of each. Of their
    seconds ``booked`` has an equal part for each of these formulas.
    """

    runs: int
    shared: int
    seconds: float
    booked: float = 0.0


def costs_of(requirements: Sequence[Requirement], points: Mapping[str, MeasuredMethod], runs: Made) -> tuple[Cost, ...]:
    """One of each formula, in order."""
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
    """Those of a formula's methods by their tasks, each once."""
    relations = (requirement.resolved(relation, SampleCollector()) for relation in requirement.relations)
    methods = dict.fromkeys(method for relation in relations for method in methods_of(relation))
    return {task: run for method in methods for task, run in made[method].items()}
