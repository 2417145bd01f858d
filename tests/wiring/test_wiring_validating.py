"""Validations of a table's screening: which is made, what is stored, and what is said again."""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from hati.core import Evidence, InputError, Plan, Run, replace
from hati.studies.screening import ScreeningConclusion
from hati.studies.validation import Confirming, Mode, Result, Validation, ValidationConclusion
from hati.wiring import TableRequest, Workplace, prepare_screening, prepare_validation, table_workplace, validation_of
from hati.wiring.kinds.screening import ScreeningRequest
from hati.wiring.kinds.validation import ValidationRequest
from hati.wiring.screening.validation import runs_of

OPTIONS = "".join(f"[options.{name}]\nsettings = [0, 1]\n" for name in "abcde")
SIZE = "[options.size]\nsettings = [1, 2, 3]\n"


def a_table(folder: Path, sizes: tuple[int, ...]) -> Workplace:
    rng = np.random.default_rng(1)
    rows = ["a,b,c,d,e,size,latency"]
    for *on, size in product(*[(0, 1)] * 5, sizes):
        log = 0.3 * on[0] - 0.2 * on[1] + 0.2 * on[0] * on[2] + 0.1 * size + 0.01 * rng.standard_normal()
        rows.append(f"{','.join(map(str, on))},{size},{10 * math.exp(log)}")
    (folder / "t.csv").write_text("\n".join(rows) + "\n")
    (folder / "hati.toml").write_text(OPTIONS + (SIZE if len(sizes) > 1 else ""))
    return table_workplace(TableRequest(folder / "t.csv", folder, ("latency",)))


def a_screening(place: Workplace, budget: int, resolution: int | None = None) -> str:
    request = ScreeningRequest(budget=str(budget), resolution=resolution)
    return prepare_screening(place, request, fresh=False).make().study


def made(place: Workplace, **asked: object) -> ValidationConclusion:
    request = ValidationRequest(**asked)  # type: ignore[arg-type]  # keywords of several types
    return prepare_validation(place, request, fresh=False).make()


def test_a_screening_by_a_model_is_confirmed_and_kept(tmp_path: Path) -> None:
    place = a_table(tmp_path, (1, 2, 3))
    key = a_screening(place, 32)
    assert validation_of(place, key, "latency") is None
    study = prepare_validation(place, ValidationRequest(), fresh=False).study
    assert isinstance(study, Confirming)
    assert len(study.screened.sizes) == len(study.screened.important) > 0
    assert all(size.margin is not None and 0 < size.margin < abs(size.estimate) for size in study.screened.sizes)
    assert (study.screened.planned, study.screened.failed, study.screened.unmade) == (32, 0, 0)
    found = made(place)
    assert (found.mode, found.done, found.order) == (Mode.CONFIRM, 16, 3)
    assert {a.result for a in found.assumptions} <= {Result.CONFIRMED, Result.NOT_REFUTED, Result.ASSUMED}
    assert validation_of(place, key, "latency") == found
    assert validation_of(place, "screening-other", "latency") is None
    later = made(place, mode=Mode.CHECK, order=2, budget="40")
    assert validation_of(place, key, "latency") == later


def test_a_two_level_fraction_is_validated_by_its_rival_models(tmp_path: Path) -> None:
    place = a_table(tmp_path, (1,))
    a_screening(place, 16, resolution=4)
    prepared = prepare_validation(place, ValidationRequest(), fresh=False)
    assert isinstance(prepared.study, Validation)
    assert prepared.study.order == 2


def test_what_cannot_be_validated_is_said(tmp_path: Path) -> None:
    place = a_table(tmp_path, (1,))
    with pytest.raises(InputError, match="no study"):
        made(place)
    a_screening(place, 16)
    with pytest.raises(InputError, match="number of runs"):
        made(place, budget="2m")
    with pytest.raises(InputError) as told:
        made(place, study="nothing")
    assert "hati studies" in str(told.value.fix)
    changed = replace(place, revision="another")
    with pytest.raises(InputError, match="changed since"):
        made(changed)


def test_an_unfinished_screening_is_finished_before_it_is_validated(tmp_path: Path) -> None:
    place = a_table(tmp_path, (1,))

    def stop(run: Run, evidence: Evidence, plan: Plan) -> None:
        if evidence.runs:
            raise KeyboardInterrupt

    request = ScreeningRequest(budget="16")
    with pytest.raises(KeyboardInterrupt):
        prepare_screening(place, request, fresh=False).make(observe=stop)
    done = len(prepare_screening(place, request, fresh=False).evidence().runs)
    assert 0 < done < 16
    with pytest.raises(InputError, match=f"{16 - done} of its 16 planned runs were not made") as told:
        made(place)
    assert "same `hati screen` command" in str(told.value.fix)
    prepare_screening(place, request, fresh=False).make()
    assert made(place).screening_runs == 16


def test_a_time_buys_no_more_runs_than_a_design_can_have(tmp_path: Path) -> None:
    found = prepare_screening(a_table(tmp_path, (1,)), ScreeningRequest(budget="16"), fresh=False).make()
    assert isinstance(found, ScreeningConclusion)
    assert runs_of("5s", replace(found, seconds=16.0, done=16, failed=0)) == 5
    assert runs_of("999999999h", replace(found, seconds=16.0, done=16, failed=0)) == 10_000


@pytest.mark.acceptance
@pytest.mark.parametrize("seed", [1, 2])
def test_nothing_real_is_refuted_in_lrzip(shared_data: Path, tmp_path: Path, seed: int) -> None:
    """A nested alternative, settings that differ a hundredfold, no noise but what was measured."""
    from test_wiring_table import published

    place = published(shared_data, tmp_path, "lrzip")
    prepare_screening(place, ScreeningRequest(budget="68", seed=seed), fresh=False).make()
    for mode in (Mode.CONFIRM, Mode.DISCRIMINATE):
        of_one = [a for a in made(place, mode=mode).assumptions if len(a.effect or ()) == 1]
        assert of_one
        assert not [a for a in of_one if a.result is Result.REFUTED]
    found = made(place, mode=Mode.CHECK, order=2, budget="150")
    assert not [a for a in found.assumptions if a.result is Result.REFUTED and a.statement.startswith("the effect")]
    assert any(e.important for e in found.effects)
