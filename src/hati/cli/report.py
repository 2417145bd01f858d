"""``hati report``: a study's report, made anew from the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.documents import DocumentFormat, DocumentOption
from hati.cli.output import STDOUT, say, write
from hati.cli.parameters import HERE, Output, ProjectPath, RelevantShare, ScreenedMetricName, StorePlace
from hati.cli.screen import parse_share, write_screening
from hati.core import InputError

if TYPE_CHECKING:
    from hati.report import Document


_Study = Annotated[str | None, typer.Option("--study", metavar="KEY", help="Study to report [default: the last one].")]
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
    chosen: DocumentOption = DocumentFormat.TEXT,
) -> None:
    """Report a stored study without measuring."""
    from hati.render import require_charts
    from hati.wiring import conclude_stored, known_of, last_key, stored_changes, stored_recommendation, workplace

    if charts is not None:
        require_charts()
    place = workplace(path, store, say)
    conclusion = conclude_stored(place, study or last_key(place), metric, parse_share(relevant))
    changes = stored_changes(place, conclusion)
    advice = stored_recommendation(place, conclusion)
    document = write_screening(conclusion, place, chosen, output, advice, changes, known_of(place, conclusion))
    if charts is not None:
        _write_charts(document, charts)


def _write_charts(document: Document, folder: Path) -> None:
    from hati import render

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}", fix="name another folder") from error
    charts = render.charts_of(document)
    for kind in render.ImageKind:
        for name, drawing in render.chart_images(charts, kind).items():
            if drawing.reason:
                say(f"warning: {folder / name}.{kind} is not written: {drawing.reason}")
            else:
                write(drawing.image, str(folder / f"{name}.{kind}"))
                say(f"{folder / name}.{kind} is written")
