"""Prepare assertions on this machine: what formulas need measured, here and by studies of other machines."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from msgspec import Struct

from hati.campaign import Observer, silent
from hati.core import Budget, Configuration, Evidence, InputError, Plan, Run, StudyId, Workload, replace
from hati.core.wording import counted
from hati.logic.syntax import MeasuredStatistic, Method, PerformanceSide, Relation, RelationSide
from hati.python import names_of, of_any_interpreter, unresolved
from hati.store import Selection, SqlStore
from hati.studies.assertion import (
    CONFIDENCE,
    STAGE,
    Assertion,
    Assured,
    DefinedRun,
    KnownMachine,
    MeasuredMethod,
    Portability,
    Requirement,
    SampleCollector,
    Standard,
    TakenRuns,
    assertion_id,
    check_relation,
    expected_rounds,
    expected_runs,
    portability,
    taken_runs,
)
from hati.subject import Revisions
from hati.subject.running.programs import RunFailure
from hati.wiring.campaigns import Campaign, Expected, PlannedCampaign, campaign_of, run_cost
from hati.wiring.formulas.loading import method_named
from hati.wiring.formulas.methods import (
    AskedMetrics,
    environments_of,
    interpreter_of,
    is_called,
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
        known = {each.name: run_cost(place, each) for each in self.benchmarks}
        methods = expected_runs(study, {name: entry.value for name, entry in known.items() if entry is not None})
        plan = Plan.of(study.dry_run_tasks(expected_rounds(methods)))
        costs = [each.least_seconds for each in methods]
        whole = sum(cost for cost in costs if cost is not None)
        expected = None if None in costs else Expected(whole, "by earlier runs of each method")
        reason = _reason(len(methods), len(study.requirements))
        return PlannedCampaign(reason, plan, expected, place.project.space.names, methods=tuple(methods))


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
        engine = partial(place.engine, benchmarks, trees=trees)
        found = AssertionCampaign(place, asked, limit, benchmarks, engine, str, Plan, revisions=revisions)
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


_KIND = "assertion"


def defined_runs(store: SqlStore, runs: Sequence[Run]) -> Iterator[DefinedRun]:
    """Each run of formulas with the definition of its benchmark at that time, empty if the store lacks it."""
    studies = {record.id.key: record.id for record in store.studies() if record.id.kind == _KIND}
    points = {key: list(_measured_points(studies[key])) for key in {run.task.study for run in runs} & studies.keys()}
    known: dict[tuple[str, str, str], str] = {}
    for run in runs:
        what = (run.task.study, run.task.benchmark, run.task.revision)
        if what not in known:
            found = {each.definition for each in points.get(run.task.study, ()) if each.is_of(run)}
            known[what] = found.pop() if len(found) == 1 else ""
        yield DefinedRun(run, known[what])


class _Point(Struct, frozen=True, dict=True):
    """A stored study's record of a method: the ``MeasuredMethod.identity`` of that time."""

    method: Method
    definition: str
    revision: str
    configuration: Configuration

    @cached_property
    def known(self) -> dict[str, Any]:
        """The parts of the definition."""
        return dict(json.loads(self.definition))

    def is_of(self, run: Run) -> bool:
        """Whether a run is one of this method."""
        task = run.task
        same = (self.revision, self.configuration) == (task.revision, task.configuration)
        on = Workload(self.known["workload"]) == task.workload
        return same and on and is_called(self.method, self.known, task.benchmark)


def _measured_points(study: StudyId) -> Iterator[_Point]:
    for text, definition, revision, configuration in json.loads(study.parameters)["points"]:
        yield _Point(method_named(text), definition, revision, Configuration(configuration))


_ANY_BUDGET = "1000000"
_MOST_REVISIONS = 5


def stored_portability(
    place: Workplace, requirements: Sequence[Requirement], names: tuple[str, str], confidence: float = CONFIDENCE
) -> Portability:
    """Compare two machines by the stored runs of ``hati assert``, of the revisions in the formulas and any campaign.

    Raises:
        InputError: where the store has no such machines, or no runs of both.
    """
    study = prepare_assertion(place, requirements, Standard(), _ANY_BUDGET, fresh=False).study
    named = _named(place, study)
    runs = _of_study(named, study)
    if named and not runs:
        raise InputError(
            f"{place.store.name} has runs of these formulas, but none of the revisions that they name now",
            fix=f"bring the files back, or write method@REVISION; there is {_revisions(named)}",
        )
    known = [_known(place, fingerprint) for fingerprint in dict.fromkeys(run.machine for run in runs)]
    first, second = chosen_machines(names, known, place.store.name)
    now = {point.benchmark.name: point.benchmark.definition for point in study.points.values()}
    both = (first.fingerprint, second.fingerprint)
    taken = taken_runs(list(defined_runs(place.store, runs)), now, both, of_any_interpreter)
    books = (_book(study, taken, first.fingerprint), _book(study, taken, second.fingerprint))
    found = portability(requirements, (first, second), books, confidence)
    return replace(found, set_aside=taken.set_aside, former=taken.former)


