"""``hati screen``: which options matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

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
    RelevantShare,
    Seed,
    StorePlace,
    Template,
)
from hati.cli.progress import progress
from hati.cli.table import (
    BetterOption,
    DeviationText,
    SpaceFile,
    SubjectPath,
    UnitName,
    Where,
)
from hati.core import InputError, TableFields, parse_share

if TYPE_CHECKING:
    from hati.studies.recommendation import KeepRule, RecommendationConclusion
    from hati.wiring import KnownScreening, RecommendationRequest, Workplace
    from hati.wiring.study_types import StudyReport

_Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="RUNS|TIME",
        help="Limit: a number of runs, or a time such as 5m [default: 2m; required for a table].",
    ),
]
_Detect = Annotated[
    str | None,
    typer.Option(
        "--detect",
        metavar="FRACTION",
        help="Cheapest design that finds effects of this size, such as 3%, with 90 % power.",
    ),
]
_Recommend = Annotated[
    bool,
    typer.Option("--recommend", help="Recommend settings from the last screening, confirmed by fresh runs."),
]
_Keep = Annotated[
    list[str] | None,
    typer.Option(
        "--keep",
        metavar="'METRIC <= X * default'",
        help="Recommend only settings that are shown to keep this bound; repeatable.",
    ),
]
_Recalibrate = Annotated[
    bool,
    typer.Option("--recalibrate", help="Repeat the last screening with fresh runs, and report what changed."),
]
_Resolution = Annotated[
    int | None, typer.Option("--resolution", min=3, help="Use the smallest regular fraction of this resolution.")
]
_Runs = Annotated[int | None, typer.Option("--runs", min=2, help="Use the regular fraction with this number of runs.")]
_Design = Annotated[
    str | None,
    typer.Option("--design", metavar="FILE|F=ABC,..", help="Use this regular fraction: CSV, JSON, or generators."),
]
_Alpha = Annotated[
    float, typer.Option("--alpha", metavar="LEVEL", help="Error rate over all effects of the study, such as 0.05.")
]


def screen(
    path: SubjectPath = HERE,
    metric: MetricName = None,
    benchmark: BenchmarkName = None,
    budget: _Budget = None,
    relevant: RelevantShare = "1%",
    detect: _Detect = None,
    resolution: _Resolution = None,
    runs: _Runs = None,
    design: _Design = None,
    alpha: _Alpha = 0.05,
    recommend: _Recommend = False,
    keep: _Keep = None,
    recalibrate: _Recalibrate = False,
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
    chosen: DocumentOption = DocumentFormat.TEXT.value,
) -> None:
    """Find the options that matter, by a designed experiment."""
    from hati.cli.design import asked_design, parse_level
    from hati.studies.screening import FractionRequest
    from hati.wiring import (
        RecommendationRequest,
        ScreeningRequest,
        changes_of,
        known_screening,
        made_screening,
        narrowed_workplace,
        open_subject,
        plan_screening,
        prepare_recalibration,
        prepare_screening,
        screening_report,
        split_budget,
    )
    from hati.wiring import screen as make_screening

    table = TableFields(
        space=None if space is None else str(space),
        where=tuple(where or ()),
        unit=unit,
        better=better,
        deviation=deviation,
    )
    rules = _rules(keep, recommend=recommend)
    others = tuple(dict.fromkeys(rule.metric for rule in rules if rule.metric != metric))
    subject = open_subject(path, store, table, metric, budget, say, others)
    place = narrowed_workplace(subject, template or (), say)
    fraction = None
    if (resolution, runs, design) != (None, None, None):
        rows, generators = asked_design(design, place.project.space.names)
        fraction = FractionRequest(resolution, runs, generators, rows)
    if budget is None and place.table is not None:
        raise InputError("nothing says how many runs of the table may be looked up", fix="say it, as in --budget 32")
    _check_metrics(rules, place, benchmark)
    limit = budget or "2m"
    split = split_budget(limit) if recommend else None
    check_output(output, path, project=path)
    request = ScreeningRequest(
        metric if place.table is None else place.table.metrics[0].name,
        split.screening if split else limit,
        seed,
        benchmark,
        parse_share(relevant),
        None if detect is None else parse_share(detect),
        fraction,
        parse_level(alpha),
    )
    asked = RecommendationRequest(limit, seed, request.relevant, rules)
    if recommend and not (fresh or recalibrate or detect or fraction):
        known = known_screening(place, request)
        if known is not None:
            _continued(place, known, asked, dry_run=dry_run, chosen=chosen, output=output)
            return
    prepared = (prepare_recalibration if recalibrate else prepare_screening)(place, request, fresh=fresh)
    if split:
        say(f"{split.kept} of the budget, and what the screening leaves, are kept to confirm what is recommended")
    if dry_run:
        write_plan(plan_screening(prepared), of_plan(chosen), output)
        return
    if prepared.finished:
        say(f"{prepared.id.key} was measured before; --fresh measures again")
    with progress(prepared.benchmark.name) as observe:
        conclusion = make_screening(prepared, say, observe)
    advice = _recommended(place, made_screening(prepared, conclusion), asked, fresh=fresh) if split else None
    changes = changes_of(prepared, conclusion)
    _write(screening_report(place, conclusion, advice, changes), place, chosen, output)


def _rules(texts: list[str] | None, *, recommend: bool) -> tuple[KeepRule, ...]:
    from hati.studies.recommendation import parse_keep

    if texts and not recommend:
        raise InputError("--keep is a rule for what is recommended", fix="add --recommend, or leave --keep out")
    return tuple(map(parse_keep, texts or ()))


def _check_metrics(rules: tuple[KeepRule, ...], place: Workplace, benchmark: str | None) -> None:
    for rule in rules:
        place.project.benchmark(benchmark).metric(rule.metric)


def _continued(
    place: Workplace,
    known: KnownScreening,
    request: RecommendationRequest,
    *,
    dry_run: bool,
    chosen: str,
    output: str,
) -> None:
    """Recommend from a screening that is known, and write both."""
    from hati.wiring import plan_campaign, prepare_recommendation, screening_report

    say(known.source)
    if dry_run:
        prepared = prepare_recommendation(place, known, request, fresh=False)
        write_plan(plan_campaign(prepared), of_plan(chosen), output)
        return
    advice = _recommended(place, known, request, fresh=False)
    _write(screening_report(place, known.conclusion, advice), place, chosen, output)


def _recommended(
    place: Workplace, known: KnownScreening, request: RecommendationRequest, *, fresh: bool
) -> RecommendationConclusion:
    from hati.wiring import make_campaign, prepare_recommendation

    prepared = prepare_recommendation(place, known, request, fresh=fresh)
    with progress(known.study.benchmark.name) as observe:
        return make_campaign(prepared, say, observe)


def _write(report: StudyReport, place: Workplace, chosen: str, output: str) -> None:
    write_document(report.document, report.values, chosen, output)
    if chosen == DocumentFormat.TEXT and output == STDOUT:
        say(keep_report(report.document, place.project.root / ".hati" / "reports", report.kept))
