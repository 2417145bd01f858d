"""The page of judged formulas."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest
from assertion_samples import answers, atom, of_means, sample
from html_page import Page, assert_alone, assert_described

from hati.core import Metric, replace
from hati.document import Chart, ChartKind
from hati.formula import Source
from hati.logic.syntax import parse_file
from hati.render import ImageKind, chart_images, document_html, to_junit
from hati.render.html import chart_in_altair, specification
from hati.studies.assertion import Assured, Cost, Requirement, SampleCollector, Standard, answer
from hati.studies.assertion.document import assertion_document, relation_figure
from hati.studies.assertion.requirement import MeasuredSamples
from hati.studies.assertion.tables import BARS, assertion_cases, assertion_evidence

HOSTILE = "<img src=x onerror=alert(1)>\u202e </script><b>"
TEXT = f"""\
fast: a <= b & a <= 20 ms
{json.dumps(HOSTILE, ensure_ascii=False)}: c <= b
open: a <= b strictly
"""
BOOK = of_means(a=0.0100, b=0.0100, c=0.0120)


def judged() -> Assured:
    file = parse_file(TEXT, "r.spl")
    source = Source(TEXT, "r.spl")
    asked = [Requirement(each.formula, source, file.declarations, each.name) for each in file.formulas]
    return Assured("", answer(asked, BOOK, Standard()), Standard(), (), 0, 0.0, book=BOOK)


def measured() -> Assured:
    """As if it had been measured, with a failure."""
    whole = judged()
    costs = (Cost(20, 10, 2.0), Cost(20, 10, 1.5), Cost(20, 20, 2.0))
    return Assured("assertion-1", whole.answers, Standard(), ("b: <b>died</b>",), 30, 3.0, costs, BOOK)


@pytest.fixture(scope="module")
def text() -> str:
    return document_html(assertion_document(measured(), Standard()))


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_the_page_is_alone_and_its_drawings_are_described(page: Page) -> None:
    assert_alone(page)
    assert_described(page)
    assert page.count("svg") == 4
    ((_, data),) = [script for script in page.scripts if script[0].get("type") == "application/json"]
    assert not set("<>&") & set(data)
    assert list(json.loads(data)) == ["relation-1-1", "relation-1-2", "relation-2-1", "relation-3-1"]


def test_names_are_shown_and_do_nothing(page: Page) -> None:
    assert not [tag for tag, _ in page.elements if tag in {"b", "img"}]
    assert HOSTILE.replace("\u202e", "\\u202e") in page.words
    assert "\u202e" not in page.text


def test_the_page_says_how_each_verdict_arose(page: Page) -> None:
    words = " ".join(page.words.split())
    for phrase in (
        "3 formulas: 1 hold, 1 violated, 1 inconclusive",
        "b: <b>died</b>",
        "Runs30, 3 s in all",
        "Studyassertion-1",
        "20 runs (10 shared), 2 s",
        "Shared runs are those of several formulas, and count for each of them.",
        "1. HOLDS: fast: a <= b & a <= 20 ms",
        "r.spl:1:7",
        "a <= 20 ms: HOLDS",
        "Estimate 10 ms, interval 9.9",
        "c <= b: VIOLATED",
        "Estimate +20.0 %, interval",
        "a <= b strictly: INCONCLUSIVE",
        "The formula individually: INCONCLUSIVE; among all formulas of this call: INCONCLUSIVE.",
        "a 16 32 10 ms 9.98 ms 10.02 ms 0.127 %",
        "How to read this",
    ):
        assert phrase in words, phrase


def test_the_page_is_small_and_the_same_each_time(text: str) -> None:
    assert len(text.encode()) < 2_000_000
    assert document_html(assertion_document(measured(), Standard())) == text


def test_what_was_not_measured_for_it_has_no_cost() -> None:
    words = Page(document_html(assertion_document(judged(), Standard()))).words
    assert "cost" not in words
    assert "Study" not in words


def test_without_samples_there_is_no_drawing_and_no_script() -> None:
    book = SampleCollector(missing={"a": "it was not measured yet", "b": "it was not measured yet"})
    found = Assured("", answers(book, "a <= b"), Standard(), (), 0, 0.0, book=book)
    page = Page(document_html(assertion_document(found, Standard())))
    assert_alone(page)
    assert (page.count("svg"), page.scripts) == (0, [])
    assert "it was not measured yet" in page.words


@pytest.mark.parametrize(
    ("formula", "why"),
    [
        ("a <=(x: sqrt(x - 2 s), x: sqrt(x)) b", "no finite value for what was observed"),
        ("throughput(zero) >= 1 /s", "there is no throughput of what takes no time"),
        ("zero <= heavy", "the right side memory"),
    ],
)
def test_what_cannot_be_judged_is_told_without_a_drawing(formula: str, why: str) -> None:
    """And the other relations with theirs, on the page as where a test fails."""
    heavy = sample("heavy", [[1.0]] * 7, Metric("size", "B"))
    others = {"zero": (sample("zero", [[0.0]] * 7),), "heavy": (heavy,)}
    book = MeasuredSamples({**of_means(a=0.01, b=0.01).samples, **others})
    found = Assured("", answers(book, formula, "a <= b"), Standard(), (), 0, 0.0, book=book)
    page = Page(document_html(assertion_document(found, Standard())))
    assert_alone(page)
    assert page.count("svg") == 1
    assert why in page.words
    told = assertion_evidence(found.answers[0], book)
    assert why in told
    assert not set(BARS) & set(told)


@pytest.mark.parametrize("formula", ["a <= b", "a <= 10.05 ms", "a <= 1 s", "a <= 100 * b", "a = a +- 2%"])
def test_charts_are_valid_vega_lite(formula: str) -> None:
    figure = relation_figure(atom(BOOK, formula), BOOK)
    assert figure is not None
    chart = Chart(ChartKind.RELATION, "c", "", figure)
    assert chart_in_altair(chart).to_dict(validate=True) == specification(chart)


def test_a_chart_names_its_sides_and_their_unit() -> None:
    figure = relation_figure(atom(BOOK, "a <= 10.05 ms"), BOOK)
    assert figure is not None
    drawn = ElementTree.fromstring(
        chart_images({"c": Chart(ChartKind.RELATION, "c", "", figure)}, ImageKind.SVG)["c"].image
    )
    texts = {"".join(each.itertext()) for each in drawn.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Measurements of a <= 10.05 ms", "a", "mean of a run (ms)"} <= texts
    assert any("Points: the means of runs. The dashed line is the limit." in each for each in texts)


def test_junit_books_time_on_each_formula() -> None:
    whole = measured()
    costs = (Cost(20, 10, 2.0, 1.5), Cost(20, 10, 1.5, 1.0), Cost(20, 20, 2.0, 0.5))
    suite = ElementTree.fromstring(to_junit("hati assert", assertion_cases(replace(whole, costs=costs))).encode())
    assert [case.get("time") for case in suite.iter("testcase")] == ["1.500", "1.000", "0.500"]
    assert suite.get("time") == "3.000"
    plain = ElementTree.fromstring(to_junit("hati assert", assertion_cases(judged())).encode())
    assert [case.get("time") for case in plain.iter("testcase")] == [None] * 3
