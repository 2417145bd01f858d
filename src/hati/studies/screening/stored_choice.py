"""A stored choice of a design, with what did not work when it was made."""

from __future__ import annotations

import json

from hati.core import canonical_json
from hati.studies.screening.choosing import AnyChoice
from hati.studies.screening.isolation import NOTHING_ISOLATED, Isolated

_KEY = "isolated"


def stored_choice(choice: AnyChoice, isolated: Isolated) -> str:
    """The choice as canonical JSON, from which ``read_choice`` and ``isolated_of`` read their parts."""
    if not isolated.formulas:
        return choice.to_json()
    parts = {
        "formulas": list(map(str, isolated.formulas)),
        "described": isolated.described,
        "messages": isolated.messages,
    }
    return canonical_json({**json.loads(choice.to_json()), _KEY: parts})


def isolated_of(text: str | None) -> Isolated:
    """What did not work when a choice was made; nothing where there is none yet."""
    found = json.loads(text).get(_KEY) if text else None
    if not found:
        return NOTHING_ISOLATED
    from hati.space import parse_formula

    return Isolated(tuple(map(parse_formula, found["formulas"])), tuple(found["described"]), tuple(found["messages"]))
