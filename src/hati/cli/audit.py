"""``hati audit``: how often a comparison errs here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.documents import DocumentFormat, DocumentOption, of_plan, shows_warnings, write_document
from hati.cli.dry_run import write_plan
from hati.cli.output import STDOUT, check_output, say
from hati.cli.parameters import (
    HERE,
    BenchmarkName,
    BudgetText,
    DryRun,
    Fresh,
    Output,
    Seed,
    StatisticName,
    StorePlace,
)
from hati.cli.progress import make_watched, steps_progress
from hati.core import Budget, InputError, parse_share, replace

if TYPE_CHECKING:
    from hati.core import Sample
    from hati.knowledge import Entry
    from hati.studies.comparison import StatisticChoice
    from hati.studies.measurement import Measurement, MeasurementConclusion
    from hati.wiring import Campaign
    from hati.wiring.kinds.measurement import MeasurementRequest, MeasurementType

_Path = Annotated[
    Path,
    typer.Argument(
        metavar="PATH",
        help="File of samples in any format that `hati import` reads; or a folder with hati.toml, to measure now.",
    ),
]
_Splits = Annotated[int, typer.Option("--splits", metavar="N", help="Number of random splits into halves.")]
_Margin = Annotated[
    str, typer.Option("--margin", metavar="FRACTION", help="Largest difference that counts as the same, such as 5%.")
]
_Alpha = Annotated[str, typer.Option("--alpha", metavar="FRACTION", help="Error rate of each verdict, such as 1%.")]
_History = Annotated[
    list[Path] | None,
    typer.Option(
        "--history", metavar="FILE", help="Earlier samples, to estimate the variance between runs; repeatable."
    ),
]
_Metric = Annotated[str | None, typer.Option("--metric", metavar="NAME", help="Metric to audit [default: all].")]


def audit(
    path: _Path = HERE,
    splits: _Splits = 20,
    margin: _Margin = "5%",
    alpha: _Alpha = "1%",
    statistic: StatisticName = "auto",
    metric: _Metric = None,
    history: _History = None,
    benchmark: BenchmarkName = None,
    budget: BudgetText = "20",
    seed: Seed = 1,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: DocumentOption = DocumentFormat.TEXT.value,
) -> None:
    """Test how often `hati compare` errs on one program.

    Splits the runs at random into two samples: counts false alarms, and how often an injected change is found.
    """
    from hati.report import AuditJson, audit_document, publish
    from hati.studies.audit import AuditRequest, audit
    from hati.studies.comparison import Question, parse_statistic
    from hati.subject.samples import read_samples
    from hati.wiring import plan_campaign
    from hati.wiring.comparing_files import of_metric

    request = AuditRequest(Question(parse_share(alpha), parse_share(margin), parse_statistic(statistic)), splits, seed)
    check_output(output, path, *(history or ()))
    if not _is_project(path):
        samples = _stored(path, benchmark)
    elif dry_run:
        *_, prepared = _prepared(path, store, benchmark, budget, seed, fresh=True)
        write_plan(plan_campaign(prepared), of_plan(chosen), output)
        return
    else:
        samples, known = _measured(path, store, benchmark, budget, seed, fresh)
        request = replace(request, known=known)
    earlier = [sample for file in history or () for sample in read_samples(file).samples]
    chosen_samples = of_metric(samples, metric, path)
    with steps_progress("auditing") as watch:
        found = audit(chosen_samples, request, earlier, watch)
    if not shows_warnings(chosen):
        for text in found.warnings:
            say(f"warning: {text}")
    write_document(audit_document(found), lambda: publish(found, AuditJson), chosen, output)


def _is_project(path: Path) -> bool:
    return path.suffix == ".toml" or (path.is_dir() and (path / "hati.toml").exists())


def _stored(path: Path, benchmark: str | None) -> tuple[Sample, ...]:
    """The samples in a file, or those of one benchmark.

    Raises:
        InputError: where it cannot be read, or has no such benchmark.
    """
    from hati.subject.samples import read_samples

    if path.is_dir() and path == HERE:
        raise InputError("there is no hati.toml here", fix="name a file of samples, or a folder with hati.toml")
    file = read_samples(path)
    for text in file.warnings:
        say(f"warning: {text}")
    samples = tuple(sample for sample in file.samples if benchmark in {None, sample.benchmark})
    if not samples:
        known = ", ".join(sorted({sample.benchmark for sample in file.samples})[:10])
        raise InputError(f"{path} has no benchmark {benchmark!r}", fix=f"its benchmarks are {known}")
    return samples


def _prepared(
    path: Path, store: str | None, benchmark: str | None, budget: str, seed: int, *, fresh: bool
) -> tuple[MeasurementType, MeasurementRequest, Campaign[Measurement, MeasurementConclusion]]:
    """The campaign of the default configuration."""
    from hati.wiring.kinds.measurement import MeasurementRequest, MeasurementType

    Budget.parse(budget)
    kind, request = MeasurementType(), MeasurementRequest(benchmark=benchmark, budget=budget, seed=seed)
    return kind, request, kind.prepare(kind.open(path, store, request, say), request, fresh=fresh)


def _measured(
    path: Path, store: str | None, benchmark: str | None, budget: str, seed: int, fresh: bool
) -> tuple[tuple[Sample, ...], Mapping[str, Entry[StatisticChoice]]]:
    """Runs of the default configuration, made now, and the statistics of metrics that other runs tell."""
    from hati.store import Selection
    from hati.wiring import known_statistics

    kind, request, prepared = _prepared(path, store, benchmark, budget, seed, fresh=fresh)
    found = make_watched(kind, prepared, request)
    if found.failed:
        say(f"warning: {found.failed} of {found.done + found.failed} runs failed: {found.failures[-1]}")
    place, measured = prepared.place, prepared.study.benchmark
    return place.store.samples(Selection(found.study)), known_statistics(place, measured, found.study)
