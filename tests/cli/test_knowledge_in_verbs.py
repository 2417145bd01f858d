"""Verbs plan from what earlier studies found: `check` and `history` cover the space, and say from what they know it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gate_projects import Evolving, evolving

from hati.core import replace
from hati.knowledge import ImportantOptions, WithinStrata, representative_suite
from hati.wiring.known import screenings

if TYPE_CHECKING:
    from numpy.random import Generator

    from conftest import Hati
    from hati.design.suite import Suite
    from hati.space import Space


@pytest.fixture
def made(tmp_path: Path) -> Evolving:
    """A repository whose newest commit makes a=on 50 % slower."""
    made = evolving(tmp_path)
    made.commit(with_a=70)
    made.commit(with_a=105)
    return made


def screened(hati: Hati, made: Evolving) -> str:
    """The key of a screening that finds a important."""
    made.write(with_a=70)
    done = hati("screen", "--budget", "32", "--format", "json")
    assert done.status == 0, done.err
    assert {tuple(one["options"]) for one in done.json["effects"] if one["important"]} == {("a",)}
    return str(done.json["study"])


def test_after_a_screening_a_change_off_the_default_does_not_pass(made: Evolving, hati_here: Hati) -> None:
    study = screened(hati_here, made)
    found = hati_here("check", "HEAD", "--reference", "HEAD~1", "--report", "json=out.json")
    assert found.status == 1, found.out
    assert f"important options from {study}: 32 runs, " in " ".join(found.out.split())
    told = json.loads((made.project / "out.json").read_text())
    assert [one["stratum"] for one in told["strata"] if one["verdict"] == "slower"] == [{"a": "on"}]
    [coverage] = told["coverage"]
    assert (coverage["configurations"], coverage["space"], coverage["strata"]) == (4, 4, ["a"])


def test_a_screening_of_the_whole_space_serves_a_part_of_it(made: Evolving, hati_here: Hati) -> None:
    study = screened(hati_here, made)
    words = ("check", "HEAD", "--reference", "HEAD~1", "--set", "b=on", "--format", "json")
    [coverage] = hati_here(*words).json["coverage"]
    assert (coverage["configurations"], coverage["space"], coverage["strata"]) == (2, 2, ["a"])
    assert study in coverage["source"]
    assert "over the whole space" in coverage["source"]


def test_without_a_screening_the_answer_begins_with_the_coverage(made: Evolving, hati_here: Hati) -> None:
    done = hati_here("check", "HEAD", "--reference", "HEAD~1", "--format", "markdown")
    assert done.status == 0
    assert "**hati check: 1 of 4 configurations: the same, within 5 %" in done.out.replace("\n", " ")
    assert "main is not screened" in done.out
    [coverage] = hati_here("check", "HEAD", "--reference", "HEAD~1", "--format", "json").json["coverage"]
    assert (coverage["configurations"], coverage["space"], coverage["strata"]) == (1, 4, [])


def test_a_history_covers_what_a_screening_found(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    for place in range(12):
        made.commit(with_a=70 if place < 6 else 105)
    words = ("history", "--revisions", "HEAD~11..HEAD", "--format", "json")
    text = hati_here(*words[:-2]).out
    assert text.startswith("coverage    1 of 4 configurations.\n")
    assert "No change" in text or "no change" in text
    study = screened(hati_here, made)
    found = hati_here(*words)
    assert any(one["change_points"] for one in found.json["series"])
    [coverage] = found.json["coverage"]
    assert (coverage["configurations"], coverage["strata"]) == (4, ["a"])
    assert study in coverage["source"]


def test_a_history_chooses_its_statistic_from_earlier_runs_and_keeps_it(made: Evolving, hati_here: Hati) -> None:
    words = ("history", "--revisions", "HEAD~1..HEAD", "--runs", "6", "--format", "json")
    first = hati_here(*words).json
    assert {(one["statistic"], one["statistic_choice"]["basis"]) for one in first["series"]} == {("trimmed", "default")}
    assert {one["statistic_choice"]["basis"] for one in hati_here(*words).json["series"]} == {"default"}
    asked = hati_here(*words, "--statistic", "median").json
    assert (asked["study"], asked["runs"]) == (first["study"], first["runs"])
    assert {(one["statistic"], one["statistic_choice"]) for one in asked["series"]} == {("median", None)}
    assert "statistic" in hati_here(*words[:-2]).out
    fresh = hati_here(*words, "--fresh").json
    assert {one["statistic_choice"]["basis"] for one in fresh["series"]} == {"history"}


def test_a_small_budget_covers_as_much_as_it_can(made: Evolving, hati_here: Hati) -> None:
    screened(hati_here, made)
    done = hati_here("check", "HEAD", "--reference", "HEAD~1", "--budget", "60", "--format", "json")
    assert done.status == 1
    [coverage] = done.json["coverage"]
    assert coverage["configurations"] < 4


def test_a_budget_for_one_configuration_is_named_as_the_reason(made: Evolving, hati_here: Hati) -> None:
    best = screened(hati_here, made)
    done = hati_here("check", "HEAD", "--reference", "HEAD~1", "--budget", "18", "--format", "json")
    [coverage] = done.json["coverage"]
    assert coverage["configurations"] == 1
    assert "the budget has no runs for a suite of the important options from" in coverage["source"]
    assert best in coverage["source"]
    text = " ".join(hati_here("check", "HEAD", "--reference", "HEAD~1", "--budget", "18").out.split())
    assert "A larger `--budget` covers all of the space." in text
    assert "not screened" not in text


def planned(hati: Hati, *words: str) -> tuple[int, int, float, str]:
    """The numbers of configurations and of runs, the expected seconds, and the reason of a check's dry run."""
    said = hati("check", "HEAD", "--reference", "HEAD~1", *words, "--dry-run", "--format", "json").json
    tasks = said["tasks"]
    return len({(one["a"], one["b"]) for one in tasks}), len(tasks), said["seconds"], said["reason"]


