"""A report as plain values: the answer, its evidence and its limits. Renderers draw them."""

from __future__ import annotations

from enum import StrEnum
from typing import Any, NamedTuple

from msgspec import Struct

from hati.document.table import Table

Fact = tuple[str, str]
"""A name and a text."""


class Facts(Struct, frozen=True):
    """Texts that each have a name, under a title."""

    title: str
    lines: tuple[Fact, ...]


class Prose(Struct, frozen=True):
    """Sentences, each a paragraph of its own."""

    sentences: tuple[str, ...]


class ChartKind(StrEnum):
    """How figure data are drawn."""

    PARETO = "pareto"
    HALF_NORMAL = "half_normal"
    MAIN_EFFECTS = "main_effects"
    INTERACTIONS = "interactions"
    RUN_ORDER = "run_order"
    QUANTILES = "quantiles"
    BOXES = "boxes"
    HISTORY = "history"
    RELATION = "relation"
    HISTOGRAM = "histogram"
    LOADS = "loads"


class Chart(Struct, frozen=True):
    """Figure data, drawn if the output can have charts; ``name`` is unique in a document."""

    kind: ChartKind
    name: str
    caption: str
    figure: Any


class Folded(Struct, frozen=True):
    """Details: shown in full on a console, behind their title where a document can be unfolded."""

    title: str
    sections: tuple[Table, ...]


class Brief(Struct, frozen=True):
    """A summary of folded details: shown where these are folded."""

    table: Table


class Aside(Struct, frozen=True):
    """Sections for interactive documents only, shown behind their title."""

    title: str
    sections: tuple[Section, ...]


class Part(Struct, frozen=True):
    """A part of a document with an answer of its own, which may be empty."""

    title: str
    answer: str
    sections: tuple[Section, ...]


Section = Table | Facts | Prose | Chart | Folded | Brief | Aside | Part


class Case(NamedTuple):
    """A test case; ``failure``, ``skipped`` or ``error`` gives the reason, and all are None if it passes.

    An error is a missing measurement; ``note`` is a remark on a case that passes; ``seconds`` is the time of its
    runs, None if unknown. The time of runs that several cases share is divided equally.
    """

    suite: str
    name: str
    failure: str | None = None
    skipped: str | None = None
    error: str | None = None
    note: str | None = None
    seconds: float | None = None


class Document(Struct, frozen=True):
    """A study's result, for people.

    ``answer`` gives it in one or two sentences. ``facts`` describe the study; ``failures`` are runs that
    failed, with their reasons; ``warnings`` limit the answer and name remedies; ``reading`` explains terms.
    ``cases`` are verdicts as test cases of a ``suite``, for continuous integration. ``study`` is its key,
    shown where a document outlives its console. A bot finds its own comment by ``mark``.
    """

    title: str
    answer: str
    facts: tuple[Fact, ...] = ()
    sections: tuple[Section, ...] = ()
    failures: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    reading: tuple[Fact, ...] = ()
    cases: tuple[Case, ...] = ()
    suite: str = ""
    study: str = ""
    mark: str = ""

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables that a console shows, those of its parts included."""
        return _tables(self.sections)


def _tables(sections: tuple[Section, ...]) -> tuple[Table, ...]:
    found: list[Table] = []
    for section in sections:
        if isinstance(section, Table):
            found.append(section)
        elif isinstance(section, Folded):
            found += section.sections
        elif isinstance(section, Part):
            found += _tables(section.sections)
    return tuple(found)
