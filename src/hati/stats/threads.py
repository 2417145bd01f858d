"""The number of threads on which linear algebra runs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache, wraps
from typing import ParamSpec, TypeVar

from threadpoolctl import ThreadpoolController

P = ParamSpec("P")
R = TypeVar("R")

_WITH_BLAS = frozenset({"numpy.linalg", "scipy.linalg", "scipy.special"})
"""The modules whose import loads a BLAS of their own."""


@cache
def _controller(_: frozenset[str]) -> ThreadpoolController:
    """The loaded libraries, searched once for each set of modules that load one: a search takes milliseconds."""
    return ThreadpoolController()


def on_one_thread(function: Callable[P, R]) -> Callable[P, R]:
    """Return the function with BLAS held to one thread while it runs.

    For analyses with many products of small matrices: more threads would only wait for each other, and take the CPUs of
    the programs that are measured. The libraries that are loaded before the call are limited.
    """

    @wraps(function)
    def limited(*given: P.args, **named: P.kwargs) -> R:
        with _controller(_WITH_BLAS.intersection(sys.modules)).limit(limits=1, user_api="blas"):
            return function(*given, **named)

    return limited
