"""``hati assert``: formulas decided by files of samples, and by measuring."""

from __future__ import annotations

import errno
import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest

from hati.cli import main
from hati.core import InputError
from hati.studies.assertion import answer

if TYPE_CHECKING:
    from conftest import Hati

COUNT = """
import json, sys
n, each, repetition = map(int, sys.argv[1:])
print(json.dumps({"metric": "steps", "value": n * each + repetition * 37 % 11 / 100}))
"""
PROJECT = '[subject]\nname = "s"\n' + "".join(
    f"""
[[benchmark]]
name = "{name}"
command = ["python3", "-S", "count.py", "{{n}}", "{each}", "{{repetition}}"]
reader = "hati"
workload = {{ n = 10 }}
metric = [{{ name = "steps", unit = "1" }}]
"""
    for name, each in (("fast", 10), ("slow", 12))
)
STATED = """
import hati


def work(n):
    for _ in range(n):
        sum(range(100))


@hati.spl("cpu(SELF(20)) <= cpu(perf:slow(20))")
def quick(n):
    work(n)


@hati.spl("cpu(SELF(20)) <= 2 * cpu(perf:quick(20))")
def slow(n):
    work(20 * n)
"""
SAMPLES = "a=a.json,b=b.json,c=c.json,few=few.json"


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Sixteen runs each of a and b, alike, and c, a fifth slower; two of few, and nine earlier ones."""
    for name, mean, runs in (("a", 0.01, 16), ("b", 0.01, 16), ("c", 0.012, 16), ("few", 0.01, 2), ("old", 0.01, 9)):
        levels = [{"observations": [mean * (1 + place * 0.0003), mean]} for place in range(runs)]
        sample = {"benchmark": name, "metric": "time", "unit": "s", "better": "lower", "runs": levels}
        (tmp_path / f"{name}.json").write_text(json.dumps({"format": "hati-samples-1", "samples": [sample]}))
    (tmp_path / "r.spl").write_text("# requirements\nok: a <= b & a <= 20 ms\nbad: c <= b\n\nopen: a <= b strictly\n")
    return tmp_path


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    (tmp_path / "hati.toml").write_text(PROJECT)
    (tmp_path / "count.py").write_text(COUNT)
    return tmp_path


@pytest.mark.parametrize(
    ("formula", "more", "status"),
    [
        ("a <= b", [], 0),
        ("c <= b", [], 1),
        ("a <= b strictly", [], 3),
        ("few <= b", [], 3),
        ("x <= b", [], 2),
        ("a <= b", ["--interpretation", "welch"], 0),
        ("c <= b", ["--fail-on", "none"], 0),
        ("c <= b", ["--fail-on", "inconclusive"], 0),
        ("a <= b strictly", ["--fail-on", "violated"], 0),
        ("c <= b", ["--margin", "25%"], 0),
    ],
)
@pytest.mark.usefixtures("files")
def test_the_exit_status_tells_the_verdict(hati_here: Hati, formula: str, more: list[str], status: int) -> None:
    assert hati_here("assert", "--formula", formula, "--samples", SAMPLES, *more).status == status


@pytest.mark.usefixtures("files")
def test_json_has_each_formula_with_its_relations(hati_here: Hati) -> None:
    done = hati_here("assert", "r.spl", "--samples", SAMPLES, "--format", "json")
    assert done.status == 1
    assert {"formulas", "seconds"} <= done.json.keys()
    told = [(each["file"], each["line"], each["verdict"]) for each in done.json["formulas"]]
    assert told == [("r.spl", 2, "HOLDS"), ("r.spl", 3, "VIOLATED"), ("r.spl", 5, "INCONCLUSIVE")]
    for each in done.json["formulas"]:
        assert {"formula", "file", "line", "verdict", "atoms"} <= each.keys()
        for atom in each["atoms"]:
            keys = {"text", "verdict", "estimate", "interval", "detectable", "runs", "runs_needed"}
            assert keys <= atom.keys()
            assert atom["interval"][0] < atom["estimate"] < atom["interval"][1]
    assert [atom["runs"] for atom in done.json["formulas"][0]["atoms"]] == [[16, 16], [16, 0]]


@pytest.mark.usefixtures("files")
def test_junit_and_markdown_tell_the_same(hati_here: Hati) -> None:
    junit = hati_here("assert", "r.spl", "--samples", SAMPLES, "--format", "junit")
    cases = list(ElementTree.fromstring(junit.out).iter("testcase"))
    assert [[child.tag for child in case] for case in cases] == [[], ["failure"], ["skipped"]]
    shown = hati_here("assert", "r.spl", "--samples", SAMPLES, "--format", "markdown", "--output", "r.md")
    assert (shown.status, shown.out) == (1, "")
    assert "3 formulas: 1 hold, 1 violated, 1 inconclusive" in Path("r.md").read_text()


@pytest.mark.usefixtures("files")
def test_one_decision_is_told_in_several_formats(hati_here: Hati, tmp_path: Path) -> None:
    done = hati_here("assert", "r.spl", "--samples", SAMPLES, "--report", "html=r.html", "--report", "json=r.json")
    assert done.status == 1
    assert "3 formulas: 1 hold, 1 violated, 1 inconclusive" in done.out
    page = (tmp_path / "r.html").read_text()
    assert page.startswith("<!DOCTYPE html>")
    assert "2. VIOLATED: bad: c &lt;= b" in page
    assert len(json.loads((tmp_path / "r.json").read_text())["formulas"]) == 3
    alone = hati_here("assert", "r.spl", "--samples", SAMPLES, "--format", "html", "--output", "same.html")
    assert (alone.status, alone.out) == (1, "")
    assert (tmp_path / "same.html").read_text() == page


@pytest.mark.parametrize("report", ["html", "pdf=x", "html=", "html=no/such/folder.html"])
@pytest.mark.usefixtures("files")
def test_a_report_that_cannot_be_is_refused_before_anything_is_done(hati_here: Hati, report: str) -> None:
    done = hati_here("assert", "--formula", "c <= b", "--samples", SAMPLES, "--report", report)
    assert (done.status, done.out) == (2, "")
    assert any(each in done.err for each in ("FORMAT=FILE", "there is no format")) or "cannot be written" in done.err


@pytest.mark.usefixtures("files")
def test_a_report_that_is_lost_does_not_hide_the_verdict(
    hati_here: Hati, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder goes while the formulas are decided."""
    (tmp_path / "out").mkdir()
    monkeypatch.setattr("hati.studies.assertion.answer", _without(tmp_path / "out", answer))
    for formula, status in (("c <= b", 1), ("a <= b", 2)):
        (tmp_path / "out").mkdir(exist_ok=True)
        done = hati_here("assert", "--formula", formula, "--samples", SAMPLES, "--report", "html=out/r.html")
        assert (done.status, formula in done.out) == (status, True)
        assert "error: out/r.html cannot be written" in done.err


