"""Disturbed runs: what marks them, what does not, and how often quiet runs are marked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from hati.core import NO_USAGE, FloatArray, Usage, replace
from hati.harness import disturbances

QUIET = Usage(0.99, 1.0, 5, 3, 1 << 20, 0.4, 0.01, 0.0)
ALIKE = [replace(QUIET, cpu_time=0.99 + 0.001 * i, involuntary_switches=3 + i % 3) for i in range(9)]


@pytest.mark.parametrize(
    ("used", "reason"),
    [
        (replace(QUIET, cpu_time=0.6), "0.6 s of CPU time a second, usually 0.994"),
        (replace(QUIET, involuntary_switches=250), "250 involuntary switches a second, usually 4"),
        (replace(QUIET, pressure=0.5), "tasks waited for a CPU 50% of the time, usually 1%"),
        (replace(QUIET, steal=0.1), "10% of the time was stolen by other virtual machines"),
        (
            replace(QUIET, cpu_time=0.5, pressure=0.5),
            "0.5 s of CPU time a second, usually 0.994; tasks waited for a CPU 50% of",
        ),
    ],
)
def test_a_run_that_something_disturbed_is_marked_with_the_reason(used: Usage, reason: str) -> None:
    found = disturbances([*ALIKE, used])
    assert found[:-1] == ("",) * 9
    assert found[-1].startswith(reason)


@pytest.mark.parametrize(
    "used",
    [
        replace(QUIET, cpu_time=1.9),  # more of it is no sign of others
        replace(QUIET, cpu_time=0.96, involuntary_switches=15, pressure=0.05, steal=0.02),
        replace(QUIET, load=20.0),
        NO_USAGE,
    ],
)
def test_what_is_little_or_unknown_marks_nothing(used: Usage) -> None:
    assert not any(disturbances([*ALIKE, used]))


def test_others_that_are_always_there_are_told_from_a_benchmarks_own_threads() -> None:
    assert all(
        "waited for a CPU 100% of the time, and the run used only 0.3 CPUs" in why
        for why in disturbances([Usage(0.3, 1.0, pressure=1.0)] * 6)
    )
    assert not any(disturbances([Usage(2.0, 1.0, pressure=1.0)] * 6))
    assert not any(disturbances([Usage(0.001, 0.01, pressure=0.01)] * 6))


def test_of_few_runs_only_what_tells_by_itself_counts() -> None:
    assert not any(disturbances([QUIET] * 3 + [replace(QUIET, cpu_time=0.1)]))
    assert disturbances([replace(QUIET, steal=0.2)]) == ("20% of the time was stolen by other virtual machines",)
    assert disturbances([]) == ()


def test_what_is_usual_for_the_benchmark_is_no_disturbance() -> None:
    contended = [Usage(1.5, 1.0, 0, 400 + 10 * i, 0, 9.0, 0.9 + 0.01 * i, 0.0) for i in range(10)]
    assert not any(disturbances(contended))


_NOISES: dict[str, Callable[[np.random.Generator, tuple[int, int]], FloatArray]] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "t3": lambda rng, shape: rng.standard_t(3, shape),
    "lognormal": lambda rng, shape: np.exp(0.25 * rng.standard_normal(shape)) / 0.25,
}


@pytest.mark.statistical
@pytest.mark.parametrize("noise", _NOISES)
@pytest.mark.parametrize("runs", [5, 8, 20])
def test_at_most_one_quiet_run_in_a_hundred_is_marked(noise: str, runs: int) -> None:
    """All signs vary much more than the least that counts, independently: the 99 % binomial bound."""
    rng, samples = np.random.default_rng(5), max(80, 1600 // runs)
    cpu, switches, pressure = (_NOISES[noise](rng, (samples, runs)) for _ in range(3))
    marked = 0
    for i in range(samples):
        usages = [
            Usage(
                cpu_time=(used := 4.0 * float(np.exp(-0.15 * cpu[i, j]))),
                wall_time=1.0,
                involuntary_switches=int(max(0.0, 30.0 + 2.0 * switches[i, j]) ** 2),
                pressure=min(used, float(max(0.0, 0.5 + 0.1 * pressure[i, j]))),
            )
            for j in range(runs)
        ]
        marked += sum(map(bool, disturbances(usages)))
    number = samples * runs
    assert marked <= 0.01 * number + 2.33 * (0.01 * 0.99 * number) ** 0.5


@pytest.mark.statistical
def test_a_competitor_for_half_of_the_time_is_found() -> None:
    rng = np.random.default_rng(6)
    found = 0
    for _ in range(200):
        quiet = [Usage(float(np.exp(-abs(0.03 * rng.standard_normal()))), 1.0) for _ in range(8)]
        found += bool(disturbances([*quiet, Usage(0.5, 1.0)])[-1])
    assert found >= 190
