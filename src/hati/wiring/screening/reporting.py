"""The report of a screening, as it ends or from a store."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hati.core import replace
from hati.project.project import unreached_warning
from hati.store import StudyRecord
from hati.studies.known import Knowledge
from hati.studies.screening import RELEVANT, ScreeningConclusion
from hati.studies.screening.document import screening_document
from hati.studies.screening.values import ScreeningJson, screening_json
from hati.wiring.campaigns import GIVEN, run_cost
from hati.wiring.known.benchmarks import known_statistic
from hati.wiring.known.screenings import important_options, known_variation
from hati.wiring.known.warm_up import known_warm_up
from hati.wiring.screening.recommendation import stored_recommendation
from hati.wiring.screening.stored import conclude_stored, record_of, stored_changes
from hati.wiring.screening.validation import validation_of
from hati.wiring.study_machines import with_load, with_machines
from hati.wiring.study_types import StudyReport
from hati.wiring.workplace import Workplace

if TYPE_CHECKING:
    from hati.studies.recalibration import EffectChanges
    from hati.studies.recommendation import RecommendationConclusion


def known_of(place: Workplace, found: ScreeningConclusion) -> Knowledge | None:
    """The knowledge for planning a new study of the same benchmark and metric; None where the project lacks these."""
    time = datetime.now(UTC)
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

    conclusion = replace(conclusion, command=place.command(conclusion.benchmark))
    document = screening_document(conclusion, advice, changes, known)
    if place.table is None and (warning := unreached_warning(place.project)):
        document = replace(document, warnings=(warning, *document.warnings))
    return StudyReport(document, values, kept=conclusion.metric.name)


def _as_given(place: Workplace, record: StudyRecord) -> Workplace:
    """The workplace with the words that named the study's table, if it is one."""
    given = json.loads(record.choice or "{}").get(GIVEN)
    return place if given is None else replace(place, given=tuple(given))


def stored_screening_report(
    place: Workplace, key: str | None, metric: str | None = None, relevant: float = RELEVANT
) -> StudyReport:
    """The report of a stored screening: the one with a key, or the last one.

    Raises:
        InputError: for an unknown study, or one that the project no longer fits.
        MeasurementError: where nothing was measured.
    """
    conclusion = conclude_stored(place, key, metric, relevant)
    place = _as_given(place, record_of(place, conclusion.study))
    changes, advice = stored_changes(place, conclusion), stored_recommendation(place, conclusion)
    report = screening_report(place, conclusion, advice, changes, known_of(place, conclusion))
    studies = (conclusion.study,) if advice is None else (conclusion.study, advice.study)
    return with_machines(place, with_load(place, report, *studies), conclusion.study)