def _without(folder: Path, call: Callable[..., object]) -> Callable[..., object]:
    def gone(*arguments: object) -> object:
        folder.rmdir()
        return call(*arguments)

    return gone


@pytest.mark.usefixtures("files")
def test_json_has_the_p_values_of_whole_formulas(hati_here: Hati) -> None:
    """Of a conjunction the larger p-value that it is violated, and twice the smaller that it holds, of two."""
    (told,) = hati_here("assert", "--formula", "c <= b & a <= b", "--samples", SAMPLES, "--format", "json").json[
        "formulas"
    ]
    atoms = told["atoms"]
    assert told["p_holds"] == max(atom["p_holds"] for atom in atoms)
    assert told["p_violated"] == pytest.approx(2 * min(atom["p_violated"] for atom in atoms), rel=1e-9)
    assert told["p_violated"] < 0.01 < told["p_holds"]
    assert told["cost"] is None


@pytest.mark.usefixtures("files")
def test_the_text_says_only_what_bears_on_the_formulas(hati_here: Hati) -> None:
    limit = hati_here("assert", "--formula", "a < 20 ms", "--samples", SAMPLES).out
    assert "tolerance" not in limit
    assert "An estimate" not in limit
    assumed = "for absolute limits, if run means are distributed like normal to exponential values"
    assert assumed in " ".join(limit.split())
    ratio = hati_here("assert", "--formula", "few <= b", "--samples", SAMPLES).out
    assert "unknown" in ratio
    assert "fewer than 5 runs of a side" in ratio
    assert assumed not in " ".join(ratio.split())
    same = hati_here("assert", "--formula", "a <= a strictly", "--samples", SAMPLES).out
    assert "both sides are the same" in same
    twice = hati_here("assert", "--formula", "a <= again strictly", "--samples", f"{SAMPLES},again=a.json").out
    assert "both sides are the same, and no number of runs can distinguish them." in " ".join(twice.split())
    other = hati_here("assert", "--formula", "few <= b strictly", "--samples", SAMPLES).out
    assert "both sides are the same" not in other


