"""Tables from files: what is read, and what is said of those that cannot be.

SPL Conqueror's measurements as tables: what their elements become, and where what is wrong is.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tables import FEATURES, GOOD, table, written

from hati.core import Configuration, InputError, NotInstalledError
from hati.subject.table import RowCondition, is_table, metric_column, read_sheet, selected
from hati.subject.table.options import numbers
from hati.subject.table.reading import parse_measurements
from hati.subject.table.sheet import parse_delimited

EXPECTED = {
    Configuration({"policy": "lru", "size": 64, "shards": 1, "fast": False}): 1.5,
    Configuration({"policy": "lru", "size": 64, "shards": 4, "fast": True}): 1.25,
    Configuration({"policy": "lfu", "size": 256, "shards": 4, "fast": True}): 0.75,
    Configuration({"policy": "none", "shards": 1, "fast": False}): 3.0,
}


def found(path: Path) -> dict[Configuration, float]:
    made = table(path)
    return dict(zip(made.configurations, made.means("latency").tolist(), strict=True))


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", GOOD),
        ("t.csv", GOOD.replace("\n", "\r\n")),
        ("t.csv", "\ufeff" + GOOD),
        ("t.csv", GOOD.replace("\n", "\n\n")),
        ("t.csv", GOOD.replace(",", ";")),
        ("t.tsv", GOOD.replace(",", "\t")),
        ("t.csv", GOOD.replace("lru", '"lru"').replace("policy", " policy ")),
        ("t.csv", GOOD.replace("policy,size", "option policy,option size")),
        ("t.csv", GOOD.replace("0.75", "7.5e-1").replace("64", "6.4e1")),
        ("t.csv", FEATURES),
        ("t.csv", FEATURES.replace("policy;", "root;")),
        ("t.csv", FEATURES.replace("policy;", "").replace("\n1;", "\n")),
    ],
)
def test_the_same_table_however_it_is_written(tmp_path: Path, name: str, text: str) -> None:
    assert found(written(tmp_path, text, name)) == EXPECTED


def test_packed_tables_and_parquet_are_read(tmp_path: Path) -> None:
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(GOOD.encode()))
    assert found(packed) == EXPECTED
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {
        "policy": ["lru", "lru", "lfu", "none"],
        "size": [64.0, 64.0, 256.0, None],
        "shards": [1, 4, 4, 1],
        "fast": [False, True, True, False],
        "latency": [1.5, 1.25, 0.75, 3.0],
    }
    file = tmp_path / "t.parquet"
    parquet.write_table(pyarrow.table(columns), file)
    assert found(file) == EXPECTED
    with pytest.raises(InputError) as caught:
        raise read_sheet(file).error("wrong", column="size", row=3)
    assert str(caught.value) == f"{file}, row 4, column 'size': wrong"
    (tmp_path / "broken.parquet").write_bytes(file.read_bytes()[:200])
    with pytest.raises(InputError, match="not a Parquet file that can be read"):
        read_sheet(tmp_path / "broken.parquet")


def test_without_pyarrow_it_is_said_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (tmp_path / "t.parquet").write_bytes(b"PAR1")
    with pytest.raises(NotInstalledError, match=r"hati\[parquet\]"):
        read_sheet(tmp_path / "t.parquet")


def test_names_of_tables(tmp_path: Path) -> None:
    assert all(is_table(Path(name)) for name in ("a.csv", "b/A.CSV.GZ", "t.tsv", "t.parquet"))
    (tmp_path / "folder.csv").mkdir()
    assert not any(is_table(path) for path in (Path("hati.toml"), Path(), tmp_path / "folder.csv"))


ERRORS = [
    ("", "t.csv: the file is empty; its first line names the columns"),
    ("a,b\n", "t.csv:1: the table has no rows"),
    ("a,b,a\n1,2,3\n", "t.csv:1:5: there are two columns 'a'; rename one\n  a,b,a\n      ^"),
    ("a,b\n1,2\n3\n", "t.csv:3:1: cells in the row: 1, in the header: 2\n  3\n  ^"),
    ("a,b\n1,2\n3,4,5\n", "t.csv:3:5: cells in the row: 3, in the header: 2\n  3,4,5\n      ^"),
    ("a\n" + "x" * 200_000 + "\n", "t.csv:2: this is not a table: field larger than field limit (131072)"),
]


@pytest.mark.parametrize(("text", "message"), ERRORS)
def test_what_is_no_table_is_told_with_its_place(text: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_delimited(text, "t.csv", "0")
    assert str(caught.value) == message


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    latin = tmp_path / "latin.csv"
    latin.write_bytes("a,b\n1,ü\n".encode("latin-1"))
    cut = tmp_path / "cut.csv.gz"
    cut.write_bytes(gzip.compress(GOOD.encode() * 99)[:-9])
    for path, message in [
        (tmp_path / "none.csv", "there is no such file"),
        (tmp_path, "this is a folder; name a file in it"),
        (latin, "byte 0xfc is not UTF-8"),
        (cut, "the file cannot be unpacked"),
    ]:
        with pytest.raises(InputError, match=message) as caught:
            read_sheet(path)
        assert caught.value.place is not None
        assert caught.value.place.file == str(path)


def test_places_of_cells_after_quoted_commas_and_line_breaks() -> None:
    sheet = parse_delimited('a,b,c\n"1,\n2",3,4\n5,"6,7",8\n', "t.csv", "0")
    assert sheet.texts("a") == ["1,\n2", "5"]
    places = [str(sheet.locate(row, column)) for row in (0, 1) for column in (0, 1, 2)]
    assert places == ["t.csv:2:1", "t.csv:3:4", "t.csv:3:6", "t.csv:4:1", "t.csv:4:3", "t.csv:4:9"]


def test_rows_are_selected_by_their_cells(tmp_path: Path) -> None:
    sheet = read_sheet(written(tmp_path, GOOD))
    chosen = selected(sheet, [RowCondition.parse("policy = lru"), RowCondition.parse("shards=4.0")])
    assert chosen.texts("latency") == ["1.25"]
    assert chosen.numbers.tolist() == [1]
    for text, message in [
        ("policy", "'policy' selects no rows; write a column and its value, as in revision=2.1.0"),
        ("=1", "'=1' selects no rows; write a column and its value, as in revision=2.1.0"),
    ]:
        with pytest.raises(InputError) as caught:
            RowCondition.parse(text)
        assert str(caught.value) == message
    for text, message in [
        ("polici=lru", "1:1: there is no column 'polici' for --where polici=lru; did you mean 'policy'?"),
        ("policy=mru", "1:1: no row has policy=mru; its values are: lru, lfu, none"),
    ]:
        with pytest.raises(InputError) as caught:
            selected(sheet, [RowCondition.parse(text)])
        assert str(caught.value).splitlines()[0] == f"{sheet.file}:{message}"


@given(st.text(alphabet='a1,;\t"\n\r\x00ü'))
def test_any_text_is_a_table_or_an_error(text: str) -> None:
    try:
        sheet = parse_delimited(text, "t.csv", "0")
    except InputError as error:
        assert str(error)
        return
    for row in (None, *range(len(sheet))):
        for column in range(len(sheet.columns)):
            assert sheet.locate(row, column).line


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


XML_ERRORS = [
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


@pytest.mark.parametrize(("text", "message"), XML_ERRORS)
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
def test_any_text_is_measurements_xml_or_an_error(text: str) -> None:
    try:
        parse_measurements(f"<results>{text}</results>", "m.xml", "0")
    except InputError as error:
        assert str(error)
