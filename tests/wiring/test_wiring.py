"""Studies made to run here: which campaign is resumed, which is new, what is concluded from the store."""

from __future__ import annotations

import json
import shutil
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from hati.core import InputError, MeasurementError, Revision, RevisionKind, Run, generator
from hati.design import run_order
from hati.studies.screening import AnyChoice, Screening, designs_of, read_choice, stored_choice
from hati.subject import Revisions
from hati.wiring import conclude_stored, prepare_screening, workplace
from hati.wiring.comparing import _thinned
from hati.wiring.kinds.screening import ScreeningRequest
from hati.wiring.screening import campaign as choosing
from hati.wiring.screening.campaign import ScreeningCampaign
from hati.wiring.screening.reporting import known_of

PROJECT = """\
[subject]
name = "s"
[[benchmark]]
name = "b"
command = ["sh", "subject.sh", "{a}", "{b}", "{c}"]
reader = "hati"
[[benchmark.metric]]
name = "m"
unit = "ms"
""" + "".join(f"[options.{name}]\nsettings = [1, 2]\n" for name in "abc")
SUBJECT = 'echo "{\\"metric\\": \\"m\\", \\"value\\": $1.$2$3}"\n'
REQUEST = ScreeningRequest(metric="m", budget="16", seed=1)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "hati.toml").write_text(PROJECT)
    (tmp_path / "subject.sh").write_text(SUBJECT)
    return tmp_path


