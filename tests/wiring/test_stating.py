"""Formulas that Python files state: found by reading, told by a fresh interpreter, placed where their decorator is."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hati.core import InputError
from hati.python import has_statements
from hati.studies.assertion import SampleCollector
from hati.wiring import formulas_in

LISTS = """
import hati

@hati.workload
def rand(n, rng):
    return [rng.random() for _ in range(n)]

def old(values):
    return sorted(values)
"""

PERF = """
import hati
import lists
from lists import old, rand


class Bag:
    @hati.spl("SELF[rand](100) <= quick[lists.rand](100)", quick="lists:old@v1.2")
    def fill(self, values): ...


@hati.spl(hati.Performance(hati.SELF, rand, 10) <= 1.05 * hati.Performance(old, rand, 10))
@hati.spl(
    "SELF <= lists.old",
    "for all n in {1, 2}: SELF[rand](n) <= former[rand](n)",
    former="SELF@HEAD",
)
def new(values=()): ...
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for folder in ("src", "tests"):
        (tmp_path / folder).mkdir()
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "src" / "lists.py").write_text(LISTS)
    (tmp_path / "tests" / "perf.py").write_text(PERF)
    return tmp_path


def test_what_is_stated_is_found_with_what_its_names_stand_for(project: Path) -> None:
    found = formulas_in([project])
    assert [each.name for each in found] == ["Bag.fill", "new", "new", "new"]
    file = str(project / "tests" / "perf.py")
    assert [(each.place.file, each.place.line) for each in found] == [(file, 8), (file, 12), (file, 13), (file, 13)]
    resolved = [str(each.resolved(relation, SampleCollector())) for each in found for relation in each.relations]
    assert resolved == [
        "tests.perf:Bag.fill[lists:rand](100) <= lists:old@v1.2[lists:rand](100)",
        "tests.perf:new[lists:rand](10) <= 1.05 * lists:old[lists:rand](10)",
        "tests.perf:new <= lists:old",
        "tests.perf:new[lists:rand](1) <= tests.perf:new@HEAD[lists:rand](1)",
        "tests.perf:new[lists:rand](2) <= tests.perf:new@HEAD[lists:rand](2)",
    ]


def test_what_generators_are_given_is_kept_whichever_way_it_is_stated(project: Path) -> None:
    stated = """
import functools
import hati
from lists import rand

@hati.spl("SELF[rand('x', 2)](1) <= made[lists.rand('y')](1)", made="lists:old", rand="lists:rand")
@hati.spl("SELF[some](1) <= SELF[some, rand(3)](2)", some="lists:rand('z')")
@hati.spl(hati.Performance(hati.SELF, functools.partial(rand, "x"), 1) <= "2 ms")
def new(values): ...
"""
    (project / "tests" / "perf.py").write_text(stated.replace("import hati\n", "import hati\nimport lists\n"))
    found = [str(each.resolved(one, SampleCollector())) for each in formulas_in([project]) for one in each.relations]
    assert found == [
        "tests.perf:new[lists:rand('x', 2)](1) <= lists:old[lists:rand('y')](1)",
        "tests.perf:new[lists:rand('z')](1) <= tests.perf:new[lists:rand('z'), lists:rand(3)](2)",
        "tests.perf:new[lists:rand('x')](1) <= 2 ms",
    ]


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import hati\n@hati.spl('SELF <= 1 s')\ndef f(): ...", True),
        ("import hati\n@hati.spl('SELF <= 1 s')\nclass C: ...", True),
        ("from hati import spl as states\n@states('SELF <= 1 s')\ndef f(): ...", True),
        ("import hati\n# @hati.spl\n@hati.workload\ndef f(): ...", False),
        ("from other import spl\n@spl('hati')\ndef f(): ...", False),
        ("import hati\n@hati.spl('SELF <= 1 s')\ndef f()", True),
        ("import hati\nclass C:\n    @hati.spl('SELF <= 1 s')\n    def f()", True),
        ("import hati\n# @hati.spl(\n'@hati.spl(' + split(\ndef f()", False),
    ],
)
def test_whether_a_file_states_something_is_read_from_its_text(tmp_path: Path, source: str, expected: bool) -> None:
    file = tmp_path / "some.py"
    file.write_text(source)
    assert has_statements(file) is expected


