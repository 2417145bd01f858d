"""A gate in a sentence, as tables, and as plain values."""

from __future__ import annotations

import math
from collections.abc import Sequence

from msgspec.structs import asdict

from hati.core import Revision, setting_text
from hati.core.wording import counted
from hati.report.changes import WITH_POWER, change_json, p_text, verdict_text
from hati.report.findings import report_json, report_sentence
from hati.report.known import coverage_json, coverage_notes, partial_coverage
from hati.report.quantities import change, change_number, percent, quantity
from hati.report.statistics import statistic_json, statistic_notes
from hati.report.table import Align, Cell, Column, Plain, Shown, Table
from hati.studies.comparison import ChangeVerdict, Comparison, Side
from hati.studies.findings import Ruling
from hati.studies.gate import AffectedOption, Broken, GateConclusion, WarmUpCut


def gate_answer(ruling: Ruling) -> str:
    """The worst that is not known, the largest of it with its size, and where that is.

    It begins with the number of configurations measured, where nothing is known of the others.
    """
    measured = partial_coverage(ruling.gate.coverage)
    return f"{measured}: {_answer(ruling)}" if measured else _answer(ruling)


def _answer(ruling: Ruling) -> str:
    if ruling.broken:
        works = "works" if len(ruling.broken) == 1 else "work"
        return f"cannot be measured: {_places(ruling.broken)} {works} at the reference alone"
    known = ruling.known_slower
    besides = f"; slower, already known: {', '.join(known)}" if known else ""
    return f"{_worst(ruling)}{besides}"


def gate_verdict(ruling: Ruling) -> str:
    """The verdict in a few words, for a title."""
    if ruling.broken:
        return "not measured"
    if not ruling.known_slower or ruling.verdict is ChangeVerdict.SLOWER:
        return ruling.verdict.value
    return (
        "slower, as known" if ruling.verdict is ChangeVerdict.SAME else f"{ruling.verdict.value}, and slower as known"
    )


def _worst(ruling: Ruling) -> str:
    found = ruling.gate
    if ruling.verdict is ChangeVerdict.SLOWER:
        return f"slower: {_largest(found, ruling.slower)}"
    if ruling.verdict is ChangeVerdict.INCONCLUSIVE:
        left = [row for row in found.rows if row.change.verdict is ChangeVerdict.INCONCLUSIVE]
        which = _named(left[0]) if len(left) == 1 else f"{len(left)} of {len(found.rows)} comparisons"
        looking = [row for row in _all_rows(found) if _named(row) in found.suspected]
        return f"not decided: {which}{f'; looks changed: {_largest(found, looking)}' if looking else ''}"
    if ruling.verdict is ChangeVerdict.FASTER:
        faster = [row for row in _all_rows(found) if row.change.verdict is ChangeVerdict.FASTER]
        return f"faster: {_largest(found, faster)}"
    return "nothing else changed" if ruling.known_slower else f"the same, within {percent(found.question.margin)}"


def _largest(found: GateConclusion, told: Sequence[Comparison]) -> str:
    """Over all configurations, where it shows there; else where it is largest."""
    rows = [row for row in told if not row.configuration] or told
    row = max(rows, key=lambda row: abs(math.log(row.change.ratio)) if row.change.ratio else math.inf)
    more = f", and {len(rows) - 1} more" if len(rows) > 1 else ""
    return f"{_named(row)}{_size(row)}{_because(found, row)}{more}"


def _all_rows(found: GateConclusion) -> list[Comparison]:
    return [*found.rows, *(each.comparison for each in found.strata)]


def _places(broken: Sequence[Broken]) -> str:
    first = " ".join(filter(None, (broken[0].benchmark, str(broken[0].configuration))))
    return first if len(broken) == 1 else f"{first} and {len(broken) - 1} more"


def _named(row: Comparison) -> str:
    where = f" where {row.configuration}" if row.configuration else ""
    return f"{row.metric.name} of {row.benchmark}{where}"


def _size(row: Comparison) -> str:
    told = row.change
    if told.ratio is None or told.interval is None:
        return ""
    low, high = told.interval
    return f" {change(told.ratio - 1.0)} ({change_number(low - 1.0)} to {change(high - 1.0)})"


