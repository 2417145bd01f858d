"""What a screening found is kept when it ends, and read by the verbs that plan from it."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
from simulated_subject import BENCHMARK, LATENCY, space

from hati.core import Evidence, StudyId, Task, generator, replace
from hati.space import Option, Space
from hati.studies.screening import ModelScreening, choose_followed, screening
from hati.studies.screening.warnings import Remedies
from hati.testing import FakeEngine, MemoryStore
from hati.wiring.screening import concluding
from hati.wiring.screening.concluding import inputs_of, kept

LEVELS = Space((*space(4).options, Option("level", (1.0, 2.0, 5.5, 7.0), default=1.0)))


def study(place: Space, runs: int) -> ModelScreening:
    made = screening(
        study=StudyId.of("screening", {}, 1, "fake"),
        subject="s",
        benchmark=BENCHMARK,
        metric=LATENCY,
        revision="1",
        space=place,
        choice=choose_followed(place, runs, generator(1, "design"), ()),
    )
    assert isinstance(made, ModelScreening)
    return made


def observed(task: Task) -> list[float]:
    rng = generator(5, task.id)
    size = (1.4 if task.configuration["a"] else 1.0) * (1.2 if task.configuration.get("level") == 5.5 else 1.0)
    return [size * math.exp(0.02 * float(each)) for each in rng.standard_normal(3)]


def measured(made: ModelScreening) -> Evidence:
    store = MemoryStore()
    while ahead := made.plan(store.evidence(made.id)):
        for place, run in enumerate(FakeEngine(lambda task: {"latency": observed(task)}).run(ahead.tasks)):
            store.record(replace(run, machine="ab"[place % 2]))
    return store.evidence(made.id)


@pytest.mark.parametrize("place", [space(6), LEVELS], ids=["two settings", "several"])
def test_a_conclusion_is_read_as_it_was_kept(place: Space, tmp_path: Path) -> None:
    made = study(place, 48)
    found = made.conclude(measured(made))
    assert found.dispersion is not None
    assert found.machine_blocks is not None
    file = tmp_path / "one"
    kept(file, type(found), ("a",), lambda: found)
    read = kept(file, type(found), ("a",), made.conclude)  # type: ignore[arg-type]  # it is not called
    assert read == found
    assert repr(read) == repr(found)
    assert file.stat().st_size > 1000


def test_advice_changes_warnings_alone() -> None:
    made = study(space(6), 48)
    runs = Evidence(measured(made).runs[:30])
    other = replace(made, remedies=Remedies(unmade="nothing helps", rest="", more="no more", lost="lost"))
    one, another = made.conclude(runs), other.conclude(runs)
    assert one.warnings != another.warnings
    assert replace(one, warnings=()) == replace(another, warnings=())


def test_other_code_analyses_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = inputs_of(measured(study(space(6), 20)))
    assert kept(tmp_path / "one", int, ("a", runs), lambda: 1) == 1
    monkeypatch.setattr(concluding, "_code", lambda: ("another version",))
    assert kept(tmp_path / "one", int, ("a", runs), lambda: 2) == 2
