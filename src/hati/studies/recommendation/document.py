"""The conclusion of a recommendation, and why candidates are left out: tables, sentences, published values."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, Any

from msgspec import Struct

from hati.core import Better, Configuration, Setting, setting_text
from hati.core.wording import counted
from hati.document.document import (
    Cell,
    Part,
    Prose,
    Shown,
    Table,
    change,
    change_number,
    columns_of,
    general,
    percent,
    quantity,
    tidy,
)
from hati.document.publishing import Interval, Joined, Of, RunsJson, Settings
from hati.studies.recommendation import (
    KeptMetric,
    LeaveReason,
    LeftOut,
    MetricChange,
    RecommendationConclusion,
    Recommended,
    SettingGain,
)

_FROM_ZERO = "the default's mean is 0"

_REASONS = {
    LeaveReason.RULED_OUT: "ruled out by `recommend` in hati.toml",
    LeaveReason.RULED_OUT_TOGETHER: "needs, with the others, a setting ruled out by `recommend` in hati.toml",
    LeaveReason.NOT_TRIED: "not tried, for lack of runs or of a predicted gain",
    LeaveReason.UNFINISHED: "the budget ended in the follow-up",
    LeaveReason.NOT_MEASURED: "all runs failed",
    LeaveReason.NO_GAIN: "no gain shown",
    LeaveReason.RULE_BROKEN_TOGETHER: "breaks a --keep rule, with the others",
    LeaveReason.ANOTHER_SETTING: "another setting of the option gains more",
    LeaveReason.NO_GAIN_GIVEN_OTHERS: "no gain given the others",
    LeaveReason.NOT_CONFIRMED: "not confirmed for lack of runs",
}


def left_out_table(conclusion: RecommendationConclusion) -> Table | None:
    """A row for each candidate that is not recommended; those with the same reason and no figures share a row.

    None if there are none.
    """
    if not conclusion.left_out:
        return None
    columns = columns_of("left out | reason | > change (%) | > pairs")
    alike: dict[object, list[LeftOut]] = {}
    for place, one in enumerate(conclusion.left_out):
        alike.setdefault(one.reason if one.change is None and not one.broken else place, []).append(one)
    note = f"Changes of {conclusion.metric.name} against the default, or given the others where that is the reason."
    return Table("Candidates that are not recommended", columns, tuple(map(_left_out_row, alike.values())), (note,))


def _finite_interval(interval: tuple[float, float] | None) -> tuple[float, float] | None:
    """The interval, None if it is not of fractions because the default's mean is zero."""
    return interval if interval and all(map(math.isfinite, interval)) else None


Change = Annotated[
    float | None, Of(lambda each: each.change if each.change is None or math.isfinite(each.change) else None)
]
ChangeInterval = Annotated[Interval | None, Of(lambda each: _finite_interval(each.interval))]


class BrokenRuleJson(Struct, frozen=True):
    """A rule of ``--keep``, and the values of its metric."""

    rule: Annotated[str, Of(lambda kept: str(kept.rule))]
    value: float | None
    baseline: float | None
    change: Annotated[float | None, Of(lambda kept: kept.relative(kept.value))]


class LeftOutJson(Struct, frozen=True):
    """A candidate that is not recommended, and why."""

    set: Settings
    reason: LeaveReason
    change: Change
    interval: ChangeInterval
    pairs: int
    broken: list[BrokenRuleJson]


def _left_out_row(alike: Sequence[LeftOut]) -> tuple[Cell, ...]:
    first = alike[0]
    return (
        ", ".join(" ".join(f"{name}={setting_text(setting)}" for name, setting in one.set) for one in alike),
        _reason(first),
        _number(first.change),
        first.pairs or None,
    )


def _reason(one: LeftOut) -> str:
    if one.reason in {LeaveReason.RULE_BROKEN, LeaveReason.RULE_BROKEN_TOGETHER} and one.broken:
        others = " with the others" if one.reason is LeaveReason.RULE_BROKEN_TOGETHER else ""
        return f"breaks {broken_rules(one.broken)}{others}"
    return _REASONS[one.reason]


def broken_rules(broken: Sequence[KeptMetric]) -> str:
    """The broken rules, each with the mean that breaks it."""
    return ", ".join(map(_broken, broken))


def _broken(kept: KeptMetric) -> str:
    relative = kept.relative(kept.value)
    if kept.value is None:
        return f"{kept.rule} (no values)"
    return f"{kept.rule} ({quantity(kept.value, kept.unit) if relative is None else change(relative)})"


