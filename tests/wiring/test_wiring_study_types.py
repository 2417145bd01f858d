"""Requests of Hati's own kinds: their defaults are those of the questions that they become."""

from __future__ import annotations

import pytest
from msgspec.structs import fields

from hati.studies.comparison import ALPHA, MARGIN
from hati.studies.screening import RELEVANT
from hati.studies.suite import LEVELS
from hati.studies.suite import MARGIN as SUITE_MARGIN
from hati.studies.validation import MOST_RUNS
from hati.wiring.study_types import known_types, verb_of

DEFAULTS = {
    "bisect": {"alpha": ALPHA, "margin": MARGIN},
    "check": {"alpha": ALPHA, "margin": MARGIN},
    "compare": {"alpha": ALPHA, "margin": MARGIN},
    "compare-effects": {"alpha": ALPHA},
    "suite": {"margin": SUITE_MARGIN, "quantiles": LEVELS},
    "validate": {"relevant": RELEVANT, "budget": str(MOST_RUNS)},
}


@pytest.mark.parametrize("verb", DEFAULTS)
def test_defaults_of_requests_are_those_of_the_questions(verb: str) -> None:
    [kind] = [each for each in known_types() if each.name == verb]
    known = {field.name: field.default for field in fields(kind.request)}
    for name, value in DEFAULTS[verb].items():
        assert known[name] == value


def test_every_kind_of_a_store_has_its_command() -> None:
    assert {kind: verb_of(kind) for kind in ("gate", "paired", "screening", "recommendation", "another")} == {
        "gate": "check",
        "paired": "compare",
        "screening": "screen",
        "recommendation": "screen --recommend",
        "another": "another",
    }
