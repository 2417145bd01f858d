"""The study: the next pairs until it is decided or the budget is spent, and the comparison of its pairs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from hati.core import (
    Batch,
    BatchOrder,
    Benchmark,
    Better,
    Budget,
    Configuration,
    Evidence,
    InputError,
    Metric,
    Pairing,
    Plan,
    Run,
    Stopping,
    StudyId,
    Task,
    conversion,
    usage,
)
from hati.harness import StoppingRule, disturbances
from hati.stats import holm, holm_factors
from hati.studies.comparison import (
    MEAN,
    Change,
    ChangeVerdict,
    ChoiceBasis,
    Comparison,
    Comparisons,
    Question,
    Side,
    Statistic,
    StatisticChoice,
    StatisticChoices,
    ratio_of,
    spread_of,
)
from hati.studies.paired.judging import AnyJudged, JudgedPairs, PairValues, among, judge, slight
from hati.studies.schedule import (
    GIVE_UP_AFTER,
    failure_reasons,
    nothing_paired,
    paired_round,
    rounds_begun,
    tasks_without_run,
)


class Variant(Struct, frozen=True):
    """A benchmark at a configuration."""

    benchmark: Benchmark
    configuration: Configuration

    def __str__(self) -> str:
        return " ".join(filter(None, (self.benchmark.name, str(self.configuration))))


def shared_metrics(before: Variant, after: Variant, name: str | None = None) -> tuple[Metric, ...]:
    """The metrics that both have, as the first defines them; or the one of that name.

    Raises:
        InputError: if there is none, units cannot be converted, or a metric should be low in one and high in the other.
    """
    known = {metric.name: metric for metric in after.benchmark.metrics}
    shared = tuple(metric for metric in before.benchmark.metrics if metric.name in known)
    chosen = tuple(metric for metric in shared if name in {None, metric.name})
    names = f"{before.benchmark.name!r} and {after.benchmark.name!r}"
    if not chosen:
        has = ", ".join(metric.name for metric in shared)
        what = "no metric" if name is None else f"no metric {name!r}"
        raise InputError(f"{names} have {what} in common", fix=f"they share {has}" if has else "give them one")
    for metric in chosen:
        conversion(known[metric.name].unit, metric.unit)
        if known[metric.name].better is not metric.better:
            raise InputError(f"of {names} one has a {metric.name} that should be low, the other high")
    return chosen


class Weighed(Struct, frozen=True):
    """The basis of a metric's verdict: the number of complete ``pairs``, of looks at them, and the evidence.

    ``e_value`` is that of a difference after the last pair; None if the rule has none, or no pair exists.
    """

    pairs: int
    looks: int
    e_value: float | None


class PairedConclusion(Struct, frozen=True):
    """The comparison of each metric, its basis, in the same order, and the outcome of the runs.

    ``seed`` is the seed of the order within pairs.
    """

    study: str
    before: Variant
    after: Variant
    stopping: Stopping
    pairing: Pairing
    seed: int
    comparisons: Comparisons
    weighed: tuple[Weighed, ...]
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float

    @property
    def decided(self) -> bool:
        """Whether every metric has a verdict."""
        return not self.comparisons.count(ChangeVerdict.INCONCLUSIVE)


POWER = 0.8
STAGES = ("before", "after")


class PairedDesign(NamedTuple):
    """The compared variants of a revision on a machine, and the method: the question and the stopping rule."""

    before: Variant
    after: Variant
    revision: str
    machine: str
    question: Question
    rule: StoppingRule
    pairing: Pairing = Pairing.INTERLEAVED
    choices: StatisticChoices = StatisticChoices()

    def choice(self, metric: Metric) -> StatisticChoice:
        """The statistic of a run of a metric."""
        if isinstance(self.question.statistic, Statistic):
            return StatisticChoice(self.question.statistic, ChoiceBasis.ASKED)
        return self.choices.of(self.before.benchmark.name, metric.name)


def complete(evidence: Evidence, metric: Metric) -> tuple[tuple[Run, Run], ...]:
    """The pairs whose two runs have the metric, in the order in which they were planned.

    A pair is a block: one whose runs are of two machines, or of two states of a machine, does not count.
    """
    found: dict[int, dict[str, Run]] = {}
    for run in evidence.done:
        if run.of(metric.name) is not None:
            found.setdefault(run.task.repetition, {})[run.task.stage] = run
    first, second = STAGES
    both = [(found[pair][first], found[pair][second]) for pair in sorted(found) if len(found[pair]) == len(STAGES)]
    return tuple((one, other) for one, other in both if one.machine == other.machine)


class _Found(NamedTuple):
    """The evidence on a metric; ``q_value`` is corrected for all metrics (Holm), None without a p-value."""

    metric: Metric
    pairs: Sequence[tuple[Run, Run]]
    values: PairValues
    judged: AnyJudged
    q_value: float | None

    @property
    def verdict(self) -> ChangeVerdict:
        if self.judged.same:
            return ChangeVerdict.SAME
        if self.q_value is None or self.q_value > self.judged.alpha or slight(self.judged):
            return ChangeVerdict.INCONCLUSIVE
        if self.judged.estimate * self.judged.strongest <= 0.0:
            return ChangeVerdict.INCONCLUSIVE
        lower = self.metric.better is Better.LOWER
        return ChangeVerdict.SLOWER if (self.judged.estimate > 0.0) == lower else ChangeVerdict.FASTER


def decided(design: PairedDesign, evidence: Evidence, metrics: Sequence[Metric]) -> bool:
    """Whether every metric has a verdict."""
    found = _found(design, evidence, metrics)
    return len(found) == len(metrics) and all(each.verdict is not ChangeVerdict.INCONCLUSIVE for each in found)


def weigh(
    design: PairedDesign, evidence: Evidence, metrics: Sequence[Metric]
) -> tuple[Comparisons, tuple[Weighed, ...]]:
    """Compare each metric that has a complete pair; the level alpha is that of all metrics together."""
    found, question = _found(design, evidence, metrics), design.question
    rows = tuple(_row(design, each, question.alpha / len(found)) for each in found)
    judged = [each.judged for each in found]
    rests_on = tuple(Weighed(one.pairs, one.looks, design.rule.e_value(one.leading.differences)) for one in judged)
    return Comparisons(question.alpha, question.margin, str(question.statistic), rows, 0.0, {}, ()), rests_on


def _found(design: PairedDesign, evidence: Evidence, metrics: Sequence[Metric]) -> list[_Found]:
    pairs = {metric: found for metric in metrics if (found := complete(evidence, metric))}
    made = {metric: _values(found, metric, design.choice(metric).statistic) for metric, found in pairs.items()}
    judged = {metric: _judged(design, pairs[metric], metric, values) for metric, values in made.items()}
    p_values = {metric: p for metric, one in judged.items() if (p := one.p_value) is not None}
    known = np.array(list(p_values.values()))
    adjusted, factors = (dict(zip(p_values, of(known).tolist(), strict=True)) for of in (holm, holm_factors))
    return [
        _Found(metric, pairs[metric], made[metric], among(one, factors.get(metric, 1.0)), adjusted.get(metric))
        for metric, one in judged.items()
    ]


def _judged(design: PairedDesign, pairs: Sequence[tuple[Run, Run]], metric: Metric, values: PairValues) -> AnyJudged:
    question = design.question
    limit = 0.0 if values.scale == 0.0 else question.limit
    means = None
    if design.choice(metric).keeps_mean and values.scale is None:
        whole = _values(pairs, metric, MEAN)
        means = whole.differences if whole.scale is None else None
    return judge(values.differences, means, design.rule, question.alpha, limit)


def _values(pairs: Sequence[tuple[Run, Run]], metric: Metric, statistic: Statistic) -> PairValues:
    def of(run: Run) -> float:
        value = run.value(metric, statistic.of)
        assert value is not None
        return value

    sides = np.array([[of(before), of(after)] for before, after in pairs], dtype=np.float64).reshape(-1, 2)
    return PairValues(sides[:, 0], sides[:, 1])


def _row(design: PairedDesign, found: _Found, alpha: float) -> Comparison:
    """The comparison of a metric; ``alpha`` is the level of this metric alone."""
    values, judged = found.values, found.judged
    scale = values.scale
    shown = None if scale == 0.0 else values.ratio_interval(judged.estimate, judged.half_width)
    detectable = None if scale == 0.0 else judged.detectable(POWER)
    before, after = design.before, design.after
    names = dict.fromkeys((before.benchmark.name, after.benchmark.name))
    change = Change(
        verdict=found.verdict,
        ratio=None if scale == 0.0 else ratio_of(judged.estimate, scale),
        interval=shown,
        p_value=judged.p_value,
        q_value=found.q_value,
        detectable=None if detectable is None else ratio_of(detectable, scale) - 1.0,
        runs_needed=_needed(found, alpha),
        of_tail=judged.of_tail,
    )
    return Comparison(
        " and ".join(names),
        before.configuration.shared(after.configuration),
        before.benchmark.workload,
        found.metric,
        change,
        _side(design, found, 0),
        _side(design, found, 1),
        choice=design.choice(found.metric),
    )


def _needed(found: _Found, alpha: float) -> int | None:
    """The number of pairs that would decide; more than the present number if that does not."""
    needed = found.judged.pairs_needed(alpha)
    if needed is None or found.verdict is not ChangeVerdict.INCONCLUSIVE:
        return needed
    return max(needed, found.judged.pairs + 1)


def _side(design: PairedDesign, found: _Found, side: int) -> Side:
    judged, shown = found.judged, found.values
    if judged.of_tail:
        shown = _values(found.pairs, found.metric, MEAN)
    values = (shown.before, shown.after)[side]
    alone = JudgedPairs(shown.sides[side], design.rule, judged.alpha, judged.limit)
    spread = spread_of(alone.half_width, float(values.mean()), shown.scale)
    runs = [pair[side] for pair in found.pairs]
    return Side(
        float(values.mean()),
        spread,
        len(values),
        design.revision,
        design.machine,
        sum(map(bool, disturbances([usage(run) for run in runs]))),
        seconds=sum(run.seconds for run in runs),
    )


BATCH = 16
"""The number of pairs planned ahead if the budget is a time."""
_RUNS = 2


def paired_id(
    before: Variant,
    after: Variant,
    revision: str,
    stopping: Stopping,
    budget: str,
    seed: int,
    machine: str,
    pairing: Pairing = Pairing.INTERLEAVED,
) -> StudyId:
    """The identity of a comparison, with all that determines its tasks.

    For an anytime-valid comparison, this excludes the budget: it may be continued with a larger one. The level is
    never part of it.
    """
    parameters: dict[str, object] = {
        "variants": [[v.benchmark.name, v.benchmark.definition, dict(v.configuration)] for v in (before, after)],
        "revision": revision,
        "stopping": stopping.value,
        "pairing": pairing.value,
        "budget": budget if stopping is Stopping.FIXED else None,
    }
    return StudyId.of("paired", parameters, seed, machine)


class PairedComparison(Struct, frozen=True):
    """Pairs of a run of each variant, in random order within the pair, until the rule decides or the budget is spent.

    Raises:
        InputError: for a budget in runs that has fewer pairs than can decide.
    """

    id: StudyId
    design: PairedDesign
    metrics: tuple[Metric, ...]
    budget: Budget

    def __post_init__(self) -> None:
        fewest = self.design.rule.fewest(self.design.question.alpha)
        if self._most < fewest:
            raise InputError(
                f"{self.budget.runs:g} runs are {self._most:g} pairs, and {fewest} are the fewest that can decide at "
                f"alpha {self.design.question.alpha:g}",
                fix=f"give --budget {_RUNS * fewest} or more",
            )

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks of the pairs up to the next look; none if it is decided.

        Until runs of both sides have worked, at most those of the first five pairs.
        """
        both_work = all(evidence.stage(side).done for side in STAGES)
        pairs = self._wanted(evidence) if both_work else min(self._wanted(evidence), GIVE_UP_AFTER)
        batches = self._batches(range(pairs), evidence)
        if not batches:
            return Plan()
        most = int(_RUNS * self._most - len(evidence.runs)) if math.isfinite(self._most) else 0
        ahead = self._batches(range(pairs, self.most_pairs(evidence)), evidence) if both_work else ()
        return Plan(batches, most, ahead).within(self.budget.left(evidence))

    def conclude(self, evidence: Evidence) -> PairedConclusion:
        """The comparison of each metric that has a complete pair.

        Raises:
            MeasurementError: if no metric has one.
        """
        found, rests_on = weigh(self.design, evidence, self.metrics)
        reasons = dict.fromkeys(why for metric in self.metrics for why in failure_reasons(evidence.runs, metric))
        if not found.rows:
            raise nothing_paired(tuple(reasons), evidence)
        return PairedConclusion(
            study=self.id.key,
            before=self.design.before,
            after=self.design.after,
            stopping=self.design.rule.kind,
            pairing=self.design.pairing,
            seed=self.id.seed,
            comparisons=found,
            weighed=rests_on,
            done=len(evidence.done),
            failed=len(evidence.failed),
            failures=tuple(reasons),
            seconds=evidence.seconds,
        )

    def tasks(self, pairs: int) -> tuple[Task, ...]:
        """The tasks of the first ``pairs`` pairs, in order."""
        return tuple(task for pair in range(pairs) for task in self._pair(pair))

    def most_pairs(self, evidence: Evidence) -> int:
        """The most pairs that the budget has runs for; for a budget in time, a batch more than were begun."""
        return int(self._most) if math.isfinite(self._most) else rounds_begun(evidence.runs) + BATCH

    @property
    def _most(self) -> float:
        """The number of pairs that the budget has runs for."""
        return self.budget.runs // _RUNS if math.isfinite(self.budget.runs) else math.inf

    def _wanted(self, evidence: Evidence) -> int:
        """The total number of pairs wanted before the next look."""
        if self.design.rule.kind is Stopping.FIXED:
            return self.most_pairs(evidence)
        if decided(self.design, evidence, self.metrics):
            return 0
        begun = rounds_begun(evidence.runs)
        halved = len(evidence.runs) < _RUNS * begun and self.design.pairing is Pairing.INTERLEAVED
        fewest = self.design.rule.fewest(self.design.question.alpha)
        pairs = min(len(complete(evidence, metric)) for metric in self.metrics)
        return int(min(begun + (0 if halved else max(1, fewest - pairs)), self._most))

    def _batches(self, pairs: Iterable[int], evidence: Evidence) -> tuple[Batch[Task], ...]:
        """A batch for each pair, of its tasks without a run; none for a duet with one run, which was interrupted."""
        duet = self.design.pairing is Pairing.DUET
        found: list[Batch[Task]] = []
        for tasks in map(self._pair, pairs):
            left = tasks_without_run(tasks, evidence)
            if left and not (duet and len(left) < len(tasks)):
                found.append(Batch(left, BatchOrder.TOGETHER if duet else BatchOrder.SEQUENCE))
        return tuple(found)

    def _pair(self, pair: int) -> list[Task]:
        return [self._task(side, pair) for _, side in paired_round(1, self.id.order(str(pair)))]

    def _task(self, side: int, pair: int) -> Task:
        variant = (self.design.before, self.design.after)[side]
        return variant.benchmark.task(self.id, STAGES[side], variant.configuration, self.design.revision, pair)
