"""How often gates err, and what they find, by simulation; with early stopping on.

``python -m benchmarks.gating`` simulates 400 checks a row. Here they end when the rate is clear: checks that keep
their level are refused in 1 %, and those that alarm in 7 % at a level of 1 %, or in 15 % at 5 %, in 95 %; changes that
are found in 95 % are called missed in 1 %, and those found in 85 % in 95 %.
"""

from __future__ import annotations

from itertools import product

import pytest
from benchmarks.comparing import FILE
from benchmarks.gating import CHANGES, NOISES, NONE, NORMAL, Case, Change, ForkCase, decided, of_forks, simulated
from benchmarks.sequential import Kept, keeps

from hati.campaign import campaign
from hati.studies.comparison import ChangeVerdict
from hati.testing import MemoryStore

pytestmark = pytest.mark.statistical

MOST = 300


def alarms(noise: str, alpha: float, too_high: float) -> Kept:
    """Whether checks of what did not change keep their level."""
    found = (decided((Case(noise, NONE, alpha), seed)).alarmed for seed in range(MOST))
    return keeps(found, alpha, too_high)


@pytest.mark.acceptance
@pytest.mark.parametrize(("alpha", "too_high"), [(0.01, 0.07), (0.05, 0.15)])
def test_checks_of_what_did_not_change_alarm_no_more_often_than_they_say(alpha: float, too_high: float) -> None:
    found = alarms(NORMAL, alpha, too_high)
    assert found.held, found


@pytest.mark.acceptance
@pytest.mark.parametrize("noise", [name for name in NOISES if name != NORMAL])
def test_neither_do_they_where_noise_is_of_other_kinds(noise: str) -> None:
    found = alarms(noise, 0.05, 0.15)
    assert found.held, found


@pytest.mark.acceptance
@pytest.mark.skipif(not FILE.is_file(), reason="HATI_DATA names no folder with the measured data sets")
@pytest.mark.parametrize("cells", [1, 8])
def test_neither_do_they_on_forks_of_one_build(cells: int) -> None:
    found = keeps((of_forks((ForkCase(cells, 1.0, 0.05), seed)).alarmed for seed in range(MOST)), 0.05, 0.15)
    assert found.held, found


@pytest.mark.acceptance
@pytest.mark.parametrize("change", [change for change in CHANGES if change.promised], ids=lambda change: change.name)
def test_what_checks_find(change: Change) -> None:
    case = Case(NORMAL, change, 0.01)
    missed = (decided((case, seed)).verdict is not ChangeVerdict.SLOWER for seed in range(MOST))
    found = keeps(missed, 0.05, 0.15)
    assert found.held, found


@pytest.mark.parametrize(("noise", "change"), [*product([NORMAL, "bimodal"], [NONE, CHANGES[1]])])
def test_verdicts_are_those_of_the_report(noise: str, change: Change) -> None:
    """The simulation leaves out what a report adds to its verdicts."""
    case = Case(noise, change, 0.01)
    gate, engine = simulated(case, 3)
    report = campaign(gate, engine, MemoryStore(), gate.budget)
    rows = (*report.rows, *(each.comparison for each in report.strata))
    found = decided((case, 3))
    assert (found.verdict, found.rounds) == (report.verdict, report.explored)
    assert sorted(found.groups) == sorted(row.change.verdict for row in rows)
