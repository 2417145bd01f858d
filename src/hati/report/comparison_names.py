"""What a comparison is of, in words."""

from __future__ import annotations

from hati.studies.comparison import Comparison


def benchmark_name(row: Comparison) -> str:
    """Benchmark and settings."""
    return " ".join([row.benchmark, *(str(each) for each in (row.configuration, row.workload) if str(each))])


def comparison_name(row: Comparison) -> str:
    """Benchmark, settings and metric."""
    return f"{benchmark_name(row)} {row.metric.name}"
