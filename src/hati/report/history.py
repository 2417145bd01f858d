"""What a history concludes: tables, sentences and exchanged values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from hati.core.wording import listed
from hati.report.quantities import change, change_number, general, quantity, tidy
from hati.report.statistics import choice_json
from hati.report.table import Align, Cell, Column, Plain, Shown, Table
from hati.studies.comparison import StatisticChoice
from hati.studies.regression import DetectableStep, Direction, HistoryConclusion, LevelChange, Recurring, Trend

_RIGHT = Align.RIGHT
_TINY = 1e-4


def history_table(concluded: HistoryConclusion) -> Table:
    """A row for each change of level; what else is to be said are its notes."""
    levels = [level for one in concluded.change_points if not one.of_tail for level in (one.before, one.after)]
    unit, factor = tidy(concluded.metric.unit, levels)
    columns = (
        Column("at"),
        Column("between"),
        Column("before", unit or None, _RIGHT),
        Column("after", unit or None, _RIGHT),
        Column("change", "%", _RIGHT),
        Column("95 % interval", "%", _RIGHT),
        Column("p", None, _RIGHT),
        Column("verdict"),
    )
    title = f"Changes of {concluded.metric.name}" + (f" of {concluded.name}" if concluded.name else "")
    rows = tuple(_row(one, factor) for one in concluded.change_points)
    return Table(title, columns, rows, tuple(f"{text[0].upper()}{text[1:]}." for text in concluded.warnings))


def history_facts(concluded: HistoryConclusion) -> tuple[tuple[str, str], ...]:
    """What was looked at, the trend, and what could have been found, each under a name."""
    span = f"{concluded.positions:,}, from {concluded.first} to {concluded.last}"
    machines = f", {concluded.machines} machines" if concluded.machines > 1 else ""
    return (
        *((("series", concluded.name),) if concluded.name else ()),
        ("positions", f"{span}; {_runs(concluded)}{machines}"),
        *((("statistic", _statistic_text(concluded.choice)),) if concluded.choice else ()),
        ("trend", _trend_text(concluded.trend, concluded.metric.unit)),
        ("detectable", _detectable_text(concluded.detectable, concluded)),
        *(("assumes", text) for text in concluded.assumptions),
        *((("outliers", _named(concluded.outliers)),) if concluded.outliers else ()),
    )


def history_answer(concluded: HistoryConclusion) -> str:
    """Where the level changed, in a sentence."""
    found = concluded.change_points
    where = f" where {concluded.stratum}" if concluded.stratum else ""
    if not found:
        return f"No change of {concluded.metric.name}{where} is shown (alpha {general(concluded.alpha, 3)})."
    changes = "; ".join(f"{_verdict(one)} by {_by(one, concluded.metric.unit)} at {one.position}" for one in found)
    return f"{changes[0].upper()}{changes[1:]}{where}."


def series_title(concluded: HistoryConclusion) -> str:
    """What a series is of; the name of one that is measured now says its metric and stratum already."""
    metric, name = concluded.metric.name, concluded.name
    if metric in name.split():
        return name
    where = f" where {concluded.stratum}" if concluded.stratum else ""
    return f"{metric} of {name}{where}" if name else f"{metric}{where}"


def histories_answer(concluded: Sequence[HistoryConclusion]) -> str:
    """How many series changed, in a sentence; of a single one what it says."""
    if len(concluded) == 1:
        return history_answer(concluded[0])
    changed = sum(bool(one.change_points) for one in concluded)
    return f"{changed or 'None'} of {len(concluded)} series changed {'its' if changed == 1 else 'their'} level."


def histories_json(concluded: Sequence[HistoryConclusion]) -> dict[str, Plain]:
    """The conclusions under the names that programs rely on; of a file with one series that one's alone."""
    if len(concluded) == 1:
        return history_json(concluded[0])
    return {"series": [history_json(one) for one in concluded]}


def history_json(concluded: HistoryConclusion) -> dict[str, Plain]:
    """One conclusion; every number unrounded, null where nothing can be said."""
    unit = concluded.metric.unit
    return {
        "benchmark": concluded.name,
        "metric": concluded.metric.name,
        "unit": unit,
        "better": concluded.metric.better.value,
        "positions": concluded.positions,
        "runs": concluded.runs,
        "machines": concluded.machines,
        "first": concluded.first,
        "last": concluded.last,
        "alpha": concluded.alpha,
        "change_points": [_change_json(one, unit) for one in concluded.change_points],
        "trend": None if concluded.trend is None else _trend_json(concluded.trend, unit),
        "detectable": _detectable_json(concluded.detectable, unit),
        "autocorrelation": _finite(concluded.autocorrelation),
        "outliers": list(concluded.outliers),
        "assumptions": list(concluded.assumptions),
        "recurring": _recurring_json(concluded.recurring, unit),
        "stratum": dict(concluded.stratum),
        "statistic": str(concluded.choice.statistic) if concluded.choice else None,
        "statistic_choice": choice_json(concluded.choice) if concluded.choice and concluded.choice.reason else None,
        "warnings": list(concluded.warnings),
    }


