"""Configurations, and what was measured of them, as tables for other programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from hati.core import Configuration, Outcome, Run, canonical_json
from hati.report.table import Cell, Column, Table


def configurations_table(options: Sequence[str], configurations: Iterable[Configuration]) -> Table:
    """A row for each configuration, a column for each option; inactive options are empty."""
    rows = tuple(tuple(configuration.get(name) for name in options) for configuration in configurations)
    count = len(rows)
    note = f"{count:,} configuration{'' if count == 1 else 's'}."
    return Table("Configurations", tuple(Column(name) for name in options), rows, (note,))


def measured_table(runs: Sequence[Run]) -> Table:
    """A row for each run that was done: its options, revision, workload and each metric's mean after warm-up.

    ``repetition`` counts the runs of the same configuration, revision and workload from 0.
    """
    done = [run for run in runs if run.outcome is Outcome.DONE]
    options = _names(run.task.configuration for run in done)
    metrics = list(dict.fromkeys((o.metric, o.unit) for run in done for o in run.observations))
    columns = (
        *(Column(name) for name in ("benchmark", "revision", "workload", "repetition")),
        *(Column(name) for name in options),
        *(Column(metric, unit) for metric, unit in metrics),
    )
    seen: Counter[tuple[str, ...]] = Counter()
    rows = []
    for run in done:
        task = run.task
        same = (task.benchmark, task.revision, task.workload.key, task.configuration.key)
        values = {(o.metric, o.unit): o.mean for o in run.observations}
        workload: Cell = canonical_json(dict(task.workload)) if task.workload else None
        head = (task.benchmark, task.revision, workload, seen[same])
        rows.append((*head, *(task.configuration.get(o) for o in options), *(values.get(m) for m in metrics)))
        seen[same] += 1
    return Table("Measured configurations", columns, tuple(rows))


def _names(configurations: Iterable[Configuration]) -> list[str]:
    return list(dict.fromkeys(name for configuration in configurations for name in configuration))