@pytest.mark.parametrize(
    ("formula", "options", "message"),
    [
        ("SELF <=", "", r"perf.py:3:8: .*expected"),
        ("SELF <= a", ", a='1 s'", r"perf.py:3: .*1 s"),
    ],
)
def test_a_wrong_statement_is_told_with_its_place(tmp_path: Path, formula: str, options: str, message: str) -> None:
    file = tmp_path / "perf.py"
    file.write_text(f"import hati\n\n@hati.spl({formula!r}{options})\ndef f(): ...\n")
    with pytest.raises(InputError, match=message):
        formulas_in([file])


def test_a_file_of_a_folder_that_is_no_python_is_not_passed_over(project: Path) -> None:
    (project / "tests" / "slips.py").write_text("import hati\n\n@hati.spl('SELF <= 1 s')\ndef f()\n")
    with pytest.raises(InputError, match=r"slips.py cannot be imported: SyntaxError"):
        formulas_in([project])


@pytest.mark.parametrize(
    "hidden",
    [
        "class Bag:\n    @property\n    @hati.spl('SELF <= 1 s')\n    def size(self): ...",
        "@(lambda f: 1)\n@hati.spl(\n'SELF <= 1 s')\ndef f(): ...",
        "if 1:\n    @hati.spl('SELF <= 1 s')\n    def kept(): ...",
    ],
)
def test_a_statement_that_would_be_lost_is_refused(tmp_path: Path, hidden: str) -> None:
    file = tmp_path / "perf.py"
    file.write_text(f"import hati\n\n{hidden}\n\n@hati.spl('SELF <= 2 s')\ndef kept(): ...\n")
    with pytest.raises(InputError, match=r"perf.py:[45]: @hati.spl stands on what no name of perf leads to"):
        formulas_in([file])


def test_a_statement_that_another_modules_function_makes_is_lost_to_neither(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "limits.py").write_text("import hati\n\ndef quick(f):\n    return hati.spl('SELF <= 1 s')(f)\n")
    stated = "\n\n@hati.spl('SELF <= 2 s')\n@limits.quick\ndef f(): ...\n"
    (tmp_path / "perf.py").write_text(f"import hati\nimport limits{stated}")
    found = formulas_in([tmp_path / "perf.py"])
    assert [str(each.formula) for each in found] == ["SELF <= 2 s", "SELF <= 1 s"]


def test_a_module_that_is_imported_sees_no_arguments_of_the_recorders(tmp_path: Path) -> None:
    (tmp_path / "perf.py").write_text(
        "import hati\nimport sys\nassert not sys.argv[1:]\n\n@hati.spl('SELF <= 1 s')\ndef f(): ...\n"
    )
    assert [str(each.formula) for each in formulas_in([tmp_path])] == ["SELF <= 1 s"]


def test_what_is_stated_of_a_class_is_refused(tmp_path: Path) -> None:
    (tmp_path / "perf.py").write_text("import hati\n\n@hati.spl('SELF <= 1 s')\nclass Bag: ...\n")
    with pytest.raises(InputError, match=r"perf.py cannot be imported: TypeError: @hati.spl stands on the class Bag: "):
        formulas_in([tmp_path])


