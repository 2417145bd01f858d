"""Settings that cannot work, from outside: they are found, left out, and what they cost is said."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from hati.wiring.screening import campaign as screening

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np

    from conftest import Hati
    from hati.core import Configuration
    from hati.space import Space
    from hati.studies.screening import AnyChoice

SUBJECT = """
import json, sys
settings = dict(word.split("=") for word in sys.argv[1:])
if {fails}:
    sys.exit(f"fatal 4711#{{settings['repetition']}}: cannot use it in /tmp/{{abs(hash(str(settings)))}}/app.conf:3")
value = 0.010 * (1.5 if settings["a"] == "on" else 1.0)
noise = sum(ord(c) * (i + 7) for i, c in enumerate(" ".join(sys.argv[1:]))) % 97 / 97 - 0.5
print(json.dumps({{"metric": "latency", "value": value * (1 + 0.004 * noise)}}))
"""
PROJECT = """
[subject]
name = "fake"

[[benchmark]]
name = "main"
command = ["python3", "-S", "-E", "subject.py", "repetition={repetition}"]
timeout = "20s"

[[benchmark.metric]]
name = "latency"
unit = "s"

[options.event]
settings = ["epoll", "select", "poll", "kqueue"]
argument = "event={}"
""" + "".join(f'\n[options.{name}]\nsettings = ["off", "on"]\nargument = "{name}={{}}"\n' for name in "abcd")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "hati.toml").write_text(PROJECT)
    return tmp_path


def failing(project: Path, condition: str) -> None:
    (project / "subject.py").write_text(SUBJECT.format(fails=condition))


def runs(hati: Hati, stage: str | None = None) -> list[dict[str, Any]]:
    found = hati("runs", ".", "--format", "json").json
    return [run for run in found if stage is None or run["stage"] == stage]


def screened(hati: Hati, *words: str) -> dict[str, Any]:
    done = hati("screen", ".", *words, "--format", "json")
    assert done.status == 0, done.err
    found: dict[str, Any] = done.json
    return found


def test_a_setting_that_cannot_work_is_left_out(project: Path, hati: Hati) -> None:
    failing(project, "settings['event'] == 'poll'")
    found = screened(hati, "--budget", "40")
    assert [each["settings"] for each in found["losses"]["excluded"]] == ["event=poll"]
    assert found["important"] == ["a"]
    event = next(option for option in found["options"] if option["name"] == "event")
    assert event["settings"] == ["epoll", "select", "kqueue"]
    assert found["losses"]["failed"] <= 6
    design = [run for run in runs(hati, "design") if run["outcome"] == "done"]
    assert (found["runs"]["done"], found["runs"]["failed"]) == (len(design), 0), "usable runs are kept"
    again = hati("screen", ".", "--budget", "40")
    assert "measured before" in again.err


def test_it_is_in_the_answer_and_listed_once(project: Path, hati: Hati) -> None:
    failing(project, "settings['event'] == 'poll'")
    done = hati("screen", ".", "--budget", "32")
    said = " ".join(done.out.split())
    assert re.search(r"\. \d of \d\d runs failed; left out because it does not work: event=poll\.", said), said
    assert done.out.count("cannot use it") == 1
    assert "event=poll does not work and is left out: the command ended with exit status 1: fatal" in done.err
    reported = hati("report", ".").out.splitlines()
    assert [line for line in done.out.splitlines() if line not in reported] == []


def test_a_combination_that_cannot_work_is_left_out(project: Path, hati: Hati) -> None:
    failing(project, "settings['b'] == 'on' and settings['event'] == 'select'")
    found = screened(hati, "--budget", "40")
    assert [each["settings"] for each in found["losses"]["excluded"]] == ["event=select with b=on"]
    assert {option["name"] for option in found["options"]} == {"event", *"abcd"}
    assert found["runs"]["failed"] == 0


def test_a_setting_that_needs_another_is_left_out_without_it(project: Path, hati: Hati) -> None:
    """Before, c=on was left out, with which runs had worked."""
    failing(project, "settings['c'] == 'on' and settings['b'] == 'off'")
    found = screened(hati, "--budget", "48", "--seed", "1")
    assert [each["settings"] for each in found["losses"]["excluded"]] == ["c=on with b=off"]
    assert "c" in {option["name"] for option in found["options"]}
    assert found["runs"]["failed"] == 0


def test_what_is_found_when_no_runs_are_left_for_another_design_leaves_a_conclusion(project: Path, hati: Hati) -> None:
    """Before: "1 run, with 7 that were made before, are too few", after all but one of the runs were spent."""
    failing(project, "all(settings[name] == 'on' for name in 'bcd') and settings['event'] != 'select'")
    done = hati("screen", ".", "--budget", "20", "--seed", "2", "--format", "json")
    assert done.status == 0, done.err
    found = done.json
    assert found["losses"]["excluded"]
    assert found["design"]["kind"] == "partial"
    assert found["warnings"][0].startswith(
        "the runs that were left are too few for a design without what does not work"
    )
    assert len(runs(hati)) <= 20
    assert hati("report", ".").status == 0


def test_two_settings_that_cannot_work(project: Path, hati: Hati) -> None:
    failing(project, "settings['event'] == 'poll' or settings['c'] == 'on'")
    found = screened(hati, "--budget", "40")
    assert {each["settings"] for each in found["losses"]["excluded"]} == {"event=poll", "c=on"}
    assert "c" not in {option["name"] for option in found["options"]}
    assert found["important"] == ["a"]


def test_without_a_default_that_works_it_ends_with_its_message(project: Path, hati: Hati) -> None:
    failing(project, "settings['a'] == 'off'")
    done = hati("screen", ".", "--budget", "40")
    assert done.status == 4
    assert "the default configuration does not work: the command ended with exit status 1: fatal" in done.err
    assert len(runs(hati)) <= 9


WITHOUT_LATENCY = """
if settings["a"] == "off":
    print(json.dumps({{"metric": "latenzy", "values": [1]}}))
    sys.exit()
