"""Reports of runs that other programs disturbed: every verb warns, in every format, with the same verdict."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from gate_projects import LISTED, evolving

from hati.core import Run, replace
from hati.harness import interference
from hati.store import Selection, SqlStore

if TYPE_CHECKING:
    from conftest import Hati

WARNING = "runs were disturbed by other programs (the first: tasks waited for a CPU 90% of the time, and the run used"


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A project with three commits, of which the last is slower."""
    made = evolving(tmp_path, extra=LISTED)
    for with_a in (100, 100, 150):
        made.commit(with_a=with_a)
    return tmp_path


@pytest.fixture
def loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every recorded run says that tasks waited nine tenths of its time; reports warn of it."""
    record = SqlStore.record

    def busy(store: SqlStore, run: Run) -> bool:
        assert run.resources is not None
        used = replace(run.resources, wall_time=1.0, user_time=0.1, system_time=0.0, pressure=0.9, steal=0.0)
        return record(store, replace(run, resources=used))

    monkeypatch.setattr(interference, "MANY", 0.1)
    monkeypatch.setattr(SqlStore, "record", busy)


VERBS = {
    "check": ("check", "HEAD", "--reference", "HEAD~1"),
    "history": ("history", "--revisions", "HEAD~2..HEAD", "--runs", "3"),
    "bisect": ("bisect", "HEAD~2", "HEAD"),
    "screen": ("screen", "--budget", "8"),
    "recommend": ("screen", "--budget", "24", "--recommend"),
    "assert": ("assert", "--formula", "main() <= 100 us"),
}


@pytest.mark.usefixtures("loaded")
@pytest.mark.parametrize("words", VERBS.values(), ids=VERBS)
def test_each_verb_warns(
    words: tuple[str, ...], changed: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = ("text", "markdown", "html")
    reports = (word for kind in kinds for word in ("--report", f"{kind}={changed}.{kind}"))
    done = hati_here(*words, "--format", "json", *reports)
    assert done.status in {0, 1, 3}, done.err
    for text in (done.err, *(Path(f"{changed}.{kind}").read_text() for kind in kinds)):
        assert " ".join(text.split()).count(WARNING) == 1
        assert "the results are those of a loaded machine" in " ".join(text.split())
    monkeypatch.setattr(interference, "MANY", math.inf)
    quiet = hati_here(*words, "--format", "json")
    assert "were disturbed" not in quiet.err
    assert quiet.status == done.status


@pytest.mark.usefixtures("loaded")
def test_machines_that_read_cases_are_told(changed: Path, hati_here: Hati) -> None:
    done = hati_here(*VERBS["check"], "--format", "junit", "--report", f"github={changed}.github")
    [warned] = ElementTree.fromstring(done.out.encode()).iter("system-err")
    assert WARNING in (warned.text or "")
    last = Path(f"{changed}.github").read_text().splitlines()[-1]
    assert last.startswith("::warning title=hati check::")
    assert "were disturbed by other programs" in last


@pytest.mark.usefixtures("loaded")
def test_a_violated_limit_on_wall_time_proposes_cpu_time(tmp_path: Path, hati_here: Hati) -> None:
    (tmp_path / "hati.toml").write_text(
        '[subject]\nname = "s"\n\n[[benchmark]]\nname = "wait"\ncommand = ["sleep", "0.001"]\nreader = "process"\n'
        'metric = [{ name = "wall_time", unit = "s" }, { name = "cpu_time", unit = "s" }]\n'
    )
    measured, done = (hati_here("assert", "--formula", "wall_time of wait() <= 10 us") for _ in range(2))
    assert measured.status == 1, measured.err
    assert done.status == 1, done.err
    assert "which wall time includes; cpu(wait) <= 10 us limits CPU time instead" in " ".join(done.out.split())


@pytest.mark.usefixtures("loaded")
def test_a_report_reads_the_runs_of_its_study_once(
    changed: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hati_here(*VERBS["check"]).status == 1
    [study] = hati_here("studies", "--format", "json").json
    read, runs = list[str | None](), SqlStore.runs

    def noted(store: SqlStore, selection: Selection) -> tuple[Run, ...]:
        read.append(selection.study)
        return runs(store, selection)

    monkeypatch.setattr(SqlStore, "runs", noted)
    done = hati_here("report", "--study", study["study"])
    assert WARNING in " ".join(done.out.split())
    assert read.count(study["study"]) == 1
