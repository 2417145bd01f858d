"""Formulas as tests: collected, selected, measured together, told."""

from __future__ import annotations

import importlib
import os
import pkgutil
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pytest

import hati
from forked import LIBRARIES
from hati import core
from hati.core import InputError
from hati.harness import interference
from hati.logic.interpret import FormulaVerdict
from hati.pytest_plugin.collecting import FormulaReport, Measurements
from hati.store.sql import SqlStore

pytest_plugins = ["pytester"]

SUBJECT = """
import sys
name, repetition = sys.argv[1], int(sys.argv[2])
if name == "failing":
    sys.exit("it fails")
value = {"quick": 1.0, "slow": 2.0}.get(name, 0.6 + 0.8 * (repetition * 7 % 10) / 10)
print('{"metric": "latency", "unit": "s", "values": [%r, %r]}' % (value + repetition / 1e4, value * 1.001))
"""

PROJECT = "".join(
    f"""
[[benchmark]]
name = "{name}"
command = ["python3", "-S", "subject.py", "{name}", "{{repetition}}"]
reader = "hati"
[[benchmark.metric]]
name = "latency"
unit = "s"
"""
    for name in ("quick", "slow", "noisy", "failing")
)

FORMULAS = """
ordered: quick <= slow
wrong: quick <= slow & slow <= quick
open: noisy <= 1 s
noisy <= 1.001 s
"""

STATED = """
import hati

@hati.spl("SELF <= 1 s", "SELF[none](1) <= 2 s")
def test_nothing():
    pass

class Bag:
    @hati.spl("SELF <= 1 s")
    def fill(self): ...

@hati.measured
def test_turning(spl):
    turns = 0
    while spl.needs_more():
        with spl.measure():
            turns += 1
    assert turns == 1
"""

for room in pkgutil.walk_packages(hati.__path__, "hati."):  # sessions in this process forget what they load first
    if not room.name.endswith("__main__"):
        importlib.import_module(room.name)
for library in LIBRARIES:
    importlib.import_module(library)

Run = Callable[..., pytest.RunResult]


