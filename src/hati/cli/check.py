"""``hati check``: has a revision become slower?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.compare import UNDECIDED, WORSE, parse_verdicts
from hati.cli.documents import VerdictFormat, VerdictOption, of_plan, write_document
from hati.cli.dry_run import write_plan
from hati.cli.output import (
    STDOUT,
    check_targets,
    parse_target,
    say,
    write_targets,
)
from hati.cli.parameters import HERE, BenchmarkName, DryRun, Fresh, Output, Seed, StatisticName, StorePlace, Template
from hati.cli.progress import progress
from hati.cli.screen import parse_share

if TYPE_CHECKING:
    from hati.report import Plain
    from hati.studies.findings import Ruling
    from hati.studies.recalibration import Recalibration

_Revision = Annotated[
    str,
    typer.Argument(
        metavar="REVISION",
        help="Git or svn revision, . for the working tree, a folder such as ./before, or a release such as name==1.0.",
    ),
]
_Project = Annotated[Path, typer.Option("--project", metavar="PATH", help="Folder with hati.toml, or the file.")]
_Reference = Annotated[
    str | None,
    typer.Option(
        "--reference",
        metavar="REVISION",
        help="Revision to compare with, `previous`, or `merge-base` [default: the one in hati.toml, else merge-base].",
    ),
]
_Margin = Annotated[
    str, typer.Option("--margin", metavar="FRACTION", help="Largest difference that counts as the same, such as 5%.")
]
_Alpha = Annotated[
    str, typer.Option("--alpha", metavar="FRACTION", help="Error rate over all verdicts together, such as 1%.")
]
_FailOn = Annotated[
    str,
    typer.Option(
        "--fail-on", metavar="VERDICTS", help="Verdicts that fail the command: slower, inconclusive, or none."
    ),
]
_Budget = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="RUNS|TIME", help="Limit: a number of runs, or a time such as 5m [default: 24 rounds]."
    ),
]


_TITLE = "hati check"


_Reports = Annotated[
    list[str] | None,
    typer.Option(
        "--report",
        metavar="FORMAT=FILE",
        help="Write the result to another file too, such as markdown=hati.md; repeatable.",
    ),
]


def check(
    revision: _Revision = ".",
    project: _Project = HERE,
    reference: _Reference = None,
    benchmark: BenchmarkName = None,
    margin: _Margin = "5%",
    alpha: _Alpha = "1%",
    statistic: StatisticName = "auto",
    fail_on: _FailOn = "slower,inconclusive",
    budget: _Budget = None,
    template: Template = None,
    seed: Seed = 1,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    store: StorePlace = None,
    output: Output = STDOUT,
    report: _Reports = None,
    chosen: VerdictOption = VerdictFormat.TEXT,
) -> int:
    """Test a revision for regressions against its reference.

    Measures both, interleaved, and reports where the revision is slower and which options cause it.
    """
    from hati.studies.comparison import Question, parse_statistic
    from hati.studies.findings import Ruling
    from hati.wiring import (
        GateRequest,
        gate,
        mark_reported,
        narrowed_workplace,
        plan_campaign,
        prepare_gate,
        recalibration_of,
        record_findings,
        workplace,
    )

    question = Question(parse_share(alpha), parse_share(margin), parse_statistic(statistic))
    failing = parse_verdicts(fail_on)
    reports = [parse_target(text, VerdictFormat) for text in report or ()]
    targets = [(chosen, output), *reports]
    check_targets(output, reports, project=project)
    place = narrowed_workplace(workplace(project, store, say), template or (), say)
    request = GateRequest(revision, reference, benchmark, budget, seed, question)
    prepared = prepare_gate(place, request, fresh=fresh)
    if dry_run:
        write_plan(plan_campaign(prepared), of_plan(chosen), output)
        return 0
    with progress(f"{prepared.study.revision}") as observe:
        found = gate(prepared, say, observe)
    revisions = place.revisions()
    ruling = Ruling(found, record_findings(place.store, found, revisions), failing)
    advice = recalibration_of(prepared, datetime.now(UTC))
    errors = _write_all(ruling, advice, revisions.within, targets)
    mark_reported(place.store, found, ruling.reports)
    for error in errors:
        say(f"error: {error}")
    return _status(ruling, errors)


def _status(ruling: Ruling, errors: Sequence[str] = ()) -> int:
    """That of what was measured; a report that cannot be written counts where it is 0."""
    from hati.cli.program import BAD_INPUT, NOT_MEASURED
    from hati.studies.comparison import ChangeVerdict

    if ruling.broken:
        return NOT_MEASURED
    if ruling.stopping - {ChangeVerdict.INCONCLUSIVE}:
        return WORSE
    if ruling.stopping:
        return UNDECIDED
    return BAD_INPUT if errors else 0


def _write_all(
    ruling: Ruling, advice: Recalibration, within: PurePath, targets: Sequence[tuple[VerdictFormat, str]]
) -> list[str]:
    """Write every report that can be written; what is wrong with the others.

    Where standard output has none that could be, the answer and the findings go to standard error: they are told.
    """
    from hati.report import gate_answer, gate_document, gate_json, recalibration_json, report_sentence

    document = gate_document(ruling, advice, check_name(within))

    def values() -> Plain:
        return {**gate_json(ruling), "recalibration": recalibration_json(advice)}

    def writer(kind: VerdictFormat, file: str) -> None:
        write_document(document, values, kind, file)

    errors, shown = write_targets(targets, writer)
    if errors and not shown:
        for sentence in (gate_answer(ruling), *map(report_sentence, ruling.reports)):
            say(sentence)
    return errors


def check_name(within: PurePath) -> str:
    """The name of a project's checks: a repository may have several projects, each with a comment of its own."""
    return " ".join(part for part in (_TITLE, within.as_posix()) if part != ".")
