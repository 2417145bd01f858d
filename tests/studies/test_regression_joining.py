"""Handovers between machines: where they are, and what replays make of them."""

from __future__ import annotations

import numpy as np
import pytest
from test_replay_study import LINE, flat, made, place, replay

from hati.core import Evidence, Metric, Run, replace
from hati.stats import Bridge
from hati.studies.regression import Series, SeriesBridge, histories, history
from hati.studies.regression.joining import handover_places
from hati.studies.replay import Replayed, ReplayOrder
from hati.testing import MemoryStore

NAMES = (("a",), ("b",), ("a", "b"))


def series(machines: str, bridges: tuple[int, ...] = (), level: float = 10.0) -> Series:
    """One value each of machines by their letters, ``x`` being both; ``b`` takes 20 % longer."""
    codes = np.array(["abx".index(letter) for letter in machines], dtype=np.intp)
    values = level * np.exp(0.01 * np.random.default_rng(1).standard_normal(len(codes))) * np.where(codes, 1.2, 1.0)
    known = tuple(
        SeriesBridge(index, ("a", "b"), Bridge(float(np.log(1.2)) + 0.005 * (index % 3), 1e-4, 4.0, (3, 3)))
        for index in bridges
    )
    names = tuple(f"r{number:02}" for number in range(len(codes)))
    ones = np.ones(len(codes), dtype=np.intp)
    return Series("", Metric("time", "s"), names, values, codes, ones, machine_names=NAMES, bridges=known)


@pytest.mark.parametrize(
    ("machines", "found"),
    [
        ("a" * 10, []),
        ("ab" * 10, []),
        ("aaaaabbbbb", [(4, 5)]),
        ("aaaxxxbbbb", [(2, 6)]),
        ("xaaaaaabbbbx", [(6, 7)]),
        ("aaaaabbbbbaa", []),
    ],
)
def test_places_where_no_machine_is_on_both_sides(machines: str, found: list[tuple[int, int]]) -> None:
    assert [(each.last, each.index) for each in handover_places(series(machines))] == found


def test_values_below_zero_are_not_joined() -> None:
    (found,) = history(series("aaaaaxxxbbbbb", (5, 6, 7), level=-10.0)).handovers
    assert (found.change, found.p_value) == (None, None)


def test_the_order_of_a_bridge_s_machines_does_not_matter() -> None:
    one = series("aaaaaxxxbbbbb", (5, 6, 7))
    other = replace(one, bridges=tuple(each.reversed for each in one.bridges))
    assert history(one).handovers[0].change == pytest.approx(history(other).handovers[0].change, rel=1e-12)


def continued(order: ReplayOrder, change: float, on_other: set[int], both: set[int]) -> Replayed:
    """A replay that another machine, 20 % slower, goes on with: at some places alone, at some after one run."""
    study, store = replay(order), MemoryStore()
    made(study, lambda at, own: flat(at, own) * (change if at >= 10 else 1.0), store=store)

    def moved(run: Run) -> Run:
        at = place(run.task)
        if at not in on_other and not (at in both and run.task.repetition > 0):
            return run
        (observed,) = run.observations
        return replace(run, machine="other", observations=(replace(observed, values=1.2 * observed.values),))

    return study.conclude(Evidence(tuple(map(moved, store.evidence(study.id).runs))))


def test_a_replay_that_another_machine_continues_is_joined() -> None:
    found = continued(ReplayOrder.NEWEST, 1.1, set(range(10, 20)), {4, 5, 6, 7, 8, 9})
    concluded = histories(found.series)
    assert {(each.position, each.bridges) for one in concluded for each in one.change_points} == {("r10", 6)}
    (handover,) = concluded[0].handovers
    assert handover.ratio == pytest.approx(1.2, rel=0.03)


def test_a_replay_on_two_machines_has_no_change_of_machine_where_all_share() -> None:
    found = continued(ReplayOrder.INTERLEAVED, 1.1, set(), set(range(len(LINE))))
    for one in histories(found.series):
        assert [each.position for each in one.change_points] == ["r10"]
        assert one.handovers == ()
        assert one.machines == 2
