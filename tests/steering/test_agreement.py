"""When machines agree on a task, and how many have to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hati.core import InputError, Outcome, replace
from hati.steering import MachineReport, Requirements, agree, most_reports, quorum_of, report_of, reports_needed
from hati.steering.agreement import TOLERANCE, TRUSTED_AFTER
from hati.testing.conformance import a_run, a_study

reports = st.lists(
    st.builds(
        MachineReport,
        st.just("m"),
        st.sampled_from(["pc", "phone"]),
        st.sampled_from(["done", "failed"]),
        st.tuples(st.sampled_from([1.0, 1.5, 3.0, 9.0])),
    ),
    max_size=7,
).map(lambda found: [replace(each, machine=f"m{number}") for number, each in enumerate(found)])


@given(reports, st.integers(1, 4))
def test_what_counts_has_enough_machines_and_is_the_first(found: list[MachineReport], needed: int) -> None:
    alike = [sum(agree(one, other) for other in found) for one in found]
    agreement = quorum_of(found, needed)
    if agreement is None:
        assert max(alike, default=0) < needed
        return
    assert alike[agreement.counts] == len(agreement.agreed) >= needed
    assert all(number < needed for number in alike[: agreement.counts])
    assert {*agreement.agreed, *agreement.outliers} == {each.machine for each in found}


@given(reports)
def test_agreement_is_mutual(found: list[MachineReport]) -> None:
    for one in found:
        assert agree(one, one)
        assert all(agree(one, other) == agree(other, one) for other in found)


@pytest.mark.parametrize(
    ("one", "other", "same", "expected"),
    [
        (1.0, TOLERANCE, True, True),
        (1.0, 1.01 * TOLERANCE, True, False),
        (1.0, 1.01 * TOLERANCE, False, True),
        (0.0, 0.0, True, True),
        (0.0, 1.0, True, False),
        (-1.0, 1.0, True, False),
    ],
)
def test_levels_are_compared_within_a_class(one: float, other: float, same: bool, expected: bool) -> None:
    first = MachineReport("a", "pc", "f", (one,))
    assert agree(first, MachineReport("b", "pc" if same else "phone", "f", (other,))) is expected


def test_the_function_of_a_run_is_not_its_speed() -> None:
    run = a_run(a_study())
    slow = replace(run, seconds=9.0, observations=tuple(replace(o, values=3 * o.values) for o in run.observations))
    failed = a_run(a_study(), outcome=Outcome.FAILED)
    longer = replace(run, observations=tuple(replace(o, values=np.tile(o.values, 2)) for o in run.observations))
    functions = [report_of("m", "pc", each).function for each in (run, slow, failed, longer)]
    assert functions[0] == functions[1]
    assert len(set(functions)) == 3


@pytest.mark.parametrize("agreements", [0, TRUSTED_AFTER - 1, TRUSTED_AFTER, 40])
def test_a_machine_is_sampled_less_the_more_it_agreed(agreements: int) -> None:
    draws = [(place + 0.5) / 1000 for place in range(1000)]
    alone = sum(reports_needed(3, agreements, draw) == 1 for draw in draws) / len(draws)
    assert alone == pytest.approx(1 - 1 / agreements if agreements >= TRUSTED_AFTER else 0.0, abs=1e-3)
    assert {reports_needed(3, agreements, draw) for draw in draws} <= {1, 3}
    assert most_reports(3) > 3


def test_one_machine_or_more_have_to_agree() -> None:
    with pytest.raises(InputError, match="below 1"):
        Requirements(replicas=0)
