"""A package adds an experiment and a kind of task in one file, and changes none of Hati's."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from packages import PAGES, Hati, write_entry_points

PAGE = "add-an-experiment.md"
MEASURED = ("--quick", "--given", "clock.cost=25", "sched.wakeups")
"""An experiment of Hati's that is quick."""
TASK_SET = """\
name: Bytes
machines: [here]
roles:
  - name: only
    machine: here
    task:
      do: loop
      count: 3
      task: {do: pipe, bytes: 5, name: bytes, sensors: [response]}
"""


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder in which the package of the documentation is installed."""
    folder = tmp_path_factory.mktemp("site")
    [(name, source)] = re.findall(r'```python title="([^"]+)"\n(.*?)```', (PAGES / PAGE).read_text(), re.DOTALL)
    (folder / name).write_text(source)
    write_entry_points(folder, "hati.experiments", "pipe = pipes:EXPERIMENT\n\n[hati.tasks]\npipe = pipes:Pipe\n")
    return folder


@pytest.fixture(autouse=True)
def _store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HATI_STORE", str(tmp_path / "store.sqlite"))


def test_the_page_names_both_groups() -> None:
    text = (PAGES / PAGE).read_text()
    assert '[project.entry-points."hati.experiments"]\npipe = "pipes:EXPERIMENT"' in text
    assert '[project.entry-points."hati.tasks"]\npipe = "pipes:Pipe"' in text


def test_its_experiment_is_measured_and_its_result_reused(hati: Hati, package: Path, tmp_path: Path) -> None:
    for reused in (False, True):
        made = hati(package, tmp_path, "probe", *MEASURED, "kernel", "--format", "json")
        assert made.status == 0, made.err
        found = {each["experiment"]: each for each in json.loads(made.out)["experiments"]}
        assert set(found) == {"sched.wakeups", "kernel.pipe"}
        one = found["kernel.pipe"]
        assert (one["method"], one["reused"]) == ("pipe-1", reused)
        (pipe,) = one["properties"]
        assert pipe["verdict"] == "measured"
        assert 0.05 < pipe["interval"][0] <= pipe["value"] <= pipe["interval"][1] < 1e4
    assert not [*tmp_path.glob("tmp*")], "it cleans up"
    without = hati(tmp_path, tmp_path, "probe", "kernel")
    assert "there is no experiment or domain 'kernel'" in without.err


def test_its_kind_of_task_is_run_and_drawn(hati: Hati, package: Path, tmp_path: Path) -> None:
    (tmp_path / "set.yaml").write_text(TASK_SET)
    made = hati(package, tmp_path, "probe", "run", "set.yaml", "--format", "json")
    assert made.status == 0, made.err
    (sensor,) = json.loads(made.out)["sensors"]
    assert (sensor["task"], sensor["observations"]) == ("bytes", 3)
    drawn = hati(package, tmp_path, "probe", "draw", "set.yaml")
    assert ">pipe<" in drawn.out
    assert "ends" not in drawn.out
    without = hati(tmp_path, tmp_path, "probe", "run", "set.yaml")
    assert (without.status, "unknown `do`: pipe" in without.err) == (2, True)


@pytest.mark.parametrize(
    ("before", "after", "place", "message"),
    [
        ("bytes: 5", "byte: 5", "9:24", "unknown key `byte`; did you mean 'bytes'?"),
        ("bytes: 5", "bytes: many", "9:31", "`bytes` is 'many'; write a whole number"),
        ("bytes: 5", "bytes: 0", "9:13", "a task `pipe`: a pipe needs 1 byte or more"),
        ("[response]", "[responses]", "9:57", "unknown `sensors`: responses; did you mean 'response'?"),
        ("do: pipe", "do: pip", "9:18", "unknown `do`: pip; did you mean 'pipe'?"),
    ],
)
def test_its_broken_tasks_have_their_place(
    hati: Hati, package: Path, tmp_path: Path, before: str, after: str, place: str, message: str
) -> None:
    (tmp_path / "set.yaml").write_text(TASK_SET.replace(before, after))
    wrong = hati(package, tmp_path, "probe", "run", "set.yaml")
    assert (wrong.status, wrong.out) == (2, "")
    assert f"set.yaml:{place}: {message}" in " ".join(wrong.err.split()), wrong.err


UNUSABLE = {
    "1": "1 is not an AddedExperiment",
    "made('gaps')": "'gaps' is not a domain, a dot and a name",
    "made('clock.reading')": "there is an experiment 'clock.reading' already",
    "made('own.cost', 'clock.cost')": "clock.reading yields clock.cost already",
    "made('own.execute', execute=lambda *_: 1 / 0)": "own.execute: the experiment 'own.execute' fails: Zero",
    "made('own.detect', 'own.y', detect=lambda *_: 1 / 0)": "own.detect: the experiment 'own.detect' fails: Zero",
}


def test_those_that_cannot_be_used_are_named_and_the_rest_is_measured(hati: Hati, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text(
        "from hati.probing import AddedExperiment\nfrom hati.studies.probe import Experiment, Property\n"
        "def made(name, output='own.x', execute=lambda *_: {'x': [1.0]}, detect=lambda *_: ()):\n"
        "    return AddedExperiment(Experiment(name, 'x', 'x-1', {output: 's'}, detect), execute)\n"
        + "".join(f"X{number} = {source}\n" for number, source in enumerate(UNUSABLE))
    )
    points = "".join(f"wrong{number} = wrong:X{number}\n" for number in range(len(UNUSABLE)))
    write_entry_points(tmp_path, "hati.experiments", points)
    made = hati(tmp_path, tmp_path, "probe", *MEASURED, "own")
    assert made.status == 0, made.err
    said = " ".join((made.err + made.out).split())
    assert [message for message in UNUSABLE.values() if message not in said] == []
    assert "sched.wakeup" in made.out


def test_a_kind_of_task_that_cannot_be_used_is_named(hati: Hati, tmp_path: Path) -> None:
    (tmp_path / "wrong.py").write_text("class Pipe: ...\n")
    write_entry_points(tmp_path, "hati.tasks", "pipe = wrong:Pipe\n")
    (tmp_path / "set.yaml").write_text(TASK_SET)
    wrong = hati(tmp_path, tmp_path, "probe", "run", "set.yaml")
    assert wrong.status == 2
    assert "the task kind 'pipe' of wrong:Pipe cannot be used" in wrong.err
