"""``hati screen``: which options matter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.dry_run import write_planned, write_rehearsal
from hati.cli.output import STDOUT, Format, check_output, console, say, write
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
    from hati.studies.recalibration import EffectChanges
    from hati.studies.recommendation import RecommendationConclusion
    from hati.studies.screening import ScreeningConclusion
    from hati.studies.validation import ValidationConclusion

_Budget = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="RUNS|TIME",
        help="What the runs may cost: 96 of them, or a time such as 5m [default: 2m; of a table, say how many].",
    ),
]
_Detect = Annotated[
    str | None,
    typer.Option(
        "--detect",
        metavar="SHARE",
        help="The cheapest design that finds effects of 3% or 0.03 with 90 % power, or none.",
    ),
]
_Recommend = Annotated[
    bool,
    typer.Option("--recommend", help="Say what to set, confirmed against the default by runs of the same budget."),
]
_Recalibrate = Annotated[
    bool,
    typer.Option("--recalibrate", help="Make the last screening again, on fresh runs, and say what changed."),
]


def screen(
    path: SubjectPath = HERE,
    metric: MetricName = None,
    benchmark: BenchmarkName = None,
    budget: _Budget = None,
    relevant: RelevantShare = "1%",
    detect: _Detect = None,
    recommend: _Recommend = False,
    recalibrate: _Recalibrate = False,
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
    """Find out which options matter, by a designed experiment within a budget."""
    from hati.wiring import (
        ScreeningRequest,
        changes_of,
        prepare_recalibration,
        prepare_screening,
        rehearse,
        split_budget,
        validation_of,
    )
    from hati.wiring import recommend as make_recommendation
    from hati.wiring import screen as make_screening

    table = TableOptions(space, tuple(where or ()), unit, better, deviation)
    place = open_subject(path, store, metric, budget, table)
    if budget is None and place.table is not None:
        raise InputError("nothing says how many runs of the table may be looked up", fix="say it, as in --budget 32")
    limit = budget or "2m"
    split = split_budget(limit) if recommend else None
    check_output(output, path, project=path)
    request = ScreeningRequest(
        metric if place.table is None else None,
        split.screening if split else limit,
        seed,
        benchmark,
        parse_share(relevant),
        None if detect is None else parse_share(detect),
    )
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
        advice = make_recommendation(prepared, split, say, observe) if split else None
    validated = validation_of(place, conclusion.study, conclusion.metric.name) if chosen is Format.JSON else None
    changes = changes_of(prepared, conclusion)
    write_screening(conclusion, chosen, output, advice, validated, changes)
    if chosen is Format.TEXT and output == STDOUT:
        say(_reported(conclusion, place.project.root / ".hati" / "reports", advice, changes))


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
) -> None:
    """Write a conclusion, what a recalibration changed, and what is recommended; as JSON its validation too."""
    from hati import render
    from hati.report import changes_json, changes_table, recommendation_json, screening_json, validation_json

    changed = [changes_table(changes)] if changes else []

    if chosen is Format.JSON:
        added = {"validation": validation_json(validated) if validated else None}
        added |= {"recommendation": recommendation_json(advice)} if advice else {}
        added |= {"changes": changes_json(changes)} if changes else {}
        write(render.to_json({**screening_json(conclusion), **added}), output)
    elif chosen is Format.MARKDOWN:
        added_text = f"\n{render.recommendation_markdown(advice)}" if advice else ""
        told = "".join(f"\n{render.table_markdown(table)}" for table in changed)
        write(render.screening_markdown(conclusion) + told + added_text, output)
    elif output == STDOUT:
        render.print_screening(conclusion, console())
        for table in changed:
            render.print_table(table, console())
        if advice:
            render.print_recommendation(advice, console())
    else:
        told = "".join(map(render.table_text, changed))
        text = render.screening_text(conclusion) + told
        write(text + (render.recommendation_text(advice) if advice else ""), output)


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
    write(render.screening_html(conclusion, advice, changes), str(file))
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
            f"{text!r} is no share from 0 to below 100 %",
            fix="write a percentage such as 1%, or a fraction such as 0.01",
        )
    return share
