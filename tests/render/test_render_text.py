from __future__ import annotations

import csv
import json
import re
from io import BytesIO, StringIO, TextIOWrapper

import pytest
from example_gates import GATES
from example_screenings import HOSTILE, hostile_screening, sqlite_screening
from golden_texts import FOLDER, TEXTS
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from hati.core.wording import visible
from hati.document import Align, Column, Shown, Table
from hati.document.document import columns_of
from hati.render import (
    print_document,
    print_table,
    table_csv,
    table_json,
    table_markdown,
    table_text,
    to_json,
    to_plain,
)
from hati.studies.gate.document import gate_document
from hati.studies.screening import EffectVerdict
from hati.studies.screening.document import screening_document
from hati.studies.screening.values import screening_json

TABLE = Table(
    "Costs",
    (Column("what"), Column("cost", "s", Align.RIGHT), Column("new")),
    (("a\nb", Shown("1.25", 1.2512345), True), ("c|d", None, False)),
    ("A note.",),
)


@pytest.mark.parametrize("name", TEXTS)
def test_texts_are_exactly_as_they_were(name: str) -> None:
    assert TEXTS[name]() == (FOLDER / name).read_text(encoding="utf-8")


def test_text_without_styles_is_written_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rich's rendering of many rows takes longer than all else; with styles, only the rule differs."""
    styled = StringIO()
    print_table(TABLE, Console(file=styled, width=80, force_terminal=True, color_system="standard"))
    monkeypatch.setattr(Console, "print", None)
    assert table_text(TABLE) == re.sub("\x1b\\[[0-9;]*m", "", styled.getvalue()).replace("─", "-")


@pytest.mark.parametrize("name", ["sqlite.txt", "raw.txt", "incomplete.txt", "empty.txt", "options.txt"])
def test_texts_fit_into_80_columns_without_spaces_at_the_ends(name: str) -> None:
    for line in TEXTS[name]().splitlines():
        assert len(line) <= 80
        assert line == line.rstrip()


def test_piped_text_has_no_colours_and_no_boxes() -> None:
    text = TEXTS["hostile.txt"]()
    assert not {c for c in text if not (c.isprintable() or c == "\n")}
    assert not {c for c in text if "\u2500" <= c <= "\u257f"}


def test_a_terminal_gets_emphasis_and_no_more_columns_than_it_has() -> None:
    text = StringIO()
    print_document(
        screening_document(sqlite_screening()),
        Console(file=text, width=80, force_terminal=True, color_system="standard"),
    )
    assert "\x1b[1m" in text.getvalue()
    plain = StringIO()
    print_document(
        screening_document(sqlite_screening()), Console(file=plain, width=60, force_terminal=True, color_system=None)
    )
    assert max(map(len, plain.getvalue().splitlines())) <= 60


@pytest.mark.parametrize("verdict", EffectVerdict)
def test_rows_of_important_effects_are_bold(verdict: EffectVerdict) -> None:
    text = StringIO()
    table = Table("Effects", columns_of("option | verdict"), (("threads", verdict.value),))
    print_table(table, Console(file=text, width=80, force_terminal=True, color_system="standard"))
    [row] = [line for line in text.getvalue().splitlines() if "threads" in line]
    assert ("\x1b[1m" in row) is (verdict is not EffectVerdict.NOT_SHOWN)


def test_names_cannot_move_the_cursor_of_a_terminal() -> None:
    text = StringIO()
    print_document(
        screening_document(hostile_screening()), Console(file=text, width=80, force_terminal=True, color_system=None)
    )
    assert not {c for c in text.getvalue() if not (c.isprintable() or c == "\n")}
    assert "[bold red]markup[/bold" in text.getvalue()