def test_a_budget_in_time_covers_as_much_as_it_can_by_what_a_run_takes(made: Evolving, hati_here: Hati) -> None:
    screened(hati_here, made)
    cells, runs, seconds, _ = planned(hati_here)
    assert (cells, runs) == (4, 192)
    one = seconds / runs
    cells, runs, _, reason = planned(hati_here, "--budget", f"{30_500 * one:.3f}ms")
    assert (cells, runs) == (1, 30)
    assert "the budget has no runs for a suite of the important options from" in reason
    assert "too short" not in reason
    assert planned(hati_here, "--budget", f"{60_500 * one:.3f}ms")[:2] == (2, 60)
    assert planned(hati_here, "--budget", f"{110_500 * one:.3f}ms")[:2] == (4, 110)
    cells, runs, _, reason = planned(hati_here, "--budget", f"{2_500 * one:.3f}ms")
    assert (cells, runs) == (1, 2)
    assert "is too short for that: to find a change takes at least 18 runs, about " in reason


@pytest.mark.acceptance
def test_a_check_that_was_begun_keeps_its_configurations_with_a_larger_budget(made: Evolving, hati_here: Hati) -> None:
    for _ in range(11):  # noise of the last is that of the first in another order: nine rounds do not decide
        made.commit()
    screened(hati_here, made)
    words = ("check", "HEAD", "--reference", "HEAD~11", "--margin", "0.01%", "--format", "json")
    first = hati_here(*words, "--budget", "18").json
    for budget in ("24", "1h"):
        again = hati_here(*words, "--budget", budget, "--dry-run").json
        assert len({(one["a"], one["b"]) for one in again["tasks"]}) == 1
    more = hati_here(*words, "--budget", "120").json
    assert (more["study"], more["coverage"][0]["configurations"]) == (first["study"], 1)
    assert "the budget with which it began had no runs for a suite of the important" in more["coverage"][0]["source"]
    afresh = hati_here(*words, "--budget", "120", "--fresh").json
    assert (afresh["study"] == first["study"], afresh["coverage"][0]["configurations"]) == (False, 4)


