"""Why candidates are not recommended: a table and exchanged values."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core import setting_text
from hati.report.quantities import change, change_number, quantity
from hati.report.table import Align, Cell, Column, Plain, Shown, Table
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


def left_out_json(conclusion: RecommendationConclusion) -> list[Plain]:
    """The same under the names that programs rely on; every number unrounded."""
    return [
        {
            "set": dict(one.set),
            "reason": one.reason.value,
            "change": one.change,
            "interval": None if one.interval is None else list(one.interval),
            "pairs": one.pairs,
            "broken": [_rule(kept) for kept in one.broken],
        }
        for one in conclusion.left_out
    ]


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


def _rule(kept: KeptMetric) -> dict[str, Plain]:
    return {
        "rule": str(kept.rule),
        "value": kept.value,
        "baseline": kept.baseline,
        "change": kept.relative(kept.value),
    }
