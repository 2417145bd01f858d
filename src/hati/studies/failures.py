"""Runs without a value, or with a remark, and their messages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from hati.core import MeasurementError, Metric, Outcome, Run
from hati.core.run import REMARKS_APART

_FOLDERS = re.compile(r"(?<![\w.-])(?:[\w.-]*/)+")
_HEXADECIMAL = re.compile(r"\b(?:0x[0-9a-fA-F]+|(?=[0-9a-f]*\d)[0-9a-f]{7,})\b")
_NUMBERS = re.compile(r"\d+(?:[.:,#/-]\d+)*")


def remarked(runs: Sequence[Run]) -> Iterator[str]:
    """The remarks on completed runs, each once with its number of runs."""
    remarks = Counter(part for run in runs if run.outcome is Outcome.DONE for part in run.detail.split(REMARKS_APART))
    for remark, number in remarks.items():
        if remark:
            yield f"{number} of {len(runs)} runs: {remark}"


def failure_reasons(runs: Iterable[Run], metric: Metric) -> tuple[str, ...]:
    """The reasons why runs have no value of a metric, each once with its count, the most frequent first.

    Reasons that differ only in paths, numbers and the run's own configuration at their end count as one, and the first
    is shown.
    """
    alike: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        if run.of(metric.name) is None:
            reason = _reason(run, metric)
            general = reason.removesuffix(str(run.task.configuration))
            alike.setdefault(normalised(general), []).append((reason, general))
    return tuple(map(_counted_reason, sorted(alike.values(), key=len, reverse=True)))


def normalised(message: str) -> str:
    """A message without the parts that differ from run to run: paths, times, addresses and other numbers.

    >>> normalised("nginx: [emerg] 4711#0: unknown type in /tmp/w/5f3a/nginx.conf:3")
    'nginx: [emerg] #: unknown type in nginx.conf:#'
    """
    without_folders = _FOLDERS.sub("", message)
    return _NUMBERS.sub("#", _HEXADECIMAL.sub("#", without_folders))


def _reason(run: Run, metric: Metric) -> str:
    if run.outcome is Outcome.DONE:
        return f"it yielded no values of {metric.name}"
    return run.detail or run.outcome.value


def _counted_reason(reasons: list[tuple[str, str]]) -> str:
    """The first of alike reasons, with the number of its runs or configurations."""
    first, general = reasons[0]
    different = len({reason for reason, _ in reasons})
    if different > 1 and general != first:
        return f"{first} (and so of {_others(different - 1)})"
    return f"{first} ({len(reasons)} runs)" if len(reasons) > 1 else first


def _others(number: int) -> str:
    return "1 other configuration" if number == 1 else f"{number} other configurations"


def nothing_measured(reasons: tuple[str, ...]) -> MeasurementError:
    """The error for a study without a single value: its reason, and what to do."""
    if not reasons:
        return MeasurementError("nothing was measured: no run was made", fix="give a larger budget")
    return MeasurementError(
        f"nothing was measured: all runs failed, most often because: {reasons[0]}",
        fix="correct the benchmark, or the table, then start afresh with --fresh; `hati runs` lists a project's runs",
    )