@pytest.mark.usefixtures("files")
def test_a_verdict_is_explained(hati_here: Hati) -> None:
    told = hati_here("assert", "r.spl", "--samples", SAMPLES, "--explain", "1").out
    assert "1. a <= b: HOLDS" in told
    assert "2. a <= 20 ms: HOLDS" in told
    assert "The formula individually: HOLDS" in told
    assert (
        "rejects it"
        in hati_here("assert", "r.spl", "--samples", SAMPLES, "--explain", "2", "--interpretation", "parametric").out
    )


@pytest.mark.usefixtures("files")
@pytest.mark.parametrize(
    ("comparator", "expected"), [("=", "; 0.02 or less rejects it"), ("<", "; 0.01 or less shows the relation")]
)
def test_an_explanation_names_the_level_that_decides(comparator: str, expected: str, hati_here: Hati) -> None:
    formula = "a = c" if comparator == "=" else "a < c"
    words = ("--formula", formula, "--explain", "1", "--interpretation", "welch", "--alpha", "0.01")
    assert expected in " ".join(hati_here("assert", "--samples", SAMPLES, *words).out.split())


def test_what_pyperf_and_jmh_wrote_is_read(tmp_path: Path, hati_here: Hati) -> None:
    def run(level: float) -> dict[str, object]:
        return {"values": [level, level * 1.001], "metadata": {}}

    pyperf = {
        "version": "1.0",
        "metadata": {"name": "sort", "unit": "second"},
        "benchmarks": [{"runs": [run(0.01 + place * 1e-6) for place in range(6)]}],
    }
    (tmp_path / "p.json").write_text(json.dumps(pyperf))
    data = [[10.0 + fork / 1000, 10.01] for fork in range(6)]
    metric = {"score": 10.0, "scoreUnit": "ms/op", "rawData": data}
    jmh = {"benchmark": "org.Sort.run", "mode": "avgt", "forks": 6, "primaryMetric": metric, "secondaryMetrics": {}}
    (tmp_path / "j.json").write_text(json.dumps([jmh]))
    done = hati_here("assert", "--formula", "p = j", "--samples", "p=p.json,j=j.json#org.Sort.run", "--format", "json")
    assert done.err == ""
    (atom,) = done.json["formulas"][0]["atoms"]
    assert (done.status, atom["runs"]) == (0, [6, 6])
    assert atom["estimate"] == pytest.approx(1.0, abs=0.002)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is no formula; name a file of formulas, or give one by --formula"),
        (["nothing.spl"], "there is no file nothing.spl; name a .spl file or a folder with some"),
        (["--formula", "a <="], "formula:1:5"),
        (["--formula", "xx <= a"], "formula:1:1: there is no sample of xx"),
        (["--formula", "a <= b", "--samples", "a"], "'a' is not NAME=FILE"),
        (["--formula", "a <= b", "--samples", "a=b.json"], "'a' is given twice"),
        (["--formula", "a <= b", "--samples", "d=a.json#x"], "a.json has no benchmark 'x'; it has a"),
        (["--formula", "a <= b", "--samples", "1=a.json"], "'1' is not a valid name of a method"),
        (["--formula", "a <= b", "--fail-on", "holds"], "--fail-on 'holds' is not a verdict that can fail"),
        (["--formula", "a <= b", "--explain", "2"], "--explain 2: there is 1 formula"),
        (["--formula", "a <= b", "--alpha", "60%"], "--alpha 0.6 is not a valid level"),
        (["--formula", "a <= b", "--history", "bb=old.json"], "bb: no formula is about it; did you mean 'b'?"),
        (["--formula", "a <= b", "--history", "b=./b.json"], "b.json is both in --samples and in --history"),
        (["--formula", "a <= b", "--history", "b=b.json#b"], "b.json is both in --samples and in --history"),
        (["--formula", "a <= b", "--interpretation", "welch", "--history", "b=x"], "welch uses no --history"),
        (["--formula", "a <= b", "--explain", "1", "--format", "json"], "--explain writes text, not json"),
        (["--formula", "a <= b", "--report", "html=no/r"], "no/r cannot be written: No such file or directory; name"),
        (["--formula", "a <= b", "--report", "html=no/r"], "name another file by --report"),
        (["--formula", "a <= b", "--report", "html=r", "--output", "./r"], "r is written twice; give each --report"),
        (["--formula", "a <= b", "--report", "html=r", "--report", "json=r"], "r is written twice"),
        (["--formula", "a <= b", "--dry-run"], "--dry-run is not for --samples"),
        (["--formula", "a <= b", "--budget", "5m"], "--budget is not for --samples"),
        (["--formula", "a <= b", "--fresh"], "--fresh is not for --samples"),
        (["--formula", "a <= b", "--store", "s.sqlite"], "--store is not for --samples"),
    ],
)
@pytest.mark.usefixtures("files")
def test_bad_input_is_refused_in_a_line(hati_here: Hati, words: list[str], message: str) -> None:
    done = hati_here("assert", *words, "--samples", SAMPLES)
    assert done.status == 2
    assert message in done.err
    assert "Traceback" not in done.err


