"""The fields of a request for a study, given on a command line or by a call."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Annotated, Any, TypeVar

from msgspec import Struct

from hati.core.errors import InputError
from hati.core.metric import Better

T = TypeVar("T")


class FlagField(Struct, frozen=True):
    """The command-line option that sets a field of a request; ``name`` is None for the field's own name.

    ``parse`` reads its text, and ``write`` writes a default so that ``parse`` can read it. ``stands_for`` is the
    field's value for an option that takes no value; None for true, in a boolean field.
    """

    help: str
    metavar: str | None = None
    name: str | None = None
    parse: Callable[[str], Any] | None = None
    write: Callable[[Any], str] = str
    least: int | None = None
    most: int | None = None
    stands_for: Any = None


class PositionalField(Struct, frozen=True):
    """The positional argument that sets a field of a request."""

    help: str
    metavar: str


def write_share(fraction: float) -> str:
    """A fraction as people write it, such as ``5%``."""
    return f"{100.0 * fraction:g}%"


def parse_share(text: str) -> float:
    """A fraction such as ``1%`` or ``0.01``, from 0 to below 1.

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
            f"{text!r} is not a percentage from 0 to below 100 %",
            fix="write a percentage such as 1%, or a fraction such as 0.01",
        )
    return share


def parse_failing(text: str, able: Mapping[str, T]) -> frozenset[T]:
    """The verdicts, by name, for which a command exits with a status above 0; ``able`` lists those that can.

    Raises:
        InputError: for a name that is not in ``able``.
    """
    words = [word.strip() for word in text.split(",") if word.strip() and word.strip() != "none"]
    for word in words:
        if word not in able:
            raise InputError(
                f"--fail-on {word!r} is not a verdict that can fail", fix=f"write {', '.join(able)}, or none"
            )
    return frozenset(able[word] for word in words)


def share(help_: str) -> FlagField:
    """The flag of a fraction, which may be a percentage."""
    return FlagField(help_, metavar="FRACTION", parse=parse_share, write=write_share)


def parse_names(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(filter(None, (name.strip() for name in text.split(","))))


def shares(help_: str) -> FlagField:
    """The flag of fractions separated by commas, each of which may be a percentage."""
    return FlagField(help_, metavar="Q,..", parse=_parse_shares, write=_write_shares)


def _parse_shares(text: str) -> tuple[float, ...]:
    return tuple(dict.fromkeys(map(parse_share, text.split(","))))


def _write_shares(fractions: tuple[float, ...]) -> str:
    return ",".join(map(write_share, fractions))


LARGEST_SEED = 2**63 - 1
"""The largest integer that a store can hold."""
USUAL_SEED = 1
"""The random seed of a command without one."""

Seed = Annotated[int, FlagField("Random seed, 0 to 2^63-1; recorded.", metavar="SEED", least=0, most=LARGEST_SEED)]
BenchmarkName = Annotated[str | None, FlagField("Benchmark, where hati.toml has several.", metavar="NAME")]
MetricName = Annotated[str | None, FlagField("Metric to analyse, where the benchmark has several.", metavar="NAME")]
Margin = Annotated[float, share("Largest difference that counts as the same, such as 5%.")]
Templates = Annotated[
    tuple[str, ...],
    FlagField(
        "Narrow the space: fix X, or add a constraint such as 'x >= 4'; repeatable.",
        metavar="X=S|CONSTRAINT",
        name="--set",
    ),
]
"""Constraints of the space's grammar, or settings."""
ScreenedMetric = Annotated[
    str | None, FlagField("Metric to analyse [default: the one screened last].", metavar="NAME", name="--metric")
]
Relevant = Annotated[float, share("Smallest effect that counts, such as 1%.")]
StatisticName = Annotated[str, FlagField("Statistic of a run: auto, mean, trimmed, median, q0.99.", metavar="NAME")]


def level(what: str) -> FlagField:
    """The flag of an error rate, over ``what``."""
    return share(f"Error rate {what}, such as 1%.")


def fail_on(verdicts: str) -> FlagField:
    """The flag of the ``verdicts`` that fail a command."""
    return FlagField(f"Verdicts that fail the command: {verdicts}, or none.", metavar="VERDICTS")


def budget(example: str, default: str) -> FlagField:
    """The flag of a budget; ``default`` describes the default in words."""
    known = f" [default: {default}]" if default else ""
    return FlagField(f"Limit: a number of runs, or a time such as {example}{known}.", metavar="RUNS|TIME")


TableRows = Annotated[
    tuple[str, ...], FlagField("For a table: use only these rows; repeatable.", metavar="COLUMN=VALUE")
]
TableUnit = Annotated[str | None, FlagField("For a table: unit of the metric [default: 1].", metavar="UNIT")]
TableBetter = Annotated[Better | None, FlagField("For a table: direction that is better [default: lower].")]


class TableFields(Struct, frozen=True, kw_only=True):
    """The request for a table of measured configurations, which replaces a project."""

    space: Annotated[str | None, FlagField("For a table: hati.toml with its options.", metavar="FILE")] = None
    where: TableRows = ()
    unit: TableUnit = None
    better: TableBetter = None
    deviation: Annotated[
        str | None,
        FlagField(
            "For a table: add random noise with this relative standard deviation (2%, a column, or a table).",
            metavar="FRACTION|COLUMN|FILE",
        ),
    ] = None
