"""``hati bisect``: which commits made it slower?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hati.cli.documents import DocumentFormat, DocumentOption, of_plan, write_document
from hati.cli.dry_run import write_plan
from hati.cli.output import STDOUT, check_output, say
from hati.cli.parameters import HERE, BenchmarkName, DryRun, Fresh, MetricName, Output, Seed, StorePlace
from hati.cli.progress import make_watched
from hati.cli.runs import parse_configuration
from hati.cli.screen import parse_share

_Good = Annotated[str, typer.Argument(metavar="GOOD", help="Revision before the change.")]
_Bad = Annotated[str, typer.Argument(metavar="BAD", help="Revision after the change, a descendant of GOOD.")]
_Project = Annotated[Path, typer.Option("--project", metavar="PATH", help="Folder with hati.toml, or the file.")]
_Set = Annotated[
    str | None,
    typer.Option(
        "--set",
        metavar="OPTION=SETTING,...",
        help="Configuration that shows the change [default: the one that `hati check` found].",
    ),
]
_Alpha = Annotated[str, typer.Option("--alpha", metavar="FRACTION", help="Error rate of the whole search, such as 1%.")]
_Margin = Annotated[
    str, typer.Option("--margin", metavar="FRACTION", help="Largest difference that counts as the same, such as 5%.")
]
_Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="RUNS|TIME",
        help="Limit: a number of runs, or a time such as 5m [default: 24 pairs per commit].",
    ),
]


def bisect(
    good: _Good,
    bad: _Bad,
    project: _Project = HERE,
    settings: _Set = None,
    benchmark: BenchmarkName = None,
    metric: MetricName = None,
    alpha: _Alpha = "1%",
    margin: _Margin = "5%",
    budget: _Budget = None,
    seed: Seed = 1,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: DocumentOption = DocumentFormat.TEXT,
) -> None:
    """Find the commits that changed the performance.

    Searches between a good and a bad revision; each comparison ends as soon as it is decided.
    """
    from hati.report import bisection_document, bisection_json
    from hati.studies.comparison import Question
    from hati.wiring import BisectionRequest, plan_campaign, prepare_bisection, workplace

    question = Question(parse_share(alpha), parse_share(margin))
    check_output(output, project=project)
    place = workplace(project, store, say)
    configuration = None if settings is None else parse_configuration(place.project.space, settings)
    request = BisectionRequest(good, bad, configuration, benchmark, metric, budget, seed, question)
    prepared = prepare_bisection(place, request, fresh=fresh)
    if dry_run:
        write_plan(plan_campaign(prepared), of_plan(chosen), output)
        return
    found = make_watched(prepared, f"{prepared.study.revisions[0]} to {prepared.study.revisions[-1]}")
    write_document(bisection_document(found), lambda: bisection_json(found), chosen, output)