@pytest.mark.usefixtures("files")
def test_samples_without_a_formula_are_told(hati_here: Hati) -> None:
    done = hati_here("assert", "--formula", "c <= b", "--samples", SAMPLES)
    assert (done.status, "no formula is about a, few of --samples" in done.err) == (1, True)


@pytest.mark.usefixtures("files")
def test_reports_may_share_what_is_no_file(hati_here: Hati) -> None:
    words = "assert", "--formula", "a <= b", "--samples", SAMPLES
    assert hati_here(*words, "--report", "json=/dev/null", "--output", "/dev/null").status == 0
    assert "HOLDS" in hati_here(*words, "--report", "json=-").out


@pytest.mark.usefixtures("counted")
def test_one_is_counted_as_one_and_nothing_was_not_measured_before(hati_here: Hati) -> None:
    plan = hati_here("assert", "--formula", "fast(10) <= 200", "--budget", "20", "--dry-run")
    assert "1 method in rounds, until 1 formula is decided." in plan.out
    assert "1 run cannot decide" in hati_here("assert", "--formula", "fast(10) <= 200", "--budget", "1").err
    for _ in range(2):
        assert "measured before" not in hati_here("assert", "--formula", "1 <= 2").err


@pytest.mark.usefixtures("files")
def test_earlier_samples_tell_how_runs_vary(tmp_path: Path, hati_here: Hati) -> None:
    old = json.loads((tmp_path / "a.json").read_text())
    old["samples"][0]["runs"] *= 4
    (tmp_path / "old.json").write_text(json.dumps(old))
    words = "--formula", "few <= b", "--samples", SAMPLES, "--history", "few=old.json"
    assert hati_here("assert", *words).status == 0
    alone = hati_here("assert", "--formula", "few <= b", "--history", "few=old.json")
    assert (alone.status, "--history is for --samples" in alone.err) == (2, True)


@pytest.mark.usefixtures("files")
def test_definition_4_10_resamples_earlier_samples(hati_here: Hati) -> None:
    words = "--formula", "few <= b", "--samples", SAMPLES, "--interpretation", "nonparametric", "--format", "json"
    found = [hati_here("assert", *words, *more) for more in ([], ["--history", "few=old.json"])]
    assert [done.status for done in found] == [0, 0]
    without, with_ = (done.json["formulas"][0]["atoms"][0] for done in found)
    assert (without["remembered"], with_["remembered"]) == (0, 9)
    assert without["interval"] != with_["interval"]


@pytest.mark.acceptance
def test_methods_of_a_project_are_measured_until_all_is_decided(counted: Path, hati: Hati) -> None:
    """By two names of one parameter, which are run once."""
    (counted / "r.spl").write_text("fast(10) <= 120 & fast(n = 10) >= 90\n")
    dry = hati("assert", "r.spl", "--dry-run")
    assert (dry.status, "15 runs" in dry.out) == (0, True)
    done = hati("assert", "r.spl", "--format", "json")
    assert (done.status, done.json["runs"]) == (0, 15)
    assert "formulas: 15 of 15 runs, 1 of 1 decided" in done.err
    (cost,) = [each["cost"] for each in done.json["formulas"]]
    assert (cost["runs"], cost["shared"], cost["seconds"]) == (15, 0, pytest.approx(done.json["seconds"]))
    known = hati("assert", "r.spl", "--dry-run", "--budget", "20", "--format", "json")
    (method,) = known.json["methods"]
    assert (method["methods"], method["least"], method["most"]) == (["fast(10)", "fast(n = 10)"], 15, 20)
    assert method["seconds"] == known.json["seconds"] > 0
    again = hati("assert", "r.spl", "--format", "json")
    assert (again.status, again.json["study"]) == (0, done.json["study"])
    assert "was measured before; --fresh measures again" in again.err