def test_what_cannot_be_imported_is_told_in_a_line(tmp_path: Path) -> None:
    file = tmp_path / "perf.py"
    file.write_text("import hati\nimport no_such_module\n")
    with pytest.raises(InputError, match=r"perf.py cannot be imported: .*no_such_module"):
        formulas_in([file])
    (tmp_path / "my-perf.py").write_text("import hati")
    with pytest.raises(
        InputError, match=r"not a module that can be imported from .*; move or rename it, or name its folder in"
    ):
        formulas_in([tmp_path / "my-perf.py"])
    with pytest.raises(InputError, match=r"no @hati\.spl"):
        formulas_in([tmp_path])


def test_the_command_that_shows_why_a_file_cannot_be_imported_works_as_it_is_told(tmp_path: Path) -> None:
    project = tmp_path / "it's here"
    (project / "src").mkdir(parents=True)
    (project / "pyproject.toml").touch()
    (project / "beside.py").touch()
    (project / "src" / "b3.py").write_text("import hati\nimport beside\n\n@hati.spl(3)\ndef g(): ...\n")
    with pytest.raises(InputError) as caught:
        formulas_in([project])
    command = caught.value.fix.removeprefix("see: ")
    told = subprocess.run(["sh", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert "TypeError: 3 is not a valid formula" in told.stderr


@pytest.mark.parametrize(
    ("ending", "why"),
    [
        ("sys.exit(0)", "perf ended the process while it was imported"),
        ("os._exit(0)", "it ended the process while it was imported"),
    ],
)
def test_a_module_that_ends_as_it_is_imported_is_told_of(tmp_path: Path, ending: str, why: str) -> None:
    file = tmp_path / "perf.py"
    file.write_text(f"import hati, os, sys\n{ending}\n@hati.spl('SELF <= 1 s')\ndef f(): ...\n")
    with pytest.raises(InputError) as caught:
        formulas_in([file])
    assert caught.value.message == f"{file} cannot be imported: {why}"


@pytest.mark.parametrize(
    ("formula", "aliases", "circle", "what"),
    [
        ("a <= b", {"a": "b", "b": "a"}, "b = a = b", "method"),
        ("a <= 1 s", {"a": "b@HEAD", "b": "c", "c": "a"}, "c = a = b = c", "method"),
        ("SELF[a](1) <= SELF[b](1)", {"a": "b", "b": "a"}, "b = a = b", "generator"),
        ("SELF[a](1) <= 1 s", {"a": "b", "b": "a('z')"}, "b = a = b", "generator"),
    ],
)
def test_names_in_a_circle_are_refused(
    tmp_path: Path, formula: str, aliases: dict[str, str], circle: str, what: str
) -> None:
    file = tmp_path / "perf.py"
    file.write_text(f"import hati\n\n@hati.spl({formula!r}, **{aliases})\ndef f(): ...\n")
    with pytest.raises(InputError) as caught:
        formulas_in([file])
    said = f"{circle[0]!r} stands for itself: {circle}; let one of them stand for a {what}"
    assert str(caught.value) == f"{file}:3: {said}"


def test_names_may_stand_for_one_another_and_for_functions_of_the_same_name(project: Path) -> None:
    stated = """
import hati
from lists import old, rand

@hati.spl("first[rand](1) <= old[rand](1)", first="second@HEAD", second="old", old="old", rand="rand")
def new(values): ...
"""
    (project / "tests" / "perf.py").write_text(stated)
    found = [str(each.resolved(one, SampleCollector())) for each in formulas_in([project]) for one in each.relations]
    assert found == ["lists:old@HEAD[rand](1) <= lists:old[rand](1)"]


def test_generators_may_stand_for_one_another(project: Path) -> None:
    stated = """
import hati
from lists import old, rand

@hati.spl("SELF[g, i](1) <= 1 s", g="h", h="rand", i="h('z')")
def new(values): ...
"""
    (project / "tests" / "perf.py").write_text(stated)
    (found,) = formulas_in([project])
    (relation,) = found.relations
    assert str(found.resolved(relation, SampleCollector())) == "tests.perf:new[lists:rand, lists:rand('z')](1) <= 1 s"
