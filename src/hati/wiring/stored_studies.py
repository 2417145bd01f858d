"""Stored studies, concluded and reported without measuring; and what stored runs show together."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec
from msgspec import Struct

from hati.core import (
    Assignment,
    Benchmark,
    Configuration,
    InputError,
    Metric,
    Outcome,
    Revision,
    RevisionKind,
    StudyId,
    replace,
)
from hati.core.wording import listed
from hati.knowledge import Coverage
from hati.store import StudyRecord
from hati.studies.comparison import AUTO, Automatic, Statistic, StatisticChoices
from hati.studies.failure_search import StoredTree, failure_tree
from hati.studies.failure_search.outcomes import is_infrastructure
from hati.studies.gate import Cell
from hati.wiring.campaigns import ASKED
from hati.wiring.known.named import selection_of
from hati.wiring.known.screenings import coverage_of
from hati.wiring.screening.reporting import stored_screening_report
from hati.wiring.screening.requested import chosen_metric
from hati.wiring.screening.stored import benchmark_of, record_of, screening_key
from hati.wiring.study_types import StudyReport, convert_request, study_type
from hati.wiring.workplace import Workplace, existing_store

if TYPE_CHECKING:
    from hati.studies.line_coverage import LineCoverage


R = TypeVar("R", bound=Struct)


class StoredStudy(Struct, frozen=True, dict=True):
    """A study's record, and the project as it is now; ``wanted`` is the name of a metric.

    Records of earlier versions of Hati lack the request: the command's defaults replace it.
    """

    place: Workplace
    record: StudyRecord
    wanted: str | None = None

    @cached_property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters that determine the study's tasks."""
        found: Mapping[str, Any] = json.loads(self.record.id.parameters)
        return found

    @property
    def id(self) -> StudyId:
        """The study's identity."""
        return self.record.id

    def asked(self, request: type[R]) -> R | None:
        """The request of the study; None where its record lacks it."""
        known = json.loads(self.record.choice or "{}").get(ASKED)
        try:
            return None if known is None else convert_request(known, request)
        except msgspec.ValidationError:  # of another version of the kind
            return None

    @cached_property
    def _several(self) -> bool:
        """Whether the study has several benchmarks; its record lists all their metrics together, each name once."""
        each = self.parameters.get("cells") or self.parameters.get("variants") or ()
        return len({name for name, *_ in each}) > 1

    def benchmark(self, name: str) -> Benchmark:
        """The project's benchmark with a name, with the metrics at that time if the record lists them."""
        if self._several:
            return self.place.project.benchmark(name)
        return benchmark_of(self.place, self.record, name)

    def metric(self, benchmark: Benchmark, asked: str | None) -> Metric:
        """The metric of the current request, else that of the study's request, else the benchmark's only one."""
        return chosen_metric(benchmark, self.wanted or asked)

    def cells(self) -> tuple[Cell, ...]:
        """The configurations with their strata and weights."""
        return tuple(
            Cell(self.benchmark(name), Configuration(settings), Assignment(stratum), weight)
            for name, _, settings, stratum, weight in self.parameters["cells"]
        )

    def revisions(self, first: str = "", last: str = "") -> tuple[Revision, ...]:
        """The revisions of the study, described if the repository still has them.

        ``first`` and ``last`` are the names that the request gave.
        """
        start, *others, end = map(self._revision, self.parameters["revisions"])
        return (replace(start, given=first), *others, replace(end, given=last))

    def _revision(self, text: str) -> Revision:
        history = self.place.revisions().history
        try:
            found = history.find(text) if history else None
        except InputError:
            found = None
        return found if found and found.id == text else Revision(text, _kind(text))

    def coverage(self, cells: Sequence[Cell]) -> tuple[Coverage, ...]:
        """The coverage of the project's space by the cells."""
        return coverage_of(self.place.project.space, cells, f"those of {self.id.key}")

    def choices(self) -> StatisticChoices:
        """The statistics that were chosen."""
        return StatisticChoices.from_json(self.record.choice) if self.record.choice else StatisticChoices()

    def statistic(self, otherwise: str = "mean") -> Statistic | Automatic:
        """The statistic of a run: ``AUTO`` if the study chose one, else ``otherwise``."""
        return AUTO if self.choices().rows else Statistic.parse(otherwise)


