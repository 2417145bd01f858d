"""Samples as they are exchanged: format ``hati-samples-1``."""

from __future__ import annotations

from collections.abc import Iterable

from hati.core import Sample, SampledRun
from hati.report.plain import Plain


def samples_json(samples: Iterable[Sample]) -> dict[str, Plain]:
    """Samples as plain values: two-level, every observation in order, warm-up counted."""
    return {"format": "hati-samples-1", "samples": [_sample(sample) for sample in samples]}


def _sample(sample: Sample) -> dict[str, Plain]:
    return {
        "benchmark": sample.benchmark,
        "metric": sample.metric.name,
        "unit": sample.metric.unit,
        "better": sample.metric.better.value,
        "configuration": dict(sample.configuration),
        "revision": sample.revision,
        "workload": dict(sample.workload),
        "machine": sample.machine,
        "runs": [_run(run) for run in sample.runs],
    }


def _run(run: SampledRun) -> dict[str, Plain]:
    return {
        "started": run.started.isoformat().replace("+00:00", "Z") if run.started else None,
        "warmup": run.observations.warmup,
        "observations": [float(value) for value in run.observations.values],
        "cpu_time": run.usage.cpu_time,
        "wall_time": run.usage.wall_time,
        "voluntary_switches": run.usage.voluntary_switches,
        "involuntary_switches": run.usage.involuntary_switches,
        "peak_memory": run.usage.peak_memory,
        "load": run.usage.load,
        "study": run.origin.study,
        "stage": run.origin.stage,
        "repetition": run.origin.repetition,
        "exit": run.exit,
    }
