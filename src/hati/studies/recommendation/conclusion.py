"""The plan of a recommendation, and its conclusion as plain values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import asdict
from numpy.typing import NDArray

from hati.core import Better, Configuration, FloatArray, InputError, Metric, Place, Setting, StudyId, canonical_json
from hati.design import INACTIVE, Levels, from_levels, levels
from hati.space import Space
from hati.stats import t_quantile
from hati.stats.threads import on_one_thread
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

_ROUNDING = 1e-12

_RULE = re.compile(
    r"\s*(?P<metric>.+?)\s*(?P<comparator><=|>=)\s*(?:(?P<before>[0-9.eE+-]+)\s*\*\s*)?default"
    r"(?:\s*\*\s*(?P<after>[0-9.eE+-]+))?\s*"
)
_FIX = "write --keep 'METRIC <= 1.1 * default', or >="


class KeepRule(Struct, frozen=True):
    """``metric <= factor * default``, or >= if the limit is a ``lower`` one."""

    metric: str
    factor: float
    lower: bool = False

    def __post_init__(self) -> None:
        if not 0.0 < self.factor < float("inf"):
            raise InputError(f"the factor of --keep is a number above 0, not {self.factor:g}", fix=_FIX)

    def __str__(self) -> str:
        return f"{self.metric} {'>=' if self.lower else '<='} {self.factor:g} * default"

    def holds(self, value: float, baseline: float) -> bool:
        """Whether a value is within the limit set by the value at the default configuration, apart from rounding."""
        limit = self.factor * baseline
        beyond = limit - value if self.lower else value - limit
        return beyond <= _ROUNDING * (abs(value) + abs(limit))

    def margin(self, values: FloatArray, baselines: FloatArray, error: float) -> float | None:
        """The distance within the limit that shows the rule at that error; None with fewer than two runs each.

        It is that of Welch's one-sided t test of value - factor * baseline, whatever the values are.

        Args:
            values: runs of the configuration, shape (n,).
            baselines: runs of the default one, shape (m,).
            error: of the test, in (0, 0.5).
        """
        if min(len(values), len(baselines)) < 2:
            return None
        parts = np.array(
            [np.var(values, ddof=1) / len(values), self.factor**2 * np.var(baselines, ddof=1) / len(baselines)]
        )
        variance = float(parts.sum())
        if variance == 0.0:
            return 0.0
        df = variance**2 / float((parts**2 / (np.array([len(values), len(baselines)]) - 1)).sum())
        return t_quantile(1.0 - error, df) * math.sqrt(variance)


def parse_keep(text: str) -> KeepRule:
    """Read ``memory <= 1.1 * default``, ``memory <= default * 1.1`` or ``tps >= default``.

    Raises:
        InputError: for anything else, with the place and the fix.
    """
    match = _RULE.fullmatch(text)
    if match is None or (match["before"] and match["after"]):
        raise InputError("expected METRIC <= FACTOR * default", place=Place("--keep", None, 1, text), fix=_FIX)
    written = match["before"] or match["after"] or "1"
    try:
        factor = float(written)
    except ValueError:
        column = text.index(written) + 1
        raise InputError(f"{written!r} is not a number", place=Place("--keep", None, column, text), fix=_FIX) from None
    return KeepRule(match["metric"], factor, match["comparator"] == ">=")


class MetricChange(Struct, frozen=True):
    """The change of a metric by a recommended configuration, compared with the baseline.

    ``predicted`` and ``measured`` are in the metric's unit; the changes are fractions. ``interval`` is that of
    ``change``; intervals of the requested metric hold for all verdicts together with 95 %. Unknown values are None.
    ``pending`` runs of its round are still to be made: the change is judged only after the last one.
    """

    metric: Metric
    predicted: float | None
    predicted_change: float | None
    measured: float | None
    baseline: float | None
    change: float | None
    interval: tuple[float, float] | None
    pairs: int
    pending: int = 0

    @property
    def confirmed(self) -> bool:
        """Whether the whole interval is on the good side, after the last run of the round."""
        return not self.pending and _good(self.metric, self.interval)


class SettingGain(Struct, frozen=True):
    """The gain of a setting given the others: the change of the metric from the same configuration without it."""

    option: str
    setting: Setting
    metric: Metric
    change: float | None
    interval: tuple[float, float] | None
    pairs: int
    pending: int = 0

    @property
    def confirmed(self) -> bool:
        """Whether the whole interval is on the good side, after the last run of the round."""
        return not self.pending and _good(self.metric, self.interval)


class KeptMetric(Struct, frozen=True):
    """The test of a rule by the means ``value`` and ``baseline`` (that of the default), in ``unit``.

    The rule is shown if the value is within the limit by the ``margin``, which is None if fewer than two pairs of runs
    have values. ``pending`` runs of its round are still to be made: nothing is shown before the last one.
    """

    rule: KeepRule
    unit: str
    value: float | None = None
    baseline: float | None = None
    margin: float | None = None
    pending: int = 0

    @property
    def held(self) -> bool:
        """Whether the means keep the rule."""
        return self.value is not None and self.baseline is not None and self.rule.holds(self.value, self.baseline)

    @property
    def bound(self) -> float | None:
        """The value shifted by the margin towards the limit, in the unit."""
        if self.value is None or self.margin is None:
            return None
        return self.value - self.margin if self.rule.lower else self.value + self.margin

    @property
    def shown(self) -> bool:
        """Whether the bound is within the limit, after the last run of the round."""
        if self.pending or self.bound is None or self.baseline is None:
            return False
        return self.rule.holds(self.bound, self.baseline)

    def relative(self, value: float | None) -> float | None:
        """A value as a change, a fraction of the default's; None if that is not above zero."""
        if value is None or self.baseline is None or self.baseline <= 0.0:
            return None
        return value / self.baseline - 1.0


