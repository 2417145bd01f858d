"""``hati check``: has a revision become slower?"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated

from msgspec import Struct

from hati.core import (
    BenchmarkName,
    ExitStatus,
    FlagField,
    Margin,
    PositionalField,
    Seed,
    StatisticName,
    Templates,
    budget,
    fail_on,
    level,
)
from hati.wiring.study_types import StudyReport, StudyType

if TYPE_CHECKING:
    from hati.studies.findings import Ruling
    from hati.studies.gate import Gate, GateConclusion
    from hati.wiring.campaigns import Prepared
    from hati.wiring.stored_studies import StoredStudy
    from hati.wiring.workplace import Workplace


class GateRequest(Struct, frozen=True, kw_only=True):
    """Test a revision for regressions against its reference.

    Measures both, interleaved, and reports where the revision is slower and which options cause it.
    """

    revision: Annotated[
        str,
        PositionalField(
            "Git or svn revision, . for the working tree, a folder such as ./before, or a release such as name==1.0.",
            "REVISION",
        ),
    ] = "."
    reference: Annotated[
        str | None,
        FlagField(
            "Revision to compare with, `previous`, or `merge-base` [default: the one in hati.toml, else merge-base].",
            metavar="REVISION",
        ),
    ] = None
    benchmark: BenchmarkName = None
    margin: Margin = 0.05
    alpha: Annotated[float, level("over all verdicts together")] = 0.01
    statistic: StatisticName = "auto"
    fail_on: Annotated[str, fail_on("slower, inconclusive")] = "slower,inconclusive"
    budget: Annotated[str | None, budget("5m", "24 rounds")] = None
    template: Templates = ()
    seed: Seed = 1


_TITLE = "hati check"


class GateType(StudyType[GateRequest, "Gate", "GateConclusion"]):
    """The check of a revision."""

    name, kind, section, request = "check", "gate", "Decide", GateRequest
    judges = True
    afresh = True

    def prepare(self, place: Workplace, request: GateRequest, *, fresh: bool) -> Prepared[Gate, GateConclusion]:
        """The campaign of both revisions.

        Raises:
            InputError: also for verdicts that cannot fail.
        """
        from hati.studies.comparison import parse_failing
        from hati.wiring.comparing import prepare_gate

        parse_failing(request.fail_on)
        return prepare_gate(place, request, fresh=fresh)

    def restore(self, stored: StoredStudy) -> Gate:
        """The check from its record."""
        from hati.core import Budget
        from hati.studies.comparison import Question
        from hati.studies.gate import Gate, GateRule
        from hati.wiring.known.screenings import benchmarks_of
        from hati.wiring.known.warm_up import warm_up_cuts

        reference, revision = stored.revisions()
        alpha, margin, statistic = stored.parameters["question"]
        cells = stored.cells()
        return Gate(
            stored.id,
            reference,
            revision,
            cells,
            Question(alpha, margin, stored.statistic(statistic)),
            Budget(),
            stored.coverage(cells),
            stored.choices(),
            warm_up_cuts(stored.place, stored.id, benchmarks_of(cells)),
            GateRule(stored.parameters.get("rule", GateRule.TWO_STAGES)),
        )

    def report(self, place: Workplace, study: Gate, found: GateConclusion, request: GateRequest | None) -> StudyReport:
        """The verdicts, with the current state of findings."""
        from hati.document import Joined, publish
        from hati.studies.comparison import parse_failing
        from hati.studies.findings import Ruling
        from hati.studies.gate.document import GateJson, gate_document
        from hati.wiring.comparing import harness_changes
        from hati.wiring.known.benchmarks import stored_reports, unshown_findings

        revisions = place.revisions()
        failing = parse_failing((request or GateRequest()).fail_on)
        reported = stored_reports(place.store, found, revisions)
        ruling = Ruling(found, reported, failing, unshown_findings(place.store, found, revisions, reported))
        changed = harness_changes(place, (study.reference, study.revision))
        return StudyReport(
            gate_document(ruling, None, check_name(revisions.within), changed),
            lambda: publish(Joined(ruling, harness_changed=changed), GateJson),
        )

    def measured_report(
        self, prepared: Prepared[Gate, GateConclusion], request: GateRequest, found: GateConclusion
    ) -> StudyReport:
        """The verdicts; findings are recorded, and marked as reported once the report is written."""
        from hati.document import Joined, publish
        from hati.studies.comparison import parse_failing
        from hati.studies.findings import Ruling, report_sentence
        from hati.studies.gate.document import GateJson, gate_document
        from hati.wiring.comparing import harness_changes
        from hati.wiring.known.benchmarks import mark_reported, record_findings, unshown_findings
        from hati.wiring.screening.stored import recalibration_of

        store, revisions = prepared.place.store, prepared.place.revisions()
        reported = record_findings(store, found, revisions)
        unshown = unshown_findings(store, found, revisions, reported)
        ruling = Ruling(found, reported, parse_failing(request.fail_on), unshown)
        advice = recalibration_of(prepared, datetime.now(UTC))
        changed = harness_changes(prepared.place, (prepared.study.reference, prepared.study.revision))
        return StudyReport(
            gate_document(ruling, advice, check_name(revisions.within), changed),
            lambda: publish(Joined(ruling, recalibration=advice, harness_changed=changed), GateJson),
            _status(ruling),
            spoken=tuple(map(report_sentence, ruling.reports)),
            written=partial(mark_reported, store, found, ruling.reports),
        )

    def title(self, study: Gate) -> str:
        """Its revision."""
        return str(study.revision)

    def nothing_left(self, prepared: Prepared[Gate, GateConclusion]) -> str:
        """Whether the check ended because its budget is spent, or because all runs are there."""
        from hati.core import Budget, replace

        study = prepared.study
        spent = bool(replace(study, budget=Budget()).plan(prepared.evidence()))
        why = "the budget is spent, and a larger one goes on" if spent else "all runs are there"
        return f"{study.revision} against {study.reference}: {why}; nothing is measured"


def _status(ruling: Ruling) -> int:
    from hati.studies.comparison import ChangeVerdict

    if ruling.broken:
        return ExitStatus.NOT_MEASURED
    if ruling.stopping - {ChangeVerdict.INCONCLUSIVE}:
        return ExitStatus.WORSE
    return ExitStatus.UNDECIDED if ruling.stopping else ExitStatus.OK


def check_name(within: PurePath) -> str:
    """The name of a project's checks: a repository may have several projects, each with a separate comment."""
    return " ".join(part for part in (_TITLE, within.as_posix()) if part != ".")
