"""Why candidates are not recommended: a table and exchanged values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from msgspec import Struct

from hati.core import setting_text
from hati.report.publishing import Interval, Of, Settings
from hati.report.quantities import change, change_number, quantity
from hati.report.table import Align, Cell, Column, Shown, Table
from hati.studies.recommendation import KeptMetric, LeaveReason, LeftOut, RecommendationConclusion

_REASONS = {
    LeaveReason.RULED_OUT: "ruled out by `recommend` in hati.toml",
    LeaveReason.RULED_OUT_TOGETHER: "with the others it needs a setting ruled out by `recommend` in hati.toml",
    LeaveReason.NOT_TRIED: "not tried for lack of runs",
    LeaveReason.UNFINISHED: "the budget ended in the follow-up",
    LeaveReason.NOT_MEASURED: "all runs failed",
    LeaveReason.NO_GAIN: "no gain shown",
    LeaveReason.RULE_BROKEN_TOGETHER: "breaks a rule of --keep with the others",
    LeaveReason.ANOTHER_SETTING: "another setting of the option gains more",
    LeaveReason.NO_GAIN_GIVEN_OTHERS: "no gain given the others",
    LeaveReason.NOT_CONFIRMED: "not confirmed for lack of runs",
}


def left_out_table(conclusion: RecommendationConclusion) -> Table | None:
    """A row for each candidate that is not recommended, one for all with the same reason and no figure of their own.

    None where there is none.
    """
    if not conclusion.left_out:
        return None
    right = Align.RIGHT
    columns = Column("left out"), Column("reason"), Column("change", "%", right), Column("pairs", None, right)
    alike: dict[object, list[LeftOut]] = {}
    for place, one in enumerate(conclusion.left_out):
        alike.setdefault(one.reason if one.change is None and not one.broken else place, []).append(one)
    note = f"Changes of {conclusion.metric.name} against the default, or given the others where that is the reason."
    return Table("Candidates that are not recommended", columns, tuple(map(_row, alike.values())), (note,))


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
    change: float | None
    interval: Interval | None
    pairs: int
    broken: list[BrokenRuleJson]


def _row(alike: Sequence[LeftOut]) -> tuple[Cell, ...]:
    first = alike[0]
    return (
        ", ".join(" ".join(f"{name}={setting_text(setting)}" for name, setting in one.set) for one in alike),
        _reason(first),
        None if first.change is None else Shown(change_number(first.change), 100 * first.change),
        first.pairs or None,
    )


def _reason(one: LeftOut) -> str:
    if one.reason in {LeaveReason.RULE_BROKEN, LeaveReason.RULE_BROKEN_TOGETHER} and one.broken:
        others = " with the others" if one.reason is LeaveReason.RULE_BROKEN_TOGETHER else ""
        return f"breaks {broken_rules(one.broken)}{others}"
    return _REASONS[one.reason]


def broken_rules(broken: Sequence[KeptMetric]) -> str:
    """Rules with how far the means are beyond them."""
    return ", ".join(map(_broken, broken))


def _broken(kept: KeptMetric) -> str:
    relative = kept.relative(kept.value)
    if kept.value is None:
        return f"{kept.rule} (no values)"
    return f"{kept.rule} ({quantity(kept.value, kept.unit) if relative is None else change(relative)})"
