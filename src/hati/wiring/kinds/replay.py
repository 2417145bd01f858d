"""``hati history``: where did a series change, in a file or measured now?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from hati.core import (
    BenchmarkName,
    FlagField,
    InputError,
    PositionalField,
    Seed,
    StatisticName,
    TableBetter,
    TableRows,
    TableUnit,
    Templates,
    budget,
    replace,
    share,
)
from hati.core.wording import suggestion
from hati.wiring.study_types import STATISTIC, GivenFlags, Steps, StudyReport, StudyType

if TYPE_CHECKING:
    from collections.abc import Sequence

    from hati.document import Aside
    from hati.studies.harness_changes import HarnessChange
    from hati.studies.replay import Replay, Replayed
    from hati.wiring.campaigns import Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Announce, Workplace

REPETITIONS = 3
NO_LIMIT = "no limit"
_OF_REVISIONS = (
    "revisions",
    "every",
    "order",
    "repetitions",
    "benchmark",
    "budget",
    "template",
    "seed",
    "fresh",
    "dry_run",
)


class HistoryRequest(Struct, frozen=True, kw_only=True):
    """Find changes and drift in a series of measurements.

    Reads a series from a table, or measures a range of revisions now.
    """

    series: Annotated[
        Path | None,
        PositionalField(
            "CSV or Parquet with the columns position or revision, and value; optionally run, machine, series, "
            "benchmark. Leave it out to measure --revisions.",
            "[SERIES]",
        ),
    ] = None
    metric: Annotated[str | None, FlagField("Column with the values [default: value].", metavar="COLUMN")] = None
    unit: TableUnit = None
    better: TableBetter = None
    where: TableRows = ()
    alpha: Annotated[float, share("Probability of a false change in a series, such as 5%.")] = 0.05
    baseline: Annotated[
        str | None,
        FlagField("Position from which the trend is reported [default: the first].", metavar="POSITION"),
    ] = None
    statistic: StatisticName = "auto"
    revisions: Annotated[str | None, FlagField("Revisions to measure now.", metavar="FIRST..LAST")] = None
    every: Annotated[str, FlagField("Measure only each Nth revision, or the last of each day.", metavar="N|day")] = "1"
    order: Annotated[
        str, FlagField("Order of measuring: interleaved, newest first, or refining around changes.", metavar="ORDER")
    ] = "interleaved"
    repetitions: Annotated[
        int, FlagField("Runs of each configuration at each revision.", metavar="N", name="--runs", least=1)
    ] = REPETITIONS
    benchmark: BenchmarkName = None
    budget: Annotated[str | None, budget("30m", "")] = NO_LIMIT
    template: Templates = ()
    seed: Seed = 1

    def __post_init__(self) -> None:
        if not self.alpha:
            raise InputError("--alpha 0 finds nothing", fix="give the probability of a false change point, such as 5%")


class ReplayType(StudyType[HistoryRequest, "Replay", "Replayed"]):
    """The history of revisions that are measured now, or of a series in a file."""

    name, kind, section, request = "history", "replay", "Follow", HistoryRequest
    unrecorded = ("level", STATISTIC)

    def refuse(self, path: Path, request: HistoryRequest, given: GivenFlags) -> None:
        """Refuse flags for revisions if a file is read, and flags for tables if revisions are measured."""
        del path
        if request.series is not None:
            if flag := given.first(*_OF_REVISIONS):
                raise InputError(
                    f"{flag} is for revisions that are measured now, and a file is taken as it is",
                    fix="leave it out, or leave the file out",
                )
        elif given.first("unit", "better", "where"):
            raise InputError("--unit, --better and --where are for tables", fix="hati.toml says what is measured")
        elif request.revisions is None:
            raise InputError(
                "there is neither a table nor a range of revisions",
                fix="name a table, or write --revisions FIRST..LAST",
            )

    def root(self, path: Path, request: HistoryRequest) -> Path | None:
        """The project; None for a file."""
        return path if request.series is None else None

    def inputs(self, path: Path, request: HistoryRequest) -> tuple[Path, ...]:
        """The file."""
        del path
        return () if request.series is None else (request.series,)

    def read(
        self, path: Path, store: str | None, request: HistoryRequest, announce: Announce, steps: Steps
    ) -> StudyReport | None:
        """The changes in the series of a file."""
        del path, store, announce, steps
        if request.series is None:
            return None
        from hati.studies.comparison import parse_statistic
        from hati.studies.regression import histories
        from hati.studies.regression.document import histories_document, histories_json
        from hati.subject.table import RowCondition, read_series, read_sheet, selected

        warnings = list[str]()
        sheet = selected(
            read_sheet(request.series, warnings.append), [RowCondition.parse(text) for text in request.where]
        )
        statistic = parse_statistic(request.statistic)
        series = read_series(sheet, request.metric, unit=request.unit, better=request.better, statistic=statistic)
        found = histories(series, request.alpha, request.baseline)
        document = histories_document(series, found)
        return StudyReport(document, lambda: histories_json(found), conclusion=found, remarks=tuple(warnings))

    def prepare(self, place: Workplace, request: HistoryRequest, *, fresh: bool) -> Prepared[Replay, Replayed]:
        """The campaign of all revisions."""
        from hati.wiring.comparing import prepare_replay

        return prepare_replay(place, request, fresh=fresh)

    def restore(self, stored: StoredStudy) -> Replay:
        """The history from its record."""
        from hati.studies.comparison import parse_statistic
        from hati.studies.replay import Replay, ReplayOrder

        parameters, cells, asked = stored.parameters, stored.cells(), stored.asked(HistoryRequest)
        first, _, last = ((asked.revisions or "") if asked else "").partition("..")
        return Replay(
            stored.id,
            stored.revisions("" if asked and asked.every == "day" else first.strip(), last.strip()),
            cells,
            parameters["repetitions"],
            ReplayOrder(parameters["order"]),
            parse_statistic(asked.statistic) if asked else stored.statistic(),
            stored.choices(),
            stored.coverage(cells),
        )

    def report(self, place: Workplace, study: Replay, found: Replayed, request: HistoryRequest | None) -> StudyReport:
        """The changes, at the requested level."""
        from hati.wiring.comparing import harness_changes

        return _reported(found, request or HistoryRequest(), harness_changes(place, study.revisions))

    def measured_report(
        self, prepared: Prepared[Replay, Replayed], request: HistoryRequest, found: Replayed
    ) -> StudyReport:
        """The changes, and the findings in the store.

        Raises:
            InputError: for an unknown metric.
        """
        from hati.document import Aside
        from hati.studies.findings import findings_of, findings_table
        from hati.studies.replay.document import skipped_text
        from hati.wiring.comparing import harness_changes

        findings = findings_of(prepared.place.store.events())
        further = (Aside("Findings", (findings_table(findings),)),) if findings else ()
        changed = harness_changes(prepared.place, prepared.study.revisions)
        return replace(_reported(found, request, changed, further), remarks=tuple(map(skipped_text, found.skipped)))

    def title(self, study: Replay) -> str:
        """Its first and last revision."""
        return f"{study.revisions[0]} to {study.revisions[-1]}"


def _reported(
    found: Replayed, asked: HistoryRequest, changed: Sequence[HarnessChange], further: tuple[Aside, ...] = ()
) -> StudyReport:
    from hati.studies.regression import histories
    from hati.studies.replay.document import replay_document, replay_json

    series = tuple(one for one in found.series if asked.metric in {None, one.metric.name})
    if not series:
        known = sorted({one.metric.name for one in found.series})
        raise InputError(f"there is no metric {asked.metric!r}", fix=suggestion(str(asked.metric), known))
    spreads = {key: own for key, own in found.spreads.items() if asked.metric in {None, key[1]}}
    chosen = replace(found, series=series, spreads=spreads)
    changes = list(histories(series, asked.alpha, asked.baseline))
    document = replay_document(chosen, changes, further)
    warnings = (*document.warnings, *(each.sentence for each in changed))
    return StudyReport(replace(document, warnings=warnings), lambda: replay_json(chosen, changes, changed))
