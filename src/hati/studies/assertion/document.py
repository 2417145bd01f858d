"""Judged formulas as a document: one by one in words, with the runs of both sides in numbers and as figures."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from hati.core import FloatArray
from hati.document.document import (
    Align,
    Aside,
    Cell,
    Chart,
    ChartKind,
    Column,
    Document,
    Fact,
    Facts,
    Part,
    Prose,
    Section,
    Shown,
    Table,
    duration,
    percent,
    quantity,
    tidy,
)
from hati.logic.interpret import FormulaVerdict, Limit, MeasuredSample
from hati.studies.assertion import Assured, Atom, SampleCollector, Standard, side_of
from hati.studies.assertion.tables import (
    assertion_answer,
    assertion_cases,
    assertion_table,
    explained,
    load_text,
    named_formula,
)

BINS = 40
_TAIL = 0.005
"""The fraction of a side's observations at either end that the range of the axis ignores."""
_FAR = 4.0
"""In widths of the measured range: a limit that is farther away is named, not drawn."""
_MAGNITUDES = 30.0
"""If the quotient of its ends is larger, the axis is logarithmic."""


class SideFigure(NamedTuple):
    """A measured side: the fraction of its observations in each bin, with equal weight for each run; its run means."""

    name: str
    shares: tuple[float, ...]
    means: tuple[float, ...]


class RelationFigure(NamedTuple):
    """The measured sides of a relation over common bins: one side if the other is a limit.

    The outermost bins include the ``beyond`` observations outside the range. Values are in ``unit``, tidied. ``limit``
    is None if there is none, or if it is too far away to be drawn; it is then ``far``.
    """

    text: str
    unit: str
    logarithmic: bool
    edges: tuple[float, ...]
    sides: tuple[SideFigure, ...]
    limit: float | None
    far: float | None
    beyond: int


def relation_figure(atom: Atom, book: SampleCollector) -> RelationFigure | None:
    """The measurements of a relation's sides, as its verdict used them; None if any is missing or unusable."""
    if not atom.is_observed_in(book):
        return None
    named = ((str(atom.relation.left), atom.resolved.left), (str(atom.relation.right), atom.resolved.right))
    taken = [(name, side_of(side, book)) for name, side in named]
    measured = [(name, side) for name, side in taken if isinstance(side, MeasuredSample)]
    limits = [side.value for _, side in taken if isinstance(side, Limit)]
    low, high = _range([side for _, side in measured])
    near = [limit for limit in limits if low - _FAR * (high - low) <= limit <= high + _FAR * (high - low)]
    low, high = min([low, *near]), max([high, *near])
    unit, factor = tidy(atom.unit, (low, high))
    logarithmic = low > 0.0 and high / low > _MAGNITUDES
    space = np.geomspace if logarithmic else np.linspace
    edges = space(low, high, BINS + 1)
    return RelationFigure(
        text=atom.text,
        unit=unit,
        logarithmic=logarithmic,
        edges=tuple((edges * factor).tolist()),
        sides=tuple(_side(name, side, edges, factor) for name, side in measured),
        limit=next((limit * factor for limit in near), None),
        far=next((limit * factor for limit in limits if limit not in near), None),
        beyond=sum(int(((run < low) | (run > high)).sum()) for _, side in measured for run in side.runs),
    )


def _range(sides: Sequence[MeasuredSample]) -> tuple[float, float]:
    """The range of the observations without their tails, and of all run means; never empty."""
    ends = [float(np.quantile(np.concatenate(side.runs), share)) for side in sides for share in (_TAIL, 1.0 - _TAIL)]
    means = [float(mean) for side in sides for mean in side.means]
    low, high = min(*ends, *means), max(*ends, *means)
    if high - low > 1e-9 * max(abs(low), abs(high)):
        return low, high
    half = 0.01 * abs(low) or 1.0
    return low - half, high + half


def _side(name: str, side: MeasuredSample, edges: FloatArray, factor: float) -> SideFigure:
    shares = sum((_shares(run, edges) for run in side.runs), np.zeros(len(edges) - 1)) / len(side.runs)
    return SideFigure(name, tuple(shares.tolist()), tuple((side.means * factor).tolist()))


def _shares(run: FloatArray, edges: FloatArray) -> FloatArray:
    counts, _ = np.histogram(np.clip(run, edges[0], edges[-1]), bins=edges)
    return counts / math.fsum(counts)


MOST_FIGURES = 24
"""The largest number of relations with a figure; relations that are not shown to hold come first."""

_FIRST = (FormulaVerdict.VIOLATED, FormulaVerdict.INCONCLUSIVE, FormulaVerdict.HOLDS)