def test_a_check_without_a_budget_takes_the_suite_that_was_measured(made: Evolving, hati_here: Hati) -> None:
    screened(hati_here, made)
    suite = hati_here("suite", "--runs", "4", "--format", "json")
    assert suite.status == 0, suite.err
    assert f"the suite of {suite.json['study']}: 4 runs" in planned(hati_here)[3]


def test_a_suite_takes_the_options_of_the_most_informative_screening(made: Evolving, hati_here: Hati) -> None:
    best = screened(hati_here, made)
    weaker = hati_here("screen", "--budget", "4", "--seed", "2", "--format", "json")
    assert weaker.status == 0, weaker.err
    done = hati_here("suite", "--runs", "4", "--format", "json")
    assert done.status == 0, done.err
    assert done.json["options"] == ["a"]
    assert f"important in {best}: 32 runs, " in done.json["options_from"]
    assert "smallest standard error of an effect" in done.json["options_from"]


def test_a_validation_is_of_the_most_informative_screening(made: Evolving, hati_here: Hati) -> None:
    best = screened(hati_here, made)
    assert hati_here("screen", "--budget", "4", "--seed", "2").status == 0
    done = hati_here("validate", "--format", "json")
    assert done.status == 0, done.err
    assert done.json["screening"] == best
    assert f"validation of {best}: 32 runs, " in done.err


def test_a_screening_says_by_its_own_runs_what_it_will_find(fake_project: Path, hati_here: Hati) -> None:
    done = hati_here("screen", ".", "--metric", "latency", "--budget", "32", "--format", "json")
    assert done.status == 0, done.err
    [said] = [line for line in done.err.splitlines() if "it will find effects of about" in line and "after" in line]
    assert said.startswith("after 16 of 3")
    assert "configurations vary by" in said


def test_a_report_ends_with_what_is_known_now(made: Evolving, hati_here: Hati) -> None:
    best = screened(hati_here, made)
    assert hati_here("screen", "--budget", "4", "--seed", "2").status == 0
    weaker = hati_here("report", "--format", "json").json
    known = weaker["known"]
    assert weaker["study"] != best
    assert (known["important_options"]["study"], known["important_options"]["options"]) == (best, ["a"])
    assert (known["run_cost"]["study"], known["statistic"]["study"], known["variation"]) == (
        best,
        "stored samples",
        None,
    )
    assert 0.0 < known["run_cost"]["age_seconds"] < 3600.0
    text = " ".join(hati_here("report").out.split())
    assert f"Known now important options a ({best}: 32 runs, " in text
    assert f"### Known now - important options: a ({best}: 32 runs, " in " ".join(
        hati_here("report", "--format", "markdown").out.split()
    )


def test_a_report_has_the_statistic_that_a_check_takes(made: Evolving, hati_here: Hati) -> None:
    assert hati_here("run", "--budget", "20").status == 0
    screened(hati_here, made)
    known = hati_here("report", "--format", "json").json["known"]["statistic"]
    assert (known["statistic"], known["basis"], known["study"]) == ("mean", "history", "stored samples")
    checked = hati_here("check", "HEAD", "--reference", "HEAD~1", "--fail-on", "none", "--format", "json")
    assert checked.status == 0, checked.err
    kept = hati_here("report", "--format", "json").json["known"]["statistic"]
    assert (kept["statistic"], kept["study"]) == ("mean", checked.json["study"])


def test_an_audit_compares_by_the_statistic_that_is_known(made: Evolving, hati_here: Hati) -> None:
    words = ("audit", ".", "--budget", "8", "--splits", "2", "--format", "json")
    assert hati_here(*words, "--seed", "2").json["known_statistics"] == [], "its own runs have no part in it"
    assert hati_here("run", "--budget", "20").status == 0
    [known] = hati_here(*words, "--seed", "3").json["known_statistics"]
    assert (known["metric"], known["statistic"], known["basis"]) == ("latency", "mean", "history")
    assert known["source"].startswith("stored samples: 28 runs, ")
    text = " ".join(hati_here(*words[:-2], "--seed", "4").out.split())
    assert "as a check here compares: latency by its mean (stored samples: 36 runs, " in text
    asked = hati_here(*words, "--statistic", "median")
    assert (asked.json["known_statistics"], asked.json["statistic"]) == ([], "median")


