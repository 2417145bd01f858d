"""``hati screen``: which options matter."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from hati.cli.dry_run import write_rehearsal
from hati.cli.output import STDOUT, Format, console, say, write
from hati.cli.parameters import (
    HERE,
    BenchmarkName,
    BudgetText,
    DryRun,
    FormatOption,
    Fresh,
    MetricName,
    Output,
    ProjectPath,
    RelevantShare,
    Seed,
    StorePlace,
)
from hati.cli.progress import progress
from hati.core import InputError

if TYPE_CHECKING:
    from hati.studies.screening import ScreeningConclusion


def screen(
    path: ProjectPath = HERE,
    metric: MetricName = None,
    benchmark: BenchmarkName = None,
    budget: BudgetText = "2m",
    relevant: RelevantShare = "1%",
    seed: Seed = 1,
    fresh: Fresh = False,
    dry_run: DryRun = False,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: FormatOption = Format.TEXT,
) -> None:
    """Find out which options matter, by a designed experiment within a budget."""
    from hati.wiring import ScreeningRequest, prepare_screening, rehearse, workplace
    from hati.wiring import screen as make_screening

    place = workplace(path, store)
    request = ScreeningRequest(metric, budget, seed, benchmark, parse_share(relevant))
    prepared = prepare_screening(place, request, fresh=fresh)
    if dry_run:
        write_rehearsal(rehearse(prepared), chosen, output)
        return
    if prepared.finished:
        say(f"{prepared.id.key} was measured before; --fresh measures again")
    with progress(prepared.benchmark.name) as observe:
        conclusion = make_screening(prepared, say, observe)
    write_screening(conclusion, chosen, output)
    if chosen is Format.TEXT and output == STDOUT:
        say(f"report: {write_report(conclusion, place.project.root / '.hati' / 'reports')}")


def write_screening(conclusion: ScreeningConclusion, chosen: Format, output: str) -> None:
    """Write a conclusion in the format that was asked for."""
    from hati import render
    from hati.report import screening_json

    if chosen is Format.JSON:
        write(render.to_json(screening_json(conclusion)), output)
    elif chosen is Format.MARKDOWN:
        write(render.screening_markdown(conclusion), output)
    elif output == STDOUT:
        render.print_screening(conclusion, console())
    else:
        write(render.screening_text(conclusion), output)


def write_report(conclusion: ScreeningConclusion, folder: Path) -> Path:
    """Write the HTML report of a conclusion into a folder; its path."""
    from hati import render

    metric = re.sub(r"[^\w.-]", "_", conclusion.metric.name)
    file = folder / f"{conclusion.study}-{metric}.html"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}") from error
    write(render.screening_html(conclusion), str(file))
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
        raise InputError(f"{text!r} is no share", fix="write a percentage such as 1%, or a fraction such as 0.01")
    return share