def test_a_console_without_unicode_gets_what_it_can_show() -> None:
    raw = BytesIO()
    console = Console(file=TextIOWrapper(raw, encoding="ascii"), width=80, force_terminal=False)
    print_document(screening_document(hostile_screening()), console)
    print_table(Table("µ", (Column("x", "µs"),), (("1 µs",),)), console)
    console.file.flush()
    text = raw.getvalue().decode("ascii")
    assert "\\U0001f43a wolf" in text
    assert "1 us" in text


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize("repeated", [True, False])
def test_columns_that_do_not_fit_are_in_blocks_that_each_name_the_rows(is_terminal: bool, repeated: bool) -> None:
    options = [f"option_{i:02}" for i in range(20)]
    rows = tuple((f"r{1 if repeated else n}", *(f"setting-{n}" for _ in options)) for n in (1, 2))
    console = _console(80, is_terminal)
    print_table(Table("Wide", tuple(map(Column, ("run", *options))), rows), console)
    lines = _lines(console)
    assert max(map(cell_len, lines)) <= 80
    names = "row" if repeated else "run"
    headings = [line.split() for line in lines if line.split()[:1] == [names]]
    assert [name for each in headings for name in each[1:]] == ["run"] * repeated + options
    seconds = [line.split() for line in lines if line.split()[:1] == ["2" if repeated else "r2"]]
    assert sum(each.count("setting-2") for each in seconds) == len(options)
    assert len(seconds) == len(headings) > 1


@pytest.mark.parametrize("columns", [1, 8, 40])
@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_table_of_many_columns_loses_no_character(columns: int, is_terminal: bool) -> None:
    wide = Table(
        "Wide", tuple(Column("n") for _ in range(columns)), (tuple(map(str, range(100_000, 100_000 + columns))),)
    )
    console = _console(80, is_terminal)
    print_table(wide, console)
    assert set(map(str, range(100_000, 100_000 + columns))) <= set(" ".join(_lines(console)).split())
    assert max(map(cell_len, _lines(console))) <= 80


@pytest.mark.parametrize("is_terminal", [True, False])
@pytest.mark.parametrize("width", [40, 80])
def test_a_word_that_is_longer_than_its_column_has_a_line_of_its_own(width: int, is_terminal: bool) -> None:
    path, longest = "/srv/" + "x" * (width - 10), "y" * 2 * width
    columns = (Column("what"), Column("time", "s", Align.RIGHT), Column("where"))
    rows = (("first", 1.5, path), (path, 2.5, "b"), (longest, 3.5, "c"))
    console = _console(width, is_terminal)
    print_table(Table("T", columns, rows, (f"See {longest}.",)), console)
    words = [line.split() for line in _lines(console)]
    assert {word for line in words for word in line if {"xx", "yy"} & {word[-3:-1]}} == {path, longest, f"{longest}."}
    assert all(line == [longest] or line == [f"{longest}."] for line in words if len(" ".join(line)) > width)
    assert [path] in words


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_command_is_never_wrapped_and_a_long_one_is_alone_on_its_line(is_terminal: bool) -> None:
    long = 'hati screen "my project" --metric latency --set "c != \'neg\'" --set \'a"`b`"=on\' --budget 64'
    console = _console(80, is_terminal)
    note = f"Confirm these by {'many ' * 12}`{long}`, or see how many there are by `hati runs --failed`. The end."
    print_table(Table("T", (Column("x"),), (), (note,)), console)
    lines = _lines(console)
    assert f"  {long}" in lines
    assert max(map(cell_len, (line for line in lines if long not in line))) <= 80
    assert any("by `hati runs --failed`." in line for line in lines)
    assert lines[lines.index(f"  {long}") + 1].startswith("or see")


@pytest.mark.parametrize("name", ["r1", "a-long-name (0123456789ab)"])
def test_a_drawing_is_on_the_line_of_its_row(name: str) -> None:
    drawn = " " * 10 + "-----====|====----" + " " * 4
    rows = tuple((f"{name}{n}", 1234.5, 2345.6, 3456.7, drawn) for n in range(3))
    console = _console(80, is_terminal=False)
    print_table(
        Table("T", columns_of("revision | > smallest (ms) | > median (ms) | > largest (ms) | plot"), rows), console
    )
    plots = [line for line in _lines(console) if drawn.strip() in line]
    assert len(plots) == 3
    assert all(line.startswith(name.split(maxsplit=1)[0]) for line in plots)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_command_in_a_column_does_not_cover_the_next_one(is_terminal: bool) -> None:
    command = f"hati compare {'b' * 40} {'c' * 40}"
    console = _console(60, is_terminal)
    print_table(Table("T", columns_of("x | y"), ((f"{'see ' * 9}`{command}`.", "z" * 30),)), console)
    assert [line.strip() for line in _lines(console) if "hati" in line] == [command]


REPORTS = {
    **{name: lambda made=made: gate_document(made()) for name, made in GATES.items()},
    "hostile screening": lambda: screening_document(hostile_screening()),
    "screening": lambda: screening_document(sqlite_screening()),
}