class FollowedUp(Struct, frozen=True):
    """A candidate that was run against the baseline: its settings, the change of the metric, and whether it stays."""

    set: tuple[tuple[str, Setting], ...]
    change: float | None
    pairs: int
    selected: bool


class LeaveReason(StrEnum):
    """Why a candidate is not recommended."""

    RULED_OUT = "ruled out"
    RULED_OUT_TOGETHER = "ruled out with the others"
    NOT_TRIED = "not tried"
    UNFINISHED = "follow-up unfinished"
    NOT_MEASURED = "not measured"
    NO_GAIN = "no gain"
    RULE_BROKEN = "rule broken"
    RULE_BROKEN_TOGETHER = "rule broken with the others"
    ANOTHER_SETTING = "another setting gains more"
    NO_GAIN_GIVEN_OTHERS = "no gain given the others"
    NOT_CONFIRMED = "not confirmed"


class LeftOut(Struct, frozen=True):
    """A candidate that is not recommended: what it ``set``, the ``reason``, and the change in its runs.

    ``change`` is that of the metric against the default, or given the other settings if that is the reason: a
    fraction with its 95 % ``interval``, over ``pairs`` pairs of runs; None without any. ``broken`` holds the rules of
    ``--keep`` that the means break.
    """

    set: tuple[tuple[str, Setting], ...]
    reason: LeaveReason
    change: float | None = None
    interval: tuple[float, float] | None = None
    pairs: int = 0
    broken: tuple[KeptMetric, ...] = ()


class Recommended(Struct, frozen=True):
    """A configuration, the settings that change the baseline into it, and its effect on each metric.

    ``metric`` is the name of the metric for which it is recommended; ``gains`` has an entry for each setting if there
    are several, ``kept`` one for each rule.
    """

    configuration: Configuration
    set: tuple[tuple[str, Setting], ...]
    metric: str
    changes: tuple[MetricChange, ...]
    gains: tuple[SettingGain, ...] = ()
    kept: tuple[KeptMetric, ...] = ()

    @property
    def leading(self) -> MetricChange:
        """The change of the metric for which it is recommended."""
        return next(change for change in self.changes if change.metric.name == self.metric)

    @property
    def confirmed(self) -> bool:
        """Whether it was shown to be better than the baseline, by each of its settings, and every rule to hold."""
        return (
            self.leading.confirmed
            and all(gain.confirmed for gain in self.gains)
            and all(rule.shown for rule in self.kept)
        )


class RecommendationConclusion(Struct, frozen=True):
    """The settings to change, and whether fresh runs confirmed them; complete or not.

    ``baseline`` is the default configuration if that is valid. ``looked_up`` is true if runs come from a table, perhaps
    the same ones that the screening had. ``planned``, ``done`` and ``failed`` count runs; ``pairs`` counts the pairs of
    the last confirmation. ``instead_of`` is its configuration of several settings if one of these is recommended alone;
    ``left_out`` are the candidates that are not recommended. ``pending`` runs of the last round are still to be made,
    by the ``command``.
    """

    study: str
    screening: str
    subject: str
    metric: Metric
    baseline: Configuration
    recommended: tuple[Recommended, ...]
    looked_up: bool
    pairs: int
    planned: int
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...]
    followed_up: tuple[FollowedUp, ...] = ()
    instead_of: tuple[Recommended, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    pending: int = 0
    command: str = ""


def _good(metric: Metric, interval: tuple[float, float] | None) -> bool:
    if interval is None:
        return False
    low, high = interval
    return high < 0.0 if metric.better is Better.LOWER else low > 0.0


FEWEST_PAIRS = 5
MOST_PAIRS = 30
RULES_VERSION = 3
"""The version of the rules for rounds: campaigns by other versions are not continued."""
REPORTED_RULES = frozenset({2, RULES_VERSION})
"""The versions by which stored recommendations are concluded."""
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


@on_one_thread
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


def rules_of(study: StudyId) -> int:
    """The version of the rules by which a recommendation was made; 0 where it is unknown."""
    rules = json.loads(study.parameters).get("rules")
    return rules if isinstance(rules, int) else 0
