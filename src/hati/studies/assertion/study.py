"""The study: rounds of the runs that formulas need, until they are decided or the budget is spent.

It also estimates the fewest and the most runs of each method.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property

from msgspec import Struct, field

from hati.core import (
    Batch,
    Budget,
    Evidence,
    InputError,
    MeasurementError,
    Outcome,
    Plan,
    Run,
    Sample,
    Stopping,
    StudyId,
    Task,
    replace,
)
from hati.logic import syntax
from hati.logic.interpret import FormulaVerdict, Interpretation, fewest_alone, fewest_pairs, glance_early
from hati.studies.assertion.atoms import Answer, Atom, answer, is_known
from hati.studies.assertion.requirement import (
    STAGE,
    Cost,
    Made,
    MeasuredMethod,
    MeasuredSamples,
    Requirement,
    SampleCollector,
    Standard,
    costs_of,
    methods_of,
)
from hati.studies.schedule import GIVE_UP_AFTER, failure_reasons, tasks_without_run

_FAILED_IN_A_ROW = 2 * GIVE_UP_AFTER
_MOST_REASONS = 5


class FurtherRuns(Struct, frozen=True):
    """The further runs that would decide, their expected seconds, and the whole budget that they need."""

    runs: int
    seconds: float
    budget: str


class Assured(Struct, frozen=True):
    """The answers on formulas and their standard, the reasons for failed measurements, and the cost.

    ``costs`` holds the cost of each formula, empty if nothing was measured for them; ``book`` holds the samples by
    which they were judged. ``further`` would decide inconclusive formulas; None if no number of runs would.
    """

    study: str
    answers: tuple[Answer, ...]
    standard: Standard
    failures: tuple[str, ...]
    runs: int
    seconds: float
    costs: tuple[Cost, ...] = ()
    book: SampleCollector = field(default_factory=SampleCollector)
    further: FurtherRuns | None = None


def assertion_id(
    requirements: Sequence[Requirement], points: Sequence[MeasuredMethod], standard: Standard, machine: str
) -> StudyId:
    """The identity of the measurements for formulas; a larger budget continues them."""
    parameters: dict[str, object] = {
        "formulas": [str(each.ground) for each in requirements],
        "points": [point.identity for point in points],
        "standard": [standard.interpretation.value, standard.alpha, standard.margin],
    }
    return StudyId.of("assertion", parameters, standard.seed, machine)


class Assertion(Struct, frozen=True, dict=True):
    """Measures all methods in rounds, each round in random order, with a test after each round.

    The default interpretation accounts for every look, and the level is shared by the formulas' relations; the SPL
    paper's interpretations are tested once, when the budget is spent. A method is not measured further once no formula
    needs it. Failed runs of ``forgiven`` tasks, given by id, do not count as evidence that a method cannot be measured
    now; they are reported like all others.
    """

    id: StudyId
    requirements: tuple[Requirement, ...]
    points: Mapping[str, MeasuredMethod]
    standard: Standard
    budget: Budget
    forgiven: frozenset[str] = frozenset()

    def plan(self, evidence: Evidence) -> Plan:
        """The rest of the last round that was begun, else the next one; empty if all formulas are decided."""
        last = max((run.task.repetition for run in evidence.runs), default=-1)
        for number in range(max(last, 0), last + 2):
            before = tuple(run for run in evidence.runs if run.task.repetition < number)
            if left := tasks_without_run(self._round(number, self._wanted(before)), evidence):
                return Plan((Batch(left),)).within(self.budget.left(evidence))
        return Plan()

    def conclude(self, evidence: Evidence) -> Assured:
        """Conclude from the evidence, at any time.

        Raises:
            MeasurementError: if nothing could be measured.
        """
        made = Made.of(evidence.runs)
        reasons = tuple(self._reasons(made))
        if self.points and not evidence.done:
            others = (f"{len(reasons) - _MOST_REASONS} others",) if len(reasons) > _MOST_REASONS else ()
            why = "; ".join((*reasons[:_MOST_REASONS], *others)) or "there was no run"
            raise MeasurementError(f"nothing could be measured: {why}", fix="see `hati runs` for what was printed")
        book, cost = self._book(made), (len(evidence.runs), evidence.seconds)
        answers = answer(self.requirements, book, self._shared)
        costs = costs_of(self.requirements, self.points, made)
        further = self._further(answers, made, evidence)
        return Assured(self.id.key, answers, self._shared, reasons, *cost, costs, book, further)

    def _further(self, answers: Sequence[Answer], made: Made, evidence: Evidence) -> FurtherRuns | None:
        """The runs that would decide inconclusive formulas with 80 % probability, each as long as those so far."""
        left: dict[tuple[str, str], int] = {}
        seconds: dict[tuple[str, str], float] = {}
        open_ = [each for each in answers if each.verdict is FormulaVerdict.INCONCLUSIVE]
        for atom in (atom for each in open_ for atom in each.atoms if atom.evidence.runs_needed is not None):
            for point in (self.points[method] for method in self._undecided_methods(atom)):
                runs = point.runs(made)
                left[point.key] = max(left.get(point.key, 0), (atom.evidence.runs_needed or 0) - len(runs))
                seconds[point.key] = sum(run.seconds for run in runs) / max(1, len(runs))
        number, longer = sum(left.values()), sum(left[same] * seconds[same] for same in left)
        if not number:
            return None
        whole = evidence.seconds + longer if math.isinf(self.budget.runs) else len(evidence.runs) + number
        return FurtherRuns(number, longer, f"{math.ceil(whole)}{'s' if math.isinf(self.budget.runs) else ''}")

    def _reasons(self, made: Made) -> Iterator[str]:
        """The reasons why runs have no values, each after the names of its methods."""
        methods: dict[tuple[str, str], list[str]] = {}
        for key, point in self.points.items():
            methods.setdefault(point.key, []).append(key)
        for keys in methods.values():
            yield from (f"{', '.join(keys)}: {why}" for why in _failures(self.points[keys[0]], made))

    def decided(self, evidence: Evidence) -> int:
        """The number of formulas that are decided so far by tests after each round."""
        found = answer(self.requirements, self.book(evidence), self._shared, glance_early)
        return sum(each.judged.verdict is not FormulaVerdict.INCONCLUSIVE for each in found)

    def gave_up(self, evidence: Evidence) -> bool:
        """Whether a formula is undecided because one of its methods failed in all runs, or in too many last ones."""
        book = self._book(self._tried(evidence.runs))
        if not book.failed:
            return False
        found = answer(self.requirements, book, self._shared)
        open_ = (atom for each in found if each.verdict is FormulaVerdict.INCONCLUSIVE for atom in each.atoms)
        return any(not book.failed.keys().isdisjoint(methods_of(atom.resolved)) for atom in open_)

    def forgiving(self, evidence: Evidence) -> Assertion:
        """The same study, trying failed methods again: their failed runs so far do not count."""
        failed = {self.points[method].key for method in self._book(self._tried(evidence.runs)).failed}
        runs = (run for run in evidence.runs if (run.task.benchmark, run.task.revision) in failed)
        return replace(self, forgiven=self.forgiven | {run.task.id for run in runs if not run.observations})

    def least_left(self, evidence: Evidence) -> int:
        """The number of runs left if all undecided formulas are decided at the earliest."""
        left: dict[tuple[str, str], int] = {}
        if not self._early:
            return 0
        for each in answer(self.requirements, self.book(evidence), self._shared, glance_early):
            if each.judged.verdict is FormulaVerdict.INCONCLUSIVE:
                asked = {atom: methods for atom in each.atoms if (methods := self._undecided_methods(atom))}
                earliest = min(map(self._rounds_left, asked), default=0)
                for same in (self.points[method].key for methods in asked.values() for method in methods):
                    left[same] = max(left.get(same, 0), earliest)
        return sum(left.values())

    def _rounds_left(self, atom: Atom) -> int:
        """The further rounds before a relation can be decided, after those with runs of all its sides."""
        return max(1, self._rounds_of(atom.resolved) - max(atom.evidence.runs, default=0))

    def dry_run_tasks(self, rounds: Mapping[str, int]) -> tuple[Task, ...]:
        """The tasks of rounds, by the number of rounds of each method's text."""
        return tuple(
            task
            for number in range(max(rounds.values(), default=0))
            for task in self._round(number, {key for key, most in rounds.items() if number < most})
        )

    @property
    def fewest(self) -> int:
        """The number of rounds before any formula can be decided."""
        if not self._early:
            return 1
        return min(map(self._rounds_of, self._relations), default=fewest_pairs(self._shared.alpha))

    @cached_property
    def least(self) -> Mapping[str, int]:
        """The rounds of each method, by its text, if all formulas are decided at the earliest.

        A formula can be decided as soon as the first of its relations can, since that may settle it; a relation of a
        method with itself is never decided.
        """
        found = dict.fromkeys(self.points, self.fewest)
        if not self._early:
            return found
        for relations in self.decidable:
            earliest = min(map(self._rounds_of, relations), default=0)
            for key in (key for each in relations for key in methods_of(each)):
                found[key] = max(found[key], earliest)
        return found

    @cached_property
    def decidable(self) -> tuple[tuple[syntax.Relation, ...], ...]:
        """The relations of each formula that rounds may decide: not those of a method with itself."""
        resolved = ([each.resolved(one, SampleCollector()) for one in each.relations] for each in self.requirements)
        return tuple(tuple(each for each in relations if not self._is_of_itself(each)) for relations in resolved)

    def _rounds_of(self, relation: syntax.Relation) -> int:
        """The number of rounds before a relation can be decided."""
        alpha = self._shared.alpha
        return fewest_alone(alpha) if _has_limit(relation) else fewest_pairs(alpha)

    @property
    def _early(self) -> bool:
        return self.standard.interpretation is Interpretation.DEFAULT

    @property
    def _shared(self) -> Standard:
        """The standard of each relation, such that wrong verdicts on formulas have the level, however they depend.

        The probability that any relation is decided wrongly is at most the whole level (Bonferroni), and Kleene's
        tables derive no wrong verdict from right ones.
        """
        if not self._early:
            return self.standard
        return replace(
            self.standard, alpha=self.standard.alpha / (len(self._relations) or 1), stopping=Stopping.ANYTIME
        )

    @cached_property
    def _relations(self) -> tuple[syntax.Relation, ...]:
        """The relations of all formulas, each once."""
        every = ((each, relation) for each in self.requirements for relation in each.relations)
        resolved = (each.resolved(relation, SampleCollector()) for each, relation in every)
        return tuple({str(relation): relation for relation in resolved}.values())

    def book(self, evidence: Evidence) -> SampleCollector:
        """The measurements, with reasons for missing ones."""
        return self._book(Made.of(evidence.runs))

    def _tried(self, runs: Sequence[Run]) -> Made:
        """The runs that show whether methods can be measured now."""
        return Made.of([run for run in runs if run.task.id not in self.forgiven])

    def _book(self, made: Made) -> SampleCollector:
        samples: dict[str, tuple[Sample, ...]] = {}
        missing: dict[str, str] = {}
        for key, point in self.points.items():
            try:
                found = point.samples(made)
            except InputError as error:
                missing[key] = error.message
                continue
            if found:
                samples[key] = found
            else:
                missing[key] = next(_failures(point, made), "it was not measured yet")
        own = {key: point.own for key, point in self.points.items()}
        reported = {key: frozenset(each.name for each in point.benchmark.metrics) for key, point in self.points.items()}
        return MeasuredSamples(samples, own=own, missing=missing, failed=self._failed(made, missing), reported=reported)

    def _failed(self, made: Made, missing: Mapping[str, str]) -> dict[str, str]:
        """The reasons why methods that were run have no values, or are not run again."""
        runs = {key: point.runs(made) for key, point in self.points.items()}
        whole = {key: why for key, why in missing.items() if runs[key]}
        broken = _broken(runs) - whole.keys()
        return whole | {key: next(_failures(self.points[key], made), "its last runs failed") for key in broken}

    def _wanted(self, before: tuple[Run, ...]) -> Set[str]:
        """The methods to measure in the next round; the last look is cached, so that it is computed only once."""
        look = tuple(run.task.id for run in before)
        if look not in self._looks:
            self._looks.clear()
            self._looks[look] = self._undecided(self._tried(before))
        return self._looks[look]

    @cached_property
    def _looks(self) -> dict[tuple[str, ...], Set[str]]:
        """The methods that the last look wanted, by the runs that it saw."""
        return {}

    def _undecided(self, made: Made) -> Set[str]:
        """The methods that further rounds may still decide: all that work while rounds are too few for any decision."""
        book = self._book(made)
        made_of = {key: point.runs(made) for key, point in self.points.items()}
        fruitless = {key for key in book.missing if len(made_of[key]) >= GIVE_UP_AFTER}
        alive = (self.points.keys() - fruitless - _broken(made_of)) & self._knowable(book)
        if not self._early or 1 + max(_rounds(made), default=-1) < self.fewest:
            return alive
        found = answer(self.requirements, book, self._shared, glance_early)
        open_ = [each for each in found if each.judged.verdict is FormulaVerdict.INCONCLUSIVE]
        asked = [self._undecided_methods(atom) for each in open_ for atom in each.atoms]
        return {method for methods in asked if alive.issuperset(methods) for method in methods}

    def _knowable(self, book: SampleCollector) -> Set[str]:
        """The methods of relations that the measurements can decide, such as quantiles by runs that are long enough."""
        known = (each for each in self._relations if is_known(each.left, book) and is_known(each.right, book))
        return {method for relation in known for method in methods_of(relation)}

    def _undecided_methods(self, atom: Atom) -> tuple[str, ...]:
        """The methods of an undecided relation; empty for one of a method with itself, and for unfit measurements."""
        settled = atom.verdict is not FormulaVerdict.INCONCLUSIVE or atom.unfit or self._is_of_itself(atom.resolved)
        return () if settled else methods_of(atom.resolved)

    def _is_of_itself(self, relation: syntax.Relation) -> bool:
        """Whether both sides measure the same, so that no round distinguishes them."""
        return self._measured(relation.left) == self._measured(relation.right)

    def _measured(self, side: syntax.RelationSide) -> tuple[object, ...]:
        """What a side measures, whatever its name: two methods that run the same are equal."""
        if not isinstance(side, syntax.PerformanceSide):
            return (side,)
        point, measured = self.points[str(side.measured.method)], side.measured
        metric = measured.metric or point.own
        return (point.benchmark.name, point.revision.id, metric, measured.statistic, side.transformation)

    def _round(self, number: int, keys: Set[str]) -> Iterator[Task]:
        """The tasks of a round, in a random order that does not depend on which methods are wanted.

        Methods that share their runs, such as a revision equal to the working tree, have one task.
        """
        every = list(self.points)
        order = self.id.order(str(number)).permutation(len(every)).tolist()
        tasks = (self._task(self.points[every[place]], number) for place in order if every[place] in keys)
        yield from {task.id: task for task in tasks}.values()

    def _task(self, point: MeasuredMethod, number: int) -> Task:
        return point.benchmark.task(self.id, STAGE, point.configuration, point.revision.id, number)


