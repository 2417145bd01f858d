"""What the table of an experiment says of its start."""

from __future__ import annotations

import pytest

from hati.generate import MachineClock
from hati.generate.observations import LoadObservations, load_run_json, load_run_table

CLOCK = {"there": MachineClock(offset=5, uncertainty=70_530)}


@pytest.mark.parametrize(
    ("late", "note"),
    [
        ({"a": 1_600, "b": 2_000}, "Machine there: it began at the same time, within 70.53 µs."),
        (
            {"a": 1_600, "b": 601_000_000},
            "No common start: b began 601 ms late; the clocks are known within 70.53 µs.",
        ),
        (
            {"a": 100_000, "b": 200_000},
            "No common start: a began 100 µs late, b began 200 µs late; the clocks are known within 70.53 µs.",
        ),
        ({}, None),
    ],
)
def test_a_start_is_common_within_the_error_of_the_clocks_alone(late: dict[str, int], note: str | None) -> None:
    found = load_run_json("Start", "folder", LoadObservations((), machines=CLOCK, late=late), "")
    assert found.late == late
    *notes, _ = load_run_table(found).notes
    assert notes == ([] if note is None else [note])


def test_on_one_machine_nothing_is_said_of_clocks() -> None:
    found = load_run_json("Start", "folder", LoadObservations((), late={"a": 1_000_000}), "")
    assert len(load_run_table(found).notes) == 1
