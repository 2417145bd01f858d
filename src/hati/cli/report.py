"""``hati report``: a study's report, computed again from the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.commands import (
    HERE,
    Output,
    ProjectPath,
    RelevantShare,
    ScreenedMetricName,
    StorePlace,
)
from hati.cli.output import (
    STDOUT,
    VerdictFormat,
    VerdictOption,
    say,
    write,
    write_document,
)
from hati.core import InputError, parse_share

if TYPE_CHECKING:
    from hati.document import Document

_Study = Annotated[
    str | None,
    typer.Option(
        "--study", metavar="KEY", help="Study to report: its key, or the beginning of it [default: the last screening]."
    ),
]
_Charts = Annotated[
    Path | None, typer.Option("--charts", metavar="FOLDER", help="Write each chart to this folder, as PNG and SVG.")
]


_Means = Annotated[
    bool, typer.Option("--means", help="Screenings: add the mean of the metric at each setting of each option.")
]
_RELEVANT = "1%"


_OF_VERDICTS = {VerdictFormat.JUNIT.value, VerdictFormat.GITHUB.value}


def report(
    path: ProjectPath = HERE,
    study: _Study = None,
    metric: ScreenedMetricName = None,
    relevant: RelevantShare = _RELEVANT,
    means: _Means = False,
    charts: _Charts = None,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: VerdictOption = VerdictFormat.TEXT.value,
) -> None:
    """Report a stored study without measuring."""
    from hati.render import require_charts
    from hati.studies.screening.document import with_means
    from hati.wiring import existing_store, screening_key, stored_report, stored_screening_report, workplace

    if charts is not None:
        require_charts()
    if store is not None:
        existing_store(path, store).close()
    place = workplace(path, store, say)
    of_screening = screening_key(place, study)
    if study is None and of_screening is None and place.store.studies():
        raise InputError(
            f"there is no screening of {place.project.name} to report",
            fix="`hati studies` lists other studies, and `--study KEY` reports one",
        )
    if study is not None and of_screening is None:
        for option, given in (("--relevant", relevant != _RELEVANT), ("--means", means)):
            if given:
                raise InputError(f"{option} is for screenings", fix="leave it out")
        found = stored_report(place, study, metric)
    else:
        found = stored_screening_report(place, of_screening, metric, parse_share(relevant))
    document = with_means(found.document) if means else found.document
    if chosen in _OF_VERDICTS and not document.cases:
        raise InputError(f"--format {chosen} is for studies with verdicts", fix="write text, json, markdown or html")
    write_document(document, found.values, chosen, output)
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
