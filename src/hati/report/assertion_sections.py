"""Judged formulas as a document: one by one in words, with the runs of both sides in numbers and as figures."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hati.logic.interpret import Measured, Verdict
from hati.report.assertion import assertion_answer, assertion_cases, assertion_table, named_formula
from hati.report.document import Aside, Chart, ChartKind, Document, Fact, Facts, Part, Prose, Section
from hati.report.explanation import explained
from hati.report.quantities import duration, percent, quantity
from hati.report.relation_figures import relation_figure
from hati.report.table import Align, Cell, Column, Shown, Table
from hati.studies.assertion import Assured, Atom, Book, Standard, side_of

MOST_FIGURES = 24
"""Of relations in one report; what is not shown to hold comes first."""

_FIRST = (Verdict.VIOLATED, Verdict.INCONCLUSIVE, Verdict.HOLDS)


def assertion_document(found: Assured, standard: Standard) -> Document:
    """The formulas in a table, and each with how its verdict arose and what was measured for it."""
    each: tuple[Section, ...] = (Facts("", _facts(found)), *_parts(found))
    return Document(
        "Performance requirements",
        assertion_answer(found.answers),
        sections=(
            assertion_table(found, standard),
            Aside("Formulas one by one", each),
        ),
        failures=found.failures,
        reading=_READING,
        cases=tuple(assertion_cases(found)),
        suite="hati assert",
        study=found.study,
    )


_READING = (
    ("HOLDS", "What the formula says is shown."),
    ("VIOLATED", "The contrary is shown."),
    (
        "INCONCLUSIVE",
        "The runs that there are show neither. This is no proof of either; what would decide it stands beside it.",
    ),
    (
        "Estimate",
        "How much larger the mean of the left side is than that of the right one; where the right side is a limit, the "
        "mean of the left side. Each run counts as one value: its mean.",
    ),
    ("Interval", "Where the truth is, as far as the runs tell, for each relation alone."),
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
        told = explained(each, found.standard)
        relations = (
            Part(title, "", (Prose(sentences), *_measured(atom, found.book, _chart(number, place, drawn))))
            for place, (atom, (title, sentences)) in enumerate(zip(each.atoms, told.relations, strict=True), start=1)
        )
        place, whole = Prose((str(each.requirement.place),)), Prose((told.whole,))
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
    """The name of a relation's chart; empty where others come first."""
    return f"relation-{number}-{place}" if (number, place) in drawn else ""


def _measured(atom: Atom, book: Book, chart: str) -> Iterator[Section]:
    """Both sides in numbers and as a figure, as far as they were measured and can be drawn."""
    sides = _sides(atom, book)
    if sides is not None:
        yield sides
    figure = relation_figure(atom, book) if chart else None
    if figure is not None:
        caption = f"The observations of {atom.text}, and the means of their runs."
        yield Chart(ChartKind.RELATION, chart, caption, figure)


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
