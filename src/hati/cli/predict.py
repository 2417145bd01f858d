"""``hati predict``: what a service would do on a machine, from a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.documents import DocumentFormat, format_option, write_document
from hati.cli.output import STDOUT, check_output
from hati.cli.parameters import Output
from hati.core import ExitStatus

if TYPE_CHECKING:
    from hati.prediction import ServicePrediction

_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="TOML file of resources, components and workloads.")]
_Format = Annotated[str, format_option(DocumentFormat, "Output format.")]


def predict(
    path: _Model,
    output: Output = STDOUT,
    chosen: _Format = DocumentFormat.TEXT.value,
) -> int:
    """Predict response times and utilisations from a model.

    The exit status is 1 where a resource is overloaded.
    """
    from hati.prediction import predict as predict_model
    from hati.project import read_model

    check_output(output, path)
    return _write(predict_model(read_model(path)), path, chosen, output)


def _write(prediction: ServicePrediction, path: Path, chosen: str, output: str) -> int:
    from hati.report import PredictionJson, prediction_document, publish

    document = prediction_document(prediction, path.name)
    write_document(document, lambda: publish(prediction, PredictionJson), chosen, output)
    return ExitStatus.WORSE if prediction.overloads else ExitStatus.OK