def _recurring_json(found: Recurring | None, unit: str) -> Plain:
    return None if found is None else {"low": found.low, "high": found.high, "unit": unit, "regained": found.regained}


def _change_json(one: LevelChange, unit: str) -> dict[str, Plain]:
    return {
        "index": one.index,
        "position": one.position,
        "previous": one.previous,
        "index_interval": list(one.indexes),
        "position_interval": list(one.positions),
        "before": one.before,
        "after": one.after,
        "change": one.change,
        "interval": _pair(one.interval),
        "unit": "1" if one.of_tail else unit,
        "of_tail": one.of_tail,
        "relative": _finite(one.relative),
        "relative_interval": _pair(one.relative_interval),
        "p_value": one.p_value,
        "verdict": one.direction.value,
    }


def _trend_json(trend: Trend, unit: str) -> dict[str, Plain]:
    return {
        "baseline": trend.baseline,
        "baseline_index": trend.baseline_index,
        "positions": trend.positions,
        "level": _finite(trend.level),
        "slope": _finite(trend.slope),
        "interval": _pair(trend.interval),
        "change": _finite(trend.change),
        "change_interval": _pair(trend.change_interval),
        "unit": unit,
        "relative": _finite(trend.relative),
        "relative_interval": _pair(trend.relative_interval),
        "p_value": _finite(trend.p_value),
        "verdict": trend.direction.value,
    }


def _detectable_json(found: DetectableStep | None, unit: str) -> dict[str, Plain]:
    return {
        "estimate": _finite(found.step) if found else None,
        "relative": _finite(found.relative) if found else None,
        "unit": unit,
        "power": 0.8,
    }


def _row(one: LevelChange, factor: float) -> tuple[Cell, ...]:
    interval = one.relative_interval
    shown = f"{change_number(interval[0])} to {change_number(interval[1])}" if interval else ""
    first, last = one.positions
    return (
        one.position,
        first if first == last else f"{first} and {last}",
        *(None if one.of_tail else Shown(general(level * factor), level * factor) for level in (one.before, one.after)),
        None if one.relative is None else Shown(change_number(one.relative), 100.0 * one.relative),
        Shown(shown, shown),
        Shown(_p(one.p_value), one.p_value),
        _verdict(one),
    )


def _verdict(one: LevelChange) -> str:
    return f"{one.direction} (tail)" if one.of_tail else one.direction.value


def _statistic_text(choice: StatisticChoice) -> str:
    """The statistic that stands for a run, and why."""
    return "; ".join(filter(None, (choice.statistic.title, choice.reason)))


def _trend_text(trend: Trend | None, unit: str) -> str:
    if trend is None:
        return "too few values to tell"
    change_text = change(trend.relative) if trend.relative is not None else quantity(trend.change, unit)
    low, high = trend.relative_interval or trend.change_interval
    bounds = " to ".join(_bound(bound, None if trend.relative_interval else unit) for bound in (low, high))
    if math.isinf(low) and math.isinf(high):
        bounds = "too few values for bounds"
    verdict = "no drift is shown" if trend.direction is Direction.NOT_SHOWN else f"gradually {trend.direction}"
    return (
        f"{verdict}: {change_text} over {trend.positions:,} positions since {trend.baseline} "
        f"({bounds}, p = {_p(trend.p_value)})"
    )


def _bound(bound: float, unit: str | None) -> str:
    """A bound that too few values have is unbounded."""
    if not math.isfinite(bound):
        return "unbounded"
    return change(bound) if unit is None else quantity(bound, unit)


def _detectable_text(found: DetectableStep | None, concluded: HistoryConclusion) -> str:
    if found is None:
        return "no step, however large, is found with 80 % power"
    size = quantity(found.step, concluded.metric.unit, 3)
    relative = f" ({change(found.relative).lstrip('+')})" if found.relative is not None else ""
    return f"a step of {size}{relative} in the middle is found with 80 % power"


def _by(one: LevelChange, unit: str) -> str:
    return change(one.relative).lstrip("+-") if one.relative is not None else quantity(abs(one.change), unit)


def _runs(concluded: HistoryConclusion) -> str:
    return f"{concluded.runs:,} run{'s' if concluded.runs != 1 else ''}"


def _named(positions: tuple[str, ...]) -> str:
    return listed(positions, 8)


def _p(p_value: float) -> str:
    return "<0.0001" if p_value < _TINY else general(p_value, 2)


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _pair(interval: tuple[float, float] | None) -> Plain:
    return None if interval is None else [_finite(bound) for bound in interval]
