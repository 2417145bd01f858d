"""The number of threads on which linear algebra runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import threadpool_limits

P = ParamSpec("P")
R = TypeVar("R")


def on_one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with BLAS held to one thread while it runs.

    For analyses with many products of small matrices: more threads would only wait for each other, and take the CPUs of
    the programs that are measured. The libraries that are loaded before the call are limited.
    """

    @wraps(function)
    def limited(*given: P.args, **named: P.kwargs) -> R:
        with threadpool_limits(1, user_api="blas"):
            return function(*given, **named)

    return limited
