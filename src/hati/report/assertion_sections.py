"""Judged formulas one by one: in words, with the runs of both sides in numbers and as figures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct

from hati.logic.interpret import Measured, Verdict
from hati.report.assertion import named_formula
from hati.report.explanation import explained
from hati.report.quantities import percent, quantity
from hati.report.relation_figures import RelationFigure, relation_figure
from hati.report.table import Align, Cell, Column, Shown, Table
from hati.studies.assertion import Answer, Assured, Atom, Book, side_of

MOST_FIGURES = 24
"""Of relations in one report; what is not shown to hold comes first."""

_FIRST = (Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.HOLDS)


class RelationSection(Struct, frozen=True):
    """A relation: its verdict and how it arose; ``sides`` and ``figure`` are None of what was not measured, or is
    unfit.

    ``chart`` names the figure; it is empty where there is none, or others come first.
    """

    title: str
    sentences: tuple[str, ...]
    sides: Table | None
    figure: RelationFigure | None
    chart: str


class FormulaSection(Struct, frozen=True):
    """A formula, where it is written, and its relations."""

    verdict: str
    title: str
    place: str
    relations: tuple[RelationSection, ...]
    whole: str


def formula_sections(found: Assured) -> tuple[FormulaSection, ...]:
    """A section of each formula, in order."""
    drawn = _drawn(found)
    return tuple(_section(number, each, found, drawn) for number, each in enumerate(found.answers, start=1))


def figures_left_out(found: Assured) -> int:
    """How many relations have no figure for want of room."""
    return max(0, sum(len(each.atoms) for each in found.answers) - MOST_FIGURES)


def _drawn(found: Assured) -> frozenset[tuple[int, int]]:
    """The relations with a figure: numbers of formulas and, within them, of relations."""
    every = [
        (_FIRST.index(atom.verdict), number, place)
        for number, each in enumerate(found.answers, start=1)
        for place, atom in enumerate(each.atoms, start=1)
    ]
    return frozenset((number, place) for _, number, place in sorted(every)[:MOST_FIGURES])


def _section(number: int, each: Answer, found: Assured, drawn: frozenset[tuple[int, int]]) -> FormulaSection:
    told = explained(each, found.standard)
    relations = tuple(
        _relation(title, sentences, atom, found.book, f"relation-{number}-{place}" if (number, place) in drawn else "")
        for place, (atom, (title, sentences)) in enumerate(zip(each.atoms, told.relations, strict=True), start=1)
    )
    place = str(each.requirement.place)
    return FormulaSection(each.verdict.value, named_formula(each), place, relations, told.whole)


def _relation(title: str, sentences: tuple[str, ...], atom: Atom, book: Book, chart: str) -> RelationSection:
    figure = relation_figure(atom, book) if chart else None
    return RelationSection(title, sentences, _sides(atom, book), figure, chart if figure else "")


def _sides(atom: Atom, book: Book) -> Table | None:
    if not atom.is_told_by(book):
        return None
    columns = (
        Column("side"),
        *(Column(name, align=Align.RIGHT) for name in ("runs", "observations", "mean", "lowest run", "highest run")),
        Column("runs vary by", align=Align.RIGHT),
    )
    return Table("Sides", columns, tuple(_rows(atom, book)))


def _rows(atom: Atom, book: Book) -> Iterator[tuple[Cell, ...]]:
    named = ((atom.relation.left, atom.resolved.left), (atom.relation.right, atom.resolved.right))
    for written, side in named:
        taken = side_of(side, book)
        if isinstance(taken, Measured):
            means = taken.means
            values = (float(value) for value in (means.mean(), means.min(), means.max()))
            sizes = (len(means), sum(run.size for run in taken.runs))
            yield (
                str(written),
                *sizes,
                *(Shown(quantity(value, atom.unit), value) for value in values),
                _spread(taken),
            )


def _spread(side: Measured) -> Cell:
    """The standard deviation of run means as a share of their mean; None of one run, and of a mean of zero."""
    mean = float(side.means.mean())
    if len(side.means) < 2 or mean == 0.0:
        return None
    spread = float(np.std(side.means, ddof=1)) / abs(mean)
    return Shown(percent(spread), spread)
