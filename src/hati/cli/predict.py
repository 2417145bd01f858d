"""``hati predict``: predict the performance of a service on a machine from a model."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from hati.cli.commands import Output
from hati.cli.output import STDOUT, DocumentFormat, check_output, format_option, say, write_document
from hati.cli.probing import ProbeStore
from hati.core import ExitStatus, InputError

if TYPE_CHECKING:
    from hati.prediction import LoadCurve, ServiceModel, ServicePrediction

_Model = Annotated[Path, typer.Argument(metavar="MODEL", help="TOML file of resources, components and workloads.")]
_Format = Annotated[str, format_option(DocumentFormat, "Output format.")]
_Over = Annotated[
    str | None,
    typer.Option("--over", metavar="RANGE", help="Loads of a workload, such as users.rate=100/min..2000/min."),
]
_Points = Annotated[
    int | None,
    typer.Option("--points", metavar="N", min=2, max=1000, help="Number of loads of --over.  [default: 10]"),
]
_Machines = Annotated[
    list[str] | None,
    typer.Option(
        "--resources",
        metavar="[NAME=]MACHINE",
        help="Machine with cores and speed as probed, or `here`; repeatable.",
    ),
]
_Requests = Annotated[
    int | None,
    typer.Option(
        "--requests",
        metavar="N",
        min=10,
        help="Requests counted in each of 10 replications, where it is simulated.  [default: 2000]",
    ),
]
_SeedOption = Annotated[
    int, typer.Option("--seed", metavar="SEED", min=0, help="Random seed of a simulation.", show_default=True)
]
_POINTS = 10


def predict(
    path: _Model,
    over: _Over = None,
    points: _Points = None,
    machines: _Machines = None,
    store: ProbeStore = None,
    requests: _Requests = None,
    seed: _SeedOption = 1,
    output: Output = STDOUT,
    chosen: _Format = DocumentFormat.TEXT.value,
) -> int:
    """Predict response times and utilisations from a model.

    The exit status is 1 where a resource is overloaded; with --over it is 0.
    """
    import numpy as np

    from hati.prediction import Replications, predict_over
    from hati.prediction import predict as predict_model
    from hati.project import parse_load_range, read_model

    check_output(output, path)
    if over is None and points is not None:
        raise InputError("--points is of a range of loads", fix="give one by --over, or leave --points out")
    model = read_model(path)
    if machines:
        model = _on_machines(model, machines, path, store)
    generator = np.random.default_rng(seed)
    replications = Replications() if requests is None else Replications(requests=requests)
    if over is None:
        return _write(predict_model(model, generator, replications), path, chosen, output)
    curve = predict_over(model, parse_load_range(over, model), points or _POINTS, generator, replications)
    return _write_curve(curve, path, chosen, output)


def _on_machines(model: ServiceModel, machines: list[str], path: Path, store: str | None) -> ServiceModel:
    from hati.wiring.probes.experiments import on_machines

    found, warnings = on_machines(model, machines, path, store)
    for warning in warnings:
        say(f"warning: {warning}")
    return found


def _write(prediction: ServicePrediction, path: Path, chosen: str, output: str) -> int:
    from hati.document import publish
    from hati.prediction.document import PredictionJson, prediction_document

    document = prediction_document(prediction, path.name)
    write_document(document, lambda: publish(prediction, PredictionJson), chosen, output)
    return ExitStatus.WORSE if prediction.overloads else ExitStatus.OK


def _write_curve(curve: LoadCurve, path: Path, chosen: str, output: str) -> int:
    from hati.document import publish
    from hati.prediction.document import LoadCurveJson, load_curve_document

    document = load_curve_document(curve, path.name)
    write_document(document, lambda: publish(curve, LoadCurveJson), chosen, output)
    return ExitStatus.OK
