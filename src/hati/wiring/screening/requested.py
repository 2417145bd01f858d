"""The design and the metric that a request asks for."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from hati.core import Benchmark, InputError, Metric
from hati.design import Design, letters, parse_generators, read_csv, read_json
from hati.design.matrix import symbols
from hati.studies.screening import FractionRequest
from hati.wiring.kinds.screening import ScreeningRequest
from hati.wiring.workplace import Workplace

_MOST_LETTERS = 52


def read_design(file: Path) -> Design:
    """Read a design from CSV or JSON.

    Raises:
        InputError: where it cannot be read, with its line and column.
    """
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise InputError(f"{file} cannot be read: {reason}") from error
    return read_json(text, str(file)) if file.suffix == ".json" else read_csv(text, str(file))


def requested_design(text: str | None, options: Sequence[str]) -> tuple[tuple[tuple[int, ...], ...], tuple[str, ...]]:
    """The rows of a design file, columns in the order of the options, or the generators in a text.

    A file's factors match the options by name; if no factor is the name of an option, by order.

    Raises:
        InputError: for a file that is not a design, or whose factors are not the options.
    """
    if text is None:
        return (), ()
    if "=" in text and not Path(text).exists():
        own = symbols(options)  # as `hati design` names them: their names where these are single characters
        letter = dict(zip(own, letters(len(own)), strict=True)) if len(own) <= _MOST_LETTERS else {}
        known = set(own) >= {sign for sign in text if sign.isalpha()}
        return (), parse_generators("".join(letter.get(sign, sign) for sign in text) if known else text)
    design = read_design(Path(text))
    if set(design.factors) == set(options):
        places = [design.factors.index(name) for name in options]
    elif len(design.factors) == len(options) and not set(design.factors) & set(options):
        places = list(range(len(options)))
    else:
        raise InputError(
            f"the factors of {text} are not the {len(options)} options of the space",
            fix=f"name its columns: {', '.join(options)}",
        )
    return tuple(tuple(row) for row in design.matrix[:, places].tolist()), ()


def requested_fraction(request: ScreeningRequest, options: Sequence[str]) -> FractionRequest | None:
    """The requested fraction; None if the budget decides."""
    if not request.of_fraction:
        return None
    rows, generators = requested_design(request.design, options)
    return FractionRequest(request.resolution, request.runs, generators, rows)


def requested_metric(place: Workplace, benchmark: Benchmark, name: str | None) -> Metric:
    """The first metric of a table; for a program, as ``chosen_metric``."""
    return chosen_metric(benchmark, name) if place.table is None else place.table.metrics[0]


def chosen_metric(benchmark: Benchmark, name: str | None) -> Metric:
    """The metric with a name, or the only one.

    Raises:
        InputError: for an unknown name, or without a name if there are several metrics.
    """
    if name is not None:
        return benchmark.metric(name)
    if len(benchmark.metrics) > 1:
        names = ", ".join(metric.name for metric in benchmark.metrics)
        raise InputError(f"benchmark {benchmark.name!r} has several metrics", fix=f"choose one by --metric: {names}")
    return benchmark.metrics[0]
