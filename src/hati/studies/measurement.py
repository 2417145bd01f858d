"""The simplest study: measure given configurations and summarise them by run."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from functools import cache
from itertools import count
from statistics import median
from typing import Annotated

import numpy as np
from msgspec import Struct

from hati.core import (
    Benchmark,
    Better,
    Budget,
    Configuration,
    Evidence,
    FloatArray,
    MeasurementError,
    Metric,
    Outcome,
    Plan,
    Run,
    StudyId,
    Task,
    Usage,
    usage,
)
from hati.document.document import Cell, Column, Document, Shown, Table, columns_of, duration, percent, quantity
from hati.document.publishing import Interval, Of, RunsJson, StudyJson
from hati.harness import disturbances
from hati.harness.interference import FEWEST
from hati.stats import t_margin
from hati.studies.schedule import limit_until_first_success, remarked


class Summary(Struct, frozen=True):
    """One configuration's metric over its runs, in the metric's unit; a run's value is its mean after warm-up.

    ``interval`` is the mean's 95 % confidence interval over runs, None with fewer than two; ``deviation`` is the
    standard deviation between runs; ``within`` is the median over runs of the deviation within them, None if runs have
    one observation. All of these include disturbed runs, whose reasons are ``disturbed``; ``undisturbed`` is the mean
    without them, None if no run is left.
    """

    configuration: Configuration
    metric: Metric
    runs: int
    observations: int
    mean: float
    interval: tuple[float, float] | None
    median: float
    deviation: float | None
    within: float | None
    minimum: float
    maximum: float
    disturbed: tuple[str, ...] = ()
    undisturbed: float | None = None


class MeasurementConclusion(Struct, frozen=True):
    """All summaries, and the outcomes of the runs; ``warnings`` concern completed runs."""

    study: str
    benchmark: str
    revision: str
    summaries: tuple[Summary, ...]
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...] = ()


_CONFIDENCE = 0.95


def summarise(
    metric: Metric,
    configuration: Configuration,
    runs: Sequence[Run],
    judge: Callable[[tuple[Usage, ...]], Sequence[str]],
) -> Summary:
    """Summarise the runs of one configuration, which are disturbed as ``judge`` says; at least one has the metric."""
    having = [(run, found) for run in runs if (found := run.of(metric.name)) is not None]
    observed = [found for _, found in having]
    means = np.array([o.mean for o in observed])
    reasons = judge(tuple(usage(run) for run, _ in having))
    quiet = means[[not reason for reason in reasons]]
    spreads = [float(np.std(o.steady, ddof=1)) for o in observed if o.steady.size > 1]
    return Summary(
        configuration=configuration,
        metric=metric,
        runs=len(means),
        observations=sum(o.steady.size for o in observed),
        mean=float(means.mean()),
        interval=_interval(means),
        median=median(means.tolist()),  # NumPy's loads its masked arrays
        deviation=float(np.std(means, ddof=1)) if means.size > 1 else None,
        within=median(spreads) if spreads else None,
        minimum=float(means.min()),
        maximum=float(means.max()),
        disturbed=tuple(filter(None, reasons)),
        undisturbed=float(quiet.mean()) if quiet.size else None,
    )


def _interval(means: FloatArray) -> tuple[float, float] | None:
    if means.size < 2:
        return None
    half = t_margin(_CONFIDENCE, means.size - 1) * float(np.std(means, ddof=1)) / math.sqrt(means.size)
    middle = float(means.mean())
    return (middle - half, middle + half)


STAGE = "measurement"
BATCH = 32
REPEATED = 0.2
"""The fraction of a budget in runs that is planned last, when disturbed runs are known."""
MOST_AT_ONCE = 10_000
"""The number of tasks that are planned at once, or as many as were run before."""


def measurement_id(
    benchmark: Benchmark, configurations: Sequence[Configuration], revision: str, budget: str, seed: int, machine: str
) -> StudyId:
    """The identity of a measurement with all that decides its tasks."""
    parameters = {
        "benchmark": benchmark.name,
        "definition": benchmark.definition,
        "configurations": [dict(c) for c in configurations],
        "revision": revision,
        "budget": budget,
    }
    return StudyId.of("measurement", parameters, seed, machine)


class Measurement(Struct, frozen=True):
    """Runs each configuration, interleaved in random order, until the budget is spent.

    Tasks are planned in batches. The next are for the configurations with the fewest undisturbed runs, so that a
    disturbed run is repeated; it is kept, marked and counted. Failed runs are not repeated.
    """

    id: StudyId
    benchmark: Benchmark
    configurations: tuple[Configuration, ...]
    revision: str
    budget: Budget

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left, or the next batch of them; none if all of the first runs failed."""
        left = self.budget.left(evidence)
        number = min(self._batch(left), max(MOST_AT_ONCE, len(evidence.runs)))
        plan = Plan.of(self._next(evidence, number), 0 if math.isinf(left.runs) else int(left.runs))
        return limit_until_first_success(plan.within(left), evidence)

    def conclude(self, evidence: Evidence) -> MeasurementConclusion:
        """A summary of each configuration and metric.

        Raises:
            MeasurementError: if no run yielded anything.
        """
        if not evidence.done:
            raise MeasurementError("nothing was measured", fix=_reason(evidence.failed))
        made = defaultdict[Configuration, list[Run]](list)
        for run in evidence.done:
            made[run.task.configuration].append(run)
        judge = cache(disturbances)  # metrics are mostly of the same runs
        summaries = tuple(
            summarise(metric, configuration, made[configuration], judge)
            for configuration in self.configurations
            if configuration in made
            for metric in self.benchmark.metrics
        )
        failures = tuple(sorted({run.detail for run in evidence.failed}))
        return MeasurementConclusion(
            study=self.id.key,
            benchmark=self.benchmark.name,
            revision=self.revision,
            summaries=summaries,
            done=len(evidence.done),
            failed=len(evidence.failed),
            failures=failures,
            seconds=evidence.seconds,
            warnings=tuple(remarked(evidence.done)),
        )

    def planned(self) -> Plan:
        """All tasks in order if no run is disturbed, or the first of many; with a budget in time, the first batch."""
        if math.isinf(self.budget.runs):
            return Plan.of(self._next(Evidence(), BATCH * len(self.configurations)))
        whole = int(self.budget.runs)
        return Plan.of(self._next(Evidence(), min(whole, MOST_AT_ONCE)), whole)

    def _batch(self, left: Budget) -> int:
        """The number of tasks to plan at once, such that enough of the budget is left to repeat some of them."""
        if math.isinf(left.runs):
            return BATCH * len(self.configurations)
        whole = math.ceil(REPEATED * self.budget.runs)
        return int(left.runs) - whole if left.runs > whole else math.ceil(left.runs / 2)

    def _next(self, evidence: Evidence, number: int) -> tuple[Task, ...]:
        """The next ``number`` tasks, each for a configuration with the fewest undisturbed runs."""
        made = defaultdict[Configuration, list[Run]](list)
        for run in evidence.runs:
            made[run.task.configuration].append(run)
        counted = [self._counted(made[each]) for each in self.configurations]
        unused = [_unused({run.task.repetition for run in made[each]}) for each in self.configurations]
        tasks: list[Task] = []
        while len(tasks) < number:
            least = min(counted)
            for index in self._order(least):
                if counted[index] == least:
                    tasks.append(self._task(self.configurations[index], next(unused[index])))
                    counted[index] += 1
        return tuple(tasks[:number])

    def _counted(self, made: Sequence[Run]) -> int:
        """The number of runs that need no repetition: all if the budget is too small to show the usual level."""
        return _undisturbed(made) if self.budget.runs >= FEWEST * len(self.configurations) else len(made)

    def _order(self, block: int) -> Iterable[int]:
        number = len(self.configurations)
        return map(int, self.id.order(str(block)).permutation(number)) if number > 1 else (0,)

    def _task(self, configuration: Configuration, repetition: int) -> Task:
        return self.benchmark.task(self.id, STAGE, configuration, self.revision, repetition)


