"""Reports of screenings, and of any study by its key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.report import ScreeningJson, screening_document, screening_json
from hati.studies.screening import RELEVANT, ScreeningConclusion
from hati.wiring.known import known_of
from hati.wiring.machines import with_machines
from hati.wiring.recalibrating import stored_changes
from hati.wiring.recommending import stored_recommendation
from hati.wiring.stored import conclude_stored, screening_key
from hati.wiring.stored_studies import stored_report
from hati.wiring.study_types import StudyReport
from hati.wiring.validating import validation_of
from hati.wiring.workplace import Workplace

if TYPE_CHECKING:
    from hati.report import Knowledge
    from hati.studies.recalibration import EffectChanges
    from hati.studies.recommendation import RecommendationConclusion


def screening_report(
    place: Workplace,
    conclusion: ScreeningConclusion,
    advice: RecommendationConclusion | None = None,
    changes: EffectChanges | None = None,
    known: Knowledge | None = None,
) -> StudyReport:
    """A screening, with the changes of a recalibration, recommendations and later knowledge; as JSON its validation
    too. A page of it is kept.
    """

    def values() -> ScreeningJson:
        validation = validation_of(place, conclusion.study, conclusion.metric.name)
        return screening_json(conclusion, validation, advice, changes, known)

    document = screening_document(conclusion, advice, changes, known)
    return StudyReport(document, values, kept=conclusion.metric.name)


def stored_screening_report(
    place: Workplace, key: str | None, metric: str | None = None, relevant: float = RELEVANT
) -> StudyReport:
    """The same for a stored study: of a key, or the last one.

    Raises:
        InputError: for an unknown study, or one that the project no longer fits.
        MeasurementError: where nothing was measured.
    """
    conclusion = conclude_stored(place, key, metric, relevant)
    changes, advice = stored_changes(place, conclusion), stored_recommendation(place, conclusion)
    report = screening_report(place, conclusion, advice, changes, known_of(place, conclusion))
    return with_machines(place, report, conclusion.study)


def report_of(place: Workplace, key: str) -> StudyReport:
    """The report of any study by its key, or the beginning of it; a recommendation's is that of its screening.

    Raises:
        InputError: for an unknown study, or one that cannot be restored.
        MeasurementError: where it measured too little.
    """
    screening = screening_key(place, key)
    return stored_report(place, key) if screening is None else stored_screening_report(place, screening)
