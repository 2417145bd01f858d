"""Executed lines, as gcov 12.2 and coverage.py 7.17 print them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hati.core import Benchmark, Better, InputError, Metric, Reader, ReaderKind, Resources
from hati.subject.line_coverage import read_coverage
from hati.subject.readers import check_reader, read

GCOV = {
    "gcc_version": "12.2.0",
    "current_working_directory": "/build",
    "files": [
        {
            "file": "a.c",
            "lines": [
                {"branches": [], "count": 6000, "line_number": 27, "unexecuted_block": False, "function_name": "lock"},
                {"branches": [], "count": 0, "line_number": 29, "unexecuted_block": True, "function_name": "lock"},
                {"branches": [], "count": 1, "line_number": 29, "unexecuted_block": True, "function_name": "lock<2>"},
                {"branches": [], "count": 0, "line_number": 31, "unexecuted_block": True, "function_name": "lock"},
            ],
        },
        {"file": "/usr/include/x.h", "lines": [{"count": 1, "line_number": 3}]},
        {"file": "/build/inc/b.h", "lines": [{"count": 2, "line_number": 5}]},
        {"file": "empty.c", "lines": []},
    ],
}
PYTHON = {
    "meta": {"format": 3, "version": "7.17.5", "branch_coverage": False, "show_contexts": False},
    "files": {"m.py": {"executed_lines": [1, 2, 3, 5, 6], "missing_lines": [4], "excluded_lines": []}},
    "totals": {"covered_lines": 5, "num_statements": 6},
}


def printed(*documents: object) -> bytes:
    return "\n".join(["seconds: 1.5", "{not JSON", *map(json.dumps, documents), ""]).encode()


def test_the_documents_of_gcov_are_read() -> None:
    found = read_coverage(printed(GCOV), "out")
    assert found == {"a.c": {27: True, 29: True, 31: False}, "inc/b.h": {5: True}}


def test_a_line_is_executed_if_one_document_says_so() -> None:
    again = {"files": [{"file": "a.c", "lines": [{"count": 1, "line_number": 31}, {"count": 0, "line_number": 27}]}]}
    assert read_coverage(printed(GCOV, again), "out")["a.c"] == {27: True, 29: True, 31: True}


@pytest.mark.parametrize("document", [GCOV, PYTHON])
def test_a_document_after_other_text_of_its_line_is_read(document: object) -> None:
    alone = read_coverage(printed(document), "out")
    assert read_coverage(b"done." + json.dumps(document).encode(), "out") == alone
    assert read_coverage(b'seen {"files": 3} ' + json.dumps(document).encode(), "out") == alone


def test_the_document_of_coverage_py_is_read() -> None:
    assert read_coverage(printed(PYTHON), "out") == {"m.py": {1: True, 2: True, 3: True, 4: False, 5: True, 6: True}}


@pytest.mark.parametrize("broken", [{"files": [{"file": "a.c"}]}, {"files": {"a.py": {"executed_lines": ["x"]}}}, {}])
def test_what_has_no_lines_is_an_error(broken: object) -> None:
    with pytest.raises(InputError, match="coverage"):
        read_coverage(printed(broken), "out")


CUT = json.dumps(PYTHON)[:30]


@pytest.mark.parametrize(
    ("output", "line", "reason"),
    [
        (printed(GCOV) + CUT.encode(), 4, "the JSON ends early"),
        (printed() + b'{"files": ' + b"[" * 100_000, 3, "too many values are nested"),
        (printed() + b'{"files": nothing}', 3, "Expecting value in line 3, column 11"),
        (printed({"files": {"a.py": {}}}), 3, "missing required field `executed_lines`"),
        *(
            (printed() + b'{"files": {"a.py": {"executed_lines": [%s], "missing_lines": []}}}' % number, 3, "`int`")
            for number in (b"1e999", b"9" * 400, b"-3", b"0", b"2147483648")
        ),
    ],
)
def test_what_cannot_be_read_is_an_error_with_its_line(output: bytes, line: int, reason: str) -> None:
    with pytest.raises(InputError) as raised:
        read_coverage(output, "out")
    assert str(raised.value.place) == f"out:{line}"
    assert reason in raised.value.message


def test_a_document_of_several_lines_is_read() -> None:
    text = f"seconds: 1\n{json.dumps(PYTHON, indent=4)}\n{json.dumps(GCOV)}\n"
    assert sorted(read_coverage(text.encode(), "out")) == ["a.c", "inc/b.h", "m.py"]


def test_coverage_of_other_folders_says_so() -> None:
    with pytest.raises(InputError, match=r"all files of the coverage are outside .*: /lib/m\.py"):
        read_coverage(printed({"files": {"/lib/m.py": {"executed_lines": [1], "missing_lines": []}}}), "out")


@pytest.mark.parametrize("file", ["/p/src/a.c", "../src/a.c", "/p/build/../src/a.c"])
def test_files_of_a_build_out_of_the_sources_are_those_of_the_project(file: str) -> None:
    lines = [{"line_number": 1, "count": 1}]
    files = [{"file": name, "lines": lines} for name in (file, "gen.c", "/usr/include/x.h", "../../other/b.c")]
    found = read_coverage(printed({"current_working_directory": "/p/build", "files": files}), "out", Path("/p"))
    assert found == {"src/a.c": {1: True}, "build/gen.c": {1: True}}


def test_files_that_a_command_compiles_elsewhere_are_relative_to_that_folder() -> None:
    assert sorted(read_coverage(printed(GCOV), "out", Path("/p"))) == ["a.c", "inc/b.h"]
    python = {"files": dict.fromkeys(("m.py", "/p/n.py", "sub/../o.py"), PYTHON["files"]["m.py"])}
    assert sorted(read_coverage(printed(python), "out", Path("/p"))) == ["m.py", "n.py", "o.py"]


def test_all_files_outside_are_named_once() -> None:
    files = [{"file": name, "lines": [{"line_number": 1, "count": 1}]} for name in ("/x/a.c", "/x/b.c", "/x/a.c")]
    with pytest.raises(InputError, match=r"program's folder: /x/a\.c, /x/b\.c;"):
        read_coverage(printed({"files": files}), "out", Path("/p"))


def test_a_run_has_the_number_of_lines_and_the_lines_of_each_file() -> None:
    lines = Metric("lines", "1", Better.HIGHER)
    benchmark = Benchmark("b", ("x",), Reader(ReaderKind.COVERAGE), (lines,))
    check_reader(benchmark)
    number, first, second = read(benchmark, printed(GCOV), Resources(1.0, 1.0, 0.0, 1, 0, 0, 0.0))
    assert (number.metric, number.values.tolist()) == ("lines", [3.0])
    assert (first.metric, first.unit, first.values.tolist()) == ("lines of a.c", "line number", [27.0, 29.0, -31.0])
    assert (second.metric, second.values.tolist()) == ("lines of inc/b.h", [5.0])


def test_it_has_no_other_metric() -> None:
    with pytest.raises(InputError, match="has no metric 'time'"):
        check_reader(Benchmark("b", ("x",), Reader(ReaderKind.COVERAGE), (Metric("time", "s"),)))
