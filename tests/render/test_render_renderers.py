"""A gate in the formats of continuous integration."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import xmlschema
from example_gates import GATES, NASTY
from golden_texts import TEXTS
from html_page import Page
from hypothesis import given
from hypothesis import strategies as st

from hati.document import Case, Column, Document, Facts, Folded, Part, Prose, Table, table_rows
from hati.document.document import columns_of
from hati.render import (
    document_html,
    document_markdown,
    table_markdown,
    table_text,
    to_annotations,
    to_junit,
)

SCHEMA = xmlschema.XMLSchema(str(Path(__file__).with_name("junit.xsd")))
OUTCOMES = ("failure", "error", "skipped", "note")
ANNOTATION = re.compile(r"::(error|warning|notice) title=([^:,\r\n]*)::([^\r\n]*)")
UNESCAPED = (("%2C", ","), ("%3A", ":"), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%"))


@pytest.mark.parametrize("name", [name for name in TEXTS if name.endswith(".xml")])
def test_junit_is_valid(name: str) -> None:
    SCHEMA.validate(TEXTS[name]())


@given(st.lists(st.tuples(st.text(), st.text(min_size=1), st.sampled_from([None, *OUTCOMES]), st.text()), max_size=4))
def test_any_cases_are_valid_junit(given_cases: list[tuple[str, str, str | None, str]]) -> None:
    cases = [
        Case(suite, f"{number} {name}", **({} if outcome is None else {outcome: text}))
        for number, (suite, name, outcome, text) in enumerate(given_cases)
    ]
    SCHEMA.validate(to_junit("a title", cases))


@given(st.text(), st.text(), st.text())
def test_annotations_are_one_line_each_and_read_back(suite: str, name: str, failure: str) -> None:
    plain = [re.sub(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", "?", text) for text in (suite, name, failure)]
    [line] = to_annotations("t", "fine", [Case(*plain[:2], failure=plain[2])]).split("\n")[:-1]
    found = ANNOTATION.fullmatch(line)
    assert found is not None
    title, message = (read_back(text) for text in found.groups()[1:])
    suite, name = plain[:2]
    assert title == (name if f"{name} ".startswith(f"{suite} ") else f"{suite} {name}".strip())
    assert message == plain[2]


def read_back(text: str) -> str:
    for escape, character in UNESCAPED:
        text = text.replace(escape, character)
    return text


def test_errors_come_before_warnings() -> None:
    lines = to_annotations("t", "fine", [Case("a", "m", skipped="?"), Case("b", "m", failure="!")]).splitlines()
    assert lines == ["::error title=b m::!", "::warning title=a m::?"]


@pytest.mark.parametrize("name", GATES)
def test_comments_begin_with_their_mark_and_one_line(name: str) -> None:
    lines = TEXTS[f"gate-{name}.md"]().splitlines()
    assert lines[0] == "<!-- hati check -->"
    assert lines[1].startswith("**hati check: ")
    assert lines[-1] == "</details>"
    assert lines.count("</details>") == 1


def comment(mark: str, answer: str, table: Table) -> str:
    return document_markdown(Document("t", answer, sections=(Folded("Details", (table,)),), mark=mark))


def test_names_cannot_end_a_comment_or_the_details() -> None:
    text = comment("a --> <b>", "</details>", Table(f"</details>{NASTY}", (Column("x"),), ()))
    assert text.splitlines()[0] == "<!-- a %2D%2D%3E <b%3E -->"
    assert text.count("</details>") == 1


def test_comments_are_no_longer_than_github_takes() -> None:
    rows = tuple((f"benchmark {number}",) for number in range(20_000))
    text = comment("m", "fine", Table("All", (Column("x"),), rows))
    assert len(text) < 65_536
    assert text.endswith("The rest is left out.\n\n</details>\n")


def test_commands_are_code_and_no_other_words() -> None:
    answer = "Fix `a_b_=*`: `hati screen --set a_b_=*`, or `hati runs --set '|'` or `hati runs --set '<details>'`."
    text = document_markdown(Document("t", answer))
    assert r"Fix \`a_b\_=\*\`: `hati screen --set a_b_=*`, or" in text
    assert r"\`hati runs --set '\|'\`" in text
    assert r"\`hati runs --set '&lt;details&gt;'\`" in text


@pytest.mark.parametrize(
    "command", ["hati screen --set a_b_=*", "hati screen --set 'a `b` = c'", "hati check --budget 5m"]
)
def test_a_page_sets_every_command_as_code(command: str) -> None:
    said = f"Run `{command}` <b>again</b>, not `a`."
    sections = (
        Prose((said,)),
        Facts("f", (("fact", said),)),
        Table("table", (Column("cell"),), ((said,),), (said,)),
        Part("part", said, ()),
    )
    page = Page(document_html(Document("t", said, (("fact", said),), sections, (said,), (said,))))
    assert page.count("code") == page.words.count(command) == 9
    assert f"Run {command} <b>again</b>, not `a`." in page.words
    assert page.count("b") == 0


def test_columns_without_values_are_not_shown() -> None:
    columns = columns_of("option | > predicted (%) | > measured (%) | note")
    table = Table("Gains", columns, (("a", None, 1.5, ""), ("b", None, None, "")))
    assert table_text(table).split() == ["Gains", "measured", "option", "(%)", "-" * 16, "a", "1.5", "b"]
    assert "| option | measured (%) |\n| --- | ---: |\n| a | 1.5 |\n| b |  |" in table_markdown(table)
    page = Page(document_html(Document("t", "", sections=(table,))))
    assert (page.count("th"), page.count("td")) == (2, 4)
    assert table_rows(table)[0] == {
        "option": "a",
        "predicted": None,
        "predicted unit": "%",
        "measured": 1.5,
        "measured unit": "%",
        "note": "",
    }


def test_a_table_without_any_value_keeps_its_columns() -> None:
    table = Table("Gains", columns_of("option | note"), ((None, ""),))
    assert table.shown is table


def test_json_is_json() -> None:
    said = json.loads(TEXTS["gate-slower.json"]())
    assert said["options"][1] | {"p_value": 0} == {
        "benchmark": "main",
        "metric": "latency",
        "option": "cache",
        "setting": True,
        "ratio": 1.279,
        "interval": [1.25, 1.308],
        "p_value": 0,
        "where": {},
    }
    assert said["findings"][0]["fails"]