def _because(found: GateConclusion, row: Comparison) -> str:
    """The setting with the largest change the same way, where the change depends on settings.

    For a stratum without its size, which is that over all configurations.
    """
    ratio = row.change.ratio
    own = [one for one in found.affected_options if (one.benchmark, one.metric) == (row.benchmark, row.metric.name)]
    if row.configuration:
        own = [one for one in own if not one.where and one.option not in row.configuration]
    if not own or ratio is None:
        return ""
    most = max(own, key=lambda one: one.ratio if ratio > 1.0 else -one.ratio)
    where = " ".join(f"{name}={setting_text(setting)}" for name, setting in (*most.where, (most.option, most.setting)))
    return f", most where {where}" + ("" if row.configuration else f" ({change(most.ratio - 1.0)})")


def gate_json(ruling: Ruling) -> dict[str, Plain]:
    """The verdict, both revisions, a row for each benchmark and metric, strata, and the options that carry a change.

    ``verdict`` is that of the measurement; ``fails`` says whether it stops the change, in view of what is known.
    """
    found = ruling.gate
    return {
        "verdict": found.verdict.value,
        "fails": ruling.fails,
        "reference": revision_json(found.reference),
        "revision": revision_json(found.revision),
        "benchmarks": [_row_json(row, ruling) for row in found.rows],
        "strata": [{"stratum": dict(each.stratum), **_row_json(each.comparison, ruling)} for each in found.strata],
        "options": [_affected_json(carrier) for carrier in found.affected_options],
        "findings": [report_json(one) for one in ruling.reports],
        "broken": [_broken_json(each) for each in found.broken],
        "unconfirmed": list(found.unconfirmed),
        "suspected": list(found.suspected),
        "rounds": {"explored": found.explored, "confirmed": found.confirmed},
        "runs": {"done": found.done, "failed": found.failed},
        "seconds": found.seconds,
        "study": found.study,
        "warnings": list(found.warnings),
        "coverage": coverage_json(found.coverage),
        "warm_up": [asdict(cut) for cut in found.warm_ups],
    }


def revision_json(revision: Revision) -> dict[str, Plain]:
    """What a revision is and is called."""
    return {"id": revision.id, "kind": revision.kind.value, "name": revision.name, "title": revision.title}


def _row_json(row: Comparison, ruling: Ruling) -> dict[str, Plain]:
    question, known = ruling.gate.question, ruling.known(row)
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
        "alpha": question.alpha,
        "margin": question.margin,
        **statistic_json(row, str(question.statistic)),
        "clusters": [],
        "known": None if known is None else known.id,
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


def _affected_json(carrier: AffectedOption) -> Plain:
    return {
        "benchmark": carrier.benchmark,
        "metric": carrier.metric,
        "option": carrier.option,
        "setting": carrier.setting,
        "ratio": carrier.ratio,
        "interval": list(carrier.interval),
        "p_value": carrier.p_value,
        "where": dict(carrier.where),
    }


def _broken_json(each: Broken) -> Plain:
    return {
        "benchmark": each.benchmark,
        "configuration": dict(each.configuration),
        "revision": each.revision.id,
        "why": each.why,
        "alone": each.alone,
    }


def gate_tables(ruling: Ruling) -> list[Table]:
    """A row for each benchmark and metric; then, where there are any, the strata that changed, the options that carry
    it, and what could not be measured.
    """
    found = ruling.gate
    tables = [_rows_table(ruling)]
    changed = [each for each in found.strata if each.comparison.change.told]
    if changed:
        rows = tuple((str(each.stratum), *_cells(each.comparison, ruling)) for each in changed)
        tables.append(Table("Where it changed", (Column("stratum"), *_COLUMNS), rows, ()))
    if found.affected_options:
        tables.append(_affected_table(found.affected_options))
    if found.broken:
        columns = (Column("benchmark"), Column("configuration"), Column("revision"), Column("why"))
        listed = tuple(
            (each.benchmark, str(each.configuration), each.revision.short, each.why.splitlines()[0] if each.why else "")
            for each in found.broken
        )
        tables.append(Table("Not measured", columns, listed, ()))
    return tables


def gate_table(ruling: Ruling) -> Table | None:
    """The rows that are not the same, as far as they are few; None where there are none."""
    rows = [row for row in ruling.gate.rows if row.change.verdict is not ChangeVerdict.SAME]
    shown = sorted(rows, key=lambda row: _RANKS.index(row.change.verdict))[:_MOST]
    if not shown:
        return None
    cells = tuple((row.benchmark, *_cells(row, ruling)) for row in shown)
    left = len(rows) - len(shown)
    notes = (f"{left} more below.",) if left else ()
    return Table("Not the same", (Column("benchmark"), *_COLUMNS), cells, notes)


_MOST = 20
_RANKS = (ChangeVerdict.SLOWER, ChangeVerdict.INCONCLUSIVE, ChangeVerdict.FASTER)

