"""``hati compare`` from outside."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from hati.document.document import p_text

Hati = Callable[..., Any]


def write_samples(file: Path, factors: dict[str, float], *, metric: str = "time", runs: int = 5) -> None:
    """Five runs of three observations each, a few per cent apart."""
    wobble = (1.0, 1.02, 0.99, 1.01, 0.985)
    samples = [
        {
            "benchmark": name,
            "metric": metric,
            "unit": "s",
            "better": "lower",
            "runs": [{"warmup": 1, "observations": [9.0, factor * w, factor * w * 1.001]} for w in wobble[:runs]],
        }
        for name, factor in factors.items()
    ]
    file.write_text(json.dumps({"format": "hati-samples-1", "samples": samples}))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_samples(tmp_path / "a.json", {"fast": 1.0, "slow": 2.0, "same": 3.0, "gone": 1.0})
    write_samples(tmp_path / "b.json", {"fast": 0.8, "slow": 2.5, "same": 3.0, "new": 1.0})
    return tmp_path


def test_a_comparison_is_told(hati: Hati, files: Path) -> None:
    done = hati("compare", "a.json", "b.json", "--margin", "10%")
    assert done.status == 1, done.err
    rows = {line.split()[0]: line for line in done.out.splitlines() if line.startswith(("fast", "slow", "same"))}
    assert "-20.0 %" in rows["fast"]
    assert "+25.0 %" in rows["slow"]
    assert " 0.0 %" in rows["same"]
    assert rows["same"].rstrip().endswith("same")
    p_values = {
        one["benchmark"]: one["q_value"] for one in hati("compare", "a.json", "b.json", "--format", "json").json
    }
    assert all(f" {p_text(p_values[name])} " in rows[name] for name in rows)
    assert "p: of no change, corrected for all comparisons (Benjamini-Hochberg, adaptive)." in done.out
    assert "geomean of 3" in done.out
    assert done.out.splitlines()[-1] == "1 slower (slow); 1 faster (fast); 1 same."
    assert done.err.splitlines() == ["only in a.json: gone time", "only in b.json: new time"]


def test_the_p_of_a_row_is_corrected_as_its_verdict_is(hati: Hati, tmp_path: Path) -> None:
    """One of eight benchmarks changed by a little: significant by itself, among all it is not."""
    write_samples(tmp_path / "a.json", {f"b{i}": 1.0 for i in range(8)})
    write_samples(tmp_path / "b.json", {f"b{i}": 1.02 if i == 0 else 1.0 for i in range(8)})
    words = ("compare", "a.json", "b.json", "--alpha", "5%")
    (row,) = (each for each in hati(*words, "--format", "json").json if each["benchmark"] == "b0")
    assert row["p_value"] < row["q_value"]
    assert "significant at 5 % over all comparisons" in " ".join(hati(*words).out.split())


def test_earlier_samples_tell_of_the_noise(hati: Hati, tmp_path: Path) -> None:
    write_samples(tmp_path / "a.json", {"x": 1.0}, runs=2)
    write_samples(tmp_path / "b.json", {"x": 1.08}, runs=2)
    for number in range(3):
        write_samples(tmp_path / f"h{number}.json", {"x": 0.9 + 0.1 * number, "other": 1.0})
    alone = hati("compare", "a.json", "b.json", "--format", "json").json[0]
    history = [word for number in range(3) for word in ("--history", f"h{number}.json")]
    done = hati("compare", "a.json", "b.json", *history, "--format", "json")
    assert (alone["verdict"], done.json[0]["verdict"]) == ("inconclusive", "slower")
    assert done.json[0]["ratio"] == alone["ratio"]
    text = hati("compare", "a.json", "b.json", *history).out
    assert "Earlier samples add to the variance estimate of 1 of 1 comparisons." in " ".join(text.split())
    same = hati("compare", "a.json", "b.json", "--history", "a.json", "--history", "b.json", "--format", "json")
    assert same.json[0] == alone
    assert hati("compare", "a.json", "b.json", "--history", "none.json").status == 2


def test_disturbed_runs_are_told_and_counted(hati: Hati, files: Path) -> None:
    content = json.loads((files / "b.json").read_text())
    for place, run in enumerate(content["samples"][0]["runs"]):
        run.update(cpu_time=0.5 if place == 3 else 1.0, wall_time=1.0, involuntary_switches=3)
    (files / "b.json").write_text(json.dumps(content))
    done = hati("compare", "a.json", "b.json", "--format", "json")
    assert (
        "warning: after: 1 of 15 runs was disturbed (fast; the first: 0.5 s of CPU time a second, usually 1); it is"
        " counted nevertheless, and repeating them may decide more" in done.err
    )
    assert [(row["before"]["disturbed"], row["after"]["disturbed"], row["after"]["runs"]) for row in done.json] == [
        (0, 1, 5),
        (0, 0, 5),
        (0, 0, 5),
    ]


def test_json_markdown_and_junit(hati: Hati, files: Path) -> None:
    found = hati("compare", "a.json", "b.json", "--margin", "10%", "--format", "json").json
    assert [row["verdict"] for row in found] == ["faster", "slower", "same"]
    assert found[1]["ratio"] == pytest.approx(1.25)
    assert (found[0]["interval_method"], found[0]["seed"], "tests" in found[0]) == ("t", None, False)
    assert {
        "benchmark",
        "metric",
        "unit",
        "verdict",
        "ratio",
        "interval",
        "p_value",
        "detectable",
        "runs_needed",
    } <= set(found[0])
    assert "| slow |" in hati("compare", "a.json", "b.json", "--format", "markdown").out
    hati("compare", "a.json", "b.json", "--margin", "10%", "--format", "junit", "--output", "r.xml")
    suite = ET.parse(files / "r.xml").getroot()  # our own file
    assert (suite.get("tests"), suite.get("failures"), suite.get("skipped")) == ("3", "1", "0")
    (failure,) = suite.iter("failure")
    assert str(failure.get("message")).startswith("slower: +25.0 %")


@pytest.mark.parametrize(
    ("words", "status"),
    [((), 1), (("--fail-on", "inconclusive"), 0), (("--fail-on", "faster"), 1), (("--fail-on", "none"), 0)],
)
def test_what_fails_is_chosen(hati: Hati, files: Path, words: tuple[str, ...], status: int) -> None:
    assert hati("compare", "a.json", "b.json", "--margin", "10%", *words).status == status


def test_what_is_not_decided_has_a_status_of_its_own(hati: Hati, files: Path) -> None:
    done = hati("compare", "a.json", "a.json", "--margin", "0.1%")
    assert done.status == 3
    assert " of " in done.out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("a.json", "none.json"), "none.json"),
        (("a.json", "bad.json"), "bad.json"),
        (("a.json", "other.json"), "no benchmark is in both"),
        (
            ("a.json", "b.json", "--metric", "memory"),
            "a.json has no samples of the metric 'memory'; there are: time",
        ),
        (("a.json", "b.json", "--margin", "200%"), "percentage"),
        (("a.json", "b.json", "--alpha", "0"), "alpha is a probability"),
        (("a.json", "b.json", "--alpha", "2"), "'2' is not a percentage"),
        (("a.json", "b.json", "--statistic", "max"), "'max' is not a statistic of a run"),
        (("a.json", "b.json", "--fail-on", "same"), "--fail-on 'same' is not a verdict that can fail"),
        (("a.json", "b.json", "--output", "no/where"), "cannot be written"),
    ],
)
def test_what_is_refused(hati: Hati, files: Path, words: tuple[str, ...], message: str) -> None:
    (files / "bad.json").write_text('{"format": "hati-samples-1", "samples": [{}]}')
    write_samples(files / "other.json", {"elsewhere": 1.0})
    done = hati("compare", *words)
    assert (done.status, done.out) == (2, "")
    assert message in done.err
    assert "Traceback" not in done.err


def test_classical_tests_and_bootstrap_intervals_are_asked_for(hati: Hati, files: Path) -> None:
    words = ("compare", "a.json", "b.json", "--fail-on", "none", "--tests", "--interval", "bootstrap", "--seed", "3")
    done = hati(*words, "--format", "markdown")
    assert done.status == 0, done.err
    assert "| 99 % interval (%) |" in done.out
    assert "Tests of run medians" in done.out
    assert "have fewer than 10 runs" in done.out
    found = hati(*words, "--format", "json").json
    assert [(row["interval_method"], row["seed"]) for row in found] == [("bootstrap", 3)] * 3
    assert [one["test"] for one in found[0]["tests"]] == [
        "Kolmogorov-Smirnov",
        "Wilcoxon",
        "Kruskal-Wallis",
        *["t"] * 4,
    ]
    assert found[0]["tests"][4]["transformed"] == "log(x)"
    assert set(found[0]["tests"][4]["normality"]) == {"before", "after"}


@pytest.mark.parametrize(
    "words",
    [
        ("compare", "a.json", "b.json"),
        ("compare", "b.json", "b.json", "--history", "a.json"),
        ("import", "a.json"),
        ("audit", "a.json"),
        ("harness", "steady", "a.json"),
    ],
    ids=" ".join,
)
def test_what_is_read_is_not_written_over(hati: Hati, files: Path, words: tuple[str, ...]) -> None:
    before = (files / "a.json").read_bytes()
    done = hati(*words, "--output", "./a.json")
    assert (done.status, done.out) == (2, "")
    assert "a.json cannot be written: it is an input" in done.err
    assert (files / "a.json").read_bytes() == before


def test_extreme_levels_end(hati: Hati, files: Path) -> None:
    done = hati("compare", "a.json", "b.json", "--alpha", "1e-17", "--format", "json")
    assert done.status in {0, 3}
    assert {row["verdict"] for row in done.json} <= {"same", "inconclusive"}


def test_sides_that_disagree_which_is_better(hati: Hati, files: Path) -> None:
    text = (files / "b.json").read_text()
    (files / "b.json").write_text(text.replace('"better": "lower"', '"better": "higher"'))
    done = hati("compare", "a.json", "b.json")
    assert (done.status, done.out) == (2, "")
    assert "lower is better before, and higher after" in done.err


def test_a_store_that_the_environment_names_is_no_matter_of_files(hati: Hati, files: Path) -> None:
    done = hati("compare", "a.json", "a.json", "--margin", "50%", env={"HATI_STORE": str(files / "s.sqlite")})
    assert done.status == 0, done.err


def test_the_statistic_is_chosen_and_named(hati: Hati, tmp_path: Path) -> None:
    """A stall in one run of three makes means differ more than medians."""
    rng = random.Random(1)
    for name, factor in (("a.json", 1.0), ("b.json", 1.1)):
        samples = [
            {
                "benchmark": f"b{number}",
                "metric": "time",
                "unit": "s",
                "better": "lower",
                "runs": [
                    {
                        "observations": [
                            factor * rng.gauss(1.0, 0.01) * (5.0 if run % 3 == 0 and place == 0 else 1.0)
                            for place in range(10)
                        ]
                    }
                    for run in range(6)
                ],
            }
            for number in range(6)
        ]
        (tmp_path / name).write_text(json.dumps({"format": "hati-samples-1", "samples": samples}))
    done = hati("compare", "a.json", "b.json")
    assert "6 slower" in done.out
    text = " ".join(done.out.split())
    assert "Each run counts as its trimmed mean" in text or "Each run counts as its median" in text
    assert "(auto, version 1)" in text
    assert "5 other benchmarks" in text
    row = hati("compare", "a.json", "b.json", "--format", "json").json[0]
    assert row["statistic_choice"]["basis"] == "other benchmarks"
    assert row["statistic_choice"]["version"] == 1
    mean = hati("compare", "a.json", "b.json", "--statistic", "mean", "--format", "json").json[0]
    assert (mean["statistic"], mean["statistic_choice"], mean["verdict"]) == ("mean", None, "inconclusive")


def write_phases(file: Path, phases: dict[str, tuple[float, int, int]]) -> None:
    """Five runs of each: level 1 with noise, the first observations larger by a part; then drift, where it is so."""
    draws = random.Random(7)

    def run(extra: float, warm: int, size: int) -> dict[str, Any]:
        level = 1.0 + 0.01 * draws.gauss(0, 1)
        return {
            "observations": [
                level * (1.0 + (extra if place < warm else 0.0)) * (1.0 + 0.01 * draws.gauss(0, 1))
                for place in range(size)
            ]
        }

    samples = [
        {
            "benchmark": name,
            "metric": "time",
            "unit": "s",
            "better": "lower",
            "runs": [run(*about) for _ in range(5)],
        }
        for name, about in phases.items()
    ]
    file.write_text(json.dumps({"format": "hati-samples-1", "samples": samples}))


def test_warm_up_in_a_file_is_no_change(hati: Hati, tmp_path: Path) -> None:
    write_phases(tmp_path / "cold.json", {"parse": (0.5, 60, 200), "print": (0.0, 0, 200)})
    write_phases(tmp_path / "warm.json", {"parse": (0.0, 0, 200), "print": (0.0, 0, 200)})
    done = hati("compare", "warm.json", "cold.json", "--format", "json")
    parse, other = done.json
    assert (parse["verdict"], other["verdict"]) == ("same", "same"), done.err
    assert parse["before"]["warm_up"] == {"runs": 0, "observations": 0, "unsteady": []}
    assert parse["after"]["warm_up"]["runs"] == 5
    assert 290 <= parse["after"]["warm_up"]["observations"] <= 320
    text = " ".join(hati("compare", "warm.json", "cold.json").out.split())
    assert "Detected warm-up is left out: after" in text
    assert "in 5 of 10 runs (parse)" in text
    assert "same (one-sided warm-up)" in text


def test_runs_that_are_never_steady_are_named(hati: Hati, tmp_path: Path) -> None:
    write_phases(tmp_path / "a.json", {"parse": (0.0, 0, 200), "print": (0.0, 0, 200)})
    write_phases(tmp_path / "b.json", {"parse": (0.5, 175, 200), "print": (0.0, 0, 200)})
    done = hati("compare", "a.json", "b.json", "--format", "json")
    parse, other = done.json
    assert parse["verdict"] == "slower"
    assert len(parse["after"]["warm_up"]["unsteady"]) == 5
    assert other["after"]["warm_up"]["unsteady"] == []
    assert "warning: after: 5 of 10 runs are not steady (parse; the first: its level still changes by more" in done.err
    assert "slower (not steady)" in hati("compare", "a.json", "b.json", env={"COLUMNS": "100"}).out
    cases = ET.fromstring(hati("compare", "a.json", "b.json", "--format", "junit").out)
    assert "not steady" in str(next(cases.iter("failure")).get("message"))


def test_marked_warm_up_is_not_looked_for_again(hati: Hati, tmp_path: Path) -> None:
    write_phases(tmp_path / "a.json", {"parse": (0.5, 60, 200)})
    content = json.loads((tmp_path / "a.json").read_text())
    for run in content["samples"][0]["runs"]:
        run["warmup"] = 60
    (tmp_path / "a.json").write_text(json.dumps(content))
    row = hati("compare", "a.json", "a.json", "--format", "json").json[0]
    assert row["before"]["warm_up"] == {"runs": 0, "observations": 0, "unsteady": []}


def test_pooled_processes_have_no_order(hati: Hati, tmp_path: Path) -> None:
    values = [1.5 + 0.001 * (place % 7) for place in range(60)] + [1.0 + 0.001 * (place % 7) for place in range(140)]
    columns = ["result", "params", "version", "samples"]
    about = {"version": 2, "commit_hash": "c", "env_name": "e", "params": {"machine": "m"}, "python": "3"}
    asv = {**about, "result_columns": columns, "results": {"parse": [[1.0], [], "1", [values]]}}
    (tmp_path / "asv.json").write_text(json.dumps(asv))
    row = hati("compare", "asv.json", "asv.json", "--format", "json").json[0]
    assert row["before"]["warm_up"] == {"runs": 0, "observations": 0, "unsteady": []}


def started(file: Path, starts: list[int], factor: float = 1.0) -> None:
    """Runs that were started at those seconds."""
    times = [f"2026-05-01T12:{start // 60:02d}:{start % 60:02d}+00:00" for start in starts]
    runs = [
        {"started": time, "observations": [factor * (1 + start % 7)]} for time, start in zip(times, starts, strict=True)
    ]
    sample = {"benchmark": "b", "metric": "time", "unit": "s", "runs": runs}
    file.write_text(json.dumps({"format": "hati-samples-1", "samples": [sample]}))


@pytest.mark.parametrize(
    ("before", "after", "apart"),
    [
        ([0, 10, 20], [1200, 1210, 1220], "19 minutes apart"),
        ([1200, 1210, 1220], [0, 10, 20], "19 minutes apart"),
        ([0, 20, 40], [10, 30, 50], ""),
        ([0, 10, 60], [20, 30, 40], ""),
        ([0], [1200], ""),
    ],
)
def test_sides_that_were_measured_in_two_sessions_are_named(
    hati: Hati, tmp_path: Path, before: list[int], after: list[int], apart: str
) -> None:
    started(tmp_path / "a.json", before)
    started(tmp_path / "b.json", after, 1.01)
    done = hati("compare", "a.json", "b.json", "--fail-on", "none")
    assert done.status == 0, done.err
    told = " ".join(done.out.split())
    assert apart in told
    assert ("started before those of the other" in told) is bool(apart)


def measured_on(file: Path, **machines: float) -> None:
    """A sample of each machine, its runs a few per cent apart."""
    samples = [
        {
            "benchmark": "b",
            "metric": "time",
            "unit": "s",
            "machine": machine,
            "runs": [{"observations": [level * wobble]} for wobble in (1.0, 1.01, 0.99, 1.005)],
        }
        for machine, level in machines.items()
    ]
    file.write_text(json.dumps({"format": "hati-samples-1", "samples": samples}))


def test_sides_of_different_machines_are_named(hati: Hati, tmp_path: Path) -> None:
    measured_on(tmp_path / "a.json", fast=1.0)
    measured_on(tmp_path / "b.json", slow=1.3)
    done = hati("compare", "a.json", "b.json", "--fail-on", "none")
    assert "measured on different machines (fast before, slow after)" in " ".join(done.out.split())
    values = hati("compare", "a.json", "b.json", "--fail-on", "none", "--format", "json")
    assert "measured on different machines (fast before, slow after)" in values.err
    assert "different machines" not in hati("compare", "a.json", "a.json", "--fail-on", "none").out


def test_a_revision_on_two_machines_names_what_shows_how_these_differ(hati: Hati, tmp_path: Path) -> None:
    for machine, level in (("fast", 1.0), ("slow one", 1.3)):
        measured_on(tmp_path / f"{machine}.json", **{machine: level})
        found = json.loads((tmp_path / f"{machine}.json").read_text())
        found["samples"][0]["revision"] = "v1"
        (tmp_path / f"{machine}.json").write_text(json.dumps(found))
    done = hati("compare", "fast.json", "slow one.json", "--fail-on", "none")
    assert "`hati probe diff fast 'slow one'` shows how they differ" in " ".join(done.out.split())


def test_revisions_of_different_machines_are_not_decided(hati: Hati, tmp_path: Path) -> None:
    measured_on(tmp_path / "a.json", fast=1.0)
    measured_on(tmp_path / "b.json", slow=1.3)
    compared = hati("compare", "a.json", "b.json", "--format", "json")
    assert compared.status == 3
    assert [row["verdict"] for row in json.loads(compared.out)["comparisons"]] == ["inconclusive"]
    assert "hati check AFTER --reference BEFORE" in compared.err
    for file in ("a.json", "b.json"):
        document = json.loads((tmp_path / file).read_text())
        document["samples"][0]["revision"] = "r1"
        (tmp_path / file).write_text(json.dumps(document))
    machines = hati("compare", "a.json", "b.json", "--format", "json")
    assert machines.status == 1
    assert [row["verdict"] for row in json.loads(machines.out)["comparisons"]] == ["slower"]


def test_a_change_of_counts_that_repeat_exactly_is_found_with_three_runs(hati: Hati, tmp_path: Path) -> None:
    for file, count in (("a.json", 15_124_267), ("b.json", 15_275_510), ("c.json", 15_124_268)):
        runs = [{"observations": [count]} for _ in range(3)]
        sample = {"benchmark": "b", "metric": "instructions", "unit": "count", "runs": runs}
        (tmp_path / file).write_text(json.dumps({"format": "hati-samples-1", "samples": [sample]}))
    assert hati("compare", "a.json", "b.json", "--margin", "0.5%").status == 1
    assert hati("compare", "a.json", "c.json", "--margin", "0.5%").status == 0


def test_what_one_machine_alone_measured_is_named(hati: Hati, tmp_path: Path) -> None:
    measured_on(tmp_path / "a.json", fast=1.0, slow=1.3)
    measured_on(tmp_path / "b.json", slow=1.3)
    done = hati("compare", "a.json", "b.json", "--fail-on", "none")
    assert done.err.splitlines() == ["only in a.json: b time on fast"]


def test_annotations_of_a_comparison_name_each_benchmark_once(hati: Hati, files: Path) -> None:
    done = hati("compare", "a.json", "b.json", "--format", "github", "--fail-on", "none")
    errors = [line for line in done.out.splitlines() if line.startswith("::error")]
    assert len(errors) == 1
    assert errors[0].count("slow") == errors[0].count("slower") + 1
    assert done.out.splitlines()[-1].startswith("::")
