"""How many leading observations of a run are warm-up."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core import InputError


def leading(marks: Sequence[bool]) -> int:
    """The number of leading observations that the benchmark itself marked as warm-up.

    Raises:
        InputError: where a warm-up observation follows a measured one.

    >>> leading([True, True, False])
    2
    """
    marked = next((i for i, mark in enumerate(marks) if not mark), len(marks))
    if any(marks[marked:]):
        raise InputError("warm-up follows measured observations", fix="print warm-up first")
    return marked


def warmup(observations: int, marked: int, fixed: int) -> int:
    """How many of a run's observations are warm-up: the first ``fixed``, or more where more are ``marked``.

    Raises:
        InputError: where no observation is left.

    >>> warmup(observations=10, marked=2, fixed=3)
    3
    """
    count = max(marked, fixed)
    if count < observations:
        return count
    had = "1 observation" if observations == 1 else f"{observations} observations"
    raise InputError(
        f"{had} and {count} of warm-up: none is left", fix="let a run print more observations or lower `warmup`"
    )
