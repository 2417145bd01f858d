"""The OpenAPI document: published as it is, and what schemathesis makes of it."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from volunteers import Served, Volunteer, release

ROOT = Path(__file__).resolve().parent.parent.parent
DOCUMENT: dict[str, Any] = json.loads((ROOT / "docs" / "reference" / "openapi.json").read_text())


def test_the_published_document_is_the_servers() -> None:
    sys.path.insert(0, str(ROOT / "scripts"))
    import openapi

    assert json.loads(openapi.document()) == DOCUMENT, "run scripts/openapi.py"


def test_every_operation_says_how_it_refuses() -> None:
    operations = {f"{verb} {path}": each for path, verbs in DOCUMENT["paths"].items() for verb, each in verbs.items()}
    assert len(operations) == 10
    for name, each in operations.items():
        assert "4XX" in each["responses"], name
        assert each["summary"], name
    guarded = {name for name, each in operations.items() if each.get("security")}
    assert guarded == {
        *(f"post /v1/{verb}" for verb in ("claim", "renew", "result", "end")),
        "get /v1/artefacts/{sha256}",
    }


@pytest.fixture(scope="module")
def volunteer(served: Served) -> Any:
    """A machine with a lease, so that what is generated gets beyond the token."""
    release(served.project, served.store, 3)
    with served.http() as http:
        yield Volunteer(http, "fuzzer")


@pytest.fixture(scope="module")
def certificate(served: Served) -> Path:
    """The server's certificate."""
    return served.certificate


SCHEMA = schemathesis.openapi.from_dict(DOCUMENT)
SCHEMA.config.generation.update(modes=[GenerationMode.POSITIVE, GenerationMode.NEGATIVE])


@pytest.mark.acceptance
@SCHEMA.parametrize()
@settings(max_examples=12, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
def test_nothing_that_is_generated_is_a_server_error(case: Any, volunteer: Volunteer, certificate: Path) -> None:
    headers = {**volunteer.headers, "Hati-Protocol": "1"}
    case.headers = {**(case.headers or {}), **headers}
    answer = case.call(base_url=str(volunteer.http.base_url), session=None, verify=str(certificate))
    case.validate_response(answer, checks=[not_a_server_error])
    if answer.status_code >= 400:
        assert set(answer.json()) == {"error", "fix"}
