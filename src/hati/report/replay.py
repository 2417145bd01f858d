"""A replay as plain values, and how each revision is distributed as tables."""

from __future__ import annotations

from collections.abc import Sequence

from hati.report.document import Aside, Document, Section
from hati.report.gate import revision_json
from hati.report.history import history_json
from hati.report.history_document import histories_document
from hati.report.known import coverage_json, coverage_lines
from hati.report.quantities import general, tidy
from hati.report.table import Align, Cell, Column, Plain, Shown, Table
from hati.studies.regression import HistoryConclusion
from hati.studies.replay import Affected, Replayed, RevisionSpread, Skipped, affected_strata


def replay_json(found: Replayed, concluded: Sequence[HistoryConclusion]) -> Plain:
    """The series with their changes, the spread over configurations at each revision, and what it cost."""
    return {
        "series": [history_json(one) for one in concluded],
        "affected": [_affected_json(each) for each in affected_strata(concluded)],
        "spreads": [
            {
                "benchmark": benchmark,
                "metric": metric,
                "unit": found.metrics[benchmark, metric].unit,
                "revisions": [_spread_json(spread) for spread in spreads],
            }
            for (benchmark, metric), spreads in found.spreads.items()
        ],
        "skipped": [_skipped_json(one) for one in found.skipped],
        "left": found.left,
        "runs": found.runs,
        "failed": found.failed,
        "seconds": found.seconds,
        "study": found.study,
        "coverage": coverage_json(found.coverage),
    }


def _skipped_json(found: Skipped) -> Plain:
    configuration: Plain = None if found.configuration is None else dict(found.configuration)
    return {
        "revision": revision_json(found.revision),
        "benchmark": found.benchmark or None,
        "configuration": configuration,
        "why": found.why,
    }


def skipped_text(found: Skipped) -> str:
    """What could not be measured, and the first line of why."""
    why = found.why.splitlines()[0] if found.why else "no reason is known"
    if found.configuration is None:
        return f"{found.revision} could not be measured: {why}"
    what = f"{found.benchmark} {found.configuration or 'default'}"
    return f"{what} could not be measured at {found.revision}, which series of several configurations leave out: {why}"


def _affected_json(found: Affected) -> Plain:
    return {
        "position": found.position,
        "benchmark": found.benchmark,
        "metric": found.metric,
        "strata": [dict(stratum) for stratum in found.strata],
        "of": found.of,
        "settings": dict(found.settings),
    }


def affected_tables(concluded: Sequence[HistoryConclusion]) -> list[Table]:
    """A row for each position at which a stratum changed, with the strata; none where nothing changed in a stratum."""
    found = affected_strata(concluded)
    if not found:
        return []
    columns = (
        Column("at"),
        Column("benchmark"),
        Column("metric"),
        Column("strata", None, Align.RIGHT),
        Column("where"),
    )
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (each.position, each.benchmark, each.metric, f"{len(each.strata)} of {each.of}", _where(each)) for each in found
    )
    return [Table("Strata that changed", columns, rows, ())]


def _where(found: Affected) -> str:
    if len(found.strata) == found.of:
        return "everywhere"
    return str(found.settings) if found.settings else "; ".join(map(str, found.strata))


def _spread_json(spread: RevisionSpread) -> Plain:
    return {
        "revision": revision_json(spread.revision),
        "quantiles": dict(zip(("0", "0.25", "0.5", "0.75", "1"), spread.quantiles, strict=True)),
        "configurations": spread.configurations,
    }


def spread_tables(found: Replayed) -> list[Table]:
    """For each benchmark and metric with several configurations a row for each revision, with a box plot over them."""
    return [
        _spread_table(f"{key[1]} of {key[0]} over the configurations", found.metrics[key].unit, spreads)
        for key, spreads in found.spreads.items()
        if any(spread.configurations > 1 for spread in spreads)
    ]


def _spread_table(title: str, metric_unit: str, spreads: Sequence[RevisionSpread]) -> Table:
    unit, factor = tidy(metric_unit, [value for spread in spreads for value in spread.quantiles])
    numbers = (Column(name, unit or None, Align.RIGHT) for name in ("smallest", "median", "largest"))
    low, high = (edge(spread.quantiles[place] for spread in spreads) for edge, place in ((min, 0), (max, -1)))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (
            spread.revision.short,
            *(Shown(general(spread.quantiles[place] * factor, 4), spread.quantiles[place]) for place in (0, 2, 4)),
            box_plot(spread.quantiles, low, high),
        )
        for spread in spreads
    )
    return Table(title, (Column("revision"), *numbers, Column("")), rows, (_LEGEND,))


_WIDTH = 32
_LEGEND = "From the smallest to the largest -, between the quartiles =, at the median |, all on one scale."


def box_plot(quantiles: Sequence[float], low: float, high: float) -> str:
    """The five quantiles drawn between two ends: the RES paper, Fig. 12, a line for each revision."""
    scale = (_WIDTH - 1) / (high - low) if high > low else 0.0
    first, lower, median, upper, last = (round((value - low) * scale) for value in quantiles)
    drawn = [" "] * _WIDTH
    drawn[first : last + 1] = "-" * (last + 1 - first)
    drawn[lower : upper + 1] = "=" * (upper + 1 - lower)
    drawn[median] = "|"
    return "".join(drawn).rstrip()


def replay_document(found: Replayed, concluded: Sequence[HistoryConclusion], further: Sequence[Aside] = ()) -> Document:
    """Where the series of a replay changed, and how each revision is distributed over the configurations."""
    covered = (("coverage", line) for line in coverage_lines(found.coverage))
    tables: tuple[Section, ...] = (*affected_tables(concluded), *spread_tables(found), *further)
    return histories_document(found.series, concluded, found, tuple(covered), tables)
