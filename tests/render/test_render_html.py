from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

import pytest
from example_screenings import (
    HOSTILE,
    empty_screening,
    hostile_screening,
    incomplete_screening,
    sqlite_screening,
)

from hati.render import screening_html
from hati.studies.recalibration import Change, EffectChange, EffectChanges

VOID = {"meta", "link", "br", "img", "hr", "input"}
LOADING = {"src", "href", "xlink:href", "srcset", "action", "data", "poster", "formaction", "background"}


CHANGES = EffectChanges(
    before="screening-1",
    after="screening-2",
    metric="latency",
    effects=(EffectChange(("<b>cache</b>",), Change.BECAME, 0.0, (-0.01, 0.01), 0.4, (0.38, 0.42)),),
    added=("zip",),
    removed=(),
)


@dataclass
class Page(HTMLParser):
    """What a browser would find: elements, attributes, texts of scripts, and whether all that opens closes."""

    text: str
    open: list[str] = field(default_factory=list)
    elements: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    scripts: list[tuple[dict[str, str | None], str]] = field(default_factory=list)
    words: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self.feed(self.text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append((dict(attrs), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "script":
            attributes, text = self.scripts[-1]
            self.scripts[-1] = (attributes, text + data)
        elif self.open and self.open[-1] != "style":
            self.words += data

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.elements)


MAKERS = {
    "sqlite": sqlite_screening,
    "hostile": hostile_screening,
    "incomplete": incomplete_screening,
    "empty": empty_screening,
}


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    return {name: screening_html(make()) for name, make in MAKERS.items()}


@pytest.fixture(scope="module")
def pages(texts: dict[str, str]) -> dict[str, Page]:
    return {name: Page(text) for name, text in texts.items()}


@pytest.mark.parametrize("name", MAKERS)
def test_the_page_loads_nothing(pages: dict[str, Page], name: str) -> None:
    page = pages[name]
    for tag, attributes in page.elements:
        assert tag not in {"link", "iframe", "object", "embed", "base", "img", "image", "form"}
        assert not LOADING & set(attributes), (tag, attributes)
        assert not [key for key in attributes if key.startswith("on")]
    (style,) = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
    assert "url(" not in style
    assert "@import" not in style
    for word in ("cdn", "unpkg", "jsdelivr", "googleapis"):
        assert word not in page.text.lower() or word in "".join(HOSTILE)


@pytest.mark.parametrize("name", MAKERS)
def test_only_our_own_scripts_may_run(pages: dict[str, Page], name: str) -> None:
    page = pages[name]
    (policy,) = (a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    running = [text for attributes, text in page.scripts if attributes.get("type") != "application/json"]
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(t.encode()).digest()).decode()}'" for t in running]
    assert policy.startswith("default-src 'none';")
    assert policy.partition("script-src ")[2].split() == (hashes or ["'none'"])
    assert len(running) == (0 if name == "empty" else 2)


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
    drawings = [attributes for _, attributes in page.elements if "data-chart" in attributes]
    assert len(drawings) == page.count("figcaption") == page.count("figure") == 5
    assert page.count("svg") == 5
    assert all(d["role"] == "img" and d["aria-label"] for d in drawings)
    ids = [a["id"] for _, a in page.elements if a.get("id")]
    assert len(ids) == len(set(ids))


def test_the_page_says_what_was_found(pages: dict[str, Page]) -> None:
    words = " ".join(pages["sqlite"].words.split())
    for phrase in (
        "4 of 14 options matter for latency: synchronous=OFF -71.3 % (better)",
        "2^(14-9) fraction, resolution IV: 32 configurations x 3 repetitions = 96 runs",
        "An effect of +1.9 % or -1.8 % (41 µs) or more would have been found with 80 % power",
        "cannot be told from 6 other pairs",
        "All 31 effects",
        "Alias structure",
        "How to read this",
        "among pairs by the likeliest, whose options matter most by themselves (heredity)",
        "Significant at 5 % over all effects together (at most one chance in 20 of any false alarm in the whole study)",
    ):
        assert phrase in words
    empty = " ".join(pages["empty"].words.split())
    assert "Nothing can be said about latency yet" in empty
    assert "database is locked" in empty


def test_the_page_is_one_small_file_and_the_same_each_time(texts: dict[str, str]) -> None:
    assert all(len(text.encode()) < 2_000_000 for text in texts.values())
    assert screening_html(sqlite_screening()) == texts["sqlite"]


def test_what_a_recalibration_changed_is_shown() -> None:
    page = Page(screening_html(empty_screening(), changes=CHANGES))
    assert "What changed since screening-1" in page.words
    assert "<b>cache</b> became important; of another size: <b>cache</b>; zip added." in page.words
    assert not [name for name, _ in page.elements if name == "b"]
    assert "Recalibration" not in Page(screening_html(empty_screening())).words