def _has_limit(relation: syntax.Relation) -> bool:
    return any(isinstance(side, syntax.LimitSide) for side in (relation.left, relation.right))


def _broken(runs: Mapping[str, Sequence[Run]]) -> Set[str]:
    return {key for key, each in runs.items() if _only_fails(each[-_FAILED_IN_A_ROW:])}


def _only_fails(last: Sequence[Run]) -> bool:
    """Whether none of the last runs was done: runs that fail at once would go on for long in a budget of time."""
    return len(last) == _FAILED_IN_A_ROW and all(run.outcome is not Outcome.DONE for run in last)


def _rounds(made: Made) -> Iterator[int]:
    return (run.task.repetition for runs in made.runs.values() for run in runs)


def _failures(point: MeasuredMethod, made: Made) -> Iterator[str]:
    """The reasons why runs have no values, metric by metric."""
    return (why for metric in point.benchmark.metrics for why in failure_reasons(point.runs(made), metric))


_Same = tuple[str, str]
"""A benchmark and a revision: the key of a run."""
_Costs = Mapping[_Same, float | None]
_Rounds = Mapping[_Same, tuple[int, int | None]]


class ExpectedRuns(Struct, frozen=True):
    """Methods that share their runs, and the expected number of these.

    ``least`` runs are made if all formulas are decided at the earliest; ``most`` if those of this method are decided
    last and all others at the earliest, None if the number of runs in a budget of time is unknown. ``seconds`` is the
    cost of a run, None if unknown.
    """

    methods: tuple[str, ...]
    least: int
    most: int | None
    seconds: float | None

    @property
    def least_seconds(self) -> float | None:
        """The seconds of the fewest runs, None if unknown."""
        return None if self.seconds is None else self.least * self.seconds


