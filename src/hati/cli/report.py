"""``hati report``: a study's report, made anew from the store."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.output import STDOUT, Format, say, write, write_page
from hati.cli.parameters import HERE, Output, ProjectPath, RelevantShare, ScreenedMetricName, StorePlace
from hati.cli.screen import parse_share, write_screening
from hati.core import InputError

if TYPE_CHECKING:
    from hati.studies.screening import ScreeningConclusion


class ReportFormat(StrEnum):
    """How a report is written."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


_Study = Annotated[str | None, typer.Option("--study", metavar="KEY", help="Study to report [default: the last one].")]
_Format = Annotated[ReportFormat, typer.Option("--format", help="Output format.")]
_Charts = Annotated[
    Path | None, typer.Option("--charts", metavar="FOLDER", help="Write each chart to this folder, as PNG and SVG.")
]


def report(
    path: ProjectPath = HERE,
    study: _Study = None,
    metric: ScreenedMetricName = None,
    relevant: RelevantShare = "1%",
    charts: _Charts = None,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: _Format = ReportFormat.TEXT,
) -> None:
    """Report a stored study without measuring."""
    from hati import render
    from hati.wiring import (
        conclude_stored,
        known_of,
        last_key,
        stored_changes,
        stored_recommendation,
        validation_of,
        workplace,
    )

    place = workplace(path, store, say)
    conclusion = conclude_stored(place, study or last_key(place), metric, parse_share(relevant))
    changes = stored_changes(place, conclusion)
    advice = stored_recommendation(place, conclusion)
    if charts is not None:
        _write_charts(conclusion, charts)
    if chosen is ReportFormat.HTML:
        write_page(render.screening_html(conclusion, advice, changes), output)
    else:
        asked = chosen is ReportFormat.JSON
        validated = validation_of(place, conclusion.study, conclusion.metric.name) if asked else None
        known = known_of(place, conclusion)
        write_screening(conclusion, Format(chosen.value), output, advice, validated, changes, known)


def _write_charts(conclusion: ScreeningConclusion, folder: Path) -> None:
    from hati import render

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}", fix="name another folder") from error
    charts = render.screening_charts(conclusion)
    for kind in render.ImageKind:
        for name, drawing in render.chart_images(charts, kind).items():
            if drawing.reason:
                say(f"warning: {folder / name}.{kind} is not written: {drawing.reason}")
            else:
                write(drawing.image, str(folder / f"{name}.{kind}"))
                say(f"{folder / name}.{kind} is written")
