"""``hati screen``: which options matter?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from msgspec import Struct

from hati.core import (
    InputError,
    replace,
)
from hati.studies.screening.request import ScreeningRequest
from hati.wiring.study_types import PROJECT_OR_TABLE, StudyReport, StudyType

if TYPE_CHECKING:
    from hati.campaign import Observer
    from hati.studies.recalibration import EffectChanges
    from hati.studies.recommendation import Recommendation, RecommendationConclusion
    from hati.studies.screening import AnyScreening, Pilot, ScreeningConclusion
    from hati.wiring.campaigns import Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Announce, Workplace


class ScreeningAnswer(Struct, frozen=True):
    """A screening's findings, the recommendations from it, and its differences from the repeated screening."""

    conclusion: ScreeningConclusion
    advice: RecommendationConclusion | None = None
    changes: EffectChanges | None = None


class ScreeningType(StudyType[ScreeningRequest, "AnyScreening | Pilot | Recommendation", ScreeningAnswer]):
    """The screening of options, and the recommendations from it or from an earlier screening."""

    name, kind, request = "screen", "screening", ScreeningRequest
    lent = True
    place_help = PROJECT_OR_TABLE
    metrics_apart = True

    def other_metrics(self, request: ScreeningRequest) -> tuple[str, ...]:
        """Those of rules."""
        return tuple(dict.fromkeys(rule.metric for rule in request.rules if rule.metric != request.metric))

    def prepare(self, place: Workplace, request: ScreeningRequest, *, fresh: bool) -> Prepared[Any, Any]:
        """The campaign of a screening, or of a recommendation if the screening that it continues is known."""
        from hati.wiring.screening.campaign import prepare_screening
        from hati.wiring.screening.recalibration import prepare_recalibration
        from hati.wiring.screening.recommendation import prepare_recommended

        if place.table is not None and request.budget is None:
            raise InputError(
                "nothing says how many runs of the table may be looked up", fix="say it, as in --budget 32"
            )
        if request.recommend:
            return prepare_recommended(place, request, fresh=fresh)
        return (prepare_recalibration if request.recalibrate else prepare_screening)(place, request, fresh=fresh)

    def make(
        self, prepared: Prepared[Any, Any], request: ScreeningRequest, announce: Announce, observe: Observer
    ) -> ScreeningAnswer:
        """Screen, or resume the screening, then confirm the recommendations."""
        from hati.wiring.screening.campaign import ScreeningCampaign
        from hati.wiring.screening.recalibration import changes_of
        from hati.wiring.screening.recommendation import RecommendationCampaign, prepare_continued

        changes = None
        if isinstance(prepared, ScreeningCampaign):
            found = prepared.make(announce, observe, request)
            changes = changes_of(prepared, found)
            if not request.recommend:
                return ScreeningAnswer(found, changes=changes)
            prepared = prepare_continued(prepared, found, request)
        assert isinstance(prepared, RecommendationCampaign)
        return ScreeningAnswer(prepared.known.conclusion, prepared.make(announce, observe), changes)

    def restore(self, stored: StoredStudy) -> AnyScreening:
        """The screening from its record."""
        from hati.wiring.screening.stored import stored_screening

        return stored_screening(stored.place, stored.id.key, stored.wanted)

    def reported(self, stored: StoredStudy) -> StudyReport:
        """The screening with later knowledge in the store: a validation, recommendations, changes."""
        from hati.wiring.reporting import stored_screening_report

        return stored_screening_report(stored.place, stored.id.key, stored.wanted)

    def report(
        self,
        place: Workplace,
        study: AnyScreening | Pilot | Recommendation,
        found: ScreeningAnswer,
        request: ScreeningRequest | None,
    ) -> StudyReport:
        """The effects; the page is kept."""
        del study, request
        from hati.wiring.reporting import screening_report

        report = screening_report(place, found.conclusion, found.advice, found.changes)
        return replace(report, conclusion=found.conclusion)

    def title(self, study: AnyScreening | Pilot | Recommendation) -> str:
        """Its benchmark."""
        return study.benchmark.name

    def nothing_left(self, prepared: Prepared[Any, Any]) -> str:
        """Empty for a recommendation, whose report names its screening."""
        return "" if prepared.study.id.kind == "recommendation" else super().nothing_left(prepared)
