"""Broken projects: every message names the place and the fix."""

from __future__ import annotations

from pathlib import Path

import pytest
from broken_projects import BROKEN, GOOD, TEMPLATE
from hypothesis import given, settings
from hypothesis import strategies as st

from hati.core import InputError
from hati.project import parse_project, read_feature_model, read_project, skeleton
from hati.project.text_files import LARGEST, decode


def project(folder: Path, old: str = "", new: str = "") -> Path:
    """A folder with the good project, one thing of which is changed."""
    assert old in GOOD, old
    (folder / "hati.toml").write_text(GOOD.replace(old, new, 1) if old else GOOD)
    (folder / "shop.conf.j2").write_text(TEMPLATE)
    return folder


def message(folder: Path) -> str:
    """The first line of what reading the project says, without the folder."""
    with pytest.raises(InputError) as caught:
        read_project(folder)
    return str(caught.value).partition("\n")[0].replace(f"{folder}/", "")


def test_the_good_one_is_read(tmp_path: Path) -> None:
    assert read_project(project(tmp_path)).name == "shop"


@pytest.mark.parametrize("what", BROKEN)
def test_broken_projects(tmp_path: Path, what: str) -> None:
    old, new, expected = BROKEN[what]
    assert message(project(tmp_path, old, new)) == f"hati.toml:{expected}"


def test_the_whole_message_has_the_line_and_a_caret(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_project(project(tmp_path, "or engine == 'disk'", "or engine == 'dist'"))
    first, line, caret = str(caught.value).split("\n")
    assert first.endswith("'dist' is not a setting of option 'engine'; did you mean 'disk'?")
    assert line == '  constraints = ["cache <= 10 or engine == \'dist\'", "journal => cache == 10"]'
    assert line[caret.index("^") :].startswith("'dist'")


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("a\n{{ engin }}\n", "shop.conf.j2:2:4: template: unknown name 'engin'; did you mean 'engine'?"),
        ("a\nb {% if %}\n", "shop.conf.j2:2:1: template: Expected an expression, got 'end of statement block'"),
        ("{% set x = 1 %}{{ x }}{{ range(3) }}{{ engin is defined }}", "shop.conf.j2:1:40: template: unknown name"),
    ],
)
def test_broken_templates(tmp_path: Path, template: str, expected: str) -> None:
    folder = project(tmp_path)
    (folder / "shop.conf.j2").write_text(template)
    assert message(folder).startswith(expected)


PROCESS_METRICS = (
    "wall_time, user_time, system_time, cpu_time, peak_memory, branch_misses, cache_misses, cycles, instructions, "
    "page_faults, simulated_branch_misses, simulated_cache_misses"
)


@pytest.mark.parametrize(
    ("reader", "more", "expected"),
    [
        (
            "regex",
            "pattern = 'x'",
            "the pattern has 0 groups; put one group ( ) around the number; others as (?: )",
        ),
        ("regex", "pattern = '(a'", "this is not a valid regular expression: missing ), unterminated subpattern"),
        ("regex", "", "pattern is missing; add it, as in pattern = 'latency: ([0-9.]+) s'"),
        ("json", "", 'path is missing; add it, as in path = "results[*].latency"'),
        ("go", "pattern = '(a'", "this is not a valid regular expression: missing ), unterminated subpattern"),
        ("jmh", "path = 'x'", "path is for reader 'json', this is reader 'jmh'"),
        ("hati", "path = 'x'", "path is for reader 'json', this is reader 'hati'"),
        ("process", "", f"reader 'process' has no metric 'latency'; there are: {PROCESS_METRICS}"),
    ],
)
def test_broken_metrics(tmp_path: Path, reader: str, more: str, expected: str) -> None:
    text = f"[[benchmark]]\nname = 'b'\ncommand = ['true']\nreader = '{reader}'\n"
    text += f"metric = [{{ name = 'latency', unit = 's', {more} }}]\n".replace(",  }", " }")
    (tmp_path / "hati.toml").write_text(text)
    assert message(tmp_path).startswith("hati.toml:5:")
    assert message(tmp_path).partition(" ")[2] == expected


def test_a_unit_that_the_process_reader_cannot_have(tmp_path: Path) -> None:
    metric = "{ name = 'wall_time', unit = 'MB' }"
    text = f"[[benchmark]]\nname = 'b'\ncommand = ['true']\nreader = 'process'\nmetric = [{metric}]\n"
    (tmp_path / "hati.toml").write_text(text)
    assert message(tmp_path) == (
        "hati.toml:5:40: unit 's' cannot be converted to 'MB': one is time, the other memory; write unit = \"s\""
    )


def test_the_process_reader_reads_no_file(tmp_path: Path) -> None:
    (tmp_path / "hati.toml").write_text(
        "[[benchmark]]\nname = 'b'\ncommand = ['true']\nreader = 'process'\noutput = '{work}/a'\n"
    )
    assert message(tmp_path) == "hati.toml:5:1: reader 'process' reads no output; remove this line"


