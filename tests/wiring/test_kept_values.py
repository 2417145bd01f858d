"""What is computed from stored runs is kept until what it is computed from changes."""

from __future__ import annotations

import math
from pathlib import Path

from hati.core import Evidence, Outcome, StudyId, replace
from hati.testing.conformance import a_run
from hati.wiring.screening.concluding import inputs_of, kept

STUDY = StudyId("screening", "{}", 1, "here")


def computed(file: Path, *inputs: str, value: float = 1.5) -> tuple[float, int]:
    """The value that is found, and how often it was computed for that."""
    calls: list[float] = []

    def compute() -> float:
        calls.append(value)
        return value

    return kept(file, float, inputs, compute), len(calls)


def test_it_is_computed_once(tmp_path: Path) -> None:
    file = tmp_path / "important" / "one"
    assert computed(file, "a", value=math.inf) == (math.inf, 1)
    assert computed(file, "a") == (math.inf, 0)


def test_other_inputs_compute_it_again(tmp_path: Path) -> None:
    file = tmp_path / "one"
    computed(file, "a", "b")
    assert computed(file, "ab", "", value=2.5) == (2.5, 1)


def test_a_file_that_is_broken_or_cannot_be_written_only_takes_longer(tmp_path: Path) -> None:
    file = tmp_path / "one"
    computed(file, "a")
    file.write_bytes(file.read_bytes()[:-1])
    assert computed(file, "a") == (1.5, 1)
    assert computed(tmp_path / "none" / "at" / "all", "a") == (1.5, 1)
    assert [each.name for each in tmp_path.iterdir()] == ["one"]


def test_a_run_more_or_another_value_is_another_input() -> None:
    one, other = a_run(STUDY), a_run(STUDY, repetition=1)
    observed, *others = one.observations
    longer = replace(one, observations=(replace(observed, values=observed.values + 1.0), *others))
    failed = a_run(STUDY, outcome=Outcome.FAILED)
    found = {inputs_of(Evidence(runs)) for runs in [(one,), (one, other), (other, one), (longer,), (failed,)]}
    assert len(found) == 5
    assert inputs_of(Evidence((a_run(STUDY),))) == inputs_of(Evidence((replace(one),)))