@pytest.mark.parametrize("store", ["runs.sqlite", "sqlite:///{}/runs.sqlite", "kept/runs.sqlite"])
def test_a_store_in_the_folder_is_no_part_of_what_is_measured(
    store: str, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = workplace(project, "sqlite://").revision
    monkeypatch.chdir(project)
    (project / "kept").mkdir()
    name = store.format(project)
    place = workplace(project, name)
    assert place.revision == before
    prepared = prepare_screening(place, REQUEST, fresh=False)
    prepared.make()
    assert workplace(project, name).revision == before
    assert workplace(project, None).revision == before
    assert prepare_screening(workplace(project, name), REQUEST, fresh=False).finished


def test_a_store_beside_the_project_in_its_repository_is_no_part_of_what_is_measured(project: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("needs git: apt-get install git")
    subprocess.run(["git", "init", "-q", str(project)], check=True)
    inner = project / "sub"
    inner.mkdir()
    for name in ("hati.toml", "subject.sh"):
        (project / name).rename(inner / name)
    before = Revisions(inner).find(".").id
    place = workplace(inner, str(project / "runs.sqlite"))
    assert (project / "runs.sqlite").exists()
    assert place.revisions().find(".").id == before


def test_a_store_elsewhere_leaves_the_project_as_it_is(project: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    workplace(project, str(tmp_path_factory.mktemp("elsewhere") / "runs.sqlite"))
    assert not (project / ".hati").exists()


class StopError(Exception):
    """Stands for whatever may end a campaign."""


def test_an_interrupted_campaign_is_resumed_and_a_finished_one_taken_as_it_is(project: Path) -> None:
    seen: list[Run] = []

    def stop_at_seven(run: Run, *_: object) -> None:
        seen.append(run)
        if len(seen) == 7:
            raise StopError

    place = workplace(project, None)
    prepared = prepare_screening(place, REQUEST, fresh=False)
    with pytest.raises(StopError):
        prepared.make(observe=stop_at_seven)
    again = prepare_screening(place, REQUEST, fresh=False)
    assert again.id == prepared.id
    assert not again.finished
    assert len(again.planned().plan) == 9
    conclusion = again.make(observe=lambda run, *_: seen.append(run))
    assert len({run.task.id for run in seen}) == len(seen) == 16
    assert conclusion.ranking[0] == "a"
    last = prepare_screening(place, REQUEST, fresh=False)
    assert last.finished
    assert last.make(observe=lambda *_: pytest.fail("it measured again")) == conclusion
    assert prepare_screening(place, REQUEST, fresh=True).id.campaign == 2


def test_the_order_of_runs_is_chosen_among_several_and_that_of_earlier_versions_stays(project: Path) -> None:
    def stop(*_: object) -> None:
        raise StopError

    place = workplace(project, None)
    prepared = prepare_screening(place, REQUEST, fresh=False)
    with pytest.raises(StopError):
        prepared.make(observe=stop)
    fields = json.loads(place.store.choice(prepared.id) or "")
    assert fields.pop("orders") == 100
    now = prepare_screening(place, REQUEST, fresh=False)
    place.store.change_choice(prepared.id, lambda _: json.dumps(fields))
    then = prepare_screening(place, REQUEST, fresh=False)
    assert now.choice is not None
    assert then.choice is not None
    assert (now.choice.orders, then.choice.orders) == (100, 0)
    assert now.id == then.id
    assert now.study.tasks != then.study.tasks
    order = run_order(8, 2, generator(1, "order"))
    assert [task.configuration for task in then.study.tasks] == [then.study.configurations[row] for row in order]


def test_what_measured_nothing_is_tried_anew(project: Path) -> None:
    (project / "subject.sh").write_text("exit 1\n")
    place = workplace(project, None)
    prepared = prepare_screening(place, REQUEST, fresh=False)
    with pytest.raises(MeasurementError):
        prepared.make()
    assert prepare_screening(place, REQUEST, fresh=False).id.campaign == 2


@pytest.mark.acceptance
def test_a_time_budget_pays_for_pilots_and_keeps_its_choice(project: Path) -> None:
    place, request = workplace(project, None), ScreeningRequest(metric="m", budget="5s", seed=1)
    said: list[str] = []
    prepared = prepare_screening(place, request, fresh=False)
    assert "pilot" in prepared.planned().reason
    conclusion = prepared.make(said.append)
    assert any("pilot" in text for text in said)
    again = prepare_screening(place, request, fresh=False)
    assert again.choice is not None
    assert again.choice.configurations == conclusion.design.configurations


def test_of_two_machines_that_choose_a_design_at_the_same_time_the_first_decides(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place, request = workplace(project, None), ScreeningRequest(metric="m", budget="5s", seed=1)
    first: list[str] = []

    def late(prepared: ScreeningCampaign, _: object) -> AnyChoice:
        first.append(stored_choice(prepared.chosen(16), prepared.isolated, "m"))
        place.store.keep_choice(prepared.id, first[0])
        return prepared.chosen(24)

    monkeypatch.setattr(choosing, "_design", late)
    said: list[str] = []
    prepare_screening(place, request, fresh=False).make(said.append)
    [record] = place.store.studies()
    assert record.choice == first[0]
    design = prepare_screening(place, request, fresh=False).study.tasks
    made = [run.task.id for run in place.store.evidence(record.id).stage("design").runs]
    assert set(made) <= {task.id for task in design}
    assert any(read_choice(first[0]).reason in text for text in said)


def test_a_design_that_another_machine_chose_meanwhile_is_taken(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, request = workplace(project, None), ScreeningRequest(metric="m", budget="5s", seed=1)

    def other(_run: Run, *_: object) -> None:
        [record] = place.store.studies()
        prepared = prepare_screening(place, request, fresh=False)
        if record.choice is None:
            place.store.keep_choice(record.id, stored_choice(prepared.chosen(16), prepared.isolated, "m"))

    monkeypatch.setattr(choosing, "_design", lambda *_: pytest.fail("it chose another one"))
    conclusion = prepare_screening(place, request, fresh=False).make(observe=other)
    assert conclusion.ranking


def test_what_an_interim_look_plans_is_stored_before_it_is_run(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head, _ = PROJECT.split("[options.a]")
    (project / "hati.toml").write_text(head + "".join(f"[options.{name}]\nsettings = [1, 2]\n" for name in "abcdefgh"))
    (project / "subject.sh").write_text('echo "{\\"metric\\": \\"m\\", \\"value\\": $(($1 * $1 * 900 + $2))}"\n')
    place, request = workplace(project, None), ScreeningRequest(metric="m", budget="64", seed=1)

    def killed(sentence: str) -> None:
        if sentence.startswith("a explains "):
            raise StopError

    with pytest.raises(StopError):
        prepare_screening(place, request, fresh=False).make(killed)
    [record] = place.store.studies()
    planned = designs_of(record.choice)
    assert len(planned) == 1
    assert len(place.store.evidence(record.id).runs) == 16
    monkeypatch.setattr(
        "hati.studies.screening.dominance.choose_optimal", lambda *_, **__: pytest.fail("it searched again")
    )
    prepare_screening(place, request, fresh=False).make()
    [record] = place.store.studies()
    assert designs_of(record.choice) == planned
    assert prepare_screening(place, request, fresh=False).finished


def test_a_stored_study_is_concluded_for_the_same_options_only(project: Path) -> None:
    with pytest.raises(InputError, match="no study to report"):
        conclude_stored(workplace(project, None), None)
    place = workplace(project, None)
    conclusion = prepare_screening(place, REQUEST, fresh=False).make()
    assert conclude_stored(place, None) == conclusion
    assert conclude_stored(place, conclusion.study) == conclusion
    with pytest.raises(InputError, match="lists them"):
        conclude_stored(place, "screening-none-1")
    (project / "hati.toml").write_text(
        PROJECT.replace("[options.c]\nsettings = [1, 2]", "[options.c]\nsettings = [1, 3]")
    )
    with pytest.raises(InputError, match="are not those of"):
        conclude_stored(workplace(project, None), conclusion.study)


def test_what_a_report_concludes_is_known_to_the_next_study(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = workplace(project, None)
    prepare_screening(place, REQUEST, fresh=False).make()
    shutil.rmtree(project / ".hati" / "conclusions")
    conclusion = conclude_stored(place, None)
    monkeypatch.setattr(Screening, "conclude", lambda *_: pytest.fail("it was concluded again"))
    known = known_of(place, conclusion)
    assert known is not None
    assert known.important is not None
    assert known.important.value.options == conclusion.influential


def test_of_a_line_the_last_of_each_day_is_taken_in_the_lines_order() -> None:
    days = {"a": 1, "b": 2, "c": 1, "d": 3, "e": 3}  # clocks of two machines
    line = [
        Revision(name, RevisionKind.GIT, made=datetime(2026, 3, day, hour, tzinfo=UTC))
        for hour, (name, day) in enumerate(days.items())
    ]
    assert [revision.id for revision in _thinned(line, "day")] == ["b", "c", "e"]
    assert [revision.id for revision in _thinned(line, "3")] == ["a", "b", "e"]
