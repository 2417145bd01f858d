"""The page of portability."""

from __future__ import annotations

from html_page import Page, assert_alone, assert_described

from hati.document import Chart
from hati.render import document_html
from hati.render.html import chart_in_altair, specification
from hati.studies.assertion import KnownMachine, Portability, Ported
from hati.studies.assertion.two_machines import portability_document

HOSTILE = "<script>alert(1)</script>\u202e"
FOUND = Portability(
    (KnownMachine("aaaa", {"name": HOSTILE, "cpus": "4"}), KnownMachine("bbbb", {})),
    (Ported("m <= <b>n</b>", (0.5, 1.0), ((3, 4), (5, 6)), (0.4, 0.8)), Ported("m <= z", (1.0, 1.0), ((3, 4), (5, 6)))),
    (("m <= 1 s", "a limit is not of two methods"),),
)


def test_the_page_is_alone_described_and_the_same_each_time() -> None:
    text = document_html(portability_document(FOUND))
    page = Page(text)
    assert_alone(page)
    assert_described(page)
    assert (page.count("svg"), page.count("b"), page.count("script")) == (1, 0, 3)
    assert document_html(portability_document(FOUND)) == text


def test_the_page_says_what_was_compared() -> None:
    words = " ".join(Page(document_html(portability_document(FOUND))).words.split())
    for phrase in (
        "portability 1.500 in the median, 2.000 at most; 1 below 2",
        "2.000 1.250 to 2.500 m <= <b>n</b> 0.5 3 + 4 1 5 + 6",
        "m <= 1 s: left out, a limit is not of two methods.",
        "cpus 4, fingerprint aaaa",
        "<script>alert(1)</script>\\u202e",
        "1 to 1.02 1",
        "2 to 3 1",
    ):
        assert phrase in words, phrase


def test_the_chart_is_valid_vega_lite() -> None:
    (chart,) = (each for each in portability_document(FOUND).sections if isinstance(each, Chart))
    assert chart_in_altair(chart).to_dict(validate=True) == specification(chart)