@pytest.mark.usefixtures("counted")
def test_a_time_that_cannot_decide_says_what_would(hati_here: Hati) -> None:
    words = "assert", "--formula", "fast(10) <= 200"
    short = hati_here(*words, "--budget", "1ms")
    said = " ".join(short.out.split())
    more = re.search(
        r"(\d+) further runs, about \S+ m?s, would decide with 80 % probability, .* hold: --budget (\d+)s\.", said
    )
    assert more is not None, said
    assert (short.status, more[1]) == (3, "12")
    planned = hati_here(*words, "--budget", "1ms", "--dry-run").out
    assert "until 1 formula is decided; the budget of 1 ms is too short to decide." in " ".join(planned.split())
    decided = hati_here(*words, "--budget", f"{more[2]}s", "--format", "json")
    assert (decided.status, decided.json["runs"]) == (0, 13)
    assert "further" not in hati_here(*words, "--budget", "1m").out


@pytest.mark.usefixtures("counted")
def test_a_dry_run_knows_the_time_of_runs_with_the_same_parameters(hati_here: Hati) -> None:
    assert hati_here("run", "--benchmark", "fast", "--budget", "2").status == 0
    known, other = (
        hati_here("assert", "--formula", f"fast({n}) <= 200", "--dry-run", "--format", "json").json for n in (10, 11)
    )
    assert known["seconds"] > 0.0
    assert other["seconds"] is None


