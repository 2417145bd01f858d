"""Any document says the same in each format, with its warnings and failed runs."""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import replace
from hati.document import Aside, Brief, Column, Document, Facts, Folded, Part, Prose, Section, Table
from hati.render import document_html, document_markdown, document_text

FORMATS: dict[str, Callable[[Document], str]] = {
    "text": document_text,
    "markdown": document_markdown,
    "comment": lambda document: document_markdown(replace(document, mark="gate main")),
    "html": document_html,
}

words = st.text("abcdefghijklmnopqrstuvwxyz", min_size=4, max_size=10)
sentences = st.lists(words, min_size=1, max_size=3).map(tuple)


@st.composite
def tables(draw: st.DrawFn) -> Table:
    width = draw(st.integers(1, 3))
    row = st.tuples(*[words] * width)
    columns = tuple(Column(draw(words)) for _ in range(width))
    return Table(draw(words), columns, tuple(draw(st.lists(row, min_size=1, max_size=3))), draw(sentences))


facts = st.lists(st.tuples(words, words), min_size=1, max_size=3).map(tuple)
leaves = st.one_of(
    tables(), st.builds(Facts, words, facts), st.builds(Prose, sentences), st.builds(Folded, words, st.tuples(tables()))
)
sections = st.lists(st.one_of(leaves, st.builds(Part, words, words, st.tuples(leaves, leaves))), max_size=4).map(tuple)
documents = st.builds(
    Document, words, words, facts=facts, sections=sections, failures=sentences, warnings=sentences, reading=facts
)


def told(section: Section) -> list[str]:
    """The words of a section that every format shows."""
    if isinstance(section, Table):
        return [*(str(cell) for row in section.rows for cell in row), *section.notes]
    if isinstance(section, Facts):
        return [section.title, *(text for _, text in section.lines)]
    if isinstance(section, Prose):
        return list(section.sentences)
    if isinstance(section, Folded):
        return [word for table in section.sections for word in told(table)]
    if isinstance(section, Part):
        return [section.title, section.answer, *(word for each in section.sections for word in told(each))]
    return []


@pytest.mark.parametrize("name", FORMATS)
@given(document=documents)
def test_everything_is_told_in_each_format(name: str, document: Document) -> None:
    found = Counter(re.findall(r"[a-z]+", html.unescape(FORMATS[name](document)).lower()))
    expected = Counter(word for section in document.sections for word in told(section))
    expected.update((*document.failures, *document.warnings))
    short = {word: number for word, number in expected.items() if found[word] < number}
    assert not short


def test_an_aside_is_for_pages_alone_and_a_brief_for_what_is_folded() -> None:
    brief = Table("few", (Column("kept"),), (("brief",),))
    document = Document("title", "answer", sections=(Brief(brief), Aside("more", (Prose(("aside",)),))))
    shown = {name: draw(document) for name, draw in FORMATS.items()}
    assert {name for name, text in shown.items() if "aside" in text} == {"html"}
    assert {name for name, text in shown.items() if "brief" in text} == {"markdown", "comment", "html"}
