"""``hati suite``: the metric over the whole space, from few configurations."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from hati.cli.documents import DocumentFormat, DocumentOption, keep_report, of_plan, write_document
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
from hati.cli.table import (
    BetterOption,
    DeviationText,
    SpaceFile,
    SubjectPath,
    TableOptions,
    UnitName,
    Where,
    open_subject,
)

_Options = Annotated[
    str | None,
    typer.Option(
        "--options",
        metavar="A,B,..",
        help="Options that define the strata [default: the important ones of the best screening].",
    ),
]
_Runs = Annotated[int | None, typer.Option("--runs", min=1, help="Number of configurations [default: 32].")]
_Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="RUNS|TIME",
        help="Limit: a number of runs, or a time; further runs repeat the configurations.",
    ),
]
_Against = Annotated[
    str | None,
    typer.Option(
        "--against",
        metavar="TABLE|random",
        help="Compare with a table of all configurations, or with a random sample measured too.",
    ),
]
_Margin = Annotated[
    str,
    typer.Option(
        "--margin", metavar="FRACTION", help="Largest difference between means that counts as the same, such as 5%."
    ),
]
_Quantiles = Annotated[
    str, typer.Option("--quantiles", metavar="Q,..", help="Quantiles to estimate, as fractions or percentages.")
]


def suite(
    path: SubjectPath = HERE,
    options: _Options = None,
    runs: _Runs = None,
    budget: _Budget = None,
    metric: MetricName = None,
    against: _Against = None,
    margin: _Margin = "5%",
    quantiles: _Quantiles = "5%,25%,50%,75%,95%",
    benchmark: BenchmarkName = None,
    template: Template = None,
    seed: Seed = 1,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    space: SpaceFile = None,
    where: Where = None,
    unit: UnitName = None,
    better: BetterOption = None,
    deviation: DeviationText = None,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: DocumentOption = DocumentFormat.TEXT,
) -> None:
    """Estimate a metric's distribution over the whole space.

    Measures all combinations of its important options.
    """
    from hati.report import suite_document, suite_json
    from hati.wiring import SuiteRequest, narrowed_workplace, plan_campaign, prepare_suite

    conditions = tuple(where or ())
    table = TableOptions(space, () if _for_the_other(path, space, against) else conditions, unit, better, deviation)
    place = narrowed_workplace(open_subject(path, store, metric, budget, table), template or (), say)
    check_output(output, path, project=path)
    request = SuiteRequest(
        metric=metric if place.table is None else None,
        seed=seed,
        benchmark=benchmark,
        options=None if options is None else tuple(filter(None, (name.strip() for name in options.split(",")))),
        runs=runs,
        budget=budget,
        against=against,
        where=conditions,
        levels=tuple(dict.fromkeys(parse_share(text) for text in quantiles.split(","))),
        margin=parse_share(margin),
    )
    prepared = prepare_suite(place, request, path if space is None else space, fresh=fresh)
    if dry_run:
        write_plan(plan_campaign(prepared), of_plan(chosen), output)
        return
    conclusion = make_watched(prepared, prepared.study.benchmark.name)
    document = suite_document(conclusion)
    write_document(document, lambda: suite_json(conclusion), chosen, output)
    if chosen is DocumentFormat.TEXT and output == STDOUT:
        say(keep_report(document, place.project.root / ".hati" / "reports", conclusion.metric.name))


def _for_the_other(path: Path, space: Path | None, against: str | None) -> bool:
    """Whether --where is for the table to compare with: the subject is a project, and has no rows."""
    from hati.subject.table import is_table

    return space is None and not is_table(path) and against not in {None, "random"}
