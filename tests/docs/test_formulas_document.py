"""The reference of formulas is executed: each is read and printed as the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hati.core import InputError
from hati.logic.syntax import parse_file, parse_formula

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/formulas.md").read_text()
BLOCKS = re.findall(
    r"^```(spl|python)[^\n]*\n(.*?)^```$", PAGE.replace("```spl-wrong", "```wrong"), re.MULTILINE | re.DOTALL
)
WRONG = re.findall(r"^```spl-wrong\n(.*?)\n```\n\n```text\n(.*?)\n```$", PAGE, re.MULTILINE | re.DOTALL)


def test_the_page_has_formulas() -> None:
    assert len(BLOCKS) >= 8
    assert len(WRONG) >= 3


@pytest.mark.parametrize("block", [body for language, body in BLOCKS if language == "spl"])
def test_a_block_of_formulas_is_read_and_printed(block: str) -> None:
    file = parse_file(block, "page.spl")
    assert parse_file(str(file), "page.spl") == file
    for text, printed in re.findall(r"^(\S.*?) +# is (.*)$", block, re.MULTILINE):
        assert str(parse_formula(text)) == printed


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_an_error_is_told_as_shown(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_formula(text)
    assert str(caught.value) == message


@pytest.mark.parametrize("block", [body for language, body in BLOCKS if language == "python"])
def test_the_python_runs(block: str) -> None:
    exec(compile(block, "formulas.md", "exec"), {})
