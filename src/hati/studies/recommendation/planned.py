"""Recommendations before they are confirmed: candidates, predictions, and the number of runs."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import asdict
from numpy.typing import NDArray

from hati.core import Configuration, InputError, StudyId, canonical_json
from hati.design import INACTIVE, Levels, from_levels, levels
from hati.space import Space
from hati.studies.recommendation.better_settings import (
    Allowed,
    Candidate,
    ChangeScale,
    Findings,
    Prediction,
    Score,
    baseline,
    candidates,
    changes,
    is_allowed,
    pool,
    predict,
)
from hati.studies.recommendation.conclusion import KeepRule

FEWEST_PAIRS = 5
MOST_PAIRS = 30
RULES_VERSION = 2
"""The version of the rules for rounds: campaigns by other versions are not continued or reported."""
FEWEST_BLOCKS = 2
"""The fewest blocks of a follow-up. With 28 runs they allow four candidates; four blocks would allow one."""


class Predicted(Struct, frozen=True):
    """A configuration that is predicted to be the best for a metric.

    ``values`` are predicted in each metric's unit, None if no effect on it is known; ``changes`` are fractions of the
    baseline's prediction, None if that is zero.
    """

    configuration: Configuration
    metric: str
    values: dict[str, float | None]
    changes: dict[str, float | None]


class RecommendationPlan(Struct, frozen=True):
    """The candidates for a recommendation: stored, so that a resumed campaign uses them again.

    ``recommended`` holds the predicted best configuration, if any; ``candidates`` the single settings that may be
    better than the ``baseline``'s, ``ruled_out`` those that the project does not allow to be recommended. Up to
    ``runs`` runs are made in all, and up to ``pairs`` of a configuration in a round. ``allowed`` are the settings that
    may be recommended, for the options that are restricted; empty in plans stored before this field existed.
    ``seconds`` is the time for the runs: the round in which it is reached is the last.
    """

    baseline: Configuration
    recommended: tuple[Predicted, ...]
    pairs: int
    candidates: tuple[Candidate, ...] = ()
    runs: int = 0
    ruled_out: tuple[Candidate, ...] = ()
    allowed: Allowed = field(default_factory=dict)
    seconds: float = math.inf

    def __post_init__(self) -> None:
        if self.pairs < 1 or self.runs < 0:
            raise InputError(
                f"a recommendation of {self.pairs} pairs and {self.runs} runs",
                fix="`pairs` must be 1 or more, `runs` 0 or more",
            )

    def to_json(self) -> str:
        """The plan as canonical JSON."""
        return canonical_json(
            {
                "baseline": dict(self.baseline),
                "recommended": [{**asdict(one), "configuration": dict(one.configuration)} for one in self.recommended],
                "pairs": self.pairs,
                "candidates": _listed(self.candidates),
                "runs": self.runs,
                **({"ruled_out": _listed(self.ruled_out)} if self.ruled_out else {}),
                **({"allowed": {name: list(own) for name, own in self.allowed.items()}} if self.allowed else {}),
                **({"seconds": self.seconds} if math.isfinite(self.seconds) else {}),
            }
        )

    @classmethod
    def from_json(cls, text: str) -> RecommendationPlan:
        """Read what ``to_json`` wrote.

        Raises:
            InputError: for anything else.
        """
        try:
            fields = json.loads(text)
            found = (Predicted(**_configured(one)) for one in fields["recommended"])
            tried = (Candidate(**_configured(one)) for one in fields.get("candidates", []))
            start, pairs, runs = Configuration(fields["baseline"]), fields["pairs"], fields.get("runs", 0)
            ruled_out = (Candidate(**_configured(one)) for one in fields.get("ruled_out", []))
            allowed = {name: tuple(own) for name, own in fields.get("allowed", {}).items()}
            seconds = float(fields.get("seconds", math.inf))
            return cls(start, tuple(found), pairs, tuple(tried), runs, tuple(ruled_out), allowed, seconds)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise InputError(f"no stored recommendation: {text[:60]!r}", fix="start afresh with --fresh") from error


def _listed(tried: Sequence[Candidate]) -> list[dict[str, object]]:
    return [{**asdict(one), "configuration": dict(one.configuration)} for one in tried]


def _configured(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "configuration": Configuration(fields["configuration"])}


def recommendation_id(
    *,
    screening: str,
    metric: str,
    relevant: float,
    budget: str,
    seed: int,
    machine: str,
    revision: str,
    keep: Sequence[KeepRule] = (),
    allowed: Mapping[str, Sequence[object]] | None = None,
) -> StudyId:
    """The identity of a recommendation: that of the screening that it continues, and its request."""
    parameters = {
        "screening": screening,
        "metric": metric,
        "relevant": relevant,
        "budget": budget,
        "revision": revision,
        "rules": RULES_VERSION,
        **({"keep": list(map(str, keep))} if keep else {}),
        **({"allowed": {name: list(settings) for name, settings in allowed.items()}} if allowed else {}),
    }
    return StudyId.of("recommendation", parameters, seed, machine)


def plan_recommendation(
    space: Space,
    findings: Findings,
    runs: int,
    rng: np.random.Generator,
    among: Sequence[Configuration] = (),
    most_pairs: float = MOST_PAIRS,
    allowed: Allowed | None = None,
    seconds: float = math.inf,
) -> RecommendationPlan:
    """The predicted best configuration for the metric, and the single settings that may be better than the default's.

    In the prediction, options without an important effect stay as they are, and every changed setting has to gain the
    relevant fraction, so that there are few changes.

    Args:
        space: with the default configuration.
        findings: of a screening, for the metric.
        runs: the largest number of runs.
        rng: for the sample of a space that is too big to list.
        among: the only configurations that can be run, if not all can.
        most_pairs: the largest number of runs of a configuration.
        allowed: the settings that may be recommended, for the options that are restricted.
        seconds: the time for the runs.
    """
    permitted = allowed or {}
    start = baseline(space, among, rng)
    tried = candidates(space, findings, start, permitted)
    if among:
        there = set(among)
        tried = tuple(one for one in tried if one.configuration in there)
    others = candidates(space, findings, start, {}) if permitted else ()
    ruled_out = tuple(one for one in others if not is_allowed(one.configuration, start, permitted))
    best = _best(space, findings, start, rng, among, permitted) if findings.important else None
    pairs = int(min(MOST_PAIRS, most_pairs))
    return RecommendationPlan(
        baseline=start,
        recommended=() if best is None else (best,),
        pairs=pairs,
        candidates=tried,
        runs=runs,
        ruled_out=ruled_out,
        allowed=permitted,
        seconds=seconds,
    )


def _best(
    space: Space,
    findings: Findings,
    start: Configuration,
    rng: np.random.Generator,
    among: Sequence[Configuration],
    allowed: Allowed,
) -> Predicted | None:
    """The predicted best configuration, None if that is the start."""
    model = predict(findings, space)
    row = levels([start], space)[0]
    score = _worth(model, row, space)
    rows = levels([start, *among], space) if among else pool(space, start, model.movable, [score], rng)
    rows = rows[_permitted(rows, row, space, allowed)]
    worth = score(rows)
    place = int(np.argmax(worth))
    if worth[place] <= 0.0:
        return None
    return _predicted(from_levels(rows[[place]], space)[0], model, row, space)


def _permitted(rows: Levels, start: Levels, space: Space, allowed: Allowed) -> NDArray[np.bool_]:
    """Whether each row differs from the start only by settings that may be recommended, shape (rows,)."""
    found = np.ones(len(rows), dtype=np.bool_)
    for column, option in enumerate(space.options):
        if option.name in allowed:
            known = [place for place, setting in enumerate(option.settings) if setting in allowed[option.name]]
            found &= np.isin(rows[:, column], [*known, int(start[column]), INACTIVE])
    return found


def _worth(model: Prediction, start: Levels, space: Space) -> Score:
    """The gain, less the relevant fraction for every option that has to be set."""
    price = max(_relevant(model), 1e-6)
    return lambda rows: model.gains(rows, start) - price * changes(rows, start, space)


def _relevant(model: Prediction) -> float:
    relevant = model.findings.relevant
    return float(np.log1p(relevant)) if model.findings.scale is ChangeScale.LOG else relevant


def _predicted(configuration: Configuration, model: Prediction, start: Levels, space: Space) -> Predicted:
    row, name = levels([configuration], space)[0], model.findings.metric.name
    value, base = model.in_unit(row), model.in_unit(start)
    return Predicted(configuration, name, {name: value}, {name: (value - base) / abs(base) if base else None})
