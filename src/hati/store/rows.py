"""Runs as rows of the tables and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import Row

from hati.core import Configuration, Observations, Outcome, Resources, Run, Task, Workload
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


def run_row(run: Run) -> dict[str, object]:
    """The row of a run."""
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
    }


def observation_rows(number: int, run: Run) -> list[dict[str, object]]:
    """The rows of a run's observations."""
    return [
        {
            "run": number,
            "metric": o.metric,
            "unit": o.unit,
            "warmup": o.warmup,
            "position": position,
            "data": encode(o.values),
        }
        for position, o in enumerate(run.observations)
    ]


def read_observations(row: Row[Any]) -> Observations:
    """Observations from their row."""
    return Observations(row.metric, row.unit, decode(row.data), row.warmup)


def read_run(row: Row[Any], observations: Sequence[Observations]) -> Run:
    """A run from its row and its observations."""
    task = Task(
        study=row.study,
        stage=row.stage,
        benchmark=row.benchmark,
        configuration=Configuration(json.loads(row.configuration)),
        revision=row.revision,
        workload=Workload(json.loads(row.workload)),
        repetition=row.repetition,
    )
    resources = None
    if row.wall_time is not None:
        resources = Resources(**{name: getattr(row, name) for name in _RESOURCES})
    return Run(
        task=task,
        machine=row.machine,
        started=datetime.fromisoformat(row.started),
        seconds=row.seconds,
        outcome=Outcome(row.outcome),
        detail=decode_text(row.detail),
        exit=row.exit,
        output=decode_text(row.output),
        resources=resources,
        observations=tuple(observations),
    )
