"""Why candidates are not recommended: a table and exchanged values."""

from __future__ import annotations

from hati.core import setting_text
from hati.report.plain import Plain
from hati.report.quantities import change, change_number, quantity
from hati.report.table import Align, Column, Shown, Table
from hati.studies.recommendation import KeptMetric, LeaveReason, LeftOut, RecommendationConclusion

_REASONS = {
    LeaveReason.RULED_OUT: "`recommend` in hati.toml rules it out",
    LeaveReason.NOT_TRIED: "not tried: the budget has no runs for it",
    LeaveReason.UNFINISHED: "the budget ended in the follow-up",
    LeaveReason.NOT_MEASURED: "its runs failed",
    LeaveReason.NO_GAIN: "no gain in the follow-up",
    LeaveReason.ANOTHER_SETTING: "another setting of the option gains more",
    LeaveReason.NO_GAIN_GIVEN_OTHERS: "no gain given the others",
    LeaveReason.NOT_CONFIRMED: "not confirmed: the budget has no runs for it",
}


def left_out_table(conclusion: RecommendationConclusion) -> Table | None:
    """A row for each candidate that is not recommended; None where there is none."""
    if not conclusion.left_out:
        return None
    right = Align.RIGHT
    columns = Column("left out"), Column("reason"), Column("change", "%", right), Column("pairs", None, right)
    rows = tuple(
        (
            " ".join(f"{name}={setting_text(setting)}" for name, setting in one.set),
            _reason(one),
            None if one.change is None else Shown(change_number(one.change), 100 * one.change),
            one.pairs or None,
        )
        for one in conclusion.left_out
    )
    note = f"Changes of {conclusion.metric.name} against the default, or given the others where that is the reason."
    return Table("Candidates that are not recommended", columns, rows, (note,))


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


def _reason(one: LeftOut) -> str:
    if one.reason is LeaveReason.RULE_BROKEN:
        return f"breaks {', '.join(map(_broken, one.broken))}"
    return _REASONS[one.reason]


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
