"""What a browser would find in a page."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = {"meta", "link", "br", "img", "hr", "input"}
LOADING = {"src", "href", "xlink:href", "srcset", "action", "data", "poster", "formaction", "background"}


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


def assert_alone(page: Page) -> None:
    """It loads nothing, and runs no scripts but its own."""
    for tag, attributes in page.elements:
        assert tag not in {"link", "iframe", "object", "embed", "base", "img", "image", "form"}
        assert not LOADING & set(attributes), (tag, attributes)
        assert not [key for key in attributes if key.startswith("on")]
    (style,) = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
    assert "url(" not in style
    assert "@import" not in style
    (policy,) = (a["content"] for _, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    assert policy is not None
    running = [text for attributes, text in page.scripts if attributes.get("type") != "application/json"]
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(t.encode()).digest()).decode()}'" for t in running]
    assert policy.startswith("default-src 'none';")
    assert policy.partition("script-src ")[2].split() == (hashes or ["'none'"])


def assert_described(page: Page) -> None:
    """Every drawing is described, and every id is there once."""
    drawings = [attributes for _, attributes in page.elements if "data-chart" in attributes]
    assert len(drawings) == page.count("figcaption") == page.count("figure") == page.count("svg")
    assert all(d["role"] == "img" and d["aria-label"] for d in drawings)
    ids = [a["id"] for _, a in page.elements if a.get("id")]
    assert len(ids) == len(set(ids))
    assert page.count("h1") == 1
    assert all("scope" in attributes for tag, attributes in page.elements if tag == "th")
