"""Hati's own kinds of studies do what every kind has to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from gate_projects import LISTED, evolving
from msgspec import Struct

from hati.testing.conformance import StudyTypeConformance
from hati.wiring import HistoryRequest, Workplace
from hati.wiring.kinds.assertion import AssertionRequest
from hati.wiring.kinds.audit import AuditRequest
from hati.wiring.kinds.bisection import BisectionRequest
from hati.wiring.kinds.effect_drift import DriftRequest
from hati.wiring.kinds.failures import FailuresRequest
from hati.wiring.kinds.gate import GateRequest
from hati.wiring.kinds.measurement import MeasurementRequest
from hati.wiring.kinds.paired import CompareRequest
from hati.wiring.kinds.screening import ScreeningRequest
from hati.wiring.kinds.suite import SuiteRequest
from hati.wiring.kinds.validation import ValidationRequest
from hati.wiring.study_types import AnyStudyType, known_types, own_type
from hati.wiring.workplace import mute

REQUESTS: dict[str, Struct] = {
    "assertion": AssertionRequest(formula=("main < 1 s",)),
    "audit": AuditRequest(splits=4, budget="12"),
    "bisection": BisectionRequest(good="HEAD~2", bad="HEAD", settings="a=on"),
    "effect-drift": DriftRequest(before="HEAD~2", after="HEAD", budget="32"),
    "failures": FailuresRequest(),
    "gate": GateRequest(revision="HEAD", reference="HEAD~2"),
    "measurement": MeasurementRequest(template=("a=on",), budget="4"),
    "paired": CompareRequest(names=("main", "main"), set_after="a=on", budget="16"),
    "replay": HistoryRequest(revisions="HEAD~3..HEAD", repetitions=2),
    "screening": ScreeningRequest(budget="8"),
    "suite": SuiteRequest(options=("a", "b"), runs=4),
    "validation": ValidationRequest(mode="confirm", budget="8"),
}

MORE = "".join(f'\n[options.{name}]\nsettings = ["off", "on"]\nargument = "{name}={{}}"\n' for name in "cde")


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with a past of four commits, the last but one of which made ``a`` cost more."""
    made = evolving(tmp_path_factory.mktemp("repository"), extra=LISTED)
    for number in range(4):
        made.commit(with_a=150 if number >= 2 else 120)
    return made.project


class TestOwn(StudyTypeConformance):
    """All of them; validations of a screening."""

    @pytest.fixture(params=REQUESTS)
    def kind(self, request: pytest.FixtureRequest) -> AnyStudyType:
        return own_type(request.param)

    @pytest.fixture
    def request_(self, kind: AnyStudyType) -> Struct:
        return REQUESTS[kind.kind]

    @pytest.fixture
    def project(self, kind: AnyStudyType, repository: Path, tmp_path: Path) -> Path:
        if kind.kind != "validation":
            return repository
        larger = evolving(tmp_path, extra=MORE)  # of which a screening leaves something to be validated
        larger.commit(with_a=120)
        return larger.project

    @pytest.fixture
    def place(self, kind: AnyStudyType, request_: Struct, project: Path) -> Workplace:
        made: Workplace = kind.open(project, "sqlite://", request_, mute)
        if kind.kind == "validation":
            screening = ScreeningRequest(budget="16")
            own_type("screening").prepare(made, screening, fresh=True).make()
        return made


def test_all_kinds_have_a_request() -> None:
    assert set(REQUESTS) == {kind.kind for kind in known_types()}
