"""Studies of every kind as a store holds them, to be concluded without measuring."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from hati.core import (
    Assignment,
    Benchmark,
    Budget,
    Configuration,
    InputError,
    Metric,
    Pairing,
    Revision,
    RevisionKind,
    Stopping,
    Study,
    StudyId,
)
from hati.core.wording import listed
from hati.harness import RULES
from hati.knowledge import Coverage
from hati.store import StudyRecord
from hati.studies.bisection import Bisection
from hati.studies.comparison import AUTO, Automatic, Question, Statistic, StatisticChoices
from hati.studies.effect_drift import EffectDriftStudy
from hati.studies.gate import Cell, Gate
from hati.studies.measurement import Measurement
from hati.studies.paired import PairedComparison, PairedDesign, Variant, shared_metrics
from hati.studies.replay import Replay, ReplayOrder
from hati.studies.suite import SuitePlan, SuiteStudy
from hati.wiring.cells import benchmarks_of, coverage_of
from hati.wiring.knowing import working_space
from hati.wiring.screening import chosen_metric
from hati.wiring.stored import benchmark_of, record_of
from hati.wiring.templates import space_then
from hati.wiring.validating import restored_validation
from hati.wiring.warming import warm_up_cuts
from hati.wiring.workplace import Workplace

Parameters = Mapping[str, Any]


class Restoring(Struct, frozen=True, dict=True):
    """What a study is restored from: its record, and the project as it is now; ``asked`` is a metric's name.

    What a record does not keep is that of the command's defaults, such as the level of a comparison of pairs.
    """

    place: Workplace
    record: StudyRecord
    asked: str | None = None

    @cached_property
    def parameters(self) -> Parameters:
        """What decides the study's tasks."""
        found: Parameters = json.loads(self.record.id.parameters)
        return found

    @property
    def id(self) -> StudyId:
        """The study's identity."""
        return self.record.id

    @cached_property
    def _several(self) -> bool:
        """Whether the study is of several benchmarks: a record has their metrics together, each name once."""
        each = self.parameters.get("cells") or self.parameters.get("variants") or ()
        return len({name for name, *_ in each}) > 1

    def benchmark(self, name: str) -> Benchmark:
        """The project's of that name, with the metrics of then where the record tells which they were."""
        if self._several:
            return self.place.project.benchmark(name)
        return benchmark_of(self.place, self.record, name)

    def metric(self, benchmark: Benchmark) -> Metric:
        """The one that was asked for, else the benchmark's only one."""
        return chosen_metric(benchmark, self.asked)

    def cells(self) -> tuple[Cell, ...]:
        """The configurations with their strata and weights."""
        return tuple(
            Cell(self.benchmark(name), Configuration(settings), Assignment(stratum), weight)
            for name, _, settings, stratum, weight in self.parameters["cells"]
        )

    def revisions(self) -> tuple[Revision, ...]:
        """The revisions of the study, by their names where the repository still has them."""
        return tuple(map(self._revision, self.parameters["revisions"]))

    def _revision(self, text: str) -> Revision:
        history = self.place.revisions().history
        try:
            found = history.find(text) if history else None
        except InputError:
            found = None
        return found if found and found.id == text else Revision(text, _kind(text))

    def coverage(self, cells: Sequence[Cell]) -> tuple[Coverage, ...]:
        """What the cells cover of the project's space."""
        return coverage_of(self.place.project.space, cells, f"those of {self.id.key}")

    def choices(self) -> StatisticChoices:
        """The statistics that were chosen."""
        return StatisticChoices.from_json(self.record.choice) if self.record.choice else StatisticChoices()

    def statistic(self, otherwise: str = "mean") -> Statistic | Automatic:
        """What stood for a run: what was chosen where anything was."""
        return AUTO if self.choices().rows else Statistic.parse(otherwise)


_KINDS = {r"[0-9a-f]{40}": RevisionKind.GIT, r"r[0-9]+": RevisionKind.SVN, r".+==.+": RevisionKind.PACKAGE}


def _kind(revision: str) -> RevisionKind:
    """What the id of a revision shows, where its repository does not have it."""
    return next((kind for form, kind in _KINDS.items() if re.fullmatch(form, revision)), RevisionKind.DIRECTORY)


def restored_study(place: Workplace, key: str, metric: str | None = None) -> Study[Any]:
    """The study of a key, of any kind but screenings, to be concluded from what the store holds.

    Raises:
        InputError: where there is no such study, formulas are needed that no store keeps, or the project no longer
            fits it.
    """
    record = record_of(place, key)
    make = _RESTORED.get(record.id.kind)
    if make is None:
        raise InputError(
            f"{key} cannot be reported: a store keeps no formulas",
            fix="give the command that made it again; it takes the stored runs",
        )
    if metric is not None and record.id.kind not in _OF_ONE_METRIC:
        raise InputError(f"{record.id.key} is of all its metrics", fix="leave out --metric")
    return make(Restoring(place, record, metric))


