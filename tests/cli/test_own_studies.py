"""Hati's own kinds of studies do what every kind has to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from gate_projects import LISTED, evolving
from msgspec import Struct

from hati.testing.conformance import StudyTypeConformance
from hati.wiring import MeasurementRequest, PairedRequest, ReplayRequest
from hati.wiring.kinds.bisection import BisectionRequest
from hati.wiring.kinds.effect_drift import DriftRequest
from hati.wiring.kinds.gate import GateRequest
from hati.wiring.kinds.suite import SuiteRequest
from hati.wiring.study_types import AnyStudyType, own_type

REQUESTS: dict[str, Struct] = {
    "bisection": BisectionRequest(good="HEAD~2", bad="HEAD", settings="a=on"),
    "effect-drift": DriftRequest(before="HEAD~2", after="HEAD", budget="32"),
    "gate": GateRequest(revision="HEAD", reference="HEAD~2"),
    "measurement": MeasurementRequest(template=("a=on",), budget="4"),
    "paired": PairedRequest(before="main", after="main", set_after="a=on", budget="16"),
    "replay": ReplayRequest(revisions="HEAD~3..HEAD", repetitions=2),
    "suite": SuiteRequest(options=("a", "b"), runs=4),
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with a past of four commits, the last but one of which made ``a`` cost more."""
    made = evolving(tmp_path_factory.mktemp("repository"), extra=LISTED)
    for number in range(4):
        made.commit(with_a=150 if number >= 2 else 120)
    return made.project


class TestOwn(StudyTypeConformance):
    """All but validations, which need a screening."""

    @pytest.fixture(params=REQUESTS)
    def kind(self, request: pytest.FixtureRequest) -> AnyStudyType:
        return own_type(request.param)

    @pytest.fixture
    def request_(self, kind: AnyStudyType) -> Struct:
        return REQUESTS[kind.kind]

    @pytest.fixture
    def project(self, repository: Path) -> Path:
        return repository
