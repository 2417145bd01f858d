"""A stored choice of a design, with the metric that was screened and what did not work."""

from __future__ import annotations

import json
from typing import Any

from hati.core import InputError, canonical_json
from hati.studies.screening.choice import Choice
from hati.studies.screening.choosing import AnyChoice
from hati.studies.screening.isolation import NOTHING_ISOLATED, Isolated
from hati.studies.screening.model_choice import ModelChoice

_ISOLATED = "isolated"
_METRIC = "metric"


def stored_choice(choice: AnyChoice, isolated: Isolated, metric: str) -> str:
    """The choice as canonical JSON, from which the functions below read their parts."""
    fields = {**json.loads(choice.to_json()), _METRIC: metric}
    if isolated.formulas:
        fields[_ISOLATED] = {
            "formulas": list(map(str, isolated.formulas)),
            "described": isolated.described,
            "messages": isolated.messages,
        }
    return canonical_json(fields)


def read_choice(text: str) -> AnyChoice:
    """The choice of a design in a stored choice, or in what ``to_json`` of one wrote.

    Raises:
        InputError: for anything else.
    """
    fields = {key: value for key, value in _fields(text).items() if key not in {_ISOLATED, _METRIC}}
    own = canonical_json(fields)
    return ModelChoice.from_json(own) if "rows" in fields else Choice.from_json(own)


def isolated_of(text: str | None) -> Isolated:
    """What did not work when a choice was made; nothing where there is none yet.

    Raises:
        InputError: for anything else than a stored choice.
    """
    found = _fields(text).get(_ISOLATED) if text else None
    if not found:
        return NOTHING_ISOLATED
    from hati.space import parse_formula

    return Isolated(tuple(map(parse_formula, found["formulas"])), tuple(found["described"]), tuple(found["messages"]))


def metric_of(text: str | None) -> str | None:
    """The metric that was last screened with a choice; None in stores that do not have it.

    Raises:
        InputError: for anything else than a stored choice.
    """
    return _fields(text).get(_METRIC) if text else None


def _fields(text: str) -> dict[str, Any]:
    try:
        fields = json.loads(text)
    except ValueError:
        fields = None
    if not isinstance(fields, dict):
        raise InputError(f"no stored choice of a design: {text[:60]!r}", fix="start afresh with --fresh")
    return fields
