"""Requests of Hati's own kinds: their defaults are those of the questions that they become."""

from __future__ import annotations

import pytest
from msgspec.structs import fields

from hati.studies.assertion import Standard
from hati.studies.audit import AuditSettings
from hati.studies.comparison import ALPHA, MARGIN
from hati.studies.regression.history import ALPHA as HISTORY_ALPHA
from hati.studies.screening import ALPHA as SCREENING_ALPHA
from hati.studies.screening import RELEVANT
from hati.studies.suite import LEVELS
from hati.studies.suite import MARGIN as SUITE_MARGIN
from hati.studies.validation import MOST_RUNS
from hati.wiring import HistoryRequest
from hati.wiring.kinds.paired import CompareRequest
from hati.wiring.study_types import convert_request, known_types, verb_of

DEFAULTS = {
    "assert": {"alpha": Standard().alpha, "margin": Standard().margin},
    "audit": {"alpha": ALPHA, "margin": MARGIN, "splits": AuditSettings().splits},
    "bisect": {"alpha": ALPHA, "margin": MARGIN},
    "check": {"alpha": ALPHA, "margin": MARGIN},
    "compare": {"alpha": ALPHA, "margin": MARGIN},
    "compare-effects": {"alpha": ALPHA},
    "history": {"alpha": HISTORY_ALPHA},
    "screen": {"alpha": SCREENING_ALPHA, "relevant": RELEVANT},
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


def test_what_earlier_versions_kept_of_a_question_is_read() -> None:
    kept = {"before": "one", "after": "two", "set_before": "a=on", "stopping": "fixed", "pairing": "duet", "seed": 2}
    compared = convert_request(kept, CompareRequest)
    assert compared.sides == (("one",), ("two",))
    assert (compared.settings_of(compared.set_before), compared.stopping, compared.pairing) == ("a=on", "fixed", "duet")
    history = convert_request({"revisions": "a..b", "every": "2", "repetitions": 5, "budget": None}, HistoryRequest)
    assert (history.revisions, history.repetitions, history.budget) == ("a..b", 5, None)