def recommendation_table(conclusion: RecommendationConclusion) -> Table:
    """A row for each recommended configuration and metric; the warnings and failures are its notes."""
    notes = (
        *((_pairs(conclusion),) if conclusion.recommended else ()),
        *(f"{_kept(rule)}." for one in conclusion.recommended for rule in one.kept),
        *(_followed_up(conclusion)),
        *(f"Failed: {text}." for text in conclusion.failures),
        *(f"{text[0].upper()}{text[1:]}." for text in conclusion.warnings),
    )
    rows = tuple(
        row
        for one in (*conclusion.recommended, *conclusion.instead_of)
        for row in (
            *(
                _row(one, change, looked_up=conclusion.looked_up)
                for change in sorted(one.changes, key=lambda change: change.metric.name != one.metric)
            ),
            *map(_gain_row, one.gains),
        )
    )
    columns = columns_of("set | metric | > predicted (%) | > measured (%)", "> 95 % interval (%) | verdict")
    return Table("Settings and their gains", columns, rows, notes)


def recommendation_answer(conclusion: RecommendationConclusion) -> str:
    """What to set, in a sentence for each configuration; never more than was confirmed."""
    if not conclusion.recommended:
        return f"{_nothing(conclusion)}."
    return " ".join(f"{_sentence(one, conclusion)}." for one in conclusion.recommended)


class MetricChangeJson(Struct, frozen=True):
    """How a metric changes from the baseline to a configuration."""

    metric: Annotated[str, Of("metric.name")]
    unit: Annotated[str, Of("metric.unit")]
    predicted: float | None
    predicted_change: float | None
    measured: float | None
    baseline: float | None
    change: Change
    interval: ChangeInterval
    pairs: int
    confirmed: bool
    verdict: Annotated[str, Of(lambda each: _verdict(each, looked_up=each.looked_up))]


class SettingGainJson(Struct, frozen=True):
    """What one setting of a recommended configuration gains, given the others."""

    option: str
    setting: Setting
    change: Change
    interval: ChangeInterval
    pairs: int
    confirmed: bool


class KeptRuleJson(BrokenRuleJson, frozen=True):
    """A rule of ``--keep``, and whether it is shown to hold."""

    bound: Annotated[float | None, Of(lambda kept: kept.relative(kept.bound))]
    shown: bool


class RecommendedJson(MetricChangeJson, frozen=True):
    """A recommended configuration; its verdict needs every setting and every rule, too."""

    configuration: Configuration
    set: Settings
    verdict: Annotated[str, Of(lambda one: _whole(one, looked_up=one.looked_up))]
    gains: list[SettingGainJson]
    keep: Annotated[list[KeptRuleJson], Of("kept")]
    metrics: Annotated[list[MetricChangeJson], Of(lambda one: [Joined(each, one) for each in one.changes])]


class RecommendationRunsJson(RunsJson, frozen=True):
    """Runs that were planned, done, and that failed."""

    planned: int


class FollowedUpJson(Struct, frozen=True):
    """Settings that the follow-up compared with the default."""

    set: Settings
    change: Change
    pairs: int
    selected: bool


class RecommendationJson(Struct, frozen=True):
    """What to set, and what it gains."""

    study: str
    screening: str
    metric: Annotated[str, Of("metric.name")]
    baseline: Configuration
    configurations: Annotated[list[RecommendedJson], Of(lambda found: _each(found.recommended, found))]
    instead_of: Annotated[list[RecommendedJson], Of(lambda found: _each(found.instead_of, found))]
    pairs: int
    looked_up: bool
    runs: Annotated[RecommendationRunsJson, Of()]
    failures: list[str]
    seconds: float
    warnings: list[str]
    followed_up: list[FollowedUpJson]
    left_out: list[LeftOutJson]


def _each(found: Sequence[Recommended], conclusion: RecommendationConclusion) -> list[Joined]:
    looked_up = conclusion.looked_up
    return [
        Joined(one, one.leading, baseline=one.leading.baseline, looked_up=looked_up, metric=one.leading.metric)
        for one in found
    ]


def _whole(one: Any, *, looked_up: bool) -> str:
    """The verdict on the configuration."""
    doubted = one.leading.confirmed and not one.confirmed
    return "not confirmed" if doubted else _verdict(one.leading, looked_up=looked_up)


