"""The formats of files of samples."""

from __future__ import annotations

from enum import StrEnum


class SampleFormat(StrEnum):
    """The formats of files of samples that can be read."""

    HATI = "hati"
    HYPERFINE = "hyperfine"
    JMH = "jmh"
    PYPERF = "pyperf"
    PYTEST_BENCHMARK = "pytest-benchmark"
    GOOGLE_BENCHMARK = "google-benchmark"
    GO = "go"
    CSV = "csv"
    CRITERION = "criterion"
    ASV = "asv"
    GITHUB_ACTION = "github-action-benchmark"
    BENCHER = "bencher"
    BENCHMARK_DOTNET = "benchmarkdotnet"
    CATCH2 = "catch2"