def _undisturbed(runs: Sequence[Run]) -> int:
    done = [usage(run) for run in runs if run.outcome is Outcome.DONE]
    return len(runs) - sum(map(bool, disturbances(done)))


def _unused(repetitions: Set[int]) -> Iterator[int]:
    return (number for number in count() if number not in repetitions)


def _reason(failed: Sequence[Run]) -> str:
    if not failed:
        return "the budget was spent before the first run"
    which = "the only run failed" if len(failed) == 1 else f"all {len(failed)} runs failed, the last"
    return f"{which} because: {failed[-1].detail}"


def measurement_table(conclusion: MeasurementConclusion) -> Table:
    """A row for each metric (and configuration, where there are several): mean over runs and its spread."""
    several = len({summary.configuration for summary in conclusion.summaries}) > 1
    columns = (
        *((Column("configuration"),) if several else ()),
        *columns_of("metric | > mean | > +-95 % | > median | > min | > max | > sd | > runs"),
    )
    rows = tuple(_row(summary, several=several) for summary in conclusion.summaries)
    return Table(f"Benchmark {conclusion.benchmark}", columns, rows, _notes(conclusion))


class SummaryJson(Struct, frozen=True):
    """The summary of a configuration's measurements of a metric."""

    configuration: Configuration
    metric: Annotated[str, Of("metric.name")]
    unit: Annotated[str, Of("metric.unit")]
    better: Annotated[Better, Of("metric.better")]
    runs: int
    observations: int
    mean: float
    interval: Interval | None
    median: float
    deviation: float | None
    within: float | None
    minimum: float
    maximum: float
    disturbed: list[str]
    mean_undisturbed: Annotated[float | None, Of("undisturbed")]