_COLUMNS = (
    Column("metric"),
    Column("before", align=Align.RIGHT),
    Column("after", align=Align.RIGHT),
    Column("change", align=Align.RIGHT),
    Column("interval", "%", align=Align.RIGHT),
    Column("p", align=Align.RIGHT),
    Column("verdict"),
)


def _rows_table(ruling: Ruling) -> Table:
    found = ruling.gate
    rows = tuple((row.benchmark, *_cells(row, ruling)) for row in found.rows)
    return Table(
        f"{found.revision} against {found.reference}: {gate_verdict(ruling)}",
        (Column("benchmark"), *_COLUMNS),
        rows,
        (*_notes(found), *(f"{report_sentence(one)}." for one in ruling.reports)),
    )


def _cells(row: Comparison, ruling: Ruling) -> tuple[Cell, ...]:
    told = row.change
    interval = "none yet"
    if told.interval is not None:
        low, high = told.interval
        interval = f"{change_number(low - 1.0)} to {change_number(high - 1.0)}"
    return (
        row.metric.name,
        Shown(quantity(row.before.mean, row.metric.unit), row.before.mean),
        Shown(quantity(row.after.mean, row.metric.unit), row.after.mean),
        None if told.ratio is None else Shown(change(told.ratio - 1.0), told.ratio),
        interval,
        None if told.q_value is None else Shown(p_text(told.q_value), told.q_value),
        verdict_text(told) if ruling.known(row) is None else Shown(f"{verdict_text(told)}, known", told.verdict.value),
    )


def _affected_table(affected: Sequence[AffectedOption]) -> Table:
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
            option.benchmark,
            option.metric,
            f"{option.option}={setting_text(option.setting)}{_where(option)}",
            Shown(change(option.ratio - 1.0), option.ratio),
            f"{change_number(option.interval[0] - 1.0)} to {change(option.interval[1] - 1.0)}",
            Shown(p_text(option.p_value), option.p_value),
        )
        for option in affected
    )
    note = (
        "The change at each setting of the options that it depends on; p: that the change is the same at all settings"
        " of the option, corrected for all options."
    )
    return Table("Because of what", columns, rows, (note,))


def _where(carrier: AffectedOption) -> str:
    named = " ".join(f"{name}={setting_text(setting)}" for name, setting in carrier.where)
    return f" where {named}" if named else ""


def _notes(found: GateConclusion) -> list[str]:
    alpha, margin = percent(found.question.alpha), percent(found.question.margin)
    confirmed = f", {found.confirmed} more confirmed what looked changed" if found.confirmed else ""
    notes = [
        f"{counted(found.explored, 'round')} explored{confirmed}; a round has a run of every configuration at both "
        f"revisions. A change is reported where both stages show it; where nothing changed, {alpha} of checks report "
        f"one. The same: within {margin}. Change: the geometric mean of the rounds' ratios, which need not be the "
        "ratio of the means before and after. p: of no change, corrected for all rows (Holm), by both stages of what "
        "looks changed.",
        *coverage_notes(found.coverage),
        *statistic_notes(found.rows),
        *map(_warm_up, found.warm_ups),
    ]
    undecided = [row for row in found.rows if row.change.verdict is ChangeVerdict.INCONCLUSIVE]
    notes += [_undecided(row) for row in undecided[:_MOST]]
    if undecided and not found.confirmed:
        notes.append("The same command with a larger --budget goes on from these rounds.")
    if found.unconfirmed:
        notes.append(f"Looked changed, and was not confirmed by fresh runs: {', '.join(found.unconfirmed)}.")
    if found.suspected:
        fresh = f"{counted(found.confirmed, 'round')} of fresh runs" if found.confirmed else "no fresh runs"
        notes.append(f"Looks changed, which {fresh} could not confirm before the end: {', '.join(found.suspected)}.")
    if found.failed:
        notes.append(f"{found.failed} of {found.done + found.failed} runs failed.")
    return notes


def _warm_up(cut: WarmUpCut) -> str:
    left_out = "observation" if cut.observations == 1 else f"{cut.observations:,} observations"
    return (
        f"Warm-up left out: the first {left_out} of each run of {cut.benchmark} ({cut.metric}); after these "
        f"{cut.reason}. hati.toml states no `warmup`; `warmup = 0` counts all observations."
    )


def _undecided(row: Comparison) -> str:
    needed = row.change.runs_needed
    expected = "" if needed is None else f"; {needed:,} would decide {WITH_POWER}"
    return f"Not decided after {counted(row.before.runs, 'round')}: {row.metric.name} of {row.benchmark}{expected}."
