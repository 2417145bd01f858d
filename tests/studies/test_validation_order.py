"""The order of a validation's runs: its own for each validation and campaign, and no condition of a resumed one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest
from test_validation_augmenting import augmenting
from test_validation_confirming import confirming
from test_validation_confirming import screened as screened_by_model
from test_validation_study import EFFECTS, MAINS, measure, screened, validation

from hati.campaign import campaign
from hati.core import Budget, Evidence, Task, replace
from hati.studies.validation import Augmenting, Confirming, Mode, Validation
from hati.testing import FakeEngine, MemoryStore

AnyValidation = Validation | Confirming | Augmenting


@cache
def confirmation() -> Confirming:
    return confirming("nested", screened_by_model("nested", 40, 0.0, np.random.default_rng(1)), budget=12)


@cache
def augmentation() -> Augmenting:
    return augmenting(screened(EFFECTS, (*MAINS, ("a", "b"))), Mode.DEALIAS, order=2, budget=16)


@cache
def discrimination() -> Validation:
    """Several models fit the runs, so that the first follow-up distinguishes them."""
    return validation(screened(EFFECTS, (*MAINS, ("a", "b"))))


@cache
def settling() -> Validation:
    """One model fits the runs, without an important effect, which the first follow-up settles."""
    return validation(screened({"a": 0.3}, (("a",), ("b",))))


Made = Callable[[], AnyValidation]
KINDS = pytest.mark.parametrize("made", [confirmation, augmentation, discrimination, settling])


def planned(study: AnyValidation) -> tuple[Task, ...]:
    """The tasks of the first stage, with those that wait until a first run has worked."""
    first = study.plan(Evidence()).tasks[:1]
    return first + study.plan(Evidence(tuple(FakeEngine(measure(EFFECTS)).run(first)))).tasks


@KINDS
def test_validations_with_one_seed_and_campaigns_of_one_have_their_own_orders_of_the_same_runs(made: Made) -> None:
    study = made()
    another = replace(study, id=replace(study.id, parameters='{"screening":"another"}'))
    repeated = (replace(study, id=study.id.numbered(number)) for number in (2, 3, 4))
    orders = [[(t.configuration, t.repetition) for t in planned(each)] for each in (study, another, *repeated)]
    assert len(set(map(tuple, orders))) == 5
    assert all(sorted(map(str, each)) == sorted(map(str, orders[0])) for each in orders)


@KINDS
def test_an_order_does_not_depend_on_the_token_of_its_campaign(made: Made) -> None:
    study = made()
    begun = replace(study, id=study.id.numbered(1, "0a1b"))
    assert [t.configuration for t in planned(begun)] == [t.configuration for t in planned(study)]


@KINDS
def test_a_validation_that_was_begun_in_another_order_runs_what_is_left(made: Made) -> None:
    """Earlier versions drew the order from the seed alone: the runs are the same."""
    study = made()
    uninterrupted = campaign(study, FakeEngine(measure(EFFECTS)), MemoryStore(), Budget(runs=study.budget))
    rest, store = FakeEngine(measure(EFFECTS)), MemoryStore()
    begun = tuple(reversed(planned(study)))[:3]
    for run in FakeEngine(measure(EFFECTS)).run(begun):
        store.record(run)
    found = campaign(study, rest, store, Budget(runs=study.budget))
    assert len({*begun, *rest.tasks}) == len(begun) + len(rest.tasks) == uninterrupted.done == found.done
    assert found.rounds == uninterrupted.rounds
