"""The study: rounds of what formulas need, until they are decided or the budget is spent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from hati.core import Budget, Evidence, MeasurementError, Outcome, Plan, Stopping, StudyId, Task, generator
from hati.logic import syntax
from hati.logic.interpret import Interpretation, Verdict
from hati.stats import fewest_signs
from hati.studies.assertion.atoms import Atom
from hati.studies.assertion.book import Book, MeasuredBook
from hati.studies.assertion.costs import Cost, costs_of
from hati.studies.assertion.formulas import Answer, answer
from hati.studies.assertion.point import STAGE, Point
from hati.studies.assertion.requirement import Requirement, methods_of
from hati.studies.assertion.standard import Standard
from hati.studies.failures import GIVE_UP_AFTER, failure_reasons


@dataclass(frozen=True)
class Assured:
    """What came of the formulas and by which standard, what could not be measured and why, and what it cost.

    ``costs`` are of each formula, none where nothing was measured for them; ``book`` is what they were judged by.
    """

    study: str
    answers: tuple[Answer, ...]
    standard: Standard
    failures: tuple[str, ...]
    runs: int
    seconds: float
    costs: tuple[Cost, ...] = ()
    book: Book = field(default_factory=Book)


def assertion_id(
    requirements: Sequence[Requirement], points: Sequence[Point], standard: Standard, machine: str
) -> StudyId:
    """The identity of the measurements for formulas; a larger budget continues them."""
    parameters: dict[str, object] = {
        "formulas": [str(each.ground) for each in requirements],
        "points": [point.identity for point in points],
        "standard": [standard.interpretation.value, standard.alpha, standard.margin],
    }
    return StudyId.of("assertion", parameters, standard.seed, machine)


@dataclass(frozen=True)
class Assertion:
    """All methods in rounds, each round in random order, looked at after each round.

    Of the default interpretation every look is accounted for, and the level is shared by the formulas' relations;
    those of seed 004 are asked once, when the budget is spent. A method is not measured further once no formula needs
    it.
    """

    id: StudyId
    requirements: tuple[Requirement, ...]
    points: Mapping[str, Point]
    standard: Standard
    budget: Budget

    def plan(self, evidence: Evidence) -> Plan:
        """What is left of the last round that was begun, else the next one; none where all is decided."""
        last = max((run.task.repetition for run in evidence.runs), default=-1)
        for number in range(max(last, 0), last + 2):
            before = Evidence(tuple(run for run in evidence.runs if run.task.repetition < number))
            tasks = self._round(number, self._wanted(before, number))
            left = tuple(task for task in tasks if task.id not in evidence.known)
            if left:
                return Plan(left).within(self.budget.left(evidence))
        return Plan()

    def conclude(self, evidence: Evidence) -> Assured:
        """What may be told, at any time.

        Raises:
            MeasurementError: where nothing could be measured.
        """
        reasons = dict.fromkeys(
            why
            for point in self.points.values()
            for metric in point.benchmark.metrics
            for why in failure_reasons(point.runs(evidence), metric)
        )
        if self.points and not evidence.done:
            why = next(iter(reasons), "there was no run")
            raise MeasurementError(f"nothing could be measured: {why}", fix="see `hati runs` for what was printed")
        book, cost = self.book(evidence), (len(evidence.runs), evidence.seconds)
        answers = answer(self.requirements, book, self._shared)
        costs = costs_of(self.requirements, self.points, evidence)
        return Assured(self.id.key, answers, self._shared, tuple(reasons), *cost, costs, book)

    def decided(self, evidence: Evidence) -> int:
        """How many formulas are decided so far, of those that are looked at after each round."""
        return sum(each.judged.verdict is not Verdict.INCONCLUSIVE for each in self._answers(evidence))

    def rehearsed(self, rounds: int) -> tuple[Task, ...]:
        """The tasks of so many rounds of all methods."""
        return tuple(task for number in range(rounds) for task in self._round(number, list(self.points)))

    @property
    def fewest(self) -> int:
        """Rounds before anything can be told."""
        return fewest_signs(2.0 * self._shared.alpha) if self._early else 1

    @property
    def _early(self) -> bool:
        return self.standard.interpretation is Interpretation.DEFAULT

    @property
    def _shared(self) -> Standard:
        """The standard of each relation: any verdict on a formula is then wrong at the level, however they depend.

        No relation is decided falsely but with the whole level (Bonferroni), and Kleene's tables make no false verdict
        of true ones.
        """
        if not self._early:
            return self.standard
        return replace(self.standard, alpha=self.standard.alpha / self._relations, stopping=Stopping.ANYTIME)

    @cached_property
    def _relations(self) -> int:
        """How many relations there are, each once; 1 at least."""
        every = ((each, relation) for each in self.requirements for relation in each.ground.relations)
        return len({str(each.resolved(relation, Book())) for each, relation in every}) or 1

    def _answers(self, evidence: Evidence) -> tuple[Answer, ...]:
        return answer(self.requirements, self.book(evidence), self._shared)

    def book(self, evidence: Evidence) -> Book:
        """What was measured, and why nothing was of what is missing."""
        samples = {key: found for key, point in self.points.items() if (found := point.samples(evidence))}
        missing = {key: self._why(point, evidence) for key, point in self.points.items() if key not in samples}
        own = {key: point.own for key, point in self.points.items()}
        told = {key: frozenset(each.name for each in point.benchmark.metrics) for key, point in self.points.items()}
        return MeasuredBook(samples, own=own, missing=missing, told=told)

    @staticmethod
    def _why(point: Point, evidence: Evidence) -> str:
        reasons = [why for metric in point.benchmark.metrics for why in failure_reasons(point.runs(evidence), metric)]
        return reasons[0] if reasons else "it was not measured yet"

    def _wanted(self, evidence: Evidence, number: int) -> list[str]:
        """The methods that a round is made of."""
        alive = [key for key, point in self.points.items() if not _hopeless(point, evidence)]
        if number < self.fewest or not self._early:
            return alive
        open_ = [each for each in self._answers(evidence) if each.judged.verdict is Verdict.INCONCLUSIVE]
        asked = [self._undecided_methods(atom) for each in open_ for atom in each.atoms]
        needed = {method for methods in asked if set(methods) <= set(alive) for method in methods}
        return [key for key in alive if key in needed]

    def _undecided_methods(self, atom: Atom) -> tuple[str, ...]:
        """None of a relation of the same with itself: its sides never differ."""
        sides = (self._measured(atom.resolved.left), self._measured(atom.resolved.right))
        settled = atom.verdict is not Verdict.INCONCLUSIVE or sides[0] == sides[1]
        return () if settled else methods_of(atom.resolved)

    def _measured(self, side: syntax.Side) -> tuple[object, ...]:
        """What a side is, whatever it is called: two methods of which the same is run are one."""
        if not isinstance(side, syntax.Performance):
            return (side,)
        point, measured = self.points[str(side.measured.method)], side.measured
        metric = measured.metric or point.own
        return (point.benchmark.name, point.revision.id, metric, measured.statistic, side.transformation)

    def _round(self, number: int, keys: Sequence[str]) -> Iterator[Task]:
        """The tasks of a round, in an order that is random, and the same for what is wanted of it.

        Methods of which the same is run, as of a revision that is the working tree's, have one task.
        """
        every = list(self.points)
        order = generator(self.id.seed, "assertion", str(number)).permutation(len(every)).tolist()
        tasks = (self._task(self.points[every[place]], number) for place in order if every[place] in keys)
        yield from {task.id: task for task in tasks}.values()

    def _task(self, point: Point, number: int) -> Task:
        return Task(
            study=self.id.key,
            stage=STAGE,
            benchmark=point.benchmark.name,
            configuration=point.configuration,
            revision=point.revision.id,
            workload=point.benchmark.workload,
            repetition=number,
        )


def _hopeless(point: Point, evidence: Evidence) -> bool:
    """Whether run after run of it failed."""
    runs = point.runs(evidence)
    return len(runs) >= GIVE_UP_AFTER and not any(run.outcome is Outcome.DONE for run in runs)
