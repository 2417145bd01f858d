"""``hati history`` of revisions that are measured now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from hati.core import (
    BenchmarkName,
    FlagField,
    InputError,
    MetricName,
    PositionalField,
    Seed,
    StatisticName,
    Templates,
    budget,
    level,
    replace,
)
from hati.core.wording import suggestion
from hati.wiring.study_types import StudyReport, StudyType

if TYPE_CHECKING:
    from hati.report import Aside
    from hati.studies.replay import Replay, Replayed
    from hati.wiring.campaigns import Campaign
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Workplace

REPETITIONS = 3


class ReplayRequest(Struct, frozen=True, kw_only=True):
    """Measure a range of revisions, and find where they changed."""

    revisions: Annotated[str, PositionalField("Revisions to measure.", "FIRST..LAST")]
    every: Annotated[str, FlagField("Only each Nth revision, or the last of each day.", metavar="N|day")] = "1"
    order: Annotated[str, FlagField("Order of measuring: interleaved, newest, or refining.", metavar="ORDER")] = (
        "interleaved"
    )
    repetitions: Annotated[int, FlagField("Runs of each configuration at each revision.", least=1)] = REPETITIONS
    benchmark: BenchmarkName = None
    metric: MetricName = None
    alpha: Annotated[float, level("of a false change in a series")] = 0.05
    baseline: Annotated[str | None, FlagField("Position from which the trend is reported.", metavar="POSITION")] = None
    budget: Annotated[str | None, budget("30m", "no limit")] = None
    seed: Seed = 1
    statistic: StatisticName = "auto"
    template: Templates = ()


class ReplayType(StudyType[ReplayRequest, "Replay", "Replayed"]):
    """The past, measured now; its command reads files too, and is one of its own."""

    name, kind, section, request = "history", "replay", "Follow", ReplayRequest
    unrecorded = ("level",)

    def prepare(self, place: Workplace, request: ReplayRequest, *, fresh: bool) -> Campaign[Replay, Replayed]:
        """The campaign of all revisions."""
        from hati.wiring.replaying import prepare_replay

        return prepare_replay(place, request, fresh=fresh)

    def missing(self, stored: StoredStudy) -> tuple[str, ...]:
        """Also the statistic, where none was chosen."""
        missing = super().missing(stored)
        return missing if not missing or stored.choices().rows else (*missing, "statistic (here the mean)")

    def restore(self, stored: StoredStudy) -> Replay:
        """The history as its record has it."""
        from hati.studies.comparison import parse_statistic
        from hati.studies.replay import Replay, ReplayOrder

        parameters, cells, asked = stored.parameters, stored.cells(), stored.asked(ReplayRequest)
        return Replay(
            stored.id,
            stored.revisions(),
            cells,
            parameters["repetitions"],
            ReplayOrder(parameters["order"]),
            parse_statistic(asked.statistic) if asked else stored.statistic(),
            stored.choices(),
            stored.coverage(cells),
        )

    def report(self, place: Workplace, study: Replay, found: Replayed, request: ReplayRequest | None) -> StudyReport:
        """The changes, at the level that was asked for."""
        del place, study
        return _reported(found, request or ReplayRequest(revisions=""))

    def concluded(self, prepared: Campaign[Replay, Replayed], request: ReplayRequest, found: Replayed) -> StudyReport:
        """The changes, and what the store knows of findings.

        Raises:
            InputError: where there is no such metric.
        """
        from hati.report import Aside, findings_table, skipped_text
        from hati.studies.findings import findings_of

        findings = findings_of(prepared.place.store.events())
        further = (Aside("Findings", (findings_table(findings),)),) if findings else ()
        return replace(_reported(found, request, further), remarks=tuple(map(skipped_text, found.skipped)))

    def title(self, study: Replay) -> str:
        """Its first and last revision."""
        return f"{study.revisions[0]} to {study.revisions[-1]}"


def _reported(found: Replayed, asked: ReplayRequest, further: tuple[Aside, ...] = ()) -> StudyReport:
    from hati.report import replay_document, replay_json
    from hati.studies.regression import histories

    series = tuple(one for one in found.series if asked.metric in {None, one.metric.name})
    if not series:
        known = sorted({one.metric.name for one in found.series})
        raise InputError(f"there is no metric {asked.metric!r}", fix=suggestion(str(asked.metric), known))
    known_series = replace(found, series=series)
    changes = list(histories(series, asked.alpha, asked.baseline))
    return StudyReport(replay_document(known_series, changes, further), lambda: replay_json(found, changes))
