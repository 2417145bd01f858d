"""``hati compare`` of two benchmarks that are measured now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from hati.core import (
    ExitStatus,
    FlagField,
    Margin,
    MetricName,
    Pairing,
    PositionalField,
    Seed,
    StatisticName,
    Stopping,
    budget,
    level,
)
from hati.wiring.study_types import StudyReport, StudyType

if TYPE_CHECKING:
    from hati.studies.paired import PairedComparison, PairedConclusion
    from hati.wiring.campaigns import Campaign
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Workplace


class PairedRequest(Struct, frozen=True, kw_only=True):
    """Compare two benchmarks, measured now in pairs, of one metric or of all that they share."""

    before: Annotated[str, PositionalField("Benchmark to compare with.", "BEFORE")]
    after: Annotated[str, PositionalField("Benchmark that may be slower.", "AFTER")]
    set_before: Annotated[str, FlagField("Settings of BEFORE.", metavar="OPTION=SETTING,...")] = ""
    set_after: Annotated[str, FlagField("Settings of AFTER.", metavar="OPTION=SETTING,...")] = ""
    metric: MetricName = None
    alpha: Annotated[float, level("over all comparisons")] = 0.01
    margin: Margin = 0.05
    statistic: StatisticName = "auto"
    fail_on: Annotated[str, FlagField("Verdicts that fail the command.", metavar="VERDICTS")] = "slower,inconclusive"
    stopping: Annotated[Stopping, FlagField("Stop as soon as it is decided, or at the fixed number of runs.")] = (
        Stopping.ANYTIME
    )
    pairing: Annotated[Pairing, FlagField("Run both of a pair one after the other, or at the same time.")] = (
        Pairing.INTERLEAVED
    )
    budget: Annotated[str, budget("5m", "")] = "64"
    seed: Seed = 1


class PairedType(StudyType[PairedRequest, "PairedComparison", "PairedConclusion"]):
    """The comparison in pairs; its command compares files too, and is one of its own."""

    name, kind, section, request = "compare", "paired", "Decide", PairedRequest
    unrecorded = ("level", "margin")
    judges = True
    metrics_apart = True

    def prepare(
        self, place: Workplace, request: PairedRequest, *, fresh: bool
    ) -> Campaign[PairedComparison, PairedConclusion]:
        """The campaign of pairs."""
        from hati.wiring.comparing import prepare_pairs

        return prepare_pairs(place, request, fresh=fresh)

    def missing(self, stored: StoredStudy) -> tuple[str, ...]:
        """Also the statistic, where none was chosen."""
        missing = super().missing(stored)
        return missing if not missing or stored.choices().rows else (*missing, "statistic (here the mean)")

    def restore(self, stored: StoredStudy) -> PairedComparison:
        """The comparison as its record has it."""
        from hati.core import Budget, Configuration
        from hati.harness import RULES
        from hati.studies.comparison import Question, parse_statistic
        from hati.studies.paired import PairedComparison, PairedDesign, Variant, shared_metrics

        parameters, asked = stored.parameters, stored.asked(PairedRequest)
        before, after = (
            Variant(stored.benchmark(name), Configuration(settings)) for name, _, settings in parameters["variants"]
        )
        question = (
            Question(asked.alpha, asked.margin, parse_statistic(asked.statistic))
            if asked
            else Question(statistic=stored.statistic())
        )
        design = PairedDesign(
            before,
            after,
            parameters["revision"],
            stored.id.machine,
            question,
            RULES[Stopping(parameters["stopping"])],
            Pairing(parameters["pairing"]),
            stored.choices(),
        )
        metrics = shared_metrics(before, after, stored.wanted or (asked.metric if asked else None))
        limit = parameters["budget"]
        return PairedComparison(stored.id, design, metrics, Budget.parse(limit) if limit else Budget())

    def report(
        self, place: Workplace, study: PairedComparison, found: PairedConclusion, request: PairedRequest | None
    ) -> StudyReport:
        """The verdicts."""
        del place, study
        from hati.report import PairedJson, paired_document, publish
        from hati.studies.comparison import parse_failing

        status = found.comparisons.status(parse_failing(request.fail_on)) if request else ExitStatus.OK
        return StudyReport(paired_document(found), lambda: publish(found, PairedJson), status)

    def title(self, study: PairedComparison) -> str:
        """Its variants."""
        from hati.report import variant_names

        return " against ".join(reversed(variant_names(study.contest.before, study.contest.after)))
