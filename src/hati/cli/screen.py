"""``hati screen``: which options matter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.dry_run import write_planned, write_rehearsal
from hati.cli.output import STDOUT, Format, check_output, console, say, write, write_page
from hati.cli.parameters import (
    HERE,
    BenchmarkName,
    DryRun,
    FormatOption,
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
    TableOptions,
    UnitName,
    Where,
    open_subject,
)
from hati.core import InputError

if TYPE_CHECKING:
    from hati.report import Known
    from hati.studies.recalibration import EffectChanges
    from hati.studies.recommendation import KeepRule, RecommendationConclusion
    from hati.studies.screening import ScreeningConclusion
    from hati.studies.validation import ValidationConclusion
    from hati.wiring import KnownScreening, RecommendationRequest, Workplace

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
    chosen: FormatOption = Format.TEXT,
) -> None:
    """Find the options that matter, by a designed experiment."""
    from hati.cli.asked_design import asked_design, parse_level
    from hati.studies.screening import FractionRequest
    from hati.wiring import (
        RecommendationRequest,
        ScreeningRequest,
        changes_of,
        known_screening,
        made_screening,
        narrowed_workplace,
        prepare_recalibration,
        prepare_screening,
        rehearse,
        split_budget,
        validation_of,
    )
    from hati.wiring import screen as make_screening

    table = TableOptions(space, tuple(where or ()), unit, better, deviation)
    rules = _rules(keep, recommend=recommend)
    others = tuple(dict.fromkeys(rule.metric for rule in rules if rule.metric != metric))
    subject = open_subject(path, store, metric, budget, table, others)
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
        (write_rehearsal if detect is None else write_planned)(rehearse(prepared), chosen, output)
        return
    if prepared.finished:
        say(f"{prepared.id.key} was measured before; --fresh measures again")
    with progress(prepared.benchmark.name) as observe:
        conclusion = make_screening(prepared, say, observe)
    advice = _recommended(place, made_screening(prepared, conclusion), asked, fresh=fresh) if split else None
    validated = validation_of(place, conclusion.study, conclusion.metric.name) if chosen is Format.JSON else None
    changes = changes_of(prepared, conclusion)
    write_screening(conclusion, chosen, output, advice, validated, changes)
    if chosen is Format.TEXT and output == STDOUT:
        say(_reported(conclusion, place.project.root / ".hati" / "reports", advice, changes))


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
    chosen: Format,
    output: str,
) -> None:
    """Recommend from a screening that is known, and write both."""
    from hati.wiring import prepare_recommendation, rehearse_recommendation, validation_of

    say(known.source)
    if dry_run:
        prepared = prepare_recommendation(place, known, request, fresh=False)
        write_rehearsal(rehearse_recommendation(prepared), chosen, output)
        return
    advice = _recommended(place, known, request, fresh=False)
    conclusion = known.conclusion
    validated = validation_of(place, conclusion.study, conclusion.metric.name) if chosen is Format.JSON else None
    write_screening(conclusion, chosen, output, advice, validated)
    if chosen is Format.TEXT and output == STDOUT:
        say(_reported(conclusion, place.project.root / ".hati" / "reports", advice, None))


def _recommended(
    place: Workplace, known: KnownScreening, request: RecommendationRequest, *, fresh: bool
) -> RecommendationConclusion:
    from hati.wiring import prepare_recommendation
    from hati.wiring import recommend as make_recommendation

    prepared = prepare_recommendation(place, known, request, fresh=fresh)
    with progress(known.study.benchmark.name) as observe:
        return make_recommendation(prepared, say, observe)


def _reported(
    conclusion: ScreeningConclusion,
    folder: Path,
    advice: RecommendationConclusion | None,
    changes: EffectChanges | None,
) -> str:
    """Where the HTML report is, or why there is none: the study has done its work either way."""
    try:
        return f"report: {write_report(conclusion, folder, advice, changes)}"
    except InputError as error:
        return f"no report: {error.message}"


def write_screening(
    conclusion: ScreeningConclusion,
    chosen: Format,
    output: str,
    advice: RecommendationConclusion | None = None,
    validated: ValidationConclusion | None = None,
    changes: EffectChanges | None = None,
    known: Known | None = None,
) -> None:
    """Write a conclusion, what a recalibration changed, and what is recommended; as JSON its validation too.

    What is known now of the benchmark and metric comes last.
    """
    from hati import render
    from hati.report import (
        changes_json,
        changes_table,
        known_json,
        recommendation_json,
        screening_json,
        validation_json,
    )

    changed = [changes_table(changes)] if changes else []

    if chosen is Format.JSON:
        added = {"validation": validation_json(validated) if validated else None}
        added |= {"recommendation": recommendation_json(advice)} if advice else {}
        added |= {"changes": changes_json(changes)} if changes else {}
        added |= {"known": known_json(known)} if known else {}
        write(render.to_json({**screening_json(conclusion), **added}), output)
    elif chosen is Format.MARKDOWN:
        added_text = f"\n{render.recommendation_markdown(advice)}" if advice else ""
        told = "".join(f"\n{render.table_markdown(table)}" for table in changed)
        now = render.known_markdown(known) if known else ""
        write(render.screening_markdown(conclusion) + told + added_text + now, output)
    elif output == STDOUT:
        render.print_screening(conclusion, console())
        for table in changed:
            render.print_table(table, console())
        if advice:
            render.print_recommendation(advice, console())
        if known:
            render.print_known(known, console())
    else:
        told = "".join(map(render.table_text, changed))
        text = render.screening_text(conclusion) + told + (render.recommendation_text(advice) if advice else "")
        write(text + (render.known_text(known) if known else ""), output)


def write_report(
    conclusion: ScreeningConclusion,
    folder: Path,
    advice: RecommendationConclusion | None = None,
    changes: EffectChanges | None = None,
) -> Path:
    """Write the HTML report of a conclusion into a folder; its path."""
    from hati import render

    metric = re.sub(r"[^\w.-]", "_", conclusion.metric.name)
    file = folder / f"{conclusion.study}-{metric}.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}") from error
    write_page(render.screening_html(conclusion, advice, changes), str(file))
    return file


def parse_share(text: str) -> float:
    """A share such as ``1%`` or ``0.01``, as a fraction from 0 to below 1.

    Raises:
        InputError: for anything else.
    """
    number, percent = text.strip().removesuffix("%"), text.strip().endswith("%")
    try:
        share = float(number) / (100 if percent else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share < 1:
        raise InputError(
            f"{text!r} is not a percentage from 0 to below 100 %",
            fix="write a percentage such as 1%, or a fraction such as 0.01",
        )
    return share
