"""Prepare assertions on this machine: what formulas need measured, in one campaign."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from msgspec import Struct

from hati.campaign import Observer, silent
from hati.core import Benchmark, Budget, InputError, Plan, StudyId, replace
from hati.core.wording import counted
from hati.document import duration
from hati.logic.syntax import MeasuredStatistic, Method, PerformanceSide, Relation, RelationSide
from hati.python import names_of, unresolved
from hati.studies.assertion import (
    Assertion,
    Assured,
    MeasuredMethod,
    Requirement,
    SampleCollector,
    Standard,
    assertion_id,
    check_relation,
    expected_rounds,
    expected_runs,
)
from hati.subject import Revisions
from hati.subject.running.programs import RunFailure
from hati.wiring.campaigns import Campaign, Expected, PlannedCampaign, campaign_of, run_cost
from hati.wiring.formulas.methods import (
    AskedMetrics,
    environments_of,
    interpreter_of,
    is_function,
    point_of,
    validate_metric,
    without_revision,
)
from hati.wiring.workplace import Announce, Workplace, mute

_MOST_LISTED = 5
_RELEASE = "=="


class ShortBudgetError(InputError):
    """A budget of fewer runs than ``least``, the number that decides all formulas at the earliest."""

    def __init__(self, message: str, least: int) -> None:
        super().__init__(message, fix=f"give --budget {least} or more, or a time such as 2m")
        self.least = least


class AssertionCampaign(Campaign[Assertion, Assured], frozen=True, kw_only=True):
    """The campaign of the methods of formulas."""

    revisions: Revisions

    @property
    def known(self) -> bool:
        """Whether everything was measured before."""
        return self.finished and bool(self.evidence().runs)

    @property
    def in_vain(self) -> bool:
        """Whether nothing is left to run because methods failed; they may work by now."""
        return self.finished and self.study.gave_up(self.evidence())

    @property
    def able(self) -> bool:
        """Whether runs are left, and the budget covers at least the runs that the open formulas need."""
        evidence = self.evidence()
        return not self.finished and self.study.least_left(evidence) <= self.budget.left(evidence).runs

    @property
    def least(self) -> int:
        """The fewest runs that decide all formulas."""
        return sum(each.least for each in expected_runs(self.study, {}))

    def again(self) -> AssertionCampaign:
        """The same campaign, in which failed methods are measured again."""
        return replace(self, study=self.study.forgiving(self.evidence()))

    def make(self, announce: Announce = mute, observe: Observer = silent, asked: Struct | None = None) -> Assured:
        """Run the campaign, or the rest of it, and conclude; formulas without methods are not stored.

        Raises:
            MeasurementError: where nothing could be measured.
        """
        return self.study.conclude(self.evidence()) if self.finished else super().make(announce, observe, asked)

    def planned(self) -> PlannedCampaign:
        """The rounds that decide at the earliest, and the possible number of runs of each method."""
        study, place = self.study, self.place
        known = {each.name: cost for each in self.benchmarks if (cost := _run_seconds(place, each)) is not None}
        methods = expected_runs(study, known)
        plan = Plan.of(study.dry_run_tasks(expected_rounds(methods)))
        costs = [each.least_seconds for each in methods]
        whole = sum(cost for cost in costs if cost is not None)
        expected = None if None in costs else Expected(whole, "by earlier runs of each method")
        reason = _reason(len(methods), len(study.requirements))
        if expected is not None and expected.seconds > study.budget.seconds:
            reason += f"; the budget of {duration(study.budget.seconds)} is too short to decide"
        return PlannedCampaign(reason, plan, expected, place.project.space.names, methods=tuple(methods))


def _run_seconds(place: Workplace, benchmark: Benchmark) -> float | None:
    """The seconds of a run of a benchmark, from its runs, or from those of the project's that differs in name alone."""
    alike = (each for each in place.project.benchmarks if replace(each, name=benchmark.name) == benchmark)
    known = (run_cost(place, each) for each in (benchmark, *alike))
    return next((each.value for each in known if each is not None), None)


def prepare_assertion(
    place: Workplace, requirements: Sequence[Requirement], standard: Standard, budget: str, *, fresh: bool
) -> AssertionCampaign:
    """Find the campaign to resume, or number a new one.

    A finished one is used as it is unless ``fresh``. If formulas are open because methods failed, these methods are
    measured again; if the rest of the budget is too small to decide, all methods are.

    Raises:
        InputError: where a formula names an unknown method, or one that cannot be measured.
        ShortBudgetError: where the budget cannot decide.
    """
    revisions = place.revisions(_python_of_releases(place, requirements))
    points = _points(place, revisions, requirements)
    _check(requirements, points, standard)
    benchmarks = tuple({point.benchmark.name: point.benchmark for point in points.values()}.values())
    first = assertion_id(requirements, list(points.values()), standard, place.measured_on.id)

    def prepared(study: StudyId) -> AssertionCampaign:
        limit = Budget.parse(budget)
        asked = Assertion(study, tuple(requirements), points, standard, limit)
        trees = revisions.trees(place.project.root)
        found = AssertionCampaign(place, asked, limit, benchmarks, str, Plan, trees=trees, revisions=revisions)
        return again if found.in_vain and (again := found.again()).able else found

    found = campaign_of(place, first, prepared, lambda each: each.in_vain, fresh=fresh)
    _validate_budget(found.study)
    return found


