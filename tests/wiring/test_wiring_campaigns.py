"""Which campaign is gone on with, and which is new."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from hati.core import Budget, Evidence, MeasurementError, Outcome, Plan, StudyId
from hati.store import open_store
from hati.testing.conformance import MACHINE, METRICS, a_run, a_study
from hati.wiring import campaigns as wiring
from hati.wiring.campaigns import all_failed, campaign_of, never
from hati.wiring.workplace import Workplace


@dataclass(frozen=True)
class Campaign:
    """One that is finished where its token says so."""

    id: StudyId

    @property
    def finished(self) -> bool:
        return self.id.token.startswith("finished")


def over(campaign: Campaign) -> bool:
    return campaign.finished


@pytest.fixture
def place(tmp_path: Path) -> Workplace:
    return Workplace(
        cast("Any", SimpleNamespace(name="subject", engine="local")), open_store(str(tmp_path / "store")), MACHINE, "r1"
    )


def begin(place: Workplace, *studies: StudyId) -> None:
    for study in studies:
        place.store.begin(study, METRICS, MACHINE)


def test_every_new_campaign_has_a_token_of_its_own_and_keeps_it(place: Workplace) -> None:
    made = [campaign_of(place, a_study(), Campaign, never, fresh=False).id for _ in range(20)]
    assert {study.campaign for study in made} == {1}
    assert len({study.token for study in made}) == len({study.key for study in made}) == 20
    begin(place, made[0])
    assert campaign_of(place, a_study(), Campaign, never, fresh=False).id == made[0]
    fresh = campaign_of(place, a_study(), Campaign, never, fresh=True).id
    assert (fresh.campaign, fresh.token != made[0].token) == (2, True)


def test_of_campaigns_with_one_number_an_unfinished_one_is_gone_on_with(place: Workplace) -> None:
    begin(place, a_study(1, token="lower"), a_study(2, token="a"), a_study(2, token="finished"))
    for which in (over, never):
        assert campaign_of(place, a_study(), Campaign, which, fresh=False).id == a_study(2, token="a")
    assert campaign_of(place, a_study(), Campaign, never, fresh=True).id.campaign == 3


def test_of_unfinished_ones_that_with_most_runs_is_gone_on_with(place: Workplace) -> None:
    begin(place, a_study(token="longer"), a_study(token="empty"))
    place.store.record(a_run(a_study(token="longer")))
    assert campaign_of(place, a_study(), Campaign, never, fresh=False).id == a_study(token="longer")


def test_of_finished_ones_the_last_is_taken_or_a_new_one_is_made(place: Workplace) -> None:
    begin(place, a_study(token="finished b"), a_study(token="finished a"))
    assert campaign_of(place, a_study(), Campaign, never, fresh=False).id == a_study(token="finished a")
    assert campaign_of(place, a_study(), Campaign, over, fresh=False).id.campaign == 2


def test_what_is_looked_up_has_no_token(place: Workplace) -> None:
    table = Workplace(place.project, place.store, MACHINE, "r1", cast("Any", object()))
    assert campaign_of(table, a_study(), Campaign, never, fresh=False).id == a_study()


class Nothing:
    """A study that plans no run, and has a conclusion or none."""

    def __init__(self, study: StudyId, concluded: str) -> None:
        self.id, self._concluded = study, concluded

    def plan(self, known: Evidence) -> Plan:
        return Plan()

    def conclude(self, known: Evidence) -> str:
        if not self._concluded:
            raise MeasurementError("nothing was measured")
        return self._concluded


def made_of(place: Workplace, concluded: str, kept: str = "") -> wiring.Campaign[Any, str]:
    return wiring.Campaign(place, cast("Any", Nothing(a_study(), concluded)), Budget(), (), str, Plan, kept)


def test_a_campaign_without_a_conclusion_leaves_nothing_in_the_store(place: Workplace) -> None:
    with pytest.raises(MeasurementError):
        made_of(place, "").make()
    assert place.store.latest(a_study()) == ()


def test_a_campaign_that_needs_no_run_is_kept_with_its_choice(place: Workplace) -> None:
    assert made_of(place, "same", kept="{}").make() == "same"
    (record,) = place.store.latest(a_study())
    assert (record.id, place.store.evidence(record.id).runs) == (a_study(), ())
    assert not all_failed(made_of(place, "same"))


def test_a_campaign_whose_runs_all_failed_is_over(place: Workplace) -> None:
    begin(place, a_study())
    place.store.record(a_run(a_study(), outcome=Outcome.FAILED))
    assert all_failed(made_of(place, "same"))
    place.store.record(a_run(a_study(), 1))
    assert not all_failed(made_of(place, "same"))
