"""``hati compare-effects``: which options matter more than they did?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hati.cli.documents import DocumentFormat, DocumentOption, of_plan, write_document
from hati.cli.dry_run import write_plan
from hati.cli.output import STDOUT, check_output, say
from hati.cli.parameters import (
    HERE,
    BenchmarkName,
    DryRun,
    Fresh,
    MetricName,
    Output,
    Seed,
    StorePlace,
    Template,
)
from hati.cli.progress import make_watched
from hati.cli.screen import parse_share

_Before = Annotated[str, typer.Argument(metavar="BEFORE", help="Revision to compare with.")]
_After = Annotated[str, typer.Argument(metavar="AFTER", help="Revision whose effects may have changed.")]
_Project = Annotated[Path, typer.Option("--project", metavar="PATH", help="Folder with hati.toml, or the file.")]
_Alpha = Annotated[
    str, typer.Option("--alpha", metavar="FRACTION", help="Error rate over all verdicts together, such as 1%.")
]
_Budget = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="RUNS|TIME", help="Limit: a number of runs, or a time such as 5m [default: 4 rounds]."
    ),
]


def compare_effects(
    before: _Before,
    after: _After,
    project: _Project = HERE,
    benchmark: BenchmarkName = None,
    metric: MetricName = None,
    alpha: _Alpha = "1%",
    budget: _Budget = None,
    template: Template = None,
    seed: Seed = 1,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: DocumentOption = DocumentFormat.TEXT,
) -> None:
    """Find the options whose effects changed between revisions.

    Measures the design of a screening at both revisions.
    """
    from hati.report import drift_document, drift_json
    from hati.studies.comparison import Question
    from hati.wiring import DriftRequest, narrowed_workplace, plan_campaign, prepare_drift, workplace

    question = Question(parse_share(alpha))
    check_output(output, project=project)
    place = narrowed_workplace(workplace(project, store, say), template or (), say)
    request = DriftRequest(before, after, benchmark, metric, budget, seed, question)
    prepared = prepare_drift(place, request, fresh=fresh)
    if dry_run:
        write_plan(plan_campaign(prepared), of_plan(chosen), output)
        return
    found = make_watched(prepared, f"{prepared.study.reference} and {prepared.study.revision}")
    write_document(drift_document(found), lambda: drift_json(found), chosen, output)