def _gate(known: Restoring) -> Gate:
    reference, revision = known.revisions()
    alpha, margin, statistic = known.parameters["question"]
    cells = known.cells()
    return Gate(
        known.id,
        reference,
        revision,
        cells,
        Question(alpha, margin, known.statistic(statistic)),
        Budget(),
        known.coverage(cells),
        known.choices(),
        warm_up_cuts(known.place, known.id, benchmarks_of(cells)),
    )


def _bisection(known: Restoring) -> Bisection:
    name, _, settings = known.parameters["benchmark"]
    alpha, statistic = known.parameters["question"]
    benchmark = known.benchmark(name)
    return Bisection(
        known.id,
        benchmark,
        Configuration(settings),
        chosen_metric(benchmark, known.parameters["metric"]),
        known.revisions(),
        Question(alpha, statistic=Statistic.parse(statistic)),
        Budget(),
    )


def _effect_drift(known: Restoring) -> EffectDriftStudy:
    benchmark = known.benchmark(known.parameters["benchmark"][0])
    reference, revision = known.revisions()
    return EffectDriftStudy(
        known.id,
        benchmark,
        known.metric(benchmark),
        tuple(map(Configuration, known.parameters["configurations"])),
        reference,
        revision,
        known.parameters["rounds"],
        Question(),
    )


def _measurement(known: Restoring) -> Measurement:
    parameters = known.parameters
    return Measurement(
        known.id,
        known.benchmark(parameters["benchmark"]),
        tuple(map(Configuration, parameters["configurations"])),
        parameters["revision"],
        Budget.parse(parameters["budget"]),
    )


def _paired(known: Restoring) -> PairedComparison:
    parameters = known.parameters
    before, after = (
        Variant(known.benchmark(name), Configuration(settings)) for name, _, settings in parameters["variants"]
    )
    pairing, rule = Pairing(parameters["pairing"]), RULES[Stopping(parameters["stopping"])]
    question = Question(statistic=known.statistic())
    design = PairedDesign(
        before, after, parameters["revision"], known.id.machine, question, rule, pairing, known.choices()
    )
    metrics, budget = shared_metrics(before, after, known.asked), parameters["budget"]
    return PairedComparison(known.id, design, metrics, Budget.parse(budget) if budget else Budget())


def _replay(known: Restoring) -> Replay:
    parameters, cells = known.parameters, known.cells()
    return Replay(
        known.id,
        known.revisions(),
        cells,
        parameters["repetitions"],
        ReplayOrder(parameters["order"]),
        known.statistic(),
        known.choices(),
        known.coverage(cells),
    )


def _suite(known: Restoring) -> SuiteStudy:
    parameters, project = known.parameters, known.place.project
    benchmark = known.benchmark(parameters["benchmark"])
    spaces = (space_then(project.space, known.record), working_space(known.place, benchmark)[0])
    space = next((each for each in spaces if each.digest == parameters["space"]), None)
    if space is None:
        raise InputError(
            f"the options in {project.file} are not those of {known.id.key}",
            fix="report another study, or bring the options back",
        )
    plan = SuitePlan(
        tuple(parameters["options"]),
        tuple(parameters["ranking"]),
        parameters["size"],
        parameters["repetitions"],
        parameters["sampled"],
        "of the stored suite",
    )
    metric = known.metric(benchmark)
    return SuiteStudy(known.id, parameters["subject"], benchmark, metric, parameters["revision"], space, plan)


_RESTORED: dict[str, Callable[[Restoring], Study[Any]]] = {
    "gate": _gate,
    "bisection": _bisection,
    "effect-drift": _effect_drift,
    "measurement": _measurement,
    "paired": _paired,
    "replay": _replay,
    "suite": _suite,
    "validation": lambda known: restored_validation(known.place, known.id),
}
_OF_ONE_METRIC = {"effect-drift", "paired", "suite"}
"""The kinds whose metric no record has."""
_ASSUMED = {
    "effect-drift": ("level",),
    "paired": ("level", "margin"),
    "replay": ("level",),
    "suite": ("margin", "levels of quantiles", "data to compare with"),
}
"""What no record has of these kinds."""


def assumed(place: Workplace, study: StudyId) -> str:
    """What a store does not have of a study and a report takes from the command's defaults, in words; may be empty."""
    missing = list(_ASSUMED.get(study.kind, ()))
    if study.kind in {"paired", "replay"} and not Restoring(place, record_of(place, study.key)).choices().rows:
        missing.append("statistic (here the mean)")
    return f"{listed(missing)}: the defaults of the command" if missing else ""