def sampled_portability(
    book: SampleCollector, requirements: Sequence[Requirement], names: tuple[str, str], confidence: float = CONFIDENCE
) -> Portability:
    """Compare two machines by samples in files, which name their machine.

    Raises:
        InputError: for an unknown machine, or where no sample is of both.
    """
    samples = [sample for each in book.samples.values() for sample in each]
    known = [KnownMachine(name, {}) for name in dict.fromkeys(sample.machine for sample in samples) if name]
    first, second = chosen_machines(names, known, "the samples")
    books = (_of_machine(book, first.fingerprint), _of_machine(book, second.fingerprint))
    return portability(requirements, (first, second), books, confidence)


def chosen_machines(
    names: tuple[str, str], known: Sequence[KnownMachine], where: str
) -> tuple[KnownMachine, KnownMachine]:
    """The two machines with these names.

    Raises:
        InputError: where no machine or several machines have a name, or both are the same.
    """
    first, second = (_chosen(name, known, where) for name in names)
    if first == second:
        raise InputError(f"--machines {' '.join(names)}: both are {first.name}", fix=f"there are {_listed(known)}")
    return first, second


def _chosen(text: str, known: Sequence[KnownMachine], where: str) -> KnownMachine:
    found = [machine for machine in known if machine.is_called(text)]
    if not found:
        fix = f"there are {_listed(known)}" if known else "nothing was measured of these formulas"
        raise InputError(f"--machines {text}: there is no run of these formulas on it in {where}", fix=fix)
    if len(found) > 1:
        raise InputError(f"--machines {text}: {len(found)} machines are called so", fix=f"write {_listed(found)}")
    return found[0]


def _listed(known: Iterable[KnownMachine]) -> str:
    names = [each.name if each.name == each.fingerprint else f"{each.fingerprint} ({each.name})" for each in known]
    return ", ".join(names)


def _known(place: Workplace, fingerprint: str) -> KnownMachine:
    machine = place.store.machine(fingerprint)
    states = [state for state in machine.states if state.fingerprint == fingerprint] if machine else []
    return KnownMachine(fingerprint, dict(states[0].properties) if states else {})


def _named(place: Workplace, study: Assertion) -> list[Run]:
    """The runs by ``hati assert`` of the study's benchmarks, on any machine and of any revision."""
    names = dict.fromkeys(point.benchmark.name for point in study.points.values())
    runs = [run for name in names for run in place.store.runs(Selection(benchmark=name))]
    return [run for run in runs if run.task.stage == STAGE]


def _of_study(runs: Iterable[Run], study: Assertion) -> tuple[Run, ...]:
    points = study.points.values()
    wanted = {(p.benchmark.name, p.revision.id, p.configuration.key, p.benchmark.workload.key) for p in points}
    return tuple(run for run in runs if _what(run) in wanted)


def _book(study: Assertion, taken: TakenRuns, machine: str) -> SampleCollector:
    """The measurements on a machine; for a method without valid runs, the reason."""
    book = study.book(Evidence(tuple(run for run in taken.runs if run.machine == machine)))
    names = {key: point.benchmark.name for key, point in study.points.items()}
    unlike = {
        key: f"its definition is not the same on both: {', '.join(taken.unlike[name])}"
        for key, name in names.items()
        if name in taken.unlike
    }
    return replace(book, missing={**book.missing, **unlike})


def _revisions(runs: Iterable[Run]) -> str:
    return ", ".join(list(dict.fromkeys(run.task.revision for run in runs))[-_MOST_REVISIONS:])


def _what(run: Run) -> tuple[str, str, str, str]:
    task = run.task
    return task.benchmark, task.revision, task.configuration.key, task.workload.key


def _of_machine(book: SampleCollector, machine: str) -> SampleCollector:
    found = {key: tuple(each for each in samples if each.machine == machine) for key, samples in book.samples.items()}
    missing = {key: "there is no sample of it" for key, samples in found.items() if not samples}
    return replace(book, samples={key: samples for key, samples in found.items() if samples}, missing=missing)
