"""``hati bisect``: which commits made it slower?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from hati.core import BenchmarkName, ExitStatus, FlagField, Margin, MetricName, PositionalField, Seed, budget, level
from hati.wiring.study_types import StudyReport, StudyType

if TYPE_CHECKING:
    from hati.studies.bisection import Bisection, BisectionConclusion
    from hati.wiring.campaigns import Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Workplace


class BisectionRequest(Struct, frozen=True, kw_only=True):
    """Find the commits that changed the performance.

    Searches between a good and a bad revision; each comparison ends as soon as it is decided.
    """

    good: Annotated[str, PositionalField("Revision before the change.", "GOOD")]
    bad: Annotated[str, PositionalField("Revision after the change, a descendant of GOOD.", "BAD")]
    settings: Annotated[
        str | None,
        FlagField(
            "Configuration that shows the change [default: the one that `hati check` found].",
            metavar="OPTION=SETTING,...",
            name="--set",
        ),
    ] = None
    benchmark: BenchmarkName = None
    metric: MetricName = None
    alpha: Annotated[float, level("of the whole search")] = 0.01
    margin: Margin = 0.05
    budget: Annotated[str | None, budget("5m", "24 pairs per commit")] = None
    seed: Seed = 1


class BisectionType(StudyType[BisectionRequest, "Bisection", "BisectionConclusion"]):
    """The search for commits."""

    name, kind, section, request = "bisect", "bisection", "Decide", BisectionRequest
    unrecorded = ("margin",)

    def prepare(
        self, place: Workplace, request: BisectionRequest, *, fresh: bool
    ) -> Prepared[Bisection, BisectionConclusion]:
        """The campaign of the search."""
        from hati.wiring.comparing import prepare_bisection

        return prepare_bisection(place, request, fresh=fresh)

    def restore(self, stored: StoredStudy) -> Bisection:
        """The search from its record."""
        from hati.core import Budget, Configuration
        from hati.studies.bisection import Bisection
        from hati.studies.comparison import MARGIN, Question, Statistic
        from hati.wiring.screening.requested import chosen_metric

        name, _, settings = stored.parameters["benchmark"]
        alpha, statistic = stored.parameters["question"]
        benchmark, asked = stored.benchmark(name), stored.asked(BisectionRequest)
        return Bisection(
            stored.id,
            benchmark,
            Configuration(settings),
            chosen_metric(benchmark, stored.parameters["metric"]),
            stored.revisions(*((asked.good, asked.bad) if asked else ())),
            Question(alpha, asked.margin if asked else MARGIN, Statistic.parse(statistic)),
            Budget(),
        )

    def report(
        self, place: Workplace, study: Bisection, found: BisectionConclusion, request: BisectionRequest | None
    ) -> StudyReport:
        """The commits, and where the files that measure changed with them."""
        del request
        from hati.studies.bisection import bisection_document, bisection_json
        from hati.wiring.comparing import harness_changes

        places = {revision.id: number for number, revision in enumerate(study.revisions)}
        before = (study.revisions[places[each.revisions[0].id] - 1] for each in found.culprits)
        pairs = ((first, each.revisions[-1]) for first, each in zip(before, found.culprits, strict=True))
        changed = tuple(change for pair in pairs for change in harness_changes(place, pair))
        status = ExitStatus.OK if found.decided else ExitStatus.UNDECIDED
        return StudyReport(bisection_document(found, changed), lambda: bisection_json(found, changed), status)

    def title(self, study: Bisection) -> str:
        """Its first and last revision."""
        return f"{study.revisions[0]} to {study.revisions[-1]}"