def _gain_row(gain: SettingGain) -> tuple[Cell, ...]:
    return (
        f"{gain.option}={setting_text(gain.setting)}, given the others",
        gain.metric.name,
        None,
        _number(gain.change),
        _range(gain.interval),
        "unfinished" if gain.pending else "better" if gain.confirmed else "not confirmed",
    )


def _kept(kept: KeptMetric) -> str:
    if kept.value is None or kept.bound is None or kept.baseline is None:
        return f"{kept.rule}: not confirmed, as too few runs have values"
    verdict, side = "shown" if kept.shown else "not confirmed", "at least" if kept.rule.lower else "at most"
    change, bound = kept.relative(kept.value), kept.relative(kept.bound)
    if change is None or bound is None:
        value, default, end = (quantity(each, kept.unit) for each in (kept.value, kept.baseline, kept.bound))
        return f"{kept.rule}: {verdict} ({value}, {side} {end}; {default} by default)"
    return f"{kept.rule}: {verdict} ({change_number(change)} %, {side} {change_number(bound)} %)"


def _followed_up(conclusion: RecommendationConclusion) -> tuple[str, ...]:
    selected = [one for one in conclusion.followed_up if one.selected]
    if not selected:
        return ()
    found = (
        f"{' '.join(f'{name}={setting_text(setting)}' for name, setting in one.set)} "
        f"{'not measured' if one.change is None else _in_percent(one.change)}"
        for one in selected
    )
    return (f"Better than the default in {selected[0].pairs} pairs of the follow-up: {', '.join(found)}.",)


def _row(one: Recommended, change: MetricChange, *, looked_up: bool) -> tuple[Cell, ...]:
    return (
        _settings(one),
        change.metric.name,
        _number(change.predicted_change),
        _number(change.change),
        _range(change.interval),
        _verdict(change, looked_up=looked_up),
    )


def _number(fraction: float | None) -> Cell:
    if fraction is None:
        return None
    return Shown(change_number(fraction), 100 * fraction) if math.isfinite(fraction) else Shown(_FROM_ZERO, None)


def _range(interval: tuple[float, float] | None) -> Cell:
    found = _finite_interval(interval)
    if found is None:
        return None
    text = " to ".join(map(change_number, found))
    return Shown(text, text)


def _in_percent(fraction: float) -> str:
    return f"{change_number(fraction)} %" if math.isfinite(fraction) else f"({_FROM_ZERO})"


def _around(interval: tuple[float, float]) -> str:
    return f" ({' to '.join(f'{change_number(end)} %' for end in interval)})" if _finite_interval(interval) else ""


def _verdict(change: MetricChange, *, looked_up: bool) -> str:
    if change.confirmed:
        return "better"
    if change.change is None:
        return "not measured"
    if change.interval is None:
        return "looked up" if looked_up else "not confirmed"
    if change.pending:
        return "unfinished"
    low, high = change.interval
    worse = low > 0.0 if change.metric.better is Better.LOWER else high < 0.0
    return "worse" if worse else "not confirmed"


def _sentence(one: Recommended, conclusion: RecommendationConclusion) -> str:
    change, name = one.leading, one.metric
    start = f"Set {_settings(one)}"
    if change.change is None:
        predicted = "" if change.predicted_change is None else f" of {change_number(change.predicted_change)} %"
        return f"{start}? Not confirmed: the predicted change{predicted} in {name} was not measured"
    changed = f"{name} {_in_percent(change.change)}"
    if change.interval is None:
        where = "as looked up in the table, one run each" if conclusion.looked_up else "in one pair of runs"
        return f"{start}? Not confirmed: {changed} {where}, which does not show the noise"
    if change.pending:
        return f"{start}? Not confirmed yet: {changed}; {_left(conclusion)}"
    if broken := [kept for kept in one.kept if not kept.held]:
        worse = (change.change > 0.0) == (change.metric.better is Better.LOWER)
        return f"{start}? Not recommended: {changed}, {'and' if worse else 'but'} breaks {broken_rules(broken)}"
    if not change.confirmed:
        worse = _verdict(change, looked_up=False) == "worse"
        verdict, remaining = ("It is worse", "") if worse else ("Not confirmed", _remaining(change, change.interval))
        return f"{start}? {verdict}: {changed}{_around(change.interval)}{remaining}"
    return f"{start}{_confirmed(one, change.interval, conclusion)}"


