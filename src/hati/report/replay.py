"""A replay as plain values, and how each revision is distributed as tables."""

from __future__ import annotations

from collections.abc import Sequence

from hati.report.gate import revision_json
from hati.report.history import history_json
from hati.report.plain import Plain
from hati.report.quantities import general, tidy
from hati.report.table import Align, Cell, Column, Shown, Table
from hati.studies.regression import HistoryConclusion
from hati.studies.replay import Replayed, RevisionSpread

_NAMES = ("smallest", "lower quartile", "median", "upper quartile", "largest")


def replay_json(found: Replayed, concluded: Sequence[HistoryConclusion]) -> Plain:
    """The series with their changes, the spread over configurations at each revision, and what it cost."""
    return {
        "series": [history_json(one) for one in concluded],
        "spreads": [
            {
                "benchmark": benchmark,
                "metric": metric,
                "unit": found.metrics[benchmark, metric].unit,
                "revisions": [_spread_json(spread) for spread in spreads],
            }
            for (benchmark, metric), spreads in found.spreads.items()
        ],
        "skipped": [{"revision": revision_json(revision), "why": why} for revision, why in found.skipped],
        "left": found.left,
        "runs": found.runs,
        "failed": found.failed,
        "seconds": found.seconds,
        "study": found.study,
    }


def _spread_json(spread: RevisionSpread) -> Plain:
    return {
        "revision": revision_json(spread.revision),
        "quantiles": dict(zip(("0", "0.25", "0.5", "0.75", "1"), spread.quantiles, strict=True)),
        "configurations": spread.configurations,
    }


def spread_tables(found: Replayed) -> list[Table]:
    """For each benchmark and metric with several configurations a row for each revision: five quantiles over them."""
    return [
        _spread_table(f"{key[1]} of {key[0]} over the configurations", found.metrics[key].unit, spreads)
        for key, spreads in found.spreads.items()
        if any(spread.configurations > 1 for spread in spreads)
    ]


def _spread_table(title: str, metric_unit: str, spreads: Sequence[RevisionSpread]) -> Table:
    unit, factor = tidy(metric_unit, [value for spread in spreads for value in spread.quantiles])
    columns = (Column("revision"), *(Column(name, unit or None, Align.RIGHT) for name in _NAMES))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (spread.revision.short, *(Shown(general(value * factor, 4), value) for value in spread.quantiles))
        for spread in spreads
    )
    return Table(title, columns, rows, ())
