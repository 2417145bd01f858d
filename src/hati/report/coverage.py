"""How much of a space was measured, in words and as plain values."""

from __future__ import annotations

from collections.abc import Sequence

from hati.core.wording import counted
from hati.knowledge import Coverage
from hati.report.plain import Plain


def coverage_json(coverage: Sequence[Coverage]) -> Plain:
    """Of each benchmark the configurations that are measured, of how many, and why these."""
    return [
        {
            "benchmark": one.benchmark,
            "configurations": one.configurations,
            "space": one.space,
            "strata": list(one.strata),
            "source": one.source,
        }
        for one in coverage
    ]


def partial_coverage(coverage: Sequence[Coverage]) -> str:
    """How many of how many configurations an answer is about, where nothing is known of the others; else nothing.

    >>> partial_coverage([Coverage("main", 1, 131072, (), "the default configuration")])
    '1 of 131,072 configurations'
    """
    partial = [one for one in coverage if one.partial]
    if not partial:
        return ""
    fewest, most = (choose(one.configurations for one in partial) for choose in (min, max))
    number = f"{fewest:,}" if fewest == most else f"{fewest:,} to {most:,}"
    spaces = {one.space for one in partial}
    of = f"{max(partial[0].space or 0, most):,}" if None not in spaces else "an unknown number of"
    return f"{number} of {of} configurations"


def coverage_notes(coverage: Sequence[Coverage]) -> tuple[str, ...]:
    """Why these configurations are measured, in sentences, each once."""
    return tuple(dict.fromkeys(map(_note, coverage)))


def coverage_lines(coverage: Sequence[Coverage]) -> tuple[str, ...]:
    """What precedes an answer about revisions: how much is covered, where that is not all, and why."""
    partial = partial_coverage(coverage)
    return (*((f"{partial}.",) if partial else ()), *coverage_notes(coverage))


def _note(one: Coverage) -> str:
    measured = counted(one.configurations, "configuration")
    if one.partial:
        return " ".join(filter(None, (f"Measured: {one.source}.", one.remedy)))
    if not one.strata:
        return f"Measured: {measured} ({one.source})."
    every = "every setting" if len(one.strata) == 1 else "every combination of the settings"
    return f"Measured: {measured} with {every} of {', '.join(one.strata)} ({one.source})."