@pytest.fixture
def outside(counted: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a third benchmark, ``late``, starts: a file that is not of the project, and not there yet."""
    script = tmp_path_factory.mktemp("outside") / "late.py"
    last = (counted / "hati.toml").read_text().split("[[benchmark]]")[-1]
    words = last.replace('"slow"', '"late"').replace('"count.py"', json.dumps(str(script)))
    with (counted / "hati.toml").open("a") as project:
        project.write(f"[[benchmark]]{words}")
    return script


@pytest.mark.usefixtures("outside")
@pytest.mark.parametrize(
    ("formula", "more", "status"),
    [
        ("fast(10) <= 200 & late(10) <= 1", [], 4),
        ("fast(10) <= 200 & late(10) <= 1", ["--fail-on", "violated"], 4),
        ("fast(10) <= 200 & late(10) <= 1", ["--fail-on", "none"], 0),
        ("fast(10) <= 50 & late(10) <= 1", [], 1),
        ("fast(10) <= 50 & late(10) <= 1", ["--fail-on", "inconclusive"], 0),
        ("fast(10) <= 200 | late(10) <= 1", [], 0),
        ("fast(10) <=(x: sqrt(x - 999), x: x) slow(10)", ["--fail-on", "violated"], 4),
    ],
)
def test_what_cannot_be_measured_or_judged_is_not_silently_dead(
    hati_here: Hati, formula: str, more: list[str], status: int
) -> None:
    assert hati_here("assert", "--formula", formula, "--budget", "60", *more).status == status


@pytest.mark.usefixtures("outside")
def test_junit_tells_what_could_not_be_measured_as_an_error(hati_here: Hati) -> None:
    words = "assert", "--formula", "fast(10) <= 200", "--formula", "late(10) <= 1", "--format", "junit"
    done = hati_here(*words, "--budget", "60")
    cases = list(ElementTree.fromstring(done.out).iter("testcase"))
    assert [[child.tag for child in case] for case in cases] == [[], ["error"]]
    assert "late(10) could not be measured: the command ended" in done.out


@pytest.mark.parametrize("formula", ["late(10) <= 200", "fast(10) <= 200 & late(10) <= 200"])
def test_what_failed_is_tried_again(hati_here: Hati, outside: Path, formula: str) -> None:
    """Its cause may be gone, and is not of what is measured; the rest is not measured again."""
    words = "assert", "--formula", formula, "--budget", "60"
    assert hati_here(*words).status == 4
    before = runs_of(hati_here, "fast")
    outside.write_text(COUNT)
    again = hati_here(*words)
    assert (again.status, "measured before" in again.err) == (0, False)
    assert runs_of(hati_here, "fast") == before
    assert "was measured before; --fresh measures again" in hati_here(*words).err


def runs_of(hati: Hati, benchmark: str) -> int:
    done = hati("runs", "--benchmark", benchmark, "--format", "json")
    return len(done.json) if done.status == 0 else 0


@pytest.mark.usefixtures("outside")
def test_where_the_budget_is_spent_on_failures_all_is_measured_anew(hati_here: Hati) -> None:
    words = "assert", "--formula", "fast(10) <= 200 & late(10) <= 200", "--budget", "30", "--format", "json"
    told = [hati_here(*words) for _ in range(4)]
    assert {done.status for done in told} == {4}
    assert len({done.json["study"] for done in told}) > 1


@pytest.mark.parametrize(
    ("formula", "budget", "runs"),
    [
        ("late(10) <= 200", 17, 13),
        ("late(10) <= 200", 18, 5 + 13),
        ("fast(10) <= 200 & late(10) <= 200", 34, 15 + 15),
        ("fast(10) <= 200 & late(10) <= 200", 35, 15 + 5 + 15),
        ("late(10) <= 200 | late(10) <= 2 * fast(10)", 20, 8 + 8),
    ],
)
def test_a_failure_is_tried_again_where_the_runs_that_are_left_can_decide(
    hati_here: Hati, outside: Path, formula: str, budget: int, runs: int
) -> None:
    """Else all is measured anew: no call ends in a campaign that another call could only repeat."""
    words = "assert", "--formula", formula, "--budget", str(budget)
    assert hati_here(*words).status == 4
    outside.write_text(COUNT)
    again = hati_here(*words, "--format", "json")
    assert (again.status, again.json["runs"]) == (0, runs)


def test_a_plan_says_how_often_each_method_is_run(counted: Path, hati_here: Hati) -> None:
    (counted / "r.spl").write_text("fast(10) <= slow(10)\nfast(10) <= 120\n")
    words = "assert", "r.spl", "--dry-run", "--budget", "28"
    told = [" ".join(line.split()) for line in hati_here(*words).out.splitlines()]
    assert told[:5] == [
        "Methods",
        "",
        "method runs at least at most time at least",
        "-" * len("method    runs at least  at most  time at least"),
        "fast(10) 15 20 not known yet",
    ]
    assert "23 runs: how long they take is not known yet." in told
    plan = hati_here(*words, "--format", "json").json
    assert [(each["methods"], each["least"], each["most"], each["seconds"]) for each in plan["methods"]] == [
        (["fast(10)"], 15, 20, None),
        (["slow(10)"], 8, 11, None),
    ]
    assert (plan["runs"], len(plan["tasks"]), plan["seconds"]) == (23, 23, None)
    assert "### Methods" in hati_here(*words, "--format", "markdown").out
    for option in (("--report", "html=r.html"), ("--explain", "1")):
        refused = hati_here(*words, *option)
        assert (refused.status, f"{option[0]} is not for --dry-run" in refused.err) == (2, True)
    small = hati_here("assert", "r.spl", "--budget", "22")
    assert (small.status, small.out) == (2, "")
    assert "22 runs cannot decide: it takes 15 of fast(10), 8 of slow(10)" in small.err
    assert not counted.joinpath(".hati", "store.sqlite-journal").exists()


@pytest.mark.parametrize("words", [["fast(10) <= 2", "--dry-run"], ["2 <= 3"]])
def test_what_measures_nothing_writes_nothing(counted: Path, hati_here: Hati, words: list[str]) -> None:
    done = hati_here("assert", "--formula", *words)
    assert (done.status, done.err) == (0, "")
    assert not (counted / ".hati").exists()


def test_a_folder_that_cannot_be_made_is_told_with_what_helps(
    counted: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: Path, *__: object, **___: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "mkdir", full)
    done = hati_here("assert", "--formula", "fast(10) <= 2")
    assert done.status == 4
    assert re.search(rf"{counted / '.hati'} cannot be made: No space left on device \(.* free\); free some", done.err)


@pytest.mark.usefixtures("counted")
def test_a_long_plan_is_shortened_for_people_alone(hati_here: Hati) -> None:
    words = "assert", "--formula", "for all n in {1..120}: fast(n) <= 2", "--dry-run"
    told = hati_here(*words).out.splitlines()
    assert len([line for line in told if line.startswith("fast(")]) == 100
    assert "... and 20 more; --format json lists all" in told
    plan = hati_here(*words, "--format", "json").json
    assert (len(plan["methods"]), len(plan["tasks"])) == (120, plan["runs"])
    assert f"... and {plan['runs'] - 100:,} more; --format json lists all" in told


@pytest.mark.usefixtures("counted")
def test_formulas_of_files_and_of_options_are_bounded_together(hati_here: Hati, tmp_path: Path) -> None:
    (tmp_path / "r.spl").write_text("for all n in {1..12000}: fast(n) <= 2\n")
    done = hati_here("assert", "r.spl", "--formula", "for all n in {1..9000}: fast(n) <= 3", "--dry-run")
    assert (done.status, "formula:1:1: the formulas up to here have 21000 relations" in done.err) == (2, True)


def test_a_file_of_functions_is_decided_by_measuring_them(tmp_path: Path, hati: Hati) -> None:
    """``slow`` does twenty times the work of ``quick``: the first formula holds, the second is violated."""
    (tmp_path / "perf.py").write_text(STATED)
    done = hati("assert", "perf.py", "--format", "json", "--report", "html=r.html", "--budget", "200")
    assert done.status == 1
    told = [(each["name"], each["file"], each["line"], each["verdict"]) for each in done.json["formulas"]]
    assert told == [("quick", "perf.py", 10, "HOLDS"), ("slow", "perf.py", 15, "VIOLATED")]
    assert [each["atoms"][0]["text"] for each in done.json["formulas"]] == [
        "cpu(SELF(20)) <= cpu(perf:slow(20))",
        "cpu(SELF(20)) <= 2 * cpu(perf:quick(20))",
    ]
    first, second = (each["cost"] for each in done.json["formulas"])
    assert first == second
    assert first["shared"] == first["runs"] == done.json["runs"]
    assert "cpu(SELF(20)) &lt;= cpu(perf:slow(20)): HOLDS" in (tmp_path / "r.html").read_text()
    text = " ".join(hati("assert", "perf.py", "--budget", "200").out.split())
    assert "Shared runs are those of several formulas, and count for each of them." in text


def test_what_fails_is_told_of_each_function_though_their_formulas_have_one_text(tmp_path: Path, hati: Hati) -> None:
    stated = "".join(
        f'@hati.spl("SELF <= 1 s")\ndef {name}():\n    {body}\n\n\n'
        for name, body in (("f", "1 / 0"), ("g", "raise SystemExit(3)"), ("h", "pass"))
    )
    (tmp_path / "perf.py").write_text(f"import hati\n\n\n{stated}")
    done = hati("assert", "perf.py", "--budget", "60", "--report", "markdown=r.md")
    assert done.status == 4
    for told in (" ".join(done.out.split()), (tmp_path / "r.md").read_text().replace("&lt;", "<")):
        for start in ("f: SELF <= 1 s: perf:f: ", "g: SELF <= 1 s: perf:g: ", "Failed: perf:f: ", "Failed: perf:g: "):
            assert told.count(start) == 1
        assert "perf:h:" not in told
    explained = hati("assert", "perf.py", "--budget", "60", "--explain", "1").out
    assert "\n   perf:f: " in explained
    (tmp_path / "perf.py").write_text(f"import hati\n\n\n{stated.replace('pass', '1 / 0')}")
    nothing = hati("assert", "perf.py", "--budget", "60").err
    assert all(f"perf:{name}: " in nothing for name in "fgh")


def test_a_function_that_there_is_not_is_told_with_its_neighbours(tmp_path: Path, hati: Hati) -> None:
    (tmp_path / "perf.py").write_text(STATED)
    done = hati("assert", "--formula", "perf:slo(20) <= perf:slow(20)", "--budget", "14")
    assert done.status == 2
    assert "formula:1:1: perf has no 'slo'; did you mean 'slow'?" in done.err
    assert hati("runs", "--format", "json").json == [], "it costs no run"
    dry = hati("assert", "--formula", "perf:slow(20) <= perf:slo(20)", "--dry-run")
    assert dry.status == 0, "nothing of the project is run, and its modules are not imported"


def test_a_method_that_there_is_not_is_told_before_anything_is_read(
    tmp_path: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unreadable(*_: object) -> None:
        raise InputError("a file cannot be read")

    monkeypatch.setattr("hati.subject.revisions.trees.Folder.revision", unreadable)
    done = hati_here("assert", "--project", str(tmp_path), "--formula", "m(22) <= 2 ms", "--dry-run")
    assert done.status == 2
    assert f"there is no method 'm', and no hati.toml in {tmp_path}; write a Python function" in done.err


def test_a_working_directory_that_is_gone_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["assert", "--formula", "m(22) <= 2 ms", "--dry-run"]) == 2
    assert capfd.readouterr().err == "error: the working directory is gone; change to one that is there\n"


def test_what_has_two_names_is_told_to_be_the_same(counted: Path, hati: Hati) -> None:
    """The parameter in order and by name; a revision that the working tree is."""
    done = hati("assert", "--formula", "fast(10) <= fast(n = 10) strictly", "--budget", "20")
    assert done.status == 3
    assert "both sides are the same, and no number of runs can distinguish them." in " ".join(done.out.split())
    assert "7 runs" in done.out
    assert counted.exists()


@pytest.mark.acceptance
def test_what_is_known_is_measured_anew_when_asked(counted: Path, hati: Hati) -> None:
    words = "assert", "--formula", "fast(10) <= slow(10)", "--format", "json"
    first, fresh = hati(*words), hati(*words, "--fresh")
    assert (first.status, fresh.status, fresh.json["runs"]) == (0, 0, 14)
    assert fresh.json["study"] != first.json["study"]
    assert counted.joinpath(".hati").exists()


@pytest.mark.acceptance
def test_a_larger_budget_goes_on(counted: Path, hati: Hati) -> None:
    words = "assert", "--formula", "fast(10) <= 100.05 strictly", "--format", "json"
    small = hati(*words, "--budget", "6")
    assert (small.status, "6 runs cannot decide" in small.err) == (2, True)
    assert hati(*words, "--budget", "13").json["runs"] == 13
    assert hati(*words, "--budget", "15").json["runs"] == 15


@pytest.mark.parametrize(
    ("formula", "message"),
    [
        ("fastt(10) <= 2", "there is no method 'fastt'; did you mean 'fast'?"),
        ("fast[x](10) <= 2", "fast is a benchmark of hati.toml, which has no generators"),
        ("fast(10, 20) <= 2", "fast has no parameter for 20; its workload has: n"),
        ("fast(m = 20) <= 2", "fast has no parameter for m = 20"),
        ("time of fast(20) <= 2", "has no metric 'time'"),
        ("count:Bag#take <= 2 s", "count:Bag#take has a member, a constructor or types; write module:Class.method"),
        ("count:Bag('x')#take(int)[](3) <= 2 s", "write module:Class.method"),
        ("count:f[count:Bag#new](3) <= 2 s", "count:Bag#new has a member"),
        ("fast@v1(20) <= 2", "'v1' is not a valid revision"),
    ],
)
@pytest.mark.usefixtures("counted")
def test_what_cannot_be_measured_is_refused_where_it_is_written(hati_here: Hati, formula: str, message: str) -> None:
    done = hati_here("assert", "--formula", formula)
    assert done.status == 2
    assert "formula:1:1: " in done.err
    assert message in done.err


@pytest.mark.parametrize(
    ("formula", "column"),
    [
        ("fast(10) <= typo(10)", 13),
        ("median(fast(10)) <= 2 * median(typo(10))", 32),
        ("fast(10) <= 3 & fast(10) >= fast(m = 3)", 29),
        ("fast(10) <= fast@v1(10)", 13),
    ],
)
@pytest.mark.usefixtures("counted")
def test_a_method_that_cannot_be_measured_is_told_at_its_own_place(hati_here: Hati, formula: str, column: int) -> None:
    done = hati_here("assert", "--formula", formula)
    assert (done.status, f"formula:1:{column}: " in done.err) == (2, True)


def test_a_metric_that_there_is_not_is_told_where_it_is_asked_for(counted: Path, hati_here: Hati) -> None:
    (counted / "a.spl").write_text("fast(10) <= 3\n")
    (counted / "b.spl").write_text("\n\n1 <= 2 & nope of fast(10) <= 1\n")
    done = hati_here("assert", "a.spl", "b.spl")
    assert (done.status, "b.spl:3:10: fast(10) has no metric 'nope'" in done.err) == (2, True)


@pytest.mark.usefixtures("files")
def test_a_method_without_a_sample_is_told_at_its_own_place(hati_here: Hati) -> None:
    done = hati_here("assert", "--formula", "a <= 2 * xx", "--samples", SAMPLES)
    assert (done.status, "formula:1:10: there is no sample of xx" in done.err) == (2, True)


def test_nothing_measured_is_a_status_of_its_own(counted: Path, hati: Hati) -> None:
    (counted / "count.py").write_text("raise SystemExit(7)\n")
    done = hati("assert", "--formula", "fast <= 110")
    assert done.status == 4
    assert "nothing could be measured" in done.err


def test_a_revision_is_measured_as_it_was(counted: Path, hati: Hati) -> None:
    def git(*words: str) -> None:
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *identity, *words], cwd=counted, check=True, capture_output=True)

    git("init", "-q")
    git("add", ".")
    git("commit", "-qm", "before")
    (counted / "count.py").write_text(COUNT.replace("n * each", "n * each * 2"))
    done = hati("assert", "--formula", "fast(10) >= 1.9 * fast@HEAD(10)", "--format", "json")
    (atom,) = done.json["formulas"][0]["atoms"]
    assert (done.status, atom["verdict"]) == (0, "HOLDS")
    assert atom["estimate"] == pytest.approx(2 / 1.9, abs=0.01)