def _validate_budget(study: Assertion) -> None:
    """Raise if the budget has fewer runs than decide all formulas at the earliest."""
    methods = expected_runs(study, {})
    least = sum(each.least for each in methods)
    if study.budget.runs < least:
        listed = [f"{each.least} of {each.methods[0]}" for each in methods]
        others = [f"{len(listed) - _MOST_LISTED} others"] if len(listed) > _MOST_LISTED else []
        given = counted(int(study.budget.runs), "run")
        takes = ", ".join([*listed[:_MOST_LISTED], *others])
        raise ShortBudgetError(f"{given} cannot decide: it takes {takes}", least)


def unresolved_names(prepared: AssertionCampaign) -> tuple[InputError | None, ...]:
    """The error of each formula that names a Python function of the working tree which cannot be measured, else None.

    Nothing is looked up if nothing is left to run.
    """
    study = prepared.study
    none = (None,) * len(study.requirements)
    if prepared.finished:
        return none
    here = {key for each in study.requirements for key in _of_working_tree(each)}
    names = {key: names_of(study.points[key].benchmark) for key in here if not study.points[key].benchmark.build}
    reasons = _reasons(prepared, names)
    if not reasons:
        return none
    return tuple(_unresolved_of(requirement, names, reasons) for requirement in study.requirements)


def _reasons(prepared: AssertionCampaign, names: Mapping[str, Sequence[tuple[str, str]]]) -> dict[str, str]:
    """The reasons why references cannot be measured in the working tree, by their text."""
    every = [name for listed in names.values() for name in listed]
    if not every:
        return {}
    project, revision = prepared.place.project, prepared.study.points[next(iter(names))].revision
    with TemporaryDirectory(prefix="hati-") as folder:
        try:
            tree = prepared.revisions.trees(Path(folder)).tree(revision.id).folder
        except RunFailure:  # the first run shows it
            return {}
        return unresolved(every, project.root, tree, interpreter_of(project.python))


def _of_working_tree(requirement: Requirement) -> Iterator[str]:
    """The texts of a formula's methods in the working tree."""
    for _, relation in _relations([requirement]):
        yield from (str(method) for method in _methods(relation) if method.revision in {"", "."})


def _unresolved_of(
    requirement: Requirement, names: Mapping[str, Sequence[tuple[str, str]]], reasons: Mapping[str, str]
) -> InputError | None:
    methods = (method for _, relation in _relations([requirement]) for method in _methods(relation))
    for method in methods:
        for _, text in names.get(str(method), ()):
            if text in reasons:
                try:
                    with requirement.placing(method):
                        raise InputError(reasons[text])
                except InputError as error:
                    return error
    return None


def _reason(methods: int, formulas: int) -> str:
    decided = f"{counted(formulas, 'formula')} {'is' if formulas == 1 else 'are'} decided"
    return f"{counted(methods, 'method')} in rounds, until {decided}"


def _python_of_releases(place: Workplace, requirements: Sequence[Requirement]) -> str:
    """The interpreter to install releases for: the one that measures their functions, else empty for the default."""
    methods = (method for _, relation in _relations(requirements) for method in _methods(relation))
    functions = any(_RELEASE in method.revision and is_function(place, method) for method in methods)
    project = place.project
    return interpreter_of(project.python).file(project.root) if functions else ""


def _methods(relation: Relation) -> list[Method]:
    return [side.measured.method for side in (relation.left, relation.right) if isinstance(side, PerformanceSide)]


def _points(place: Workplace, revisions: Revisions, requirements: Sequence[Requirement]) -> dict[str, MeasuredMethod]:
    """The methods of the formulas, by their texts; all revisions of a method record the same metrics."""
    metrics: dict[str, dict[str, tuple[MeasuredStatistic, Requirement]]] = defaultdict(dict)
    asked: dict[str, AskedMetrics] = defaultdict(AskedMetrics)
    where: dict[str, tuple[Method, Requirement]] = {}
    for requirement, relation in _relations(requirements):
        for side in (relation.left, relation.right):
            if isinstance(side, PerformanceSide):
                key = str(side.measured.method)
                metrics[key].setdefault(side.measured.metric, (side.measured, requirement))
                asked[str(without_revision(side.measured.method))] |= AskedMetrics.of(side)
                where.setdefault(key, (side.measured.method, requirement))
    find = cache(partial(revisions.find, start=place.project.root))
    environments = environments_of(place.project, revisions)
    points = {}
    for key, (method, requirement) in where.items():
        with requirement.placing(method):
            wanted = asked[str(without_revision(method))]
            points[key] = point_of(place, find, environments, method, wanted)
        for measured, asking in metrics[key].values():
            with asking.placing(measured.method):
                validate_metric(points[key], measured)
    return points


def _relations(requirements: Sequence[Requirement]) -> Iterator[tuple[Requirement, Relation]]:
    """The relations of all formulas, with each method resolved to the one that is measured."""
    for requirement in requirements:
        for relation in requirement.relations:
            yield requirement, requirement.resolved(relation, SampleCollector())


def _check(requirements: Sequence[Requirement], points: Mapping[str, MeasuredMethod], standard: Standard) -> None:
    """Refuse relations that no measurement could decide, before measuring."""
    for requirement, relation in _relations(requirements):
        with requirement.placing(relation):
            check_relation(relation, _unit(relation.left, points), _unit(relation.right, points), standard)


def _unit(side: RelationSide, points: Mapping[str, MeasuredMethod]) -> str | None:
    """The unit of a side; None for a limit, and for a metric of whole runs."""
    if not isinstance(side, PerformanceSide):
        return None
    return points[str(side.measured.method)].unit(side.measured.metric)
