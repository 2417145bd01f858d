"""Configurations, spaces and their measurements, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec import Struct

from hati.core import Configuration, Outcome, Run, canonical_json, setting_text
from hati.core.wording import counted
from hati.document.document import Cell, Column, Table, columns_of
from hati.space import Diagnosis, Space


class SpaceSizeJson(Struct, frozen=True, tag_field="format", tag="hati-space-count-1"):
    """The number of valid configurations."""

    configurations: int


def configurations_table(options: Sequence[str], configurations: Iterable[Configuration]) -> Table:
    """A row for each configuration, a column for each option; inactive options are empty."""
    rows = tuple(tuple(configuration.get(name) for name in options) for configuration in configurations)
    count = len(rows)
    note = f"{counted(count, 'configuration')}."
    return Table("Configurations", tuple(Column(name) for name in options), rows, (note,))


_ORIGIN = ("benchmark", "study", "stage", "revision", "machine", "workload", "run", "repetition")


def measured_table(runs: Sequence[Run]) -> Table:
    """A row for each run that was done: where it comes from, its options, and each metric's mean after warm-up.

    ``run`` is the task's id. A metric that comes in several units has a column for each. An option or a metric whose
    name is taken by a column before it is called ``option NAME`` or ``metric NAME``.
    """
    done = [run for run in runs if run.outcome is Outcome.DONE]
    options = _names(run.task.configuration for run in done)
    metrics = list(dict.fromkeys((o.metric, o.unit) for run in done for o in run.measured))
    units = Counter(metric for metric, _ in metrics)
    named = [(f"{metric} ({unit})", None) if units[metric] > 1 else (metric, unit) for metric, unit in metrics]
    columns = (
        *map(Column, _ORIGIN),
        *(Column(f"option {name}" if name in _ORIGIN else name) for name in options),
        *(Column(f"metric {name}" if name in (*_ORIGIN, *options) else name, unit) for name, unit in named),
    )
    rows = []
    for run in done:
        values = {(o.metric, o.unit): o.mean for o in run.measured}
        settings = (run.task.configuration.get(option) for option in options)
        rows.append((*_origin(run), *settings, *map(values.get, metrics)))
    return Table("Measured configurations", columns, tuple(rows))


def _origin(run: Run) -> tuple[Cell, ...]:
    task = run.task
    workload = canonical_json(dict(task.workload)) if task.workload else None
    return (
        *(task.benchmark, task.study, task.stage, task.revision, run.machine),
        *(workload, task.id, task.repetition),
    )


def _names(configurations: Iterable[Configuration]) -> list[str]:
    return list(dict.fromkeys(name for configuration in configurations for name in configuration))


def diagnosis_table(space: Space, diagnosis: Diagnosis, warnings: int = 0) -> Table:
    """A row for each finding; without any, a note that nothing is wrong, or with the number of ``warnings``."""
    rows: list[tuple[Cell, ...]] = [
        *(("contradiction", str(formula), "remove or change one of these") for formula in diagnosis.contradiction),
        *(
            ("default not valid", str(formula), "change a default, or this constraint")
            for formula in diagnosis.violated
        ),
        *(("never active", name, "its active_if cannot hold") for name in diagnosis.never_active),
        *(("dead setting", f"{name} = {setting_text(s)}", "no configuration has it") for name, s in diagnosis.dead),
        *(("forced", f"{name} = {setting_text(s)}", "every configuration has it") for name, s in diagnosis.forced),
    ]
    size = f"{counted(len(space.options), 'option')}, {counted(len(space.constraints), 'constraint')}"
    warned = counted(warnings, "warning") if warnings else ""
    found = "" if diagnosis.sound else "see above"
    notes = [f"{size}: {', and '.join(filter(None, (found, warned))) or 'nothing is wrong'}."]
    if diagnosis.undecided:
        notes.append(f"Not decided within the limit of solver steps: {diagnosis.undecided}.")
    return Table("Space", columns_of("finding | what | meaning"), tuple(rows), tuple(notes))
