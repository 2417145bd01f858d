"""``hati screen``: which options matter?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Struct

from hati.core import (
    BenchmarkName,
    FlagField,
    InputError,
    MetricName,
    Relevant,
    Seed,
    TableFields,
    Templates,
    level,
    replace,
    share,
)
from hati.core.requests import USUAL_SEED
from hati.wiring.study_types import PROJECT_OR_TABLE, StudyReport, StudyType

if TYPE_CHECKING:
    from hati.campaign import Observer
    from hati.studies.recalibration import EffectChanges
    from hati.studies.recommendation import KeepRule, Recommendation, RecommendationConclusion
    from hati.studies.screening import AnyScreening, Pilot, ScreeningConclusion
    from hati.wiring.campaigns import Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Announce, Workplace

USUAL_BUDGET = "2m"


class ScreeningRequest(TableFields, frozen=True, kw_only=True):
    """Find the options that matter, by a designed experiment."""

    metric: MetricName = None
    benchmark: BenchmarkName = None
    budget: Annotated[
        str | None,
        FlagField(
            "Limit on all runs (pilot, design, follow-up, confirmation): their number, or their total time with setup, "
            f"such as 5m [default: {USUAL_BUDGET}; required for a table].",
            metavar="RUNS|TIME",
        ),
    ] = None
    relevant: Relevant = 0.01
    detect: Annotated[
        float | None, share("Cheapest design that finds effects of this size, such as 3%, with 90 % power.")
    ] = None
    resolution: Annotated[int | None, FlagField("Use the smallest regular fraction of this resolution.", least=3)] = (
        None
    )
    runs: Annotated[int | None, FlagField("Use the regular fraction with this number of runs.", least=2)] = None
    design: Annotated[
        str | None,
        FlagField("Use this regular fraction: CSV, JSON, or generators.", metavar="FILE|F=ABC,.."),
    ] = None
    alpha: Annotated[float, level("over all effects of the study")] = 0.05
    recommend: Annotated[bool, FlagField("Recommend settings from the last screening, confirmed by fresh runs.")] = (
        False
    )
    keep: Annotated[
        tuple[str, ...],
        FlagField(
            "Recommend only settings that are shown to keep this bound; repeatable.",
            metavar="'METRIC <= X * default'",
        ),
    ] = ()
    recalibrate: Annotated[bool, FlagField("Repeat the last screening with fresh runs, and report what changed.")] = (
        False
    )
    template: Templates = ()
    seed: Seed = USUAL_SEED

    def __post_init__(self) -> None:
        if self.keep and not self.recommend:
            raise InputError("--keep is a rule for recommendations", fix="add --recommend, or leave --keep out")
        if self.detect is not None and self.of_fraction:
            raise InputError("--detect chooses the design", fix="leave out --resolution, --runs and --design")
        if not self.alpha:
            raise InputError("--alpha 0 is not between 0 and 1", fix="write a probability such as 5%")

    @property
    def of_fraction(self) -> bool:
        """Whether the request names the fraction to run."""
        return (self.resolution, self.runs, self.design) != (None, None, None)

    @property
    def limit(self) -> str:
        """The budget, pilot runs included."""
        return self.budget or USUAL_BUDGET

    @property
    def rules(self) -> tuple[KeepRule, ...]:
        """The bounds on recommendations.

        Raises:
            InputError: for a text without a bound.
        """
        from hati.studies.recommendation import parse_keep

        return tuple(map(parse_keep, self.keep))


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
        from hati.wiring.screening.recommendation import prepare_recommended
        from hati.wiring.screening.stored import prepare_recalibration

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
        from hati.wiring.screening.recommendation import RecommendationCampaign, prepare_continued
        from hati.wiring.screening.stored import changes_of

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
        from hati.wiring.screening.reporting import stored_screening_report

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
        from hati.wiring.screening.reporting import screening_report

        report = screening_report(place, found.conclusion, found.advice, found.changes)
        return replace(report, conclusion=found.conclusion)

    def measured(self, study: AnyScreening | Pilot | Recommendation, found: ScreeningAnswer) -> tuple[str, ...]:
        """Those of the screening and of the recommendation from it."""
        del study
        return (found.conclusion.study,) if found.advice is None else (found.conclusion.study, found.advice.study)

    def title(self, study: AnyScreening | Pilot | Recommendation) -> str:
        """Its benchmark."""
        return study.benchmark.name

    def nothing_left(self, prepared: Prepared[Any, Any]) -> str:
        """Empty for a recommendation, whose report names its screening."""
        return "" if prepared.study.id.kind == "recommendation" else super().nothing_left(prepared)
