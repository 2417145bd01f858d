"""What is drawn of a relation: the spread of observations, run means, limits."""

from __future__ import annotations

import math

import pytest
from assertion_samples import answers, atom, book_of, levels, of_means, sample

from hati.core import Metric
from hati.document import Aside, Chart, Document, Part, Table
from hati.studies.assertion import Assured, SampleCollector, Standard
from hati.studies.assertion.document import BINS, MOST_FIGURES, RelationFigure, assertion_document, relation_figure


def figure(book: SampleCollector, text: str) -> RelationFigure:
    found = relation_figure(atom(book, text), book)
    assert found is not None
    return found


def test_every_run_counts_alike_however_many_observations_it_has() -> None:
    """Of two runs one is at 1 ms with 1 observation, one at 3 ms with 9: half of the share is at each."""
    found = figure(book_of(a=[[0.001], [0.003] * 9], b=[[0.002], [0.002]]), "a <= b")
    shares = found.sides[0].shares
    assert (shares[0], shares[-1], sum(shares)) == (0.5, 0.5, 1.0)
    assert found.sides[0].means == pytest.approx((1.0, 3.0))
    assert (found.unit, len(found.edges), found.edges[0], found.edges[-1]) == ("ms", BINS + 1, 1.0, 3.0)
    assert [side.name for side in found.sides] == ["a", "b"]
    assert (found.limit, found.far, found.beyond) == (None, None, 0)


def test_sides_are_drawn_as_they_are_judged() -> None:
    found = figure(of_means(a=0.010, b=0.020), "2 * a <= b")
    assert found.sides[0].name == "2 * a"
    assert sum(found.sides[0].means) / 16 == pytest.approx(20.0)


@pytest.mark.parametrize(
    ("limit", "drawn", "far"), [("10.05 ms", 10.05, None), ("1 s", None, 1000.0), ("1 us", None, 0.001)]
)
def test_a_limit_is_drawn_where_it_is_near(limit: str, drawn: float | None, far: float | None) -> None:
    found = figure(of_means(a=0.010), f"a <= {limit}")
    assert len(found.sides) == 1
    assert (found.limit, found.far) == (
        None if drawn is None else pytest.approx(drawn),
        None if far is None else pytest.approx(far),
    )
    assert found.edges[0] > 9.9
    assert found.edges[-1] < 10.1


def test_outliers_do_not_make_the_rest_narrow() -> None:
    """One observation in 1,000 is a hundred times as large: it is in the outermost bar, and told."""
    runs = [[0.010 + 0.000001 * place for place in range(1000)] for _ in range(5)]
    runs[0][-1] = 1.0
    found = figure(book_of(a=runs, b=runs[1:]), "a <= b")
    assert found.beyond > 0
    assert found.edges[-1] < 13.0
    assert math.fsum(found.sides[0].shares) == pytest.approx(1.0)


def test_axes_of_several_magnitudes_are_logarithmic() -> None:
    found = figure(of_means(a=0.001, b=1.0), "a <= b")
    assert found.logarithmic
    ratios = [high / low for low, high in zip(found.edges, found.edges[1:], strict=False)]
    assert ratios == pytest.approx([ratios[0]] * BINS)
    assert not figure(of_means(a=0.001, b=0.01), "a <= b").logarithmic


@pytest.mark.parametrize("value", [0.0, 0.01, -3.0])
def test_what_never_varies_is_drawn(value: float) -> None:
    runs = [[value, value]] * 7
    found = relation_figure(
        atom(SampleCollector({"a": (sample("a", runs, Metric("x", "1")),)}), f"a <= {value + 1}"),
        book=SampleCollector(),
    )
    assert found is None  # nothing is known by that name
    book = SampleCollector({"a": (sample("a", runs, Metric("x", "1")),)})
    drawn = figure(book, f"a <= {value + 1}")
    assert drawn.edges[0] < value < drawn.edges[-1]
    assert sum(drawn.sides[0].shares) == pytest.approx(1.0)


def formulas(document: Document) -> list[Part]:
    (aside,) = (section for section in document.sections if isinstance(section, Aside))
    return [section for section in aside.sections if isinstance(section, Part)]


def relations(part: Part) -> list[Part]:
    return [section for section in part.sections if isinstance(section, Part)]


def charts(part: Part) -> list[Chart]:
    return [section for each in relations(part) for section in each.sections if isinstance(section, Chart)]


def test_of_many_relations_those_that_are_not_shown_to_hold_are_drawn_first() -> None:
    book = of_means(a=0.010, b=0.010, slow=0.020)
    texts = [f"a <= {1 + place / 100} * b" for place in range(2, 2 + MOST_FIGURES)]
    asked = [*texts, "slow <= b", "a <= b strictly"]
    found = Assured("", answers(book, *asked), Standard(), (), 0, 0.0, book=book)
    parts = formulas(assertion_document(found, Standard()))
    drawn = [part.title.split(": ", 1)[1] for part in parts if charts(part)]
    assert len(drawn) == MOST_FIGURES
    assert drawn[-2:] == asked[-2:]
    assert drawn[0] == texts[0]
    assert [len(charts(part)) for part in parts[-4:]] == [0, 0, 1, 1]


def test_the_runs_of_each_side_are_told_in_numbers() -> None:
    book = SampleCollector({"a": (sample("a", levels(0.010)),), "b": (sample("b", [[0.02, 0.04]]),)})
    found = Assured("", answers(book, "a <= b"), Standard(), (), 0, 0.0, book=book)
    (part,) = formulas(assertion_document(found, Standard()))
    (sides,) = (each for each in relations(part)[0].sections if isinstance(each, Table))
    first, second = ([getattr(cell, "text", cell) for cell in row] for row in sides.rows)
    assert first == ["a", 10, 20, "10 ms", "9.98 ms", "10.02 ms", "0.135 %"]
    assert second == ["b", 1, 2, "30 ms", "30 ms", "30 ms", None]