def test_two_benchmarks_of_one_name(tmp_path: Path) -> None:
    one = "[[benchmark]]\nname = 'b'\ncommand = ['true']\nreader = 'process'\n"
    (tmp_path / "hati.toml").write_text(one + one)
    assert message(tmp_path) == "hati.toml:6:8: benchmark 'b' is there twice; rename one"


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    def complaint(path: Path) -> str:
        with pytest.raises(InputError) as caught:
            read_project(path)
        return str(caught.value).partition("\n")[0].replace(str(tmp_path), "T")

    assert complaint(tmp_path) == "T: there is no hati.toml in this folder; make one with: hati init T"
    assert complaint(tmp_path / "x.toml") == f"T/x.toml: there is no such file; relative paths begin at {Path.cwd()}"
    (tmp_path / "a" / "hati.toml").mkdir(parents=True)
    assert complaint(tmp_path / "a" / "hati.toml" / "hati.toml").startswith(
        "T/a/hati.toml/hati.toml: there is no such file; "
    )
    assert complaint(tmp_path / "a") == "T/a/hati.toml: this is a folder; name a file in it"
    file = tmp_path / "hati.toml"
    file.write_bytes(b"[subject]\nname = 'caf\xe9'\n")
    assert complaint(file) == "T/hati.toml:2:12: byte 0xe9 is not UTF-8; save the file as UTF-8"
    file.write_bytes(b"\xef\xbb\xbf[subject]\n")
    assert complaint(file) == "T/hati.toml:1:1: the file starts with a byte order mark; save it as UTF-8 without one"
    file.write_bytes(b"#" * (LARGEST + 1))
    assert complaint(file) == "T/hati.toml: the file is larger than 1,000,000 bytes; is it the right file?"
    assert (
        complaint(Path("a\0b"))
        == "a\0b: the file cannot be read: embedded null byte; see its rights, or name another file"
    )


def test_a_feature_model_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no such file"):
        read_feature_model(tmp_path / "x.xml")
    (tmp_path / "m.xml").write_text("<vm>\n<x")
    with pytest.raises(InputError) as caught:
        read_feature_model(tmp_path / "m.xml")
    assert str(caught.value).startswith(f"{tmp_path}/m.xml:2:1: this is not well-formed XML: unclosed token")


@pytest.mark.parametrize(
    "text", ["a = " + "[" * 100_000, "a" + ".a" * 1500 + " = 1", "x = " + "9" * 5000, "x = " + "{a=" * 5000]
)
def test_what_exhausts_readers_is_an_error(text: str) -> None:
    with pytest.raises(InputError):
        parse_project(text, Path("hati.toml"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the good project and its template."""
    return project(tmp_path_factory.mktemp("good"))


def accepted_or_told(text: str, folder: Path) -> None:
    """Read a project: there is one, or an error that says where."""
    try:
        parse_project(text, folder / "hati.toml")
    except InputError as error:
        assert error.place is not None
        assert str(error)


@given(st.one_of(st.binary(), st.text().map(str.encode)))
def test_any_bytes_are_a_project_or_an_error(data: bytes) -> None:
    try:
        parse_project(decode(data, "hati.toml"), Path("hati.toml"))
    except InputError as error:
        assert error.place is not None


_PIECES = st.one_of(
    st.text(max_size=3),
    st.sampled_from(["", '"', "'", "[", "]", "{", "}", "=", "\n", "1", "true", "-1", "[]", '""', "{}", "and", "\\"]),
)


@settings(max_examples=300)
@given(text=st.sampled_from([GOOD, skeleton("x")]), data=st.data())
def test_any_change_of_a_project_is_a_project_or_an_error(folder: Path, text: str, data: st.DataObject) -> None:
    for _ in range(data.draw(st.integers(1, 3))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 12)))
        text = text[:start] + data.draw(_PIECES) + text[end:]
    accepted_or_told(text, folder)


_VALUES = st.sampled_from(
    [
        *("1", "-1", "true", "''", "'x'", "[]", "['']", "[[1]]", "{}", "{a=1}", "1.5", "nan", "1979-05-27", "[{}]"),
        *("['{']", "'{}'", "'a and'", "'{port}'", '["a", "\\u0000"]', "['x'] # ", "'\\\\'"),
    ]
)


@settings(max_examples=300)
@given(number=st.integers(0, GOOD.count("\n") - 1), value=_VALUES)
def test_any_value_anywhere_is_a_project_or_an_error(folder: Path, number: int, value: str) -> None:
    lines = GOOD.splitlines()
    key, equals, _ = lines[number].partition("=")
    lines[number] = f"{key}= {value}" if equals else lines[number]
    accepted_or_told("\n".join(lines), folder)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ('reader = "process"\ncounters = "papi"', "counters: 'papi' is not one of perf, valgrind, usage"),
        ('counters = "perf"', "counters is for reader 'process'"),
    ],
)
def test_broken_counters(tmp_path: Path, lines: str, expected: str) -> None:
    metric = '[[benchmark.metric]]\nname = "instructions"\nunit = "count"\n'
    (tmp_path / "hati.toml").write_text(f'[[benchmark]]\nname = "b"\ncommand = ["true"]\n{lines}\n{metric}')
    with pytest.raises(InputError) as raised:
        read_project(tmp_path)
    assert raised.value.message == expected
    assert raised.value.place is not None
