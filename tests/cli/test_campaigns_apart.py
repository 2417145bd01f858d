"""The same measured on machines that are told apart by nothing, and put together afterwards."""

from __future__ import annotations

import itertools
import json
import secrets
import shutil
import subprocess
import sys
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gate_projects import evolving

from hati.core import Run
from hati.store import Selection, read_store

if TYPE_CHECKING:
    from conftest import Hati

CHECK = ("check", "HEAD", "--reference", "HEAD~1", "--fail-on", "inconclusive")


def runs(store: Path) -> list[Run]:
    with closing(read_store(str(store))) as opened:
        return list(opened.runs(Selection()))


def planned(run: Run) -> tuple[object, ...]:
    task = run.task
    return task.stage, task.benchmark, task.configuration, task.revision, task.workload, task.repetition


def test_of_two_jobs_that_check_the_same_afresh_every_run_is_kept(tmp_path: Path, hati_here: Hati) -> None:
    made = evolving(tmp_path)
    made.commit()
    made.commit(base=1_300_000)
    one, other = tmp_path / "one", tmp_path / "other"
    assert hati_here(*CHECK, "--store", str(one)).status == 0
    assert hati_here(*CHECK, "--store", str(other), "--budget", "6").status == 2  # undecided: not to be told yet
    assert hati_here("findings", "--store", str(other), "--format", "json").json == []
    assert hati_here("import", str(one), "--store", str(other)).status == 0
    [told] = hati_here("findings", "--store", str(other), "--format", "json").json
    assert told["state"] == "new"
    assert hati_here(*CHECK, "--store", str(other)).status == 0  # its own, gone on with
    [told] = hati_here("findings", "--store", str(other), "--format", "json").json
    assert told["state"] == "confirmed"
    found = runs(other)
    studies = {run.task.study for run in found}
    apart = [Counter(planned(run) for run in found if run.task.study == study) for study in sorted(studies)]
    assert len(studies) == 2
    assert apart[0] == apart[1]
    shutil.copy(one, tmp_path / "again")
    hati_here("import", str(other), "--store", str(one))
    hati_here("import", str(tmp_path / "again"), "--store", str(other))
    assert {run.task.id for run in runs(one)} == {run.task.id for run in runs(other)} == {r.task.id for r in found}
    for study in studies:
        listed = [
            hati_here("runs", "--study", study, "--store", str(each), "--format", "json") for each in (one, other)
        ]
        assert listed[0].status == 0
        assert len(listed[0].json) == len(listed[1].json) == len(apart[0])


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with a past of eight commits."""
    made = evolving(tmp_path_factory.mktemp("repository"))
    for _ in range(8):
        made.commit()
    return made.project


@pytest.mark.parametrize(
    "words",
    [
        ("screen", "--budget", "8"),
        ("suite", "--options", "a,b", "--runs", "4"),
        ("compare", "main", "main", "--set-after", "a=on", "--budget", "16"),
        ("check", "HEAD", "--reference", "HEAD~2"),
        ("bisect", "HEAD~2", "HEAD"),
        ("compare-effects", "HEAD~2", "HEAD"),
        ("history", "--revisions", "HEAD~7..HEAD"),
    ],
    ids=lambda words: words[0],
)
def test_what_is_planned_does_not_depend_on_the_token(
    repository: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    drawn = itertools.count()
    monkeypatch.setattr(secrets, "token_hex", lambda _: f"{next(drawn):08x}")
    rehearsed = []
    for _ in range(2):
        done = hati_here(*words, "--dry-run", "--format", "json", folder=repository)
        assert done.status == 0, done.err
        rehearsed.append([{name: row[name] for name in row if name != "task"} for row in done.json["tasks"]])
    assert rehearsed[0] == rehearsed[1] != []
    assert next(drawn) >= 2


SLOW = """
[subject]
name = "slow"

[[benchmark]]
name = "b"
command = ["sh", "-c", "sleep 0.05; echo t: 1"]
reader = "regex"
metric = [{ name = "t", unit = "1", pattern = "t: (.)" }]
"""


def test_a_screening_that_is_started_twice_at_once_is_one_study(tmp_path: Path) -> None:
    options = "".join(f'[options.{name}]\nsettings = ["off", "on"]\n' for name in "abc")
    (tmp_path / "hati.toml").write_text(SLOW + options)
    command = [str(Path(sys.executable).with_name("hati")), "screen", "--budget", "16", "--format", "json"]
    started = [subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    told = [json.loads(process.communicate()[0]) for process in started]
    assert [process.returncode for process in started] == [0, 0]
    assert told[0] == told[1]
    found = runs(tmp_path / ".hati" / "store.sqlite")
    assert len({run.task.study for run in found}) == 1
    assert len(found) <= 16
