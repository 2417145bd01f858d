"""SPL Conqueror's measurements as tables: what their elements become, and where what is wrong is."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import InputError
from hati.subject.table import is_table, metric_column, read_sheet
from hati.subject.table.metrics import numbers
from hati.subject.table.reading import parse_measurements

WHOLE = """<?xml version="1.0" encoding="UTF-8"?>
<results>
  <row>
    <data columname="Configuration">
      root,cache,
    </data>
    <data columname="NumericOptions">
      threads;4,ratio;0.1,
    </data>
    <data columname="Performance">
      10
    </data>
    <data columname="Footprint">1679</data>
  </row>
  <row>
    <data columname="Configuration"> root, fast,</data>
    <data columname="NumericOptions">threads;8,ratio;0.2</data>
    <data columname="Performance">11,5</data>
    <data columname="ProgramName">db</data>
  </row>
</results>
"""


def test_options_are_columns_and_what_is_measured_too() -> None:
    sheet = parse_measurements(WHOLE, "m.xml", "0")
    assert sheet.columns == ("root", "cache", "fast", "threads", "ratio", "Performance", "Footprint")
    assert sheet.cells.tolist() == [
        ["1", "1", "0", "4", "0.1", "10", "1679"],
        ["1", "0", "1", "8", "0.2", "11.5", ""],
    ]


@pytest.mark.parametrize(
    ("config", "numeric", "cells"),
    [
        ("a,b,n;4,", None, {"a": "1", "b": "1", "n": "4"}),
        ("a", "n=4, m 5", {"a": "1", "n": "4", "m": "5"}),
        ("", "n;4", {"n": "4"}),
        ("a,a,,", None, {"a": "1"}),
    ],
)
def test_configurations_in_the_ways_they_are_written(config: str, numeric: str | None, cells: dict[str, str]) -> None:
    other = "" if numeric is None else f'<data columname="Variable Features">{numeric}</data>'
    for name in ("columname", "column"):
        text = f'<results><row><data {name}="Configuration">{config}</data>{other}</row></results>'
        sheet = parse_measurements(text, "m.xml", "0")
        assert dict(zip(sheet.columns, sheet.cells[0], strict=True)) == cells


@pytest.mark.parametrize(
    ("root", "row", "value", "runs"),
    [
        ("", "", "21.178", (21.178,)),
        ("", "", "21,178", (21.178,)),
        ("", "", "1e3", (1000.0,)),
        ("", 'multiple="true"', "1.5,2.5,-1", (1.5, 2.5)),
        ("", 'multiple="true"', "-1,-1", ()),
        ('separator=";"', 'multiple="true"', "1,5;2,5", (1.5, 2.5)),
        ('decimalDelimiter="." separator=","', 'multiple="true"', "1.5,2.5", (1.5, 2.5)),
        ("", "", "-1", (-1.0,)),
    ],
)
def test_several_values_are_runs(root: str, row: str, value: str, runs: tuple[float, ...]) -> None:
    text = (
        f'<results {root}><row {row}><data columname="Configuration">a</data>'
        f'<data columname="Performance">{value}</data></row></results>'
    )
    sheet = parse_measurements(text, "m.xml", "0")
    assert numbers(sheet, "Performance") == [runs]


ERRORS = [
    ("<results></results>", "m.xml:1: the file has no rows"),
    ("<results>\n<row></results>", "m.xml:2:8: this is not well-formed XML"),
    ("<vm></vm>", "m.xml:1:1: <vm> stands where <results> is expected; `hati space import` reads feature models"),
    ("<results>\n  <line/></results>", "m.xml:2:3: <line> stands where <row> is expected"),
    ("<results><row><data columname='P'><b/></data></row></results>", "<b> stands where text is expected"),
    ("<results><row><data>1</data></row></results>", "m.xml:1:15: a <data> has no name"),
    ("<results><row><data columname='P'>1</data></row></results>", "the row has no configuration"),
    ("<results><row><data columname='ConfigID'>a</data></row></results>", "by ConfigID are not supported"),
    (
        "<results><row><data columname='NumericOptions'>threads</data></row></results>",
        "'threads' is not an option and its value; write threads;4",
    ),
    (
        "<results><row><data columname='NumericOptions'>n;1,n;2</data></row></results>",
        "'n' has two values in this row",
    ),
    (
        "<results><row><data columname='Configuration'/><data columname='Configuration'/></row></results>",
        "the row has two elements of 'Configuration'",
    ),
    (
        "<results><row><data columname='Configuration'>a</data><data columname='a'>1</data></row></results>",
        "there are two columns 'a'",
    ),
    ("<results separator='::'></results>", "separator '::' is not one character"),
    ("<!DOCTYPE r [<!ENTITY a 'b'>]><results/>", "document type 'r'"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_what_is_malformed_is_named_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_measurements(text, "m.xml", "0")
    assert message in str(caught.value)
    assert str(caught.value).startswith("m.xml")


def test_cells_know_their_places() -> None:
    sheet = parse_measurements(WHOLE.replace("11,5", "fast"), "m.xml", "0")
    places = {name: str(sheet.locate(1, sheet.columns.index(name))) for name in sheet.columns}
    assert places == {
        "root": "m.xml:16:5",
        "cache": "m.xml:15:3",
        "fast": "m.xml:16:5",
        "threads": "m.xml:17:5",
        "ratio": "m.xml:17:5",
        "Performance": "m.xml:18:5",
        "Footprint": "m.xml:15:3",
    }
    with pytest.raises(InputError, match=r"m\.xml:18:5: 'fast' is not a valid number"):
        numbers(sheet, "Performance")


def test_the_root_says_whether_xml_is_a_table(tmp_path: Path) -> None:
    (tmp_path / "m.xml").write_text(WHOLE)
    (tmp_path / "model.xml").write_text("<vm name='m'></vm>")
    assert is_table(tmp_path / "m.xml")
    assert not is_table(tmp_path / "model.xml")
    assert not is_table(tmp_path / "none.xml")
    sheet = read_sheet(tmp_path / "m.xml")
    assert metric_column(sheet, "Performance", (), {}).name == "Performance"


_NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=6).map(
    lambda name: f"o{name}"
)
_ROWS = st.lists(
    st.tuples(st.sets(_NAMES, max_size=3), st.integers(-5, 5), st.floats(-1e9, 1e9)), min_size=1, max_size=5
)


@given(_ROWS)
@settings(max_examples=50)
def test_what_is_written_is_read(rows: list[tuple[set[str], int, float]]) -> None:
    written = "".join(
        f"<row><data columname={quoteattr('Configuration')}>{escape(','.join(sorted(names)))},</data>"
        f'<data columname="NumericOptions">N;{number}</data><data columname="P">{value!r}</data></row>'
        for names, number, value in rows
    )
    sheet = parse_measurements(f"<results>{written}</results>", "m.xml", "0")
    for place, (names, number, value) in enumerate(rows):
        cells = dict(zip(sheet.columns, sheet.cells[place], strict=True))
        assert {name for name in cells if name.startswith("o") and cells[name] == "1"} == names
        assert (cells["N"], float(cells["P"])) == (str(number), value)
        assert all(sheet.locate(place, column).line == 1 for column in range(len(sheet.columns)))


@given(st.text(alphabet='<>/=" arowdtsulcn,;1'))
@settings(max_examples=100)
def test_any_text_is_a_table_or_an_error(text: str) -> None:
    try:
        parse_measurements(f"<results>{text}</results>", "m.xml", "0")
    except InputError as error:
        assert str(error)
