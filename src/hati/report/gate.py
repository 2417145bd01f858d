"""A gate as plain values, as tables and as test cases."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core import Revision, setting_text
from hati.report.cases import Case
from hati.report.changes import change_json, p_text
from hati.report.comparison import comparison_sentence
from hati.report.findings import report_json, report_sentence
from hati.report.plain import Plain
from hati.report.quantities import change, change_number, percent, quantity
from hati.report.table import Align, Cell, Column, Shown, Table
from hati.studies.comparison import Comparison, Side, Verdict
from hati.studies.findings import Report
from hati.studies.gate import Broken, Carrier, GateConclusion


def gate_json(found: GateConclusion, told: Sequence[Report] = ()) -> Plain:
    """The verdict, both revisions, a row for each benchmark and metric, strata, and the options that carry a change."""
    return {
        "verdict": found.verdict.value,
        "reference": revision_json(found.reference),
        "revision": revision_json(found.revision),
        "benchmarks": [_row_json(row, found) for row in found.rows],
        "strata": [{"stratum": dict(each.stratum), **_row_json(each.comparison, found)} for each in found.strata],
        "options": [_carrier_json(carrier) for carrier in found.carriers],
        "findings": [report_json(one) for one in told],
        "broken": [_broken_json(each) for each in found.broken],
        "unconfirmed": list(found.unconfirmed),
        "rounds": {"explored": found.explored, "confirmed": found.confirmed},
        "runs": {"done": found.done, "failed": found.failed},
        "seconds": found.seconds,
        "study": found.study,
        "warnings": list(found.warnings),
    }


def revision_json(revision: Revision) -> dict[str, Plain]:
    """What a revision is and is called."""
    return {"id": revision.id, "kind": revision.kind.value, "name": revision.name, "title": revision.title}


def _row_json(row: Comparison, found: GateConclusion) -> dict[str, Plain]:
    return {
        "benchmark": row.benchmark,
        "configuration": dict(row.configuration),
        "workload": dict(row.workload),
        "metric": row.metric.name,
        "unit": row.metric.unit,
        "better": row.metric.better.value,
        **change_json(row.change),
        "before": _side_json(row.before),
        "after": _side_json(row.after),
        "alpha": found.question.alpha,
        "margin": found.question.margin,
        "statistic": str(found.question.statistic),
        "clusters": [],
    }


def _side_json(side: Side) -> Plain:
    return {
        "mean": side.mean,
        "rounds": side.runs,
        "revision": side.revision,
        "machine": side.machine,
        "disturbed": side.disturbed,
    }


def _carrier_json(carrier: Carrier) -> Plain:
    return {
        "benchmark": carrier.benchmark,
        "metric": carrier.metric,
        "option": carrier.option,
        "setting": carrier.setting,
        "ratio": carrier.ratio,
        "interval": list(carrier.interval),
        "p_value": carrier.p_value,
    }


def _broken_json(each: Broken) -> Plain:
    return {
        "benchmark": each.benchmark,
        "configuration": dict(each.configuration),
        "revision": each.revision.id,
        "why": each.why,
        "alone": each.alone,
    }


def gate_tables(found: GateConclusion, told: Sequence[Report] = ()) -> list[Table]:
    """A row for each benchmark and metric; then, where there are any, the strata that changed, the options that carry
    it, and what could not be measured.
    """
    tables = [_rows_table(found, told)]
    changed = [each for each in found.strata if each.comparison.change.told]
    if changed:
        rows = tuple((str(each.stratum), *_cells(each.comparison)) for each in changed)
        tables.append(Table("Where it changed", (Column("stratum"), *_COLUMNS), rows, ()))
    if found.carriers:
        tables.append(_carriers_table(found.carriers))
    if found.broken:
        columns = (Column("benchmark"), Column("configuration"), Column("revision"), Column("why"))
        listed = tuple(
            (each.benchmark, str(each.configuration), each.revision.short, each.why.splitlines()[0] if each.why else "")
            for each in found.broken
        )
        tables.append(Table("Not measured", columns, listed, ()))
    return tables


_COLUMNS = (
    Column("metric"),
    Column("before", align=Align.RIGHT),
    Column("after", align=Align.RIGHT),
    Column("change", align=Align.RIGHT),
    Column("interval", align=Align.RIGHT),
    Column("verdict"),
)


def _rows_table(found: GateConclusion, told: Sequence[Report]) -> Table:
    rows = tuple((row.benchmark, *_cells(row)) for row in found.rows)
    return Table(
        f"{found.revision} against {found.reference}: {found.verdict.value}",
        (Column("benchmark"), *_COLUMNS),
        rows,
        (*_notes(found), *(f"{report_sentence(one)}." for one in told)),
    )


def _cells(row: Comparison) -> tuple[Cell, ...]:
    told = row.change
    interval = "none yet"
    if told.interval is not None:
        low, high = told.interval
        interval = f"{change_number(low - 1.0)} to {change(high - 1.0)}"
    return (
        row.metric.name,
        Shown(quantity(row.before.mean, row.metric.unit), row.before.mean),
        Shown(quantity(row.after.mean, row.metric.unit), row.after.mean),
        None if told.ratio is None else Shown(change(told.ratio - 1.0), told.ratio),
        interval,
        told.verdict.value,
    )


def _carriers_table(carriers: Sequence[Carrier]) -> Table:
    columns = (
        Column("benchmark"),
        Column("metric"),
        Column("setting"),
        Column("change", align=Align.RIGHT),
        Column("interval", align=Align.RIGHT),
        Column("p", align=Align.RIGHT),
    )
    rows = tuple(
        (
            carrier.benchmark,
            carrier.metric,
            f"{carrier.option}={setting_text(carrier.setting)}",
            Shown(change(carrier.ratio - 1.0), carrier.ratio),
            f"{change_number(carrier.interval[0] - 1.0)} to {change(carrier.interval[1] - 1.0)}",
            Shown(p_text(carrier.p_value), carrier.p_value),
        )
        for carrier in carriers
    )
    note = "The change at each setting of the options that it depends on; p: that it does not, for all together."
    return Table("Because of what", columns, rows, (note,))


def _notes(found: GateConclusion) -> list[str]:
    alpha, margin = percent(found.question.alpha), percent(found.question.margin)
    confirmed = f", {found.confirmed} more confirmed what looked changed" if found.confirmed else ""
    notes = [
        f"{found.explored} rounds explored{confirmed}; a round has a run of every configuration at both revisions. A "
        f"change is told where both stages show it; where nothing changed {alpha} of checks tell one. The same: within "
        f"{margin}.",
    ]
    notes += [_undecided(row) for row in found.rows if row.change.verdict is Verdict.INCONCLUSIVE]
    if found.unconfirmed:
        notes.append(f"Looked changed, and was not confirmed by fresh runs: {', '.join(found.unconfirmed)}.")
    if found.failed:
        notes.append(f"{found.failed} of {found.done + found.failed} runs failed.")
    return notes


def _undecided(row: Comparison) -> str:
    needed = row.change.runs_needed
    foreseen = "" if needed is None else f"; {needed:,} would be needed as they vary now"
    return f"Not decided after {row.before.runs} rounds: {row.metric.name} of {row.benchmark}{foreseen}."


def gate_cases(found: GateConclusion) -> Sequence[Case]:
    """A case for each benchmark and metric, and for each stratum that changed; slower and broken fails."""
    rows = [*found.rows, *(each.comparison for each in found.strata if each.comparison.change.told)]
    cases = [
        Case(
            row.benchmark,
            " ".join(filter(None, (row.metric.name, str(row.configuration)))),
            comparison_sentence(row) if row.change.verdict is Verdict.SLOWER else None,
            comparison_sentence(row) if row.change.verdict is Verdict.INCONCLUSIVE else None,
        )
        for row in rows
    ]
    broken = [
        Case(each.benchmark, str(each.configuration) or "all", each.why, None) for each in found.broken if each.alone
    ]
    return [*cases, *broken]
