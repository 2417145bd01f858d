"""``hati report``: a study's report, made anew from the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hati.cli.check import check_name
from hati.cli.documents import DocumentFormat, DocumentOption, write_document
from hati.cli.history import CHANGE_ALPHA
from hati.cli.output import STDOUT, say, write
from hati.cli.parameters import HERE, Output, ProjectPath, RelevantShare, ScreenedMetricName, StorePlace
from hati.cli.screen import parse_share, write_screening
from hati.core import InputError, replace

if TYPE_CHECKING:
    from hati.report import Document, Plain
    from hati.studies.gate import GateConclusion
    from hati.studies.regression import HistoryConclusion
    from hati.studies.replay import Replayed
    from hati.wiring import Workplace


_Study = Annotated[
    str | None,
    typer.Option(
        "--study", metavar="KEY", help="Study to report: its key, or the beginning of it [default: the last screening]."
    ),
]
_Charts = Annotated[
    Path | None, typer.Option("--charts", metavar="FOLDER", help="Write each chart to this folder, as PNG and SVG.")
]


_RELEVANT = "1%"


def report(
    path: ProjectPath = HERE,
    study: _Study = None,
    metric: ScreenedMetricName = None,
    relevant: RelevantShare = _RELEVANT,
    charts: _Charts = None,
    store: StorePlace = None,
    output: Output = STDOUT,
    chosen: DocumentOption = DocumentFormat.TEXT,
) -> None:
    """Report a stored study without measuring."""
    from hati.render import require_charts
    from hati.wiring import existing_store, screening_key, workplace

    if charts is not None:
        require_charts()
    if store is not None:
        existing_store(path, store).close()
    place = workplace(path, store, say)
    of_screening = screening_key(place, study)
    if study is None and of_screening is None and place.store.studies():
        raise InputError(
            "there is no screening to report", fix="`hati studies` lists other studies, and `--study KEY` reports one"
        )
    if study is not None and of_screening is None:
        if relevant != _RELEVANT:
            raise InputError("--relevant is for screenings", fix="leave it out")
        document = _write_restored(place, study, metric, output, chosen)
    else:
        document = _write_screening(place, of_screening, metric, parse_share(relevant), output, chosen)
    if charts is not None:
        _write_charts(document, charts)


def _write_screening(
    place: Workplace, key: str | None, metric: str | None, relevant: float, output: str, chosen: DocumentFormat
) -> Document:
    from hati.wiring import conclude_stored, known_of, stored_changes, stored_recommendation

    conclusion = conclude_stored(place, key, metric, relevant)
    changes = stored_changes(place, conclusion)
    advice = stored_recommendation(place, conclusion)
    return write_screening(conclusion, place, chosen, output, advice, changes, known_of(place, conclusion))


def _write_restored(place: Workplace, key: str, metric: str | None, output: str, chosen: DocumentFormat) -> Document:
    """Write the report of a study other than a screening.

    Raises:
        InputError: where the study cannot be restored.
        MeasurementError: where it measured too little.
    """
    from hati.wiring import assumed, restored_study

    study = restored_study(place, key, metric)
    found = study.conclude(place.store.evidence(study.id))
    made, values = _parts(place, study.id.kind)
    document, missing = made(found), assumed(place, study.id)
    if missing:
        document = replace(document, facts=(*document.facts, ("not stored", missing)))
    write_document(document, lambda: values(found), chosen, output)
    return document


Parts = tuple[Callable[[Any], "Document"], Callable[[Any], "Plain"]]


def _parts(place: Workplace, kind: str) -> Parts:
    """What makes the report of a conclusion, and its plain values; only what is needed is loaded."""
    from hati import report as made

    makers: dict[str, Callable[[], Parts]] = {
        "bisection": lambda: (made.bisection_document, made.bisection_json),
        "effect-drift": lambda: (made.drift_document, made.drift_json),
        "gate": lambda: _of_gate(place),
        "measurement": lambda: (made.measurement_document, made.measurement_json),
        "paired": lambda: (made.paired_document, made.paired_json),
        "replay": _of_replay,
        "suite": lambda: (made.suite_document, made.suite_json),
        "validation": lambda: (made.validation_document, made.validation_json),
    }
    return makers[kind]()


def _of_gate(place: Workplace) -> Parts:
    from hati.report import gate_document, gate_json
    from hati.studies.findings import Ruling
    from hati.wiring import stored_reports

    revisions = place.revisions()

    def ruling(found: GateConclusion) -> Ruling:
        return Ruling(found, stored_reports(place.store, found, revisions))

    name = check_name(revisions.within)
    return lambda found: gate_document(ruling(found), None, name), lambda found: gate_json(ruling(found))


def _of_replay() -> Parts:
    from hati.report import replay_document, replay_json
    from hati.studies.regression import histories

    def concluded(found: Replayed) -> list[HistoryConclusion]:
        return list(histories(found.series, parse_share(CHANGE_ALPHA), None))

    return lambda found: replay_document(found, concluded(found)), lambda found: replay_json(found, concluded(found))


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
