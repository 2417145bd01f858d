"""``hati history``: where a series of measurements changed, recorded or measured now."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from msgspec import Struct

from hati.cli.documents import DocumentFormat, DocumentOption, of_plan, write_document
from hati.cli.dry_run import write_plan
from hati.cli.output import STDOUT, check_output, say
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
from hati.cli.progress import make_watched
from hati.cli.table import BetterOption, UnitName, Where
from hati.core import InputError, parse_share, replace

if TYPE_CHECKING:
    from hati.studies.regression import Series


class ReplayOptions(Struct, frozen=True):
    """The options that are of revisions only; None and False: not given."""

    revisions: str | None
    every: str | None
    order: str | None
    runs: int | None
    project: Path
    benchmark: str | None
    budget: str | None
    template: tuple[str, ...]
    statistic: str
    seed: int | None
    fresh: bool
    dry_run: bool
    store: str | None

    def refuse(self) -> None:
        """See that none of them is given with a file.

        Raises:
            InputError: where one is.
        """
        given = {
            "--revisions": self.revisions,
            "--every": self.every,
            "--order": self.order,
            "--runs": self.runs,
            "--benchmark": self.benchmark,
            "--budget": self.budget,
            "--set": self.template or None,
            "--seed": self.seed,
            "--fresh": self.fresh or None,
            "--dry-run": self.dry_run or None,
        }
        for name, value in given.items():
            if value is not None:
                raise InputError(
                    f"{name} is for revisions that are measured now, and a file is taken as it is",
                    fix="leave it out, or leave the file out",
                )


def replay_now(
    options: ReplayOptions,
    metric: str | None,
    alpha: float,
    baseline: str | None,
    seed: int,
    output: str,
    chosen: str,
) -> None:
    """Measure revisions, and write where they changed and how each is distributed.

    Raises:
        InputError: where there are no such revisions, or too few.
        MeasurementError: where too few could be measured.
    """
    from hati.wiring import ReplayRequest, plan_campaign
    from hati.wiring.study_types import own_type

    if options.revisions is None:
        raise InputError(
            "there is neither a table nor a range of revisions", fix="name a table, or write --revisions FIRST..LAST"
        )
    kind = own_type("replay")
    request = ReplayRequest(
        revisions=options.revisions,
        every=options.every or "1",
        order=options.order or "interleaved",
        benchmark=options.benchmark,
        metric=metric,
        alpha=alpha,
        baseline=baseline,
        budget=options.budget,
        seed=seed if options.seed is None else options.seed,
        statistic=options.statistic,
        template=options.template,
    )
    request = request if options.runs is None else replace(request, repetitions=options.runs)
    place = kind.open(options.project, options.store, request, say)
    prepared = kind.prepare(place, request, fresh=options.fresh)
    if options.dry_run:
        write_plan(plan_campaign(prepared), of_plan(chosen), output)
        return
    found = make_watched(kind, prepared, request)
    written = kind.concluded(prepared, request, found)
    for remark in written.remarks:
        say(f"warning: {remark}")
    write_document(written.document, written.values, chosen, output)


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
    chosen: DocumentOption = DocumentFormat.TEXT.value,
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
    from hati.subject.table import RowCondition, read_series, read_sheet, selected

    sheet = selected(read_sheet(path), [RowCondition.parse(text) for text in where or ()])
    return read_series(sheet, metric, unit=unit, better=better, statistic=parse_statistic(statistic))


def _concluded(series: tuple[Series, ...], level: float, baseline: str | None, chosen: str, output: str) -> None:
    from hati.report import histories_document, histories_json
    from hati.studies.regression import histories

    concluded = histories(series, level, baseline)
    write_document(histories_document(series, concluded), lambda: histories_json(concluded), chosen, output)