WARMING = """
import json, sys
from random import Random
draw = Random(sys.argv[1] + open("tuning").read())
cold = [4.0 * draw.lognormvariate(0.0, 0.5) for _ in range(20)]
print(json.dumps({"metric": "latency", "values": cold + [draw.gauss(1.0, 0.01) for _ in range(80)]}))
"""


@pytest.fixture
def warming(tmp_path: Path) -> Evolving:
    """A repository whose runs are steady from their 21st observation on, with ten measured runs."""
    made = evolving(tmp_path)
    (made.project / "program.py").write_text(WARMING)
    file = made.project / "hati.toml"
    command = f'command = ["{sys.executable}", "-S", "program.py", "{{repetition}}"]'
    file.write_text("\n".join([command if "command" in line else line for line in file.read_text().splitlines()]))
    made.commit()
    made.commit()
    return made


@pytest.mark.acceptance
def test_a_check_leaves_out_the_known_warm_up_where_none_is_stated(warming: Evolving, hati_here: Hati) -> None:
    check = ("check", "HEAD", "--reference", "HEAD~1", "--fail-on", "none", "--budget", "24", "--format", "json")
    assert hati_here(*check).json["warm_up"] == [], "nothing is known yet"
    done = hati_here("run", "--budget", "10")
    assert "warning: main: the first 2" in done.err
    assert 'leave them out by warmup = "auto" in hati.toml' in " ".join(done.err.split())
    [cut] = hati_here(*check, "--fresh").json["warm_up"]
    assert (cut["benchmark"], cut["metric"]) == ("main", "latency")
    assert 18 <= cut["observations"] <= 30
    text = " ".join(hati_here(*check[:-2], "--fresh").out.split())
    assert f"the first {cut['observations']} observations of each run of main (latency); after these" in text
    file = warming.project / "hati.toml"
    file.write_text(file.read_text().replace("command =", "warmup = 0\ncommand ="))
    warming.commit()
    assert hati_here(*check).json["warm_up"] == []


def test_a_dry_run_says_from_which_runs_it_knows_what_a_run_takes(made: Evolving, hati_here: Hati) -> None:
    words = ("check", "HEAD", "--reference", "HEAD~1", "--dry-run")
    assert "how long they take is not known yet" in hati_here(*words).out
    study = screened(hati_here, made)
    made.commit(with_a=105)
    said = " ".join(hati_here(*words).out.split())
    assert "Expected: a run takes " in said
    assert f"({study}: 32 runs, " in said
    check = " ".join(hati_here("check", "HEAD", "--reference", "HEAD~1").out.split())
    assert f"important options from {study}: 32 runs, " in check
    assert "at another revision (" in check


@pytest.mark.acceptance
def test_effects_are_compared_in_the_design_of_the_most_informative_screening(made: Evolving, hati_here: Hati) -> None:
    words = ("compare-effects", "HEAD~1", "HEAD", "--dry-run")
    assert "a design made for this: main is not screened" in " ".join(hati_here(*words).out.split())
    best = screened(hati_here, made)
    assert hati_here("screen", "--budget", "4", "--seed", "2").status == 0
    assert f"(the design of {best}: 32 runs, " in " ".join(hati_here(*words).out.split())


def test_what_a_screening_found_is_kept_in_the_projects_folder(made: Evolving, hati_here: Hati) -> None:
    screened(hati_here, made)
    words = ("check", "HEAD", "--reference", "HEAD~1", "--dry-run", "--format", "json")

    def planned() -> set[tuple[str, str, str]]:
        return {(task["stage"], task["a"], task["b"]) for task in hati_here(*words).json["tasks"]}

    [file] = (made.project / ".hati" / "conclusions").iterdir()
    written = file.stat().st_mtime_ns
    first = planned()
    assert file.stat().st_mtime_ns == written
    file.write_bytes(b"")
    assert planned() == first
    assert file.stat().st_size > 0