value ="""


@pytest.mark.parametrize(
    ("keys", "place", "says"),
    [
        ("", "`name` at hati.toml:11:8", "the output has no metric 'latency', only 'latenzy'"),
        ('path = "value"', "`path` at hati.toml:13:8", "the output has no metric 'latency': path 'value': no 'value'"),
        (
            """pattern = 'value": ([0-9.]+)' """,
            "`pattern` at hati.toml:13:11",
            "the output has no metric 'latency': its pattern",
        ),
    ],
)
def test_a_default_that_does_not_print_a_metric_works(
    project: Path, hati: Hati, keys: str, place: str, says: str
) -> None:
    subject, file = project / "subject.py", project / "hati.toml"
    subject.write_text(SUBJECT.replace("\nvalue =", WITHOUT_LATENCY).format(fails=False))
    reader = {"path": "json", "patt": "regex"}.get(keys[:4], "hati")
    text = PROJECT.replace('timeout = "20s"', f'reader = "{reader}"').replace('unit = "s"', f'unit = "s"\n{keys}')
    file.write_text(text)
    done = hati("screen", ".", "--budget", "40")
    assert done.status == 4
    assert f"the default configuration works, but its output cannot be read: standard output: {says}" in done.err
    assert f"correct {place}" in done.err


def test_a_failure_by_chance_excludes_nothing(project: Path, hati: Hati) -> None:
    failing(project, "__import__('os').path.exists('fail') and not __import__('os').remove('fail')")
    (project / "fail").touch()
    found = screened(hati, "--budget", "40")
    assert found["losses"] == {"failed": 1, "made": len(runs(hati)), "excluded": []}


def test_pilots_cover_every_setting(project: Path, hati: Hati) -> None:
    failing(project, "settings['event'] == 'poll'")
    found = screened(hati, "--budget", "90", "--detect", "90%")
    assert [each["settings"] for each in found["losses"]["excluded"]] == ["event=poll"]
    outcomes = [run["outcome"] for run in runs(hati)]
    assert "failed" in {run["outcome"] for run in runs(hati, "pilot")}
    assert found["runs"]["all"] == {name: outcomes.count(name) for name in ("done", "failed")}
    assert found["losses"]["failed"] == found["runs"]["all"]["failed"] > found["runs"]["failed"] == 0
    assert all(run["outcome"] == "done" for run in runs(hati, "design"))


def committed(project: Path) -> None:
    for words in (
        ("init", "-q"),
        ("add", "-A"),
        ("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "one"),
    ):
        subprocess.run(("git", *words), cwd=project, check=True)


@pytest.fixture
def excluded(project: Path, hati: Hati) -> str:
    """The key of a screening that found poll not to work, and a to be important."""
    (project / ".gitignore").write_text(".hati/\n")
    failing(project, "settings['event'] == 'poll'")
    committed(project)
    return str(screened(hati, "--budget", "40")["study"])


def failed(hati: Hati) -> int:
    """How many runs failed so far, all of them with poll."""
    return sum(run["outcome"] == "failed" for run in runs(hati))


def test_a_suite_leaves_out_what_a_screening_found_not_to_work(hati: Hati, excluded: str) -> None:
    before = failed(hati)
    done = hati("suite", ".", "--options", "event", "--runs", "12", "--format", "json")
    assert done.status == 0, done.err
    assert failed(hati) == before > 0
    assert f"left out because it does not work: event=poll (by {excluded}: " in done.json["options_from"]


@pytest.mark.acceptance
def test_a_check_leaves_out_what_a_screening_found_not_to_work(project: Path, hati: Hati, excluded: str) -> None:
    before = failed(hati)
    with (project / "hati.toml").open("a") as file:
        file.write('\n[check]\nconfigurations = [{ event = "poll" }]\n')
    committed(project)
    done = hati("check", "HEAD", "--reference", "HEAD~1", "--budget", "48", "--fail-on", "none", "--format", "json")
    assert done.status == 0, done.err
    assert failed(hati) == before > 0
    [coverage] = done.json["coverage"]
    assert coverage["space"] == 48
    assert f"left out because it does not work: event=poll (by {excluded}: " in coverage["source"]


def test_a_validation_names_what_is_left_out(hati: Hati, excluded: str) -> None:
    before = failed(hati)
    done = hati("validate", ".", "--budget", "8")
    assert done.status == 0, done.err
    assert failed(hati) == before > 0
    assert f"validation of {excluded}: " in done.err
    assert "left out because it does not work: event=poll" in done.err


def test_what_was_traced_before_an_interruption_is_left_out(
    project: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch
) -> None:
    failing(project, "settings['event'] == 'poll'")
    choose, asked = screening.choose_followed, list[int]()

    def interrupted(
        space: Space,
        runs: int,
        rng: np.random.Generator,
        known: Sequence[Configuration] = (),
        seconds: float = 0.0,
    ) -> AnyChoice:
        asked.append(runs)
        if len(asked) == 2:
            raise KeyboardInterrupt
        return choose(space, runs, rng, known, seconds)

    monkeypatch.setattr(screening, "choose_followed", interrupted)
    assert hati_here("screen", ".", "--budget", "40").status == 130
    assert len(asked) == 2, "the design without event=poll was being looked for"
    made = len(runs(hati_here))
    found = screened(hati_here, "--budget", "40")
    assert [each["settings"] for each in found["losses"]["excluded"]] == ["event=poll"]
    assert found["runs"]["failed"] == 0
    assert asked[2] == asked[1]
    assert len(runs(hati_here)) > made
