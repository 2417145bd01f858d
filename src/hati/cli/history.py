"""``hati history``: where a series of measurements changed, recorded or measured now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.output import STDOUT, check_output, console, write, write_page
from hati.cli.parameters import (
    DEFAULT_SEED,
    HERE,
    BenchmarkName,
    DryRun,
    Fresh,
    Output,
    StatisticName,
    StorePlace,
    Template,
)
from hati.cli.replays import HistoryFormat, ReplayOptions, replay_now
from hati.cli.screen import parse_share
from hati.cli.table import BetterOption, UnitName, Where
from hati.core import InputError

if TYPE_CHECKING:
    from hati.studies.regression import Series

_File = Annotated[
    Path | None,
    typer.Argument(
        metavar="[SERIES]",
        help="CSV or Parquet with the columns position or revision, and value; optionally run, machine, series, "
        "benchmark. "
        "Leave it out to measure --revisions.",
    ),
]
_Metric = Annotated[
    str | None, typer.Option("--metric", metavar="COLUMN", help="Column with the values [default: value].")
]
_Alpha = Annotated[
    str, typer.Option("--alpha", metavar="FRACTION", help="Probability of a false change in a series, such as 5%.")
]
_Baseline = Annotated[
    str | None,
    typer.Option(
        "--baseline", metavar="POSITION", help="Position from which the trend is reported [default: the first]."
    ),
]
_Revisions = Annotated[str | None, typer.Option("--revisions", metavar="FIRST..LAST", help="Revisions to measure now.")]
_Every = Annotated[
    str | None,
    typer.Option("--every", metavar="N|day", help="Measure only each Nth revision, or the last of each day."),
]
_Order = Annotated[
    str | None,
    typer.Option(
        "--order", metavar="ORDER", help="Order of measuring: interleaved, newest first, or refining around changes."
    ),
]
_Runs = Annotated[
    int | None,
    typer.Option("--runs", metavar="N", min=1, help="Runs of each configuration at each revision [default: 3]."),
]
_Project = Annotated[Path, typer.Option("--project", metavar="PATH", help="Folder with hati.toml, or the file.")]
_Budget = Annotated[
    str | None,
    typer.Option(
        "--budget", metavar="RUNS|TIME", help="Limit: a number of runs, or a time such as 30m [default: no limit]."
    ),
]
_Format = Annotated[HistoryFormat, typer.Option("--format", help="Output format.")]
_Seed = Annotated[
    int | None, typer.Option("--seed", metavar="SEED", min=0, help="Random seed of the order of runs; recorded.")
]


def history(
    path: _File = None,
    metric: _Metric = None,
    unit: UnitName = None,
    better: BetterOption = None,
    where: Where = None,
    alpha: _Alpha = "5%",
    baseline: _Baseline = None,
    statistic: StatisticName = "auto",
    revisions: _Revisions = None,
    every: _Every = None,
    order: _Order = None,
    runs: _Runs = None,
    project: _Project = HERE,
    benchmark: BenchmarkName = None,
    budget: _Budget = None,
    template: Template = None,
    seed: _Seed = None,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: _Format = HistoryFormat.TEXT,
) -> None:
    """Find changes and drift in a series of measurements.

    Reads a series from a table, or measures a range of revisions now.
    """
    level = parse_share(alpha)
    if not level:
        raise InputError("--alpha 0 finds nothing", fix="give the probability of a false change point, such as 5%")
    options = ReplayOptions(
        revisions=revisions,
        every=every,
        order=order,
        runs=runs,
        project=project,
        benchmark=benchmark,
        budget=budget,
        template=tuple(template or ()),
        statistic=statistic,
        seed=seed,
        fresh=fresh,
        dry_run=dry_run,
        store=store,
    )
    if path is None:
        check_output(output, project=project)
        if unit or better or where:
            raise InputError("--unit, --better and --where are for tables", fix="hati.toml says what is measured")
        replay_now(options, metric, level, baseline, DEFAULT_SEED, output, chosen)
        return
    options.refuse()
    check_output(output, path)
    _concluded(_read(path, metric, unit, better, where, statistic), level, baseline, chosen, output)


def _read(
    path: Path, metric: str | None, unit: UnitName, better: BetterOption, where: Where, statistic: str
) -> tuple[Series, ...]:
    from hati.studies.comparison import parse_statistic
    from hati.subject.table import Condition, read_series, read_sheet, selected

    sheet = selected(read_sheet(path), [Condition.parse(text) for text in where or ()])
    return read_series(sheet, metric, unit=unit, better=better, statistic=parse_statistic(statistic))


def _concluded(
    series: tuple[Series, ...], level: float, baseline: str | None, chosen: HistoryFormat, output: str
) -> None:
    from hati import render
    from hati.report import histories_json
    from hati.studies.regression import histories

    concluded = histories(series, level, baseline)
    if chosen is HistoryFormat.JSON:
        write(render.to_json(histories_json(concluded)), output)
    elif chosen is HistoryFormat.HTML:
        write_page(render.histories_html(series, concluded), output)
    elif chosen is HistoryFormat.MARKDOWN:
        write(render.histories_markdown(concluded), output)
    elif output == STDOUT:
        render.print_histories(concluded, console())
    else:
        write(render.histories_text(concluded), output)