@pytest.fixture
def run(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A session of pytest in this process, in a project with formulas."""
    monkeypatch.setenv("HATI_LOCK", str(pytester.path.parent / "lock"))
    pytester.makefile(".toml", hati=PROJECT)
    pytester.makefile(".py", subject=SUBJECT, test_stated=STATED)
    pytester.makefile(".spl", formulas=FORMULAS)

    def session(*arguments: str) -> pytest.RunResult:
        return pytester.runpytest_inprocess("-p", "no:xdist", *arguments)

    return session


def listed(done: pytest.RunResult) -> list[str]:
    return [line for line in done.outlines if "::" in line]


STATED_TESTS = [
    "test_stated.py::test_nothing[SELF <= 1 s]",
    "test_stated.py::test_nothing[SELF[none](1) <= 2 s]",
    "test_stated.py::Bag.fill[SELF <= 1 s]",
]
FUNCTIONS = ["test_stated.py::test_nothing", "test_stated.py::test_turning"]
FILED = [
    "formulas.spl::ordered",
    "formulas.spl::wrong",
    "formulas.spl::open",
    "formulas.spl::formula[noisy <= 1.001 s]",
]


def test_without_the_option_functions_are_tests_of_what_they_do(run: Run) -> None:
    assert listed(run("--collect-only", "-q")) == FUNCTIONS
    run("-q").assert_outcomes(passed=2)


def test_each_formula_is_a_test(run: Run) -> None:
    assert sorted(listed(run("--hati", "--collect-only", "-q"))) == sorted([*FILED, *STATED_TESTS, *FUNCTIONS])
    assert listed(run("--hati", "--collect-only", "-q", "test_stated.py::Bag.fill")) == STATED_TESTS[2:]
    assert listed(run("--hati", "--collect-only", "-q", f"test_stated.py::{STATED_TESTS[1][16:]}")) == STATED_TESTS[1:2]


def test_formulas_are_measured_together_and_told(run: Run, pytester: pytest.Pytester) -> None:
    done = run("--hati", "--hati-budget=35", "--junitxml=../results.xml", "formulas.spl")
    done.assert_outcomes(passed=1, failed=3)
    done.stdout.fnmatch_lines(
        [
            "hati: measuring 4 formulas, --hati-budget 35 at most",
            "VIOLATED: wrong: quick <= slow & slow <= quick",
            "  at formulas.spl:2:8",
            "quick <= slow: HOLDS",
            "  estimate -50.0 %, interval *, 9 + 9 runs, p = * were it to hold, * were it violated",
            "  quick |█* | 1.*",
            "  slow  | *█| 2.*",
            "slow <= quick: VIOLATED",
            "INCONCLUSIVE: open: noisy <= 1 s",
            "hati: 4 formulas: 1 hold, 1 violated, 2 inconclusive; 35 runs, *",
            "FAILED formulas.spl::wrong - VIOLATED: wrong: *",
        ]
    )
    cases = ElementTree.parse(pytester.path.parent / "results.xml").iter("testcase")
    found = {
        case.get("name"): {each.get("name"): each.get("value") for each in case.iter("property")} for case in cases
    }
    assert found["ordered"]["hati_estimate quick <= slow"] == "-50.0 %"
    assert str(found["open"]["hati_estimate noisy <= 1 s"]).endswith("s")
    assert {name: [each["hati_verdict"]] for name, each in found.items()} == {
        "ordered": ["HOLDS"],
        "wrong": ["VIOLATED"],
        "open": ["INCONCLUSIVE"],
        "formula[noisy <= 1.001 s]": ["INCONCLUSIVE"],
    }
    assert listed(run("--hati", "--lf", "--collect-only", "-q", "formulas.spl")) == FILED[1:]
    again = run("--hati", "--hati-budget=35", "--hati-inconclusive=pass", "-x", "formulas.spl")
    again.assert_outcomes(passed=1, failed=1)
    again.stdout.fnmatch_lines(["hati: measured before *"])
    run("--hati", "--hati-budget=35", "--hati-inconclusive=xfail", "formulas.spl").assert_outcomes(
        passed=1, failed=1, xfailed=2
    )
    run("--hati", "--hati-budget=35", "--hati-inconclusive=pass", "formulas.spl").assert_outcomes(passed=3, failed=1)


def test_only_what_is_selected_is_measured(run: Run) -> None:
    done = run("--hati", "--hati-budget=15", "-k", "1.001", "formulas.spl")
    done.assert_outcomes(failed=1, deselected=3)
    told = ["hati: measuring 1 formula, --hati-budget 15 at most", "hati: INCONCLUSIVE: *; 15 runs, *"]
    done.stdout.fnmatch_lines(told)


def test_commands_are_those_that_hati_assert_would_start(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = pytester.mkdir("bin") / "python3"
    other.write_text("""#!/bin/sh\necho '{"metric": "latency", "unit": "s", "value": 9.0}'\n""")
    other.chmod(0o755)
    monkeypatch.setenv("PATH", str(other.parent), prepend=os.pathsep)
    pytester.makefile(".spl", formulas="quick <= 2 s")
    run("--hati", "--hati-budget=20", "formulas.spl").stdout.fnmatch_lines(["VIOLATED: quick <= 2 s"])


def test_what_cannot_be_measured_is_told_without_a_traceback(run: Run, pytester: pytest.Pytester) -> None:
    done = run("--hati", "--hati-budget=5", "formulas.spl::ordered")
    done.assert_outcomes(failed=1)
    done.stdout.fnmatch_lines(["5 runs cannot decide: it takes 7 of *, 7 of *; give --hati-budget 14 or more*"])
    done = run("--hati", "--hati-budget=5", "formulas.spl")
    done.assert_outcomes(failed=4)
    told = set(re.findall(r".* cannot decide: .*", done.stdout.str()))
    assert len({line.removeprefix("E ").strip() for line in told if "FAILED" not in line}) == 1, told
    done.stdout.no_fnmatch_line("*Traceback*")
    pytester.makefile(".spl", formulas="quick <=")
    done = run("--hati", "formulas.spl")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["formulas.spl:1:9: *expected *"])


def test_a_time_that_is_too_short_is_reported_with_one_that_is_not(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = pytester.mkdir("bin") / "python3"
    slow.write_text("""#!/bin/sh\nsleep 0.4; echo '{"metric": "latency", "unit": "s", "value": 1.0}'\n""")
    slow.chmod(0o755)
    monkeypatch.setenv("PATH", str(slow.parent), prepend=os.pathsep)
    pytester.makefile(".spl", formulas="quick <= 2 s")
    done = run("--hati", "--hati-budget=1s", "formulas.spl")
    advice = r"hati: the budget is spent: to decide takes (\d+) runs or more, .*; give --hati-budget (\d+)s or more"
    (found,) = re.findall(advice, done.stdout.str())
    assert int(found[1]) > 0.8 * int(found[0])
    run("--hati", f"--hati-budget={found[1]}s", "formulas.spl").assert_outcomes(passed=1)


def test_a_method_that_fails_is_no_budget_that_is_spent(run: Run, pytester: pytest.Pytester) -> None:
    pytester.makefile(".spl", formulas="ordered: quick <= slow\nbroken: failing <= 1 s\n")
    done = run("--hati", "--hati-budget=1h", "formulas.spl")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["formulas.spl:2:9: failing could not be measured: * it fails*"])
    done.stdout.no_fnmatch_line("*the budget is spent*")


