"""``hati compare-effects``: which options matter more than they did?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from hati.core import BenchmarkName, MetricName, PositionalField, Seed, Templates, budget, level
from hati.wiring.study_types import StudyReport, StudyType

if TYPE_CHECKING:
    from hati.studies.effect_drift import EffectDrift, EffectDriftStudy
    from hati.wiring.campaigns import Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Workplace


class DriftRequest(Struct, frozen=True, kw_only=True):
    """Find the options whose effects changed between revisions.

    Measures the design of a screening at both revisions.
    """

    before: Annotated[str, PositionalField("Revision to compare with.", "BEFORE")]
    after: Annotated[str, PositionalField("Revision whose effects may have changed.", "AFTER")]
    benchmark: BenchmarkName = None
    metric: MetricName = None
    alpha: Annotated[float, level("over all verdicts together")] = 0.01
    budget: Annotated[str | None, budget("5m", "4 rounds")] = None
    template: Templates = ()
    seed: Seed = 1


class EffectDriftType(StudyType[DriftRequest, "EffectDriftStudy", "EffectDrift"]):
    """The comparison of effects."""

    name, kind, section, request = "compare-effects", "effect-drift", "Decide", DriftRequest
    unrecorded = ("level",)
    metrics_apart = True

    def prepare(
        self, place: Workplace, request: DriftRequest, *, fresh: bool
    ) -> Prepared[EffectDriftStudy, EffectDrift]:
        """The campaign of both revisions."""
        from hati.wiring.comparing import prepare_drift

        return prepare_drift(place, request, fresh=fresh)

    def restore(self, stored: StoredStudy) -> EffectDriftStudy:
        """The comparison from its record."""
        from hati.core import Configuration
        from hati.studies.comparison import Question
        from hati.studies.effect_drift import EffectDriftStudy

        benchmark = stored.benchmark(stored.parameters["benchmark"][0])
        asked = stored.asked(DriftRequest)
        reference, revision = stored.revisions()
        return EffectDriftStudy(
            stored.id,
            benchmark,
            stored.metric(benchmark, asked.metric if asked else None),
            tuple(map(Configuration, stored.parameters["configurations"])),
            reference,
            revision,
            stored.parameters["rounds"],
            Question(asked.alpha) if asked else Question(),
        )

    def report(
        self, place: Workplace, study: EffectDriftStudy, found: EffectDrift, request: DriftRequest | None
    ) -> StudyReport:
        """The options."""
        del place, study, request
        from hati.document import publish
        from hati.studies.effect_drift import DriftJson, drift_document

        return StudyReport(drift_document(found), lambda: publish(found, DriftJson))

    def title(self, study: EffectDriftStudy) -> str:
        """Its revisions."""
        return f"{study.reference} and {study.revision}"