@pytest.mark.parametrize("width", [40, 60, 80])
@pytest.mark.parametrize("name", REPORTS)
def test_no_line_is_wider_than_the_console_except_a_single_word(name: str, width: int) -> None:
    document = REPORTS[name]()
    for is_terminal in (True, False):
        text = _console(width, is_terminal)
        print_document(document, text)
        assert not [line for line in _lines(text) if cell_len(line) > width and len(line.split()) > 1]


def _console(width: int, is_terminal: bool) -> Console:
    return Console(file=StringIO(), width=width, force_terminal=is_terminal, color_system=None)


def _lines(console: Console) -> list[str]:
    assert isinstance(console.file, StringIO)
    return console.file.getvalue().splitlines()


def test_a_table_without_rows_is_its_title_and_notes() -> None:
    columns = (Column("task"), Column("took", "s"))
    assert table_text(Table("Runs", columns, ())).splitlines() == ["Runs"]
    assert table_text(Table("Runs", columns, (), ("0 runs.",))).splitlines() == ["Runs", "", "0 runs."]
    assert table_markdown(Table("Runs", columns, (), ("0 runs.",))) == "### Runs\n\n0 runs.\n"


def test_markdown_takes_everything_literally() -> None:
    assert table_markdown(TABLE) == (
        "### Costs\n\n| what | cost (s) | new |\n| --- | ---: | --- |\n"
        "| a b | 1.25 | true |\n| c\\|d |  | false |\n\nA note.\n"
    )
    for name in HOSTILE:
        body = table_markdown(Table("T", (Column("x"),), ((name,),))).splitlines()[4]
        assert body.startswith("| ")
        assert body.endswith(" |")
        assert body.replace("\\|", "").count("|") == 2
        assert "<" not in body


@pytest.mark.parametrize("note", ["- a", "+ a", "# a", "1. a", "= a", "_a_ b_c"])
def test_markdown_notes_start_no_lists_and_no_headings(note: str) -> None:
    last = table_markdown(Table("T", (Column("x"),), (), (note,))).splitlines()[-1]
    assert last[0] in "&\\"


def test_json_and_csv_tables_hold_values_and_not_texts() -> None:
    assert json.loads(table_json(TABLE)) == {
        "format": "hati-table-1",
        "rows": [
            {"what": "a\nb", "cost": 1.2512345, "cost unit": "s", "new": True},
            {"what": "c|d", "cost": None, "cost unit": "s", "new": False},
        ],
    }
    assert list(csv.reader(StringIO(table_csv(TABLE)))) == [
        ["what", "cost", "new"],
        ["a\nb", "1.2512345", "true"],
        ["c|d", "", "false"],
    ]


def test_json_of_a_conclusion_reads_back() -> None:
    said = to_plain(screening_json(hostile_screening()))
    assert json.loads(to_json(said)) == said
    assert json.loads(to_json({"x": float("nan"), "y": [float("inf")]})) == {"x": None, "y": [None]}


def test_csv_has_no_formulas_of_spreadsheets() -> None:
    text = table_csv(Table("T", (Column("=x"), Column("y")), (("=HYPERLINK(A1)", "-O2"), ("@a", -1.5))))
    assert text == "'=x,y\n'=HYPERLINK(A1),-O2\n'@a,-1.5\n"


def test_csv_keeps_line_ends_within_fields() -> None:
    text = table_csv(Table("T", (Column("x"),), (("a\rb\r\nc",), ("d\ne",))))
    assert text == 'x\n"a\rb\r\nc"\n"d\ne"\n'


@given(st.text())
def test_what_is_visible_is_one_printable_line(text: str) -> None:
    shown = visible(text)
    assert all(c.isprintable() for c in shown)
    assert visible(shown) == shown


@given(st.lists(st.tuples(st.text(max_size=40), st.floats(allow_nan=False)), max_size=5))
def test_any_table_can_be_printed(rows: list[tuple[str, float]]) -> None:
    table = Table("T", (Column("a"), Column("b", "s", Align.RIGHT)), tuple(rows))
    assert "T" in table_text(table)
    lines = table_markdown(table).splitlines()
    assert len(lines) == (4 + len(rows) if rows else 1)
    values = list(csv.reader(StringIO(table_csv(table))))[1:]
    assert [value for _, value in values] == [_csv(value) for _, value in rows]


def _csv(value: float) -> str:
    return "" if value in (float("inf"), float("-inf")) else json.dumps(value)
