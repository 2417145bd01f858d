"""Reports of screenings with the current knowledge in the store, of any study by its key, and of stored failures."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from hati.core import InputError, Outcome, replace
from hati.core.wording import listed
from hati.project.project import unreached_warning
from hati.studies.failure_search import StoredTree, failure_tree
from hati.studies.failure_search.outcomes import is_infrastructure
from hati.studies.known import Knowledge
from hati.studies.screening import RELEVANT, ScreeningConclusion
from hati.studies.screening.document import screening_document
from hati.studies.screening.values import ScreeningJson, screening_json
from hati.wiring.campaigns import run_cost
from hati.wiring.known.benchmarks import known_statistic, known_warm_up
from hati.wiring.known.named import selection_of
from hati.wiring.known.screenings import important_options, known_variation
from hati.wiring.screening.recalibration import stored_changes
from hati.wiring.screening.recommendation import stored_recommendation
from hati.wiring.screening.stored import conclude_stored, screening_key
from hati.wiring.screening.validation import validation_of
from hati.wiring.stored_studies import stored_report
from hati.wiring.study_types import StudyReport, with_machines
from hati.wiring.workplace import Workplace, existing_store

if TYPE_CHECKING:
    from hati.studies.recalibration import EffectChanges
    from hati.studies.recommendation import RecommendationConclusion


def known_of(place: Workplace, found: ScreeningConclusion, now: datetime | None = None) -> Knowledge | None:
    """The knowledge for planning a new study of the same benchmark and metric; None where the project lacks these.

    ``now`` is the time at which ages are computed [default: the clock's].
    """
    time = now or datetime.now(UTC)
    benchmark = next((each for each in place.project.benchmarks if each.name == found.benchmark), None)
    metric = next((each for each in benchmark.metrics if each.name == found.metric.name), None) if benchmark else None
    if benchmark is None or metric is None:
        return None
    return Knowledge(
        important=important_options(place, benchmark, metric, time),
        statistic=known_statistic(place, benchmark.name, metric.name, now=time),
        cost=run_cost(place, benchmark, time),
        variation=known_variation(place, benchmark, metric, time),
        warm_up=known_warm_up(place, benchmark, metric.name, time),
    )


def screening_report(
    place: Workplace,
    conclusion: ScreeningConclusion,
    advice: RecommendationConclusion | None = None,
    changes: EffectChanges | None = None,
    known: Knowledge | None = None,
) -> StudyReport:
    """The report of a screening, with the changes of a recalibration, recommendations and later knowledge.

    The JSON has its validation too. A page of the report is kept.
    """

    def values() -> ScreeningJson:
        validation = validation_of(place, conclusion.study, conclusion.metric.name)
        return screening_json(conclusion, validation, advice, changes, known)

    document = screening_document(conclusion, advice, changes, known)
    if place.table is None and (warning := unreached_warning(place.project)):
        document = replace(document, warnings=(warning, *document.warnings))
    return StudyReport(document, values, kept=conclusion.metric.name)


def stored_screening_report(
    place: Workplace, key: str | None, metric: str | None = None, relevant: float = RELEVANT
) -> StudyReport:
    """The report of a stored screening: the one with a key, or the last one.

    Raises:
        InputError: for an unknown study, or one that the project no longer fits.
        MeasurementError: where nothing was measured.
    """
    conclusion = conclude_stored(place, key, metric, relevant)
    changes, advice = stored_changes(place, conclusion), stored_recommendation(place, conclusion)
    report = screening_report(place, conclusion, advice, changes, known_of(place, conclusion))
    return with_machines(place, report, conclusion.study)


def report_of(place: Workplace, key: str) -> StudyReport:
    """The report of any study by its key, or the beginning of it; for a recommendation, that of its screening.

    Raises:
        InputError: for an unknown study, or one that cannot be restored.
        MeasurementError: where it measured too little.
    """
    screening = screening_key(place, key)
    return stored_report(place, key) if screening is None else stored_screening_report(place, screening)


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
