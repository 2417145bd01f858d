"""A comparison as plain values and as a table."""

from __future__ import annotations

from hati.report.plain import Plain
from hati.report.quantities import change, general, percent, quantity
from hati.report.table import Align, Cell, Column, Shown, Table
from hati.studies.comparison import Comparison, Comparisons, Side, Verdict

_TINY_P = 1e-4
_NOTHING = "~"


def comparisons_json(found: Comparisons) -> list[Plain]:
    """An object for each comparison; every number unrounded."""
    return [_json(row, found) for row in found.rows]


def _json(row: Comparison, found: Comparisons) -> Plain:
    return {
        "benchmark": row.benchmark,
        "configuration": dict(row.configuration),
        "workload": dict(row.workload),
        "metric": row.metric.name,
        "unit": row.metric.unit,
        "better": row.metric.better.value,
        "verdict": row.verdict.value,
        "estimate": None if row.ratio is None else row.ratio - 1.0,
        "ratio": row.ratio,
        "interval": None if row.interval is None else list(row.interval),
        "p_value": row.p_value,
        "q_value": row.q_value,
        "detectable": row.detectable,
        "runs_needed": row.runs_needed,
        "before": _side_json(row.before),
        "after": _side_json(row.after),
        "alpha": found.alpha,
        "margin": found.margin,
        "statistic": found.statistic,
    }


def _side_json(side: Side) -> Plain:
    return {
        "mean": side.mean,
        "spread": side.spread,
        "runs": side.runs,
        "revision": side.revision,
        "machine": side.machine,
        "disturbed": side.disturbed,
    }


def comparison_table(found: Comparisons) -> Table:
    """A row for each comparison; ``~`` where no change is told."""
    one = len({row.metric.name for row in found.rows}) == 1
    rows = tuple(_row(row, _of(row) if one else comparison_name(row)) for row in found.rows)
    means = tuple(_mean_row(name, ratio, found) for name, ratio in found.mean_ratios.items())
    columns = (
        Column("benchmark"),
        Column("before", align=Align.RIGHT),
        Column("after", align=Align.RIGHT),
        Column("±", "%", align=Align.RIGHT),
        Column("change", align=Align.RIGHT),
        Column("p", align=Align.RIGHT),
        Column("n", align=Align.RIGHT),
        Column("verdict"),
    )
    metrics = {row.metric.name for row in found.rows}
    title = f"Comparison of {metrics.pop()}" if len(metrics) == 1 else "Comparison"
    return Table(title, columns, (*rows, *means), _notes(found))


def _row(row: Comparison, name: str) -> tuple[Cell, ...]:
    changed = row.verdict in {Verdict.SLOWER, Verdict.FASTER} and row.ratio is not None
    told = Shown(change(row.ratio - 1.0) if changed and row.ratio is not None else _NOTHING, row.ratio)
    return (
        name,
        quantity(row.before.mean, row.metric.unit),
        quantity(row.after.mean, row.metric.unit),
        _spread(row),
        told,
        None if row.p_value is None else Shown(p_text(row.p_value), row.p_value),
        _runs(row),
        row.verdict.value,
    )


def comparison_name(row: Comparison) -> str:
    """Benchmark, settings and metric."""
    return f"{_of(row)} {row.metric.name}"


def _of(row: Comparison) -> str:
    return " ".join([row.benchmark, *(str(each) for each in (row.configuration, row.workload) if str(each))])


def comparison_sentence(row: Comparison) -> str:
    """What the comparison says, in a sentence."""
    if row.p_value is None or row.ratio is None or row.interval is None:
        return "inconclusive: too few runs to tell a change from noise"
    low, high = (change(end - 1.0) for end in row.interval)
    told = f"{row.verdict.value}: {change(row.ratio - 1.0)} ({low} to {high}, p {p_text(row.p_value)})"
    if row.verdict is not Verdict.INCONCLUSIVE:
        return told
    return (
        f"{told}; {'no number of runs' if row.runs_needed is None else f'{row.runs_needed:,} runs each'} would decide"
    )


def _spread(row: Comparison) -> Cell:
    """The larger half-width of both means' intervals."""
    found = max((side.spread for side in (row.before, row.after) if side.spread is not None), default=None)
    return None if found is None else Shown(general(100.0 * found, 2), found)


def _runs(row: Comparison) -> Cell:
    """The runs of each sample, and where they do not decide, how many would."""
    known = str(row.before.runs) if row.before.runs == row.after.runs else f"{row.before.runs}+{row.after.runs}"
    if row.verdict is not Verdict.INCONCLUSIVE:
        return known
    return Shown(f"{known} of {'?' if row.runs_needed is None else f'{row.runs_needed:,}'}", row.runs_needed)


def _mean_row(name: str, ratio: float, found: Comparisons) -> tuple[Cell, ...]:
    number = sum(row.metric.name == name and row.ratio is not None for row in found.rows)
    metric = f" ({name})" if len(found.mean_ratios) > 1 else ""
    return (f"geomean of {number}{metric}", None, None, None, Shown(change(ratio - 1.0), ratio), None, None, None)


def p_text(p_value: float) -> str:
    """A p-value as people read it, never as zero.

    >>> p_text(0.00031), p_text(0.2), p_text(1e-9)
    ('0.0003', '0.20', '<0.0001')
    """
    if p_value < _TINY_P:
        return f"<{_TINY_P}"
    return f"{p_value:.2f}" if p_value >= 0.1 else f"{p_value:.4f}"


def _notes(found: Comparisons) -> tuple[str, ...]:
    counts = [f"{found.count(verdict)} {verdict.value}" for verdict in Verdict if found.count(verdict)]
    seen = [row.detectable for row in found.rows if row.detectable is not None]
    notes = [
        f"{', '.join(counts)}. Each run counts as its {found.statistic}; ± is {percent(1.0 - found.alpha)} confidence; "
        "n: the runs of each sample, of those that would decide.",
        f"A change is told where it is significant at {percent(found.alpha)} over all comparisons (false discovery "
        f"rate) and not shown to be within {percent(found.margin)}; the same where it is shown to be within.",
    ]
    if 0.0 < found.borrowed < float("inf"):
        notes.append(
            f"What is known of the noise of the other benchmarks counts as {found.borrowed:.2g} runs more of each."
        )
    if seen:
        middle = sorted(seen)[len(seen) // 2]
        others = f" (the median; {percent(min(seen))} to {percent(max(seen))})" if len(seen) > 1 else ""
        notes.append(f"A change of {percent(middle)}{others} would have been found with 80 % power.")
    return tuple(notes)