def test_a_formula_that_cannot_be_measured_fails_alone(run: Run, pytester: pytest.Pytester) -> None:
    formulas = "ordered: quick <= slow\nbroken: failing <= 1 s\nunknown: quik <= 1 s\n"
    formulas += "unfit: quick <=(x: sqrt(x - 9 s), x: sqrt(x)) slow"
    pytester.makefile(".spl", formulas=formulas)
    done = run("--hati", "--hati-budget=40", "--hati-inconclusive=pass", "formulas.spl")
    done.assert_outcomes(passed=1, failed=3)
    done.stdout.fnmatch_lines(
        [
            "formulas.spl:2:9: failing could not be measured: * it fails*",
            "formulas.spl:3:10: there is no method 'quik'; did you mean 'quick'?",
            "formulas.spl:4:8: quick <=* slow: * no finite value for what was observed*",
        ]
    )


def test_what_is_stated_and_is_no_formula_fails_alone(run: Run, pytester: pytest.Pytester) -> None:
    wrong = "SELF(1000 <= 3 ms", "SELF(1000) = SELF(1000) strictly", "SELF(1000 <= 3 ms"
    texts = ", ".join(map(repr, wrong))
    pytester.makepyfile(test_stated=f"import hati\n\n@hati.spl({texts}, 'quick <= slow')\ndef test_it(): ...\n")
    done = run("--hati", "--hati-budget=18", "-rA", "test_stated.py")
    done.assert_outcomes(passed=2, failed=3)
    done.stdout.fnmatch_lines(["test_stated.py:3:5: the '(' is never closed; close it", f"  {wrong[0]}", "      ^"])
    done.stdout.fnmatch_lines(
        [
            "PASSED test_stated.py::test_it[[]quick <= slow]",
            "PASSED test_stated.py::test_it",
            f"FAILED test_stated.py::test_it[[]{wrong[0]}] - *",
            f"FAILED test_stated.py::test_it[[]{wrong[1]}] - *",
            f"FAILED test_stated.py::test_it[[]{wrong[0]} #2] - *",
        ]
    )
    done.stdout.no_fnmatch_line("*Traceback*")


def test_names_are_resolved_before_a_run(run: Run, pytester: pytest.Pytester) -> None:
    """A wrong one costs no run, and its formula fails alone."""
    pytester.makepyprojecttoml("")
    pytester.makepyfile(
        test_stated="""
        import hati

        @hati.workload
        def none(n): return ()

        @hati.spl("SELF[none](1) <= 60 s", "nomodule:f[none](1) <= 1 s", "json:dump_s[none](1) <= SELF[none](1)")
        def test_it(): ...
        """
    )
    done = run("--hati", "--hati-budget=50", "test_stated.py")
    done.assert_outcomes(passed=2, failed=2)
    done.stdout.fnmatch_lines(
        [
            "*: there is no module nomodule in the revision*",
            "*: json has no 'dump_s'; did you mean 'dumps'?",
            "hati: HOLDS: test_it: *",
        ]
    )
    listed_runs = [sys.executable, "-m", "hati", "runs", "--format", "csv"]
    rows = subprocess.run(listed_runs, capture_output=True, text=True, check=True).stdout.splitlines()
    assert f"; {len(rows) - 1} runs, " in done.stdout.str(), "all runs are of the formula that can be measured"
    done.stdout.no_fnmatch_line("*Traceback*")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-n2"], "--hati measures, and parallel tests would disturb it: leave out -n, or write -n0"),
        (["-p", "no:xdist", "--hati-budget=x"], "--hati-budget: 'x' is not a valid budget"),
        (["-p", "no:xdist", "--hati-inconclusive=x"], "invalid choice: 'x'"),
    ],
)
def test_wrong_use_is_refused(pytester: pytest.Pytester, arguments: list[str], message: str) -> None:
    done = pytester.runpytest_inprocess("--hati", *arguments)
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert re.search(re.escape(message), done.stderr.str())


