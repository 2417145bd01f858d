"""Samples as they are exchanged: format ``hati-samples-1``."""

from __future__ import annotations

from collections.abc import Iterable

from hati.core import Observations, Run, Sample
from hati.report.plain import Plain


def samples_json(samples: Iterable[Sample]) -> dict[str, Plain]:
    """Samples as plain values: two-level, every observation in order, warm-up counted."""
    return {"format": "hati-samples-1", "samples": [_sample(sample) for sample in samples]}


def _sample(sample: Sample) -> dict[str, Plain]:
    return {
        "benchmark": sample.benchmark,
        "metric": sample.metric,
        "unit": sample.unit,
        "better": sample.better.value,
        "configuration": dict(sample.configuration),
        "revision": sample.revision,
        "workload": dict(sample.workload),
        "machine": sample.machine,
        "runs": [_run(run, observed) for run in sample.runs if (observed := run.of(sample.metric)) is not None],
    }


def _run(run: Run, observed: Observations) -> dict[str, Plain]:
    used = run.resources
    return {
        "started": run.started.isoformat().replace("+00:00", "Z"),
        "warmup": observed.warmup,
        "observations": [float(value) for value in observed.values],
        "cpu_time": used.cpu_time if used else None,
        "wall_time": used.wall_time if used else None,
        "voluntary_switches": used.voluntary_switches if used else None,
        "involuntary_switches": used.involuntary_switches if used else None,
        "peak_memory": used.peak_memory if used else None,
        "load": used.load if used else None,
        "study": run.task.study,
        "stage": run.task.stage,
        "repetition": run.task.repetition,
        "exit": run.exit,
    }
