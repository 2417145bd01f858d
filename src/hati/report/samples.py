"""Samples as they are exchanged: format ``hati-samples-1``."""

from __future__ import annotations

from collections.abc import Iterable

from hati.core import Sample, SampledRun
from hati.report.table import Plain

FORMAT = "hati-samples-1"


def samples_json(samples: Iterable[Sample]) -> dict[str, Plain]:
    """Samples as plain values: two-level, every observation in order, warm-up counted."""
    return {"format": FORMAT, "samples": [_sample(sample) for sample in samples]}


def sample_head(sample: Sample) -> dict[str, Plain]:
    """What a sample's runs are of."""
    return {
        "benchmark": sample.benchmark,
        "metric": sample.metric.name,
        "unit": sample.metric.unit,
        "better": sample.metric.better.value,
        "configuration": dict(sample.configuration),
        "revision": sample.revision,
        "workload": dict(sample.workload),
        "machine": sample.machine,
    }


def run_head(run: SampledRun) -> dict[str, Plain]:
    """What is known of a run besides its observations; without what is not known."""
    return {key: value for key, value in _around(run).items() if value is not None}


def _sample(sample: Sample) -> dict[str, Plain]:
    return {**sample_head(sample), "runs": [_run(run) for run in sample.runs]}


def _run(run: SampledRun) -> dict[str, Plain]:
    around = _around(run)
    begun = {key: around.pop(key) for key in ("started", "warmup")}
    return {**begun, "observations": [float(value) for value in run.observations.values], **around}


def _around(run: SampledRun) -> dict[str, Plain]:
    return {
        "started": run.started.isoformat().replace("+00:00", "Z") if run.started else None,
        "warmup": run.observations.warmup,
        "cpu_time": run.usage.cpu_time,
        "wall_time": run.usage.wall_time,
        "voluntary_switches": run.usage.voluntary_switches,
        "involuntary_switches": run.usage.involuntary_switches,
        "peak_memory": run.usage.peak_memory,
        "load": run.usage.load,
        "pressure": run.usage.pressure,
        "steal": run.usage.steal,
        "study": run.origin.study,
        "stage": run.origin.stage,
        "repetition": run.origin.repetition,
        "exit": run.exit,
        "remark": run.remark or None,
    }
