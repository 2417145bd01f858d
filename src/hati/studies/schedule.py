"""Schedules: rounds of pairs in random order, the tasks that are left, when a study gives up, and why runs failed."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from hati.core import Evidence, MeasurementError, Metric, Outcome, Plan, Run, Task
from hati.core.run import REMARKS_APART

if TYPE_CHECKING:
    from numpy.random import Generator

GIVE_UP_AFTER = 5
"""The first runs after which a study ends if all failed: it would only spend the budget on failures."""
MOST_FAILURES = 3
"""The number of failed runs, with none that worked, after which what they measure is left out."""

K = TypeVar("K", bound=Hashable)


def tasks_without_run(tasks: Iterable[Task], evidence: Evidence) -> tuple[Task, ...]:
    """The tasks without a run, in their order."""
    return tuple(task for task in tasks if task.id not in evidence.known)


def tasks_left(tasks: Iterable[Task], evidence: Evidence) -> Plan:
    """The tasks without a run; at most five until a first run has worked, so that a study that cannot work ends."""
    return limit_until_first_success(Plan.of(tasks_without_run(tasks, evidence)), evidence)


def limit_until_first_success(plan: Plan, evidence: Evidence) -> Plan:
    """The plan; before a first run has worked, limited to five runs in all."""
    return plan if evidence.done else plan.at_most(max(0, GIVE_UP_AFTER - len(evidence.runs)))


def paired_round(cells: int, rng: Generator) -> Iterator[tuple[int, int]]:
    """Both sides, 0 and 1, of each cell, one after the other; cells and sides are in random order.

    The difference of a pair is then as likely as its opposite if the sides are equal, however the machine drifts.
    """
    for cell in rng.permutation(cells).tolist():
        first = int(rng.integers(2))
        yield from ((cell, first), (cell, 1 - first))


def rounds_begun(runs: Iterable[Run]) -> int:
    """The number of rounds in which a run was made; a repetition is a round."""
    return 1 + max((run.task.repetition for run in runs), default=-1)


def given_up(runs: Iterable[Run], of: Callable[[Run], K]) -> frozenset[K]:
    """What cannot be measured, such as a revision: it cannot be built, or three runs failed and none worked."""
    made: dict[K, list[Outcome]] = defaultdict(list)
    for run in runs:
        made[of(run)].append(run.outcome)
    return frozenset(
        key
        for key, outcomes in made.items()
        if Outcome.DONE not in outcomes and (Outcome.NOT_BUILT in outcomes or len(outcomes) >= MOST_FAILURES)
    )


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


def nothing_paired(reasons: tuple[str, ...], evidence: Evidence) -> MeasurementError:
    """The error for a study of pairs without a single pair that counts: as ``nothing_measured``, or its machines."""
    if reasons or len({run.machine for run in evidence.done}) < 2:
        return nothing_measured(reasons)
    return MeasurementError(
        "nothing can be compared: the two runs of each pair are of two machines, or of two states of one, and what "
        "these differ by cannot be distinguished from a change of the program",
        fix="measure both sides on one machine, which needs no bridge: start afresh there with --fresh",
    )
