"""The verbs that plan from a screening read what it found when it ended, and do not analyse its runs again."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from gate_projects import Evolving, evolving

from hati.core import Evidence
from hati.studies.screening import Screening, ScreeningConclusion, dominance

if TYPE_CHECKING:
    from conftest import Hati


@pytest.fixture
def screened(tmp_path: Path, hati_here: Hati) -> Evolving:
    """A repository whose newest commit is screened."""
    made = evolving(tmp_path)
    made.commit(with_a=60)
    made.commit(with_a=70)
    done = hati_here("screen", "--budget", "32")
    assert done.status == 0, done.err
    return made


@pytest.fixture
def analysed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The screenings that are concluded from now on."""
    made: list[str] = []
    conclude = Screening.conclude

    def counted(study: Screening, evidence: Evidence) -> ScreeningConclusion:
        made.append(study.metric.name)
        return conclude(study, evidence)

    monkeypatch.setattr(Screening, "conclude", counted)
    return made


def test_the_first_check_suite_and_validation_analyse_nothing(
    screened: Evolving, analysed: list[str], hati_here: Hati
) -> None:
    del screened
    for words in (("check", "HEAD", "--reference", "HEAD~1"), ("suite", "--runs", "4"), ("validate", "--budget", "8")):
        done = hati_here(*words, "--dry-run")
        assert done.status == 0, done.err
    assert analysed == []
    assert hati_here("report").status == 0
    assert analysed == ["latency"]


def test_another_relevant_size_is_analysed(screened: Evolving, analysed: list[str], hati_here: Hati) -> None:
    del screened
    assert hati_here("validate", "--relevant", "2%", "--budget", "8", "--dry-run").status == 0
    assert analysed


def test_another_definition_is_analysed(screened: Evolving, analysed: list[str], hati_here: Hati) -> None:
    words = ("check", "HEAD", "--reference", "HEAD~1", "--dry-run")
    project = screened.project / "hati.toml"
    project.write_text(
        project.read_text().replace("\n\n[[benchmark.metric]]", '\ntimeout = "30s"\n\n[[benchmark.metric]]')
    )
    assert hati_here(*words).status == 0
    assert analysed == ["latency"]
    assert hati_here(*words).status == 0
    assert analysed == ["latency"]


def validated(hati: Hati) -> list[dict[str, str]]:
    """The configurations that a validation runs."""
    tasks = hati("validate", "--dry-run", "--budget", "8", "--format", "json").json["tasks"]
    return [{name: setting for name, setting in task.items() if name != "task"} for task in tasks]


def test_the_design_that_an_interim_look_planned_is_not_searched_for_again(
    tmp_path: Path, hati_here: Hati, monkeypatch: pytest.MonkeyPatch
) -> None:
    more = "".join(f'\n[options.more{place}]\nsettings = ["off", "on"]\n' for place in range(8))
    made = evolving(tmp_path, extra=more)
    made.commit(with_a=2500)
    assert hati_here("screen", "--budget", "40").status == 0
    before = [hati_here("report", "--format", "json").json["effects"], validated(hati_here)]
    dominance._rest.cache_clear()
    shutil.rmtree(made.project / ".hati" / "conclusions")

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("searched again")

    monkeypatch.setattr(dominance, "choose_optimal", refused)
    assert hati_here("report", "--format", "json").json["effects"] == before[0]
    assert validated(hati_here) == before[1]
