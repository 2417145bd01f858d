"""``hati bisect``: which commits made it slower?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hati.studies.bisection.request import BisectionRequest
from hati.wiring.study_types import StudyReport, StudyType

if TYPE_CHECKING:
    from hati.studies.bisection import Bisection, BisectionConclusion
    from hati.wiring.campaigns import Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Workplace


class BisectionType(StudyType[BisectionRequest, "Bisection", "BisectionConclusion"]):
    """The search for commits."""

    name, kind, section, request = "bisect", "bisection", "Decide", BisectionRequest
    unrecorded = ("margin",)

    def prepare(
        self, place: Workplace, request: BisectionRequest, *, fresh: bool
    ) -> Prepared[Bisection, BisectionConclusion]:
        """The campaign of the search."""
        from hati.wiring.comparing.variants import prepare_bisection

        return prepare_bisection(place, request, fresh=fresh)

    def restore(self, stored: StoredStudy) -> Bisection:
        """The search from its record."""
        from hati.core import Budget, Configuration
        from hati.studies.bisection import Bisection
        from hati.studies.comparison import MARGIN, Question, Statistic
        from hati.wiring.screening.campaign import chosen_metric

        name, _, settings = stored.parameters["benchmark"]
        alpha, statistic = stored.parameters["question"]
        benchmark, asked = stored.benchmark(name), stored.asked(BisectionRequest)
        return Bisection(
            stored.id,
            benchmark,
            Configuration(settings),
            chosen_metric(benchmark, stored.parameters["metric"]),
            stored.revisions(),
            Question(alpha, asked.margin if asked else MARGIN, Statistic.parse(statistic)),
            Budget(),
        )

    def report(
        self, place: Workplace, study: Bisection, found: BisectionConclusion, request: BisectionRequest | None
    ) -> StudyReport:
        """The commits."""
        del place, study, request
        from hati.document import publish
        from hati.studies.bisection.document import BisectionJson, bisection_document

        return StudyReport(bisection_document(found), lambda: publish(found, BisectionJson))

    def title(self, study: Bisection) -> str:
        """Its first and last revision."""
        return f"{study.revisions[0]} to {study.revisions[-1]}"