def assertion_document(found: Assured, standard: Standard) -> Document:
    """The formulas in a table, and each with the derivation of its verdict and its measurements."""
    each: tuple[Section, ...] = (Facts("", _facts(found)), *_parts(found))
    return Document(
        "Performance requirements",
        assertion_answer(found.answers),
        sections=(
            assertion_table(found, standard),
            Aside("Formulas one by one", each),
        ),
        failures=found.failures,
        warnings=load_warnings(found),
        reading=_READING,
        cases=tuple(assertion_cases(found)),
        suite="hati assert",
        study=found.study,
    )


def load_warnings(found: Assured) -> tuple[str, ...]:
    """The violated limits of which most runs were disturbed, each with what its formula may say instead."""
    atoms = {atom.text: load_text(atom, found.book) for each in found.answers for atom in each.atoms}
    return tuple(f"{name}: {text}" for name, text in atoms.items() if text)


_READING = (
    ("HOLDS", "What the formula says is shown."),
    ("VIOLATED", "The contrary is shown."),
    (
        "INCONCLUSIVE",
        "The runs show neither. This proves neither; the report says what would decide.",
    ),
    (
        "Estimate",
        "How much larger the mean of the left side is than that of the right one; where the right side is a limit, the "
        "mean of the left side. Each run counts as one value: its mean.",
    ),
    ("Interval", "The range of the true value, for each relation individually."),
)


def _facts(found: Assured) -> tuple[Fact, ...]:
    left_out = max(0, sum(len(each.atoms) for each in found.answers) - MOST_FIGURES)
    return (
        ("interpretation", found.standard.interpretation.value),
        *((("runs", f"{found.runs:,}, {duration(found.seconds)} in all"),) if found.study else ()),
        *((("charts", f"{left_out:,} relations are not drawn; give their formulas alone"),) if left_out else ()),
    )


def _parts(found: Assured) -> Iterator[Part]:
    """A part for each formula, in order."""
    drawn = _drawn(found)
    for number, each in enumerate(found.answers, start=1):
        explanation = explained(each, found.standard)
        relations = (
            Part(title, "", (Prose(sentences), *_measured(atom, found.book, _chart(number, place, drawn))))
            for place, (atom, (title, sentences)) in enumerate(
                zip(each.atoms, explanation.relations, strict=True), start=1
            )
        )
        place, whole = Prose((str(each.requirement.place),)), Prose((explanation.whole,))
        yield Part(f"{number}. {each.verdict}: {named_formula(each)}", "", (place, *relations, whole))


def _drawn(found: Assured) -> frozenset[tuple[int, int]]:
    """The relations with a figure: numbers of formulas and, within them, of relations."""
    every = [
        (_FIRST.index(atom.verdict), number, place)
        for number, each in enumerate(found.answers, start=1)
        for place, atom in enumerate(each.atoms, start=1)
    ]
    return frozenset((number, place) for _, number, place in sorted(every)[:MOST_FIGURES])


def _chart(number: int, place: int, drawn: frozenset[tuple[int, int]]) -> str:
    """The name of a relation's chart; empty if the relation is not drawn."""
    return f"relation-{number}-{place}" if (number, place) in drawn else ""


def _measured(atom: Atom, book: SampleCollector, chart: str) -> Iterator[Section]:
    """Both sides in numbers and as a figure, as far as they were measured and can be drawn."""
    sides = _sides(atom, book)
    if sides is not None:
        yield sides
    figure = relation_figure(atom, book) if chart else None
    if figure is not None:
        caption = f"The observations of {atom.text}, and the means of their runs."
        yield Chart(ChartKind.RELATION, chart, caption, figure)


def _sides(atom: Atom, book: SampleCollector) -> Table | None:
    if not atom.is_observed_in(book):
        return None
    columns = (
        Column("side"),
        *(Column(name, align=Align.RIGHT) for name in ("runs", "observations", "mean", "lowest run", "highest run")),
        Column("runs vary by", align=Align.RIGHT),
    )
    return Table("Sides", columns, tuple(_rows(atom, book)))


def _rows(atom: Atom, book: SampleCollector) -> Iterator[tuple[Cell, ...]]:
    named = ((atom.relation.left, atom.resolved.left), (atom.relation.right, atom.resolved.right))
    for written, side in named:
        taken = side_of(side, book)
        if isinstance(taken, MeasuredSample):
            means = taken.means
            values = (float(value) for value in (means.mean(), means.min(), means.max()))
            sizes = (len(means), sum(run.size for run in taken.runs))
            yield (
                str(written),
                *sizes,
                *(Shown(quantity(value, atom.unit), value) for value in values),
                _spread(taken),
            )


def _spread(side: MeasuredSample) -> Cell:
    """The standard deviation of run means as a fraction of their mean; None for one run, or a mean of zero."""
    mean = float(side.means.mean())
    if len(side.means) < 2 or mean == 0.0:
        return None
    spread = float(np.std(side.means, ddof=1)) / abs(mean)
    return Shown(percent(spread), spread)
