"""What is recommended before it is confirmed: the configurations, what is predicted, and how often they run."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from hati.core import Configuration, InputError, StudyId, canonical_json
from hati.design import Levels, from_levels, levels
from hati.space import Space
from hati.studies.recommendation.choosing import worth_recommending
from hati.studies.recommendation.findings import ChangeScale, Findings
from hati.studies.recommendation.prediction import Prediction, predict
from hati.studies.recommendation.search import Score, baseline, changes, pool

MOST = 4
"""So many configurations are recommended at most: they have to be told apart by measuring them."""
FEWEST_PAIRS = 5
MOST_PAIRS = 30


@dataclass(frozen=True)
class Predicted:
    """A configuration that is recommended for a metric.

    ``values`` are predicted in each metric's unit, None where nothing is known to matter for it; ``changes`` are
    fractions of the baseline's prediction (of the mean size on the raw scale).
    """

    configuration: Configuration
    metric: str
    values: dict[str, float | None]
    changes: dict[str, float | None]


@dataclass(frozen=True)
class RecommendationPlan:
    """What is recommended and how it is confirmed: stored, so that a resumed campaign repeats it.

    Every one of ``pairs`` blocks runs the ``baseline`` and each recommended configuration once.
    """

    baseline: Configuration
    recommended: tuple[Predicted, ...]
    pairs: int

    def __post_init__(self) -> None:
        if self.pairs < 0:
            raise InputError(f"{self.pairs} pairs of runs are nothing to run")

    def to_json(self) -> str:
        """The plan as canonical JSON."""
        found = [{**asdict(one), "configuration": dict(one.configuration)} for one in self.recommended]
        return canonical_json({"baseline": dict(self.baseline), "recommended": found, "pairs": self.pairs})

    @classmethod
    def from_json(cls, text: str) -> RecommendationPlan:
        """Read what ``to_json`` wrote.

        Raises:
            InputError: for anything else.
        """
        try:
            fields = json.loads(text)
            found = (
                Predicted(**{**one, "configuration": Configuration(one["configuration"])})
                for one in fields["recommended"]
            )
            return cls(Configuration(fields["baseline"]), tuple(found), fields["pairs"])
        except (ValueError, TypeError, KeyError) as error:
            raise InputError(f"no stored recommendation: {text[:60]!r}", fix="start afresh with --fresh") from error


def recommendation_id(*, screening: str, metric: str, relevant: float, budget: str, seed: int, machine: str) -> StudyId:
    """The identity of a recommendation: that of the screening that it follows, and what was asked of it."""
    parameters = {"screening": screening, "metric": metric, "relevant": relevant, "budget": budget}
    return StudyId.of("recommendation", parameters, seed, machine)


def plan_recommendation(
    space: Space,
    findings: Sequence[Findings],
    runs: int,
    rng: np.random.Generator,
    among: Sequence[Configuration] = (),
    most_pairs: float = MOST_PAIRS,
) -> RecommendationPlan:
    """The predicted best configuration for the first metric; with several metrics, their Pareto set, thinned.

    Options without an important effect stay as they are, and every setting that is changed has to be worth the
    relevant fraction: the fewest changes. Where the runs do not allow five of each, fewer configurations are taken.

    Args:
        space: with the default configuration.
        findings: for each metric, the one that was asked for first.
        runs: how many may be made.
        rng: for the sample of a space that is too big to list.
        among: the only configurations that can be run, where not all can.
        most_pairs: how often a configuration can be run at most.
    """
    start = baseline(space, among, rng)
    told = [predict(one, space) for one in findings if one.important]
    row = levels([start], space)[0]
    most = max(1, min(MOST, runs // FEWEST_PAIRS - 1))
    rows = row[None, :]
    chosen = []
    if told:
        rows = _rows(space, start, told, rng, among)
        gains = np.column_stack([_worth(one, row, space)(rows) for one in told])
        near = np.array([_relevant(one) for one in told])
        chosen = list(worth_recommending(gains, near, most))
    configurations = from_levels(rows[[one.place for one in chosen]], space)
    found = tuple(
        _predicted(configuration, told[one.metric], findings, told, space, start)
        for one, configuration in zip(chosen, configurations, strict=True)
    )
    pairs = min(runs // (len(found) + 1), MOST_PAIRS, most_pairs) if found else 0
    return RecommendationPlan(start, found, int(pairs))


def _rows(
    space: Space,
    start: Configuration,
    told: Sequence[Prediction],
    rng: np.random.Generator,
    among: Sequence[Configuration],
) -> Levels:
    if among:
        return levels([start, *among], space)
    row = levels([start], space)[0]
    movable = frozenset(option for one in told for option in one.movable)
    return pool(space, start, movable, [_worth(one, row, space) for one in told], rng)


def _worth(told: Prediction, start: Levels, space: Space) -> Score:
    """The gain, less the relevant fraction for every option that has to be set."""
    price = max(_relevant(told), 1e-6)
    return lambda rows: told.gains(rows, start) - price * changes(rows, start, space)


def _relevant(told: Prediction) -> float:
    relevant = told.findings.relevant
    return float(np.log1p(relevant)) if told.findings.scale is ChangeScale.LOG else relevant


def _predicted(
    configuration: Configuration,
    leading: Prediction,
    findings: Sequence[Findings],
    told: Sequence[Prediction],
    space: Space,
    start: Configuration,
) -> Predicted:
    row, before = levels([configuration], space)[0], levels([start], space)[0]
    values: dict[str, float | None] = {one.metric.name: None for one in findings}
    changed: dict[str, float | None] = dict(values)
    for one in told:
        name = one.findings.metric.name
        value, base = one.in_unit(row), one.in_unit(before)
        size = base if one.findings.scale is ChangeScale.LOG else one.findings.typical
        values[name], changed[name] = value, (value - base) / size if size else 0.0
    return Predicted(configuration, leading.findings.metric.name, values, changed)
