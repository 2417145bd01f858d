"""Runs as rows of the tables and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from hati.core import Configuration, Observations, Outcome, Resources, Run, Task, Workload
from hati.store import schema
from hati.store.checksums import checksum, verify
from hati.store.codec import decode, decode_text, encode, encode_text

_RESOURCES = (
    "wall_time",
    "user_time",
    "system_time",
    "peak_memory",
    "voluntary_switches",
    "involuntary_switches",
    "load",
    "pressure",
    "steal",
)
_NOT_EVERYWHERE = {"pressure", "steal"}


def run_rows(run: Run) -> tuple[dict[str, object], list[dict[str, object]]]:
    """The row of a run, and those of its observations without its number."""
    observed = [
        {"metric": o.metric, "unit": o.unit, "warmup": o.warmup, "position": position, "data": encode(o.values)}
        for position, o in enumerate(run.observations)
    ]
    row = _run_row(run)
    return {**row, "checksum": checksum(schema.run, row, observed)}, observed


def _run_row(run: Run) -> dict[str, object]:
    task = run.task
    return {
        "task": task.id,
        "study": task.study,
        "stage": task.stage,
        "benchmark": task.benchmark,
        "configuration": task.configuration.key,
        "revision": task.revision,
        "workload": task.workload.key,
        "repetition": task.repetition,
        "machine": run.machine,
        "started": run.started.isoformat(),
        "seconds": run.seconds,
        "outcome": run.outcome.value,
        "detail": encode_text(run.detail),
        "exit": run.exit,
        "output": encode_text(run.output),
        **{name: run.resources and getattr(run.resources, name) for name in _RESOURCES},
        "reset": None if run.reset is None else float(run.reset),
    }


def read_run(row: Row[Any], observed: Sequence[Row[Any]]) -> Run:
    """A run from its row and those of its observations.

    Raises:
        ValueError: or another of ``UNREADABLE``, where they are not as they were written.
    """
    verify(schema.run, row._mapping, [o._mapping for o in observed])
    task = Task(
        study=row.study,
        stage=row.stage,
        benchmark=row.benchmark,
        configuration=Configuration(json.loads(row.configuration)),
        revision=row.revision,
        workload=Workload(json.loads(row.workload)),
        repetition=row.repetition,
    )
    if task.id != row.task:
        raise ValueError("its task is another")
    return Run(
        task=task,
        machine=row.machine,
        started=datetime.fromisoformat(row.started),
        seconds=row.seconds,
        outcome=Outcome(row.outcome),
        detail=decode_text(row.detail),
        exit=row.exit,
        output=decode_text(row.output),
        resources=_resources(row),
        observations=tuple(map(_observations, observed)),
        reset=row.reset,
    )


def _observations(row: Row[Any]) -> Observations:
    if not row.metric:
        raise ValueError("a metric has no name")
    return Observations(row.metric, row.unit, decode(row.data), row.warmup)


def _resources(row: Row[Any]) -> Resources | None:
    if row.wall_time is None:
        return None
    values = {name: getattr(row, name) for name in _RESOURCES}
    if any(values[name] is None for name in _RESOURCES if name not in _NOT_EVERYWHERE):
        raise ValueError("its resources are not whole")
    return Resources(**values)