_KINDS = {r"[0-9a-f]{40}": RevisionKind.GIT, r"r[0-9]+": RevisionKind.SVN, r".+==.+": RevisionKind.PACKAGE}


def _kind(revision: str) -> RevisionKind:
    """The kind of a revision that its repository lacks, by the form of its id."""
    return next((kind for form, kind in _KINDS.items() if re.fullmatch(form, revision)), RevisionKind.DIRECTORY)


_OTHER_REPORTS = {"probe": "see its properties by `hati probe`, which reuses fresh results, or by `hati probe diff`"}
"""How to see stored results that are not studies of a project, by their kind."""


def stored_report(place: Workplace, key: str, metric: str | None = None) -> StudyReport:
    """The report of the study with a key, with a note on what its record lacks.

    Raises:
        InputError: for an unknown study, formulas, which no store keeps, or where the project no longer fits it.
        MeasurementError: where it measured too little.
    """
    stored = StoredStudy(place, record_of(place, key), metric)
    kind = study_type(stored.id.kind)
    if kind is None:
        raise InputError(
            f"{key} cannot be reported: it is a {stored.id.kind!r}",
            fix=_OTHER_REPORTS.get(stored.id.kind, "install the package that adds this kind of study"),
        )
    if metric is not None and not kind.metrics_apart:
        raise InputError(f"{stored.id.key} is of all its metrics", fix="leave out --metric")
    return _with_missing(kind.reported(stored), kind.missing(stored))


def _with_missing(report: StudyReport, missing: tuple[str, ...]) -> StudyReport:
    if not missing:
        return report
    document = report.document
    fact = ("not stored", f"{listed(missing)}: the defaults of the command")
    return replace(report, document=replace(document, facts=(*document.facts, fact)))


def report_of(place: Workplace, key: str) -> StudyReport:
    """The report of any study by its key, or the beginning of it; for a recommendation, that of its screening.

    Raises:
        InputError: for an unknown study, or one that cannot be restored.
        MeasurementError: where it measured too little.
    """
    screening = screening_key(place, key)
    return stored_report(place, key) if screening is None else stored_screening_report(place, screening)


def stored_lines(path: Path, store: str | None, study: str | None, benchmark: str | None) -> LineCoverage:
    """The merged lines of a benchmark's stored runs, of one study or of all.

    Raises:
        InputError: where no runs have any, or they are of several benchmarks or revisions.
    """
    from hati.studies.line_coverage import merged_lines

    place = existing_store(path, store)
    runs = [run for run in place.runs(selection_of(place, study, benchmark)) if run.executed_lines]
    about = {(run.task.benchmark, run.task.revision) for run in runs}
    names, revisions = sorted({name for name, _ in about}), {revision for _, revision in about}
    if len(names) > 1:
        raise InputError(f"the runs are of the benchmarks {listed(names)}", fix="name one by --benchmark")
    if len(revisions) > 1:
        raise InputError(
            f"the runs are of {len(revisions)} revisions, whose lines differ", fix="name a study by --study"
        )
    found = merged_lines(names[0], runs) if names else None
    if found is None:
        raise InputError(
            "the store has no runs with executed lines", fix='measure a benchmark with reader = "coverage"'
        )
    return found


def stored_tree(path: Path, store: str | None, study: str | None, benchmark: str | None, seed: int) -> StoredTree:
    """The classification tree of a benchmark's stored runs, of one study or of all.

    Raises:
        InputError: where there are no runs, or runs of several benchmarks.
        NotInstalledError: without the extra ``trees``.
    """
    place = existing_store(path, store)
    runs = [run for run in place.runs(selection_of(place, study, benchmark)) if not is_infrastructure(run)]
    names = sorted({run.task.benchmark for run in runs})
    if not names:
        raise InputError("the store has no such runs", fix="`hati runs` lists them; `hati failures` runs a benchmark")
    if len(names) > 1:
        raise InputError(f"the runs are of the benchmarks {listed(names)}", fix="name one by --benchmark")
    failed = sum(run.outcome is not Outcome.DONE for run in runs)
    return StoredTree(names[0], failed, len(runs), failure_tree(runs, seed, place.machines()))
