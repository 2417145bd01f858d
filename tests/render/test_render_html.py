from __future__ import annotations

import json

import pytest
from example_screenings import HOSTILE, empty_screening, hostile_screening, incomplete_screening, sqlite_screening
from html_page import Page, assert_alone, assert_described

from hati.render import document_html
from hati.studies.recalibration import EffectChange, EffectChanges, EffectStatus
from hati.studies.screening.document import screening_document

pytestmark = pytest.mark.xdist_group("pages of screenings")  # one worker makes what they share

CHANGES = EffectChanges(
    before="screening-1",
    after="screening-2",
    metric="latency",
    effects=(EffectChange(("<b>cache</b>",), EffectStatus.BECAME, 0.0, (-0.01, 0.01), 0.4, (0.38, 0.42)),),
    added=("zip",),
    removed=(),
)


MAKERS = {
    "sqlite": sqlite_screening,
    "hostile": hostile_screening,
    "incomplete": incomplete_screening,
    "empty": empty_screening,
}


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {name: document_html(screening_document(make())) for name, make in MAKERS.items()}


@pytest.fixture(scope="module")
def pages(texts: dict[str, str]) -> dict[str, Page]:
    return {name: Page(text) for name, text in texts.items()}


@pytest.mark.parametrize("name", MAKERS)
def test_the_page_loads_nothing_and_runs_only_our_own_scripts(pages: dict[str, Page], name: str) -> None:
    page = pages[name]
    assert_alone(page)
    assert len(page.scripts) == (0 if name == "empty" else 3)
    for word in ("cdn", "unpkg", "jsdelivr", "googleapis"):
        assert word not in page.text.lower() or word in "".join(HOSTILE)


def test_hostile_names_are_shown_and_do_nothing(pages: dict[str, Page]) -> None:
    page = pages["hostile"]
    ours = pages["sqlite"]
    assert page.count("script") == ours.count("script")
    assert page.count("style") == ours.count("style") == 1
    for tag in ("b", "img", "svg"):
        assert page.count(tag) == ours.count(tag)
    for name in HOSTILE[:3]:
        assert name in page.words
    assert "line\\nbreak\\ttab\\x1b[31mred" in page.words
    assert "\u202e" not in page.text
    assert "{{ 7*7 }}" in page.words


def test_chart_data_cannot_leave_their_script(pages: dict[str, Page]) -> None:
    ((_, text),) = [s for s in pages["hostile"].scripts if s[0].get("type") == "application/json"]
    assert not set("<>&") & set(text)
    charts = json.loads(text)
    assert set(charts) == {"pareto", "half_normal", "main_effects", "interactions", "run_order"}
    assert HOSTILE[1] in json.dumps(charts)


def test_every_chart_is_drawn_without_scripts_and_described(pages: dict[str, Page]) -> None:
    page = pages["sqlite"]
    assert_described(page)
    assert page.count("svg") == 5


def test_the_page_says_what_was_found(pages: dict[str, Page]) -> None:
    words = " ".join(pages["sqlite"].words.split())
    for phrase in (
        "4 of 14 options matter for latency: synchronous=OFF -71.3 % (better)",
        "2^(14-9) fraction, resolution IV: 32 configurations x 3 repetitions = 96 runs",
        "An effect of +1.9 % or -1.8 % (41 µs) or more would have been found with 80 % power",
        "cannot be distinguished from 6 other pairs",
        "All 31 effects",
        "Alias structure",
        "How to read this",
        "among pairs by the likeliest, whose options matter most individually (heredity)",
        "Significant at 5 % over all effects together (at most one chance in 20 of any false alarm in the whole study)",
    ):
        assert phrase in words
    empty = " ".join(pages["empty"].words.split())
    assert "Nothing can be said about latency yet" in empty
    assert "database is locked" in empty


def test_the_page_is_one_small_file_and_the_same_each_time(texts: dict[str, str]) -> None:
    assert all(len(text.encode()) < 2_000_000 for text in texts.values())
    assert document_html(screening_document(sqlite_screening())) == texts["sqlite"]


def test_what_a_recalibration_changed_is_shown() -> None:
    page = Page(document_html(screening_document(empty_screening(), changes=CHANGES)))
    assert "What changed since screening-1" in page.words
    assert "<b>cache</b> became important; of another size: <b>cache</b>; zip added." in page.words
    assert not [name for name, _ in page.elements if name == "b"]
    assert "Recalibration" not in Page(document_html(screening_document(empty_screening()))).words
