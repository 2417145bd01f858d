"""``hati validate``: whether what a screening found is right."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from hati.cli.documents import DocumentFormat, DocumentOption, of_plan, write_document
from hati.cli.dry_run import write_plan
from hati.cli.output import STDOUT, check_output, say
from hati.cli.parameters import (
    HERE,
    DryRun,
    Fresh,
    Output,
    RelevantShare,
    ScreenedMetricName,
    Seed,
    StorePlace,
    Template,
)
from hati.cli.progress import progress
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

_Study = Annotated[
    str | None, typer.Option("--study", metavar="KEY", help="Screening to validate [default: the most informative].")
]


class ValidateMode(StrEnum):
    """What is validated."""

    CONFIRM = "confirm"
    DISCRIMINATE = "discriminate"
    DEALIAS = "dealias"
    CHECK = "check"


_Mode = Annotated[
    ValidateMode | None,
    typer.Option(
        "--mode",
        help="What to test: predictions (confirm), rival models (discriminate), aliases of important effects "
        "(dealias), or all effects up to an order (check) [default: discriminate; "
        "confirm where no two-level fraction was run].",
    ),
]
_Order = Annotated[
    int | None, typer.Option("--order", min=1, help="Highest order of effects [default: 3; discriminate: 2].")
]
_Options = Annotated[
    str | None,
    typer.Option("--options", metavar="A,B", help="Estimate effects of these options only; see --mode."),
]
_Budget = Annotated[
    str | None,
    typer.Option("--budget", metavar="RUNS|TIME", help="Limit: a number of runs, or a time such as 2m [default: 16]."),
]


def validate(
    path: SubjectPath = HERE,
    study: _Study = None,
    mode: _Mode = None,
    order: _Order = None,
    options: _Options = None,
    budget: _Budget = None,
    metric: ScreenedMetricName = None,
    relevant: RelevantShare = "1%",
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
    """Test the assumptions of a screening with a few more runs."""
    from hati.report import validation_document, validation_json
    from hati.studies.validation import Mode
    from hati.wiring import ValidationRequest, narrowed_workplace, plan_validation, prepare_validation
    from hati.wiring import validate as make_validation

    limit = budget or "16"
    table = TableOptions(space, tuple(where or ()), unit, better, deviation)
    place = narrowed_workplace(open_subject(path, store, metric, limit, table), template or (), say)
    check_output(output, path, project=path)
    request = ValidationRequest(
        study=study,
        metric=metric if place.table is None else place.table.metrics[0].name,
        mode=None if mode is None else Mode(mode),
        order=order,
        budget=limit,
        seed=seed,
        relevant=parse_share(relevant),
        suspects=tuple(filter(None, (options or "").replace(" ", "").split(","))),
    )
    prepared = prepare_validation(place, request, fresh=fresh)
    if dry_run:
        write_plan(plan_validation(prepared), of_plan(chosen), output)
        return
    if prepared.finished and prepared.evidence().runs:
        say(f"{prepared.study.id.key} was measured before; --fresh measures again")
    with progress(prepared.benchmark.name) as observe:
        conclusion = make_validation(prepared, say, observe)
    write_document(validation_document(conclusion), lambda: validation_json(conclusion), chosen, output)