def said_of(hati: Hati, *words: str) -> str:
    return str(hati(*words, "--dry-run", "--format", "json").json["reason"])


def test_a_screening_is_compared_with_the_revision_that_is_checked(made: Evolving, hati_here: Hati) -> None:
    (made.project / "notes").write_text("as committed\n")
    made.commit(with_a=70)
    done = hati_here("screen", "--budget", "16", "--format", "json")
    assert done.status == 0, done.err
    of_head, of_others = ("check", "HEAD", "--reference", "HEAD~1"), ("check", "HEAD~1", "--reference", "HEAD~2")
    assert "at another revision" not in said_of(hati_here, *of_head)
    assert "at another revision" in said_of(hati_here, *of_others)
    (made.project / "program.sh").write_text((made.project / "program.sh").read_text() + "# edited\n")
    (made.project / "program.sh").chmod(0o755)
    assert "at another revision" not in said_of(hati_here, *of_head)
    assert "at another revision" not in said_of(hati_here, "history", "--revisions", "HEAD~2..HEAD", "--runs", "2")
    assert "at another revision" in said_of(hati_here, *of_others)
    assert "at another revision" in said_of(hati_here, "check", "--reference", "HEAD")
    fresh = hati_here("screen", "--budget", "64", "--format", "json")
    assert fresh.json["study"] != done.json["study"]
    assert "at another revision" in said_of(hati_here, *of_head)
    assert "at another revision" not in said_of(hati_here, "check", "--reference", "HEAD")


def test_all_verbs_count_the_runs_of_a_screening_alike(fake_project: Path, hati_here: Hati) -> None:
    screened = hati_here("screen", "--metric", "latency", "--budget", "48", "--format", "json").json
    made = sum(screened["runs"]["all"].values())
    assert made > screened["design"]["runs"]  # flips, too
    count = f"{screened['study']}: {made} runs"
    suite = hati_here("suite", "--metric", "latency", "--runs", "8")
    validated = hati_here("validate", "--metric", "latency", "--budget", "8")
    known = hati_here("report", "--metric", "latency")
    listed = hati_here("studies", "--format", "json").json
    for done in (suite, validated, known):
        assert count in " ".join(done.out.split()), done.out
    assert count in validated.err
    assert made in {each.get("runs") for each in listed}


def of_this_version(
    space: Space, known: list[ImportantOptions], most: int, rng: Generator, within: WithinStrata
) -> Suite | None:
    """The suite of earlier versions; that of this one has its strata and configurations in the opposite order."""
    made = representative_suite(space, known, most, rng, WithinStrata.RANKING)
    if made is None or within is WithinStrata.RANKING:
        return made
    strata = [replace(each, configurations=each.configurations[::-1]) for each in made.strata]
    return replace(made, strata=tuple(strata[::-1]))


@pytest.mark.parametrize(
    ("words", "budgets"),
    [
        (("history", "--revisions", "HEAD~1..HEAD", "--runs", "2"), ("8", "8")),
        (("check", "HEAD", "--reference", "HEAD~9", "--margin", "0.01%"), ("60", "64")),
    ],
    ids=["history", "check"],
)
def test_what_an_earlier_version_began_goes_on_with_its_configurations(
    words: tuple[str, ...],
    budgets: tuple[str, str],
    made: Evolving,
    hati_here: Hati,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, then = ((*words, "--budget", budget, "--format", "json") for budget in budgets)
    for _ in range(11):
        made.commit()
    screened(hati_here, made)
    with monkeypatch.context() as earlier:
        earlier.setattr(
            screenings, "representative_suite", lambda *about: of_this_version(*about[:4], WithinStrata.RANKING)
        )
        begun = hati_here(*first).json
    monkeypatch.setattr(screenings, "representative_suite", of_this_version)
    again = hati_here(*then).json
    assert (again["study"], again["coverage"][0]["configurations"]) == (begun["study"], 2)
    fresh = hati_here(*then, "--fresh").json["study"]
    assert fresh.split("-")[1] != begun["study"].split("-")[1]
    assert hati_here(*then).json["study"].split("-")[1] == fresh.split("-")[1]