class MeasurementJson(StudyJson, frozen=True, tag_field="format", tag="hati-run-1"):
    """A measurement."""

    study: str
    benchmark: str
    revision: str
    summaries: list[SummaryJson]
    runs: Annotated[RunsJson, Of()]
    failures: list[str]
    seconds: float
    warnings: list[str]


def _row(summary: Summary, *, several: bool) -> tuple[Cell, ...]:
    unit = summary.metric.unit
    return (
        *((str(summary.configuration),) if several else ()),
        summary.metric.name,
        Shown(quantity(summary.mean, unit), summary.mean),
        _half_width(summary),
        Shown(quantity(summary.median, unit), summary.median),
        Shown(quantity(summary.minimum, unit), summary.minimum),
        Shown(quantity(summary.maximum, unit), summary.maximum),
        None if summary.deviation is None else Shown(quantity(summary.deviation, unit, 2), summary.deviation),
        summary.runs,
    )


def _half_width(summary: Summary) -> Cell:
    if summary.interval is None or not summary.mean:
        return None
    half = (summary.interval[1] - summary.interval[0]) / 2
    return Shown(percent(half / abs(summary.mean), 2), half)


def _notes(conclusion: MeasurementConclusion) -> tuple[str, ...]:
    alike: dict[tuple[object, ...], list[Summary]] = {}
    for summary in conclusion.summaries:
        runs = (summary.runs, summary.disturbed, summary.undisturbed is None)
        alike.setdefault((summary.configuration, *runs), []).append(summary)
    several = len({summary.configuration for summary in conclusion.summaries}) > 1
    disturbed = tuple(_disturbed(each, several=several) for each in alike.values() if each[0].disturbed)
    about = "A run's value is its mean after warm-up; mean, interval and sd are over runs."
    return (about, *disturbed)


def _disturbed(alike: Sequence[Summary], *, several: bool) -> str:
    """How many runs were disturbed and why, and what the means of metrics of the same runs would be without them."""
    first = alike[0]
    names = ", ".join(summary.metric.name for summary in alike)
    number = len(first.disturbed)
    left = [(one.metric, one.undisturbed) for one in alike if one.undisturbed is not None]
    means = ", ".join(quantity(value, metric.unit) for metric, value in left)
    without = f"the mean without {'it' if number == 1 else 'them'}: {means}" if left else "no others are left"
    return (
        f"{names}{f' of {first.configuration}' if several else ''}: {number} of {first.runs} runs "
        f"{'was' if number == 1 else 'were'} disturbed (the first: {first.disturbed[0]}), and counted; {without}."
    )


def measurement_document(conclusion: MeasurementConclusion) -> Document:
    """The runs of each configuration, summarised."""
    done = f"{conclusion.done:,} runs done, {conclusion.failed:,} failed, {duration(conclusion.seconds)} in all."
    return Document(
        f"Benchmark {conclusion.benchmark} at {conclusion.revision}",
        done,
        sections=(measurement_table(conclusion),),
        failures=conclusion.failures,
        warnings=conclusion.warnings,
        study=conclusion.study,
    )