def test_without_the_option_nothing_is_loaded() -> None:
    code = "import sys, hati.pytest_plugin; print([n for n in sys.modules if n.startswith(('hati', 'numpy'))])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['hati', 'hati.pytest_plugin']"


@pytest.mark.acceptance
def test_python_functions_are_measured(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATI_LOCK", str(pytester.path.parent / "lock"))
    pytester.makepyprojecttoml("")
    Path(pytester.path, "test_speed.py").write_text(
        """
import hati

@hati.workload
def numbers(n):
    return (list(range(n, 0, -1)),)

def quick(values):
    return values[0]

@hati.spl(
    "cpu(SELF[numbers](2000)) <= cpu(quick[numbers](2000))",
    "cpu(quick[numbers](2000)) <= 0.5 * cpu(SELF[numbers](2000))",
)
def total(values):
    return sum(values)
"""
    )
    done = pytester.runpytest_inprocess("-p", "no:xdist", "--hati", "--hati-budget=80")
    done.assert_outcomes(passed=1, failed=1)
    done.stdout.fnmatch_lines(["VIOLATED: total: cpu(SELF*numbers*(2000)) <= cpu(quick*", "  at test_speed.py:*"])


def test_the_summary_warns_of_runs_that_other_programs_disturbed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    record = SqlStore.record

    def busy(store: SqlStore, made: core.Run) -> bool:
        assert made.resources is not None
        used = core.replace(made.resources, wall_time=1.0, user_time=0.1, system_time=0.0, pressure=0.9, steal=0.0)
        return record(store, core.replace(made, resources=used))

    monkeypatch.setattr(SqlStore, "record", busy)
    assert "were disturbed" not in run("--hati", "formulas.spl::ordered").stdout.str()
    monkeypatch.setattr(interference, "MANY", 0.1)
    run("--hati", "formulas.spl::ordered").stdout.fnmatch_lines(
        ["hati: warning: * runs were disturbed by other programs (the first: tasks waited for a CPU 90% of the time*"]
    )


def test_formulas_of_all_files_are_bounded_together(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hati.wiring.formulas.loading.MOST_ATOMS", 9)
    pytester.makefile(".spl", formulas="quick <= slow", second="for all n in {1..5}: quick <= n * 1 s")
    done = run("--hati", "--collect-only", "-q", "formulas.spl", "second.spl", "test_stated.py")
    assert len(listed(done)) == 7
    pytester.makefile(".spl", third="this is read no more", second="for all n in {1..6}: quick <= n * 1 s")
    for files in (("second.spl", "test_stated.py"), ("test_stated.py", "second.spl")):
        done = run("--hati", "--continue-on-collection-errors", "formulas.spl", *files, "third.spl")
        assert done.ret == pytest.ExitCode.INTERRUPTED
        done.assert_outcomes(errors=1)
        said = "*: the formulas up to here have 10 relations, once their sets are expanded; use 9 at most together; *"
        done.stdout.fnmatch_lines([said, "*Interrupted: formulas are too many*"])
        done.stdout.no_fnmatch_line("third.spl*")


def test_formulas_behind_too_many_are_not_read(
    run: Run, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hati.wiring.formulas.loading.MOST_ATOMS", 1)
    pytester.makepyfile(test_stated="import hati\n\n@hati.spl('SELF <= 1 s', 'SELF <= 2 s', '(')\ndef f(): ...\n")
    done = run("--hati", "test_stated.py")
    done.assert_outcomes(errors=1)
    done.stdout.fnmatch_lines(["test_stated.py:3:1: the formulas up to here have 2 relations*"])


def test_the_time_of_a_campaign_is_booked_on_its_tests(pytestconfig: pytest.Config) -> None:
    def judged(seconds: float) -> FormulaReport:
        return FormulaReport(FormulaVerdict.HOLDS, "", "", (), seconds)

    found = Measurements(pytestconfig, {})
    found.book("first", 10.0, {"first": judged(1.0), "second": judged(3.0), "wrong": InputError("no formula")})
    assert found.duration("first", 10.5) == pytest.approx(0.5 + 2.5)
    assert found.duration("second", 0.25) == pytest.approx(0.25 + 7.5)
    assert found.duration("wrong", 0.25) == 0.25
    found.book("third", 4.0, {"third": InputError("not built")})
    assert found.duration("third", 4.5) == 4.5
