"""Tasks for the engines' tests."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from hati.core import Configuration, Task, Workload


@pytest.fixture
def task() -> Callable[..., Task]:
    """The task of a benchmark, by its name and repetition."""
    return lambda benchmark="good", repetition=1: Task(
        "study", "design", benchmark, Configuration({"level": 2}), "revision", Workload(), repetition
    )