def _left(conclusion: RecommendationConclusion) -> str:
    return (
        f"{counted(conclusion.pending, 'run')} of the round are left, and it is judged after the last: "
        f"`{conclusion.command}` makes them"
    )


def _remaining(change: MetricChange, interval: tuple[float, float]) -> str:
    """The number of further pairs that would show the measured change, if it is a gain."""
    found, bound = change.change or 0.0, interval[1] if change.metric.better is Better.LOWER else interval[0]
    gains = (found < 0.0) == (change.metric.better is Better.LOWER) and found != 0.0
    if not gains or min(found, bound) <= -1.0 or not math.isfinite(max(found, bound)):
        return "; no setting is shown to be better"
    ratio = (math.log1p(found) - math.log1p(bound)) / math.log1p(found)
    more = math.ceil(change.pairs * ratio**2) - change.pairs
    return f"; about {counted(max(1, more), 'more pair')} would decide, if the change stays as it is"


def _confirmed(one: Recommended, interval: tuple[float, float], conclusion: RecommendationConclusion) -> str:
    """The rest of a sentence on a confirmed gain: its size, unless a setting or a rule is not shown."""
    change, name = one.leading, one.metric
    doubts = [f"{gain.option}={setting_text(gain.setting)}" for gain in one.gains if not gain.confirmed]
    doubts += [str(rule.rule) for rule in one.kept if not rule.shown]
    if doubts:
        return f"? Not confirmed: {name} {_in_percent(change.change or 0.0)}, but not shown: {', '.join(doubts)}"
    than = f"than by default ({_FROM_ZERO})"
    if _finite_interval(interval):
        low, high = sorted(abs(bound) for bound in interval)
        than = f"by {percent(abs(change.change or 0.0))} ({percent(low)} to {percent(high)}) than by default"
    kept = "".join(f"; {_kept(rule)}" for rule in one.kept)
    found = f": {name} is better {than}, {_how(change, conclusion)}"
    return f"{found}{_worse(one, conclusion)}{kept}"


def _worse(one: Recommended, conclusion: RecommendationConclusion) -> str:
    """Which other metrics are shown to be worse."""
    others = (change for change in one.changes if change is not one.leading and change.change is not None)
    return "".join(
        f"; {change.metric.name} is worse {_by(change.change or 0.0)}"
        for change in others
        if _verdict(change, looked_up=conclusion.looked_up) == "worse"
    )


def _by(fraction: float) -> str:
    return f"by {percent(abs(fraction))}" if math.isfinite(fraction) else f"({_FROM_ZERO})"


def _how(change: MetricChange, conclusion: RecommendationConclusion) -> str:
    return f"in {change.pairs} pairs of {'runs of the table' if conclusion.looked_up else 'fresh, interleaved runs'}"


def _settings(one: Recommended) -> str:
    return ", ".join(f"{name}={setting_text(setting)}" for name, setting in one.set) or "the default"


def _pairs(conclusion: RecommendationConclusion) -> str:
    base = ""
    changes = [one.leading for one in conclusion.recommended if one.leading.baseline is not None]
    if changes:
        first = changes[0]
        unit, factor = tidy(first.metric.unit, [first.baseline or 0.0])
        base = f"; {first.metric.name} by default: {general((first.baseline or 0.0) * factor)} {unit}".rstrip()
    return f"Changes against the default; {conclusion.done} of {conclusion.planned} runs, in random order{base}."


def _nothing(conclusion: RecommendationConclusion) -> str:
    if conclusion.pending:
        return f"Nothing to set yet for {conclusion.metric.name}: {_left(conclusion)}"
    if conclusion.followed_up:
        pairs = [one.pairs for one in conclusion.followed_up]
        each = f"{pairs[0]}" if len(set(pairs)) == 1 else f"{min(pairs)} to {max(pairs)}"
        return (
            f"Nothing to set for {conclusion.metric.name}: none of the {len(pairs)} candidates was better than the "
            f"default in {each} pairs of runs each"
        )
    return f"Nothing to set for {conclusion.metric.name}: no configuration is predicted to be better than the default"


def recommendation_part(conclusion: RecommendationConclusion) -> Part | None:
    """The tables of a recommendation, for a document that ends its answer with ``recommendation_answer``.

    None if there is nothing to list.
    """
    left_out, table = left_out_table(conclusion), recommendation_table(conclusion)
    notes = Prose(table.notes) if table.notes else None
    found = tuple(each for each in (table if table.rows else notes, left_out) if each is not None)
    return Part("Recommendation", "", found) if found else None