def expected_runs(study: Assertion, seconds: Mapping[str, float]) -> tuple[ExpectedRuns, ...]:
    """The expected runs, in the order in which formulas name methods; ``seconds`` holds a run's time by benchmark."""
    named: dict[_Same, list[str]] = {}
    for key, point in study.points.items():
        named.setdefault(point.key, []).append(key)
    costs = {same: seconds.get(same[0]) for same in named}
    least = {same: max(study.least[key] for key in keys) for same, keys in named.items()}
    early = study.standard.interpretation is Interpretation.DEFAULT
    rounds = _early(study, costs, least) if early else _at_the_end(study.budget, costs)
    return tuple(ExpectedRuns(tuple(keys), *rounds[same], costs[same]) for same, keys in named.items())


def expected_rounds(methods: Sequence[ExpectedRuns]) -> dict[str, int]:
    """The fewest runs of each method by its text."""
    return {key: each.least for each in methods for key in each.methods}


def _measured_together(study: Assertion) -> Iterator[frozenset[_Same]]:
    """The runs that the sides of each relation need, without relations that no round decides."""
    for relations in study.decidable:
        for relation in relations:
            yield frozenset(study.points[method].key for method in methods_of(relation))


def _early(study: Assertion, costs: _Costs, least: Mapping[_Same, int]) -> _Rounds:
    """The fewest and the most rounds if formulas are decided as soon as possible."""
    left = _left(study.budget, costs, least)
    if left is None:
        return {same: (runs, None) for same, runs in least.items()}
    further = dict.fromkeys(least, 0.0)
    for pair in dict.fromkeys(_measured_together(study)):
        rounds = left / _round_cost(study.budget, costs, pair)
        further.update({same: max(further[same], rounds) for same in pair})
    return {same: (runs, runs + math.ceil(further[same])) for same, runs in least.items()}


def _at_the_end(budget: Budget, costs: _Costs) -> _Rounds:
    """The fewest and the most rounds for the SPL paper's interpretations, which are tested when the budget is spent."""
    left = _left(budget, costs, {})
    if left is None:
        return dict.fromkeys(costs, (1, None))
    rounds = left / _round_cost(budget, costs, costs)
    return dict.fromkeys(costs, (max(1, math.floor(rounds)), math.ceil(rounds)))


def _left(budget: Budget, costs: _Costs, spent: Mapping[_Same, int]) -> float | None:
    """The runs, or else the seconds, left in the budget; None if the cost of runs is unknown."""
    if math.isfinite(budget.runs):
        return max(0.0, budget.runs - sum(spent.values()))
    known = {same: cost for same, cost in costs.items() if cost is not None}
    if len(known) < len(costs) or not any(known.values()):
        return None
    return max(0.0, budget.seconds - sum(known[same] * runs for same, runs in spent.items()))


def _round_cost(budget: Budget, costs: _Costs, of: Iterable[_Same]) -> float:
    """The part of the budget that a round takes: runs, or seconds if the budget is a time."""
    if math.isfinite(budget.runs):
        return float(len(list(of)))
    return sum(costs[same] or 0.0 for same in of)
