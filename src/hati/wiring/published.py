"""The published types of JSON by their formats, for their schemas."""

from __future__ import annotations

from importlib import import_module

from msgspec import Struct

from hati.core import InputError
from hati.core.wording import suggestion
from hati.wiring.study_types import format_of, other_types

_PUBLISHING = (
    "design.document",
    "document.publishing",
    "document.document",
    "gateway.messages",
    "generate.observations",
    "harness.document",
    "prediction.document",
    "space.document",
    "steering.status",
    "studies.assertion.two_machines",
    "studies.assertion.tables",
    "studies.dry_run",
    "studies.audit.document",
    "studies.bisection",
    "studies.comparison.document",
    "studies.effect_drift",
    "studies.failure_search.document",
    "studies.findings",
    "studies.gate.document",
    "studies.line_coverage",
    "studies.measurement",
    "studies.paired.document",
    "studies.probe.document",
    "studies.probe.planning",
    "studies.regression.document",
    "studies.replay.document",
    "studies.screening.values",
    "studies.suite.document",
    "studies.validation.document",
)
"""The modules of Hati that define published types."""


def published_types() -> dict[str, type[Struct]]:
    """The types by their formats, such as ``hati-screen-1``."""
    own = (each for module in _PUBLISHING for each in vars(import_module(f"hati.{module}")).values())
    others = (kind.published for kind in other_types()[0])
    return {format_: each for each in (*own, *others) if (format_ := format_of(each))}


def published_type(name: str) -> type[Struct]:
    """The type of the format or study with this name.

    Raises:
        InputError: where there is none.
    """
    formats = published_types()
    studies = {format_.removeprefix("hati-").removesuffix("-1"): each for format_, each in formats.items()}
    studies |= {kind.name: kind.published for kind in other_types()[0] if kind.published}
    found = formats.get(name) or studies.get(name)
    if found is None:
        raise InputError(f"there is no format or study {name!r}", fix=suggestion(name, studies))
    return found
