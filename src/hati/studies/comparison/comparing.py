"""Compare two samples of many benchmarks, also with bootstrap intervals, and prepare samples: warm-up, warnings."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from statistics import fmean
from typing import NamedTuple

from hati.core import Observations, Sample, SampledRun, conversion, generator, replace
from hati.core.benchmark import COUNT, COUNTERS
from hati.core.run import WARM_UP
from hati.core.wording import command_text, listed, span_text
from hati.harness import State, disturbances, steadiness
from hati.stats import Difference, JoinedDifference, VariancePrior, bootstrap_interval, least_ratio, two_sample_tests
from hati.studies.comparison.conclusion import (
    Change,
    ChangeVerdict,
    Comparison,
    Comparisons,
    IntervalMethod,
    Joining,
    Side,
    WarmUp,
    WithinProcess,
)
from hati.studies.comparison.decisions import (
    POWER,
    Decision,
    MeanSides,
    Sides,
    cluster_changes,
    decide,
    on_scale,
    ratio_of,
    spread_of,
)
from hati.studies.comparison.matching import SamplePair, earlier_samples
from hati.studies.comparison.statistic import (
    MEAN,
    ChoiceBasis,
    Question,
    RunValues,
    Statistic,
    StatisticChoice,
    run_values,
    statistics_of,
)
from hati.studies.comparison.summaries import is_mean, number_of, summary_warnings

_NAMED = 3


class SteadyPair(NamedTuple):
    """A pair without the warm-up of its runs, and the detected warm-up."""

    pair: SamplePair
    before: WarmUp
    after: WarmUp


def without_warm_up(sample: Sample) -> tuple[Sample, WarmUp]:
    """The sample, each run from its first steady observation on, and the detected warm-up.

    Each run is judged alone (`hati.harness.steadiness`), by the observations that its file does not mark as warm-up.
    Runs that are never steady keep all of these, as do pooled runs, runs of fewer than 30 observations, and runs whose
    warm-up was remarked on when they were recorded.
    """
    runs, found, left_out, unsteady = [], 0, 0, []
    for run in sample.runs:
        start, reason = _start(run)
        runs.append(_from(run, start))
        found += start > 0
        left_out += start
        unsteady += [reason] if reason else []
    return replace(sample, runs=tuple(runs)), WarmUp(found, left_out, tuple(unsteady))


def steady_pair(pair: SamplePair) -> SteadyPair:
    """Both samples of a pair without warm-up."""
    (before, found_before), (after, found_after) = without_warm_up(pair.before), without_warm_up(pair.after)
    return SteadyPair(replace(pair, before=before, after=after), found_before, found_after)


def with_warm_up(compared: Comparisons, found: Sequence[SteadyPair]) -> Comparisons:
    """The comparisons of those pairs, with their detected warm-up, and a warning if runs are not steady."""
    rows = tuple(
        replace(
            row,
            before=replace(row.before, warm_up=each.before),
            after=replace(row.after, warm_up=each.after),
        )
        for row, each in zip(compared.rows, found, strict=True)
    )
    sides = (
        ("before", [(row.benchmark, row.before) for row in rows]),
        ("after", [(row.benchmark, row.after) for row in rows]),
    )
    return replace(
        compared, rows=rows, warnings=(*compared.warnings, *filter(None, (_warning(*side) for side in sides)))
    )


def _start(run: SampledRun) -> tuple[int, str]:
    """The first steady observation after the marked warm-up; 0 and the reason if the run is not steady."""
    if run.pooled or run.remark.startswith(WARM_UP):
        return 0, ""
    found = steadiness(run.steady)
    return found.start or 0, found.reason if found.state is State.NEVER else ""


def _from(run: SampledRun, start: int) -> SampledRun:
    observed = run.observations
    return replace(run, observations=replace(observed, warmup=observed.warmup + start)) if start else run


def _warning(name: str, sides: Iterable[tuple[str, Side]]) -> str:
    of = list(sides)
    marked = [(benchmark, side.warm_up.unsteady) for benchmark, side in of if side.warm_up.unsteady]
    if not marked:
        return ""
    number, runs = sum(len(reasons) for _, reasons in marked), sum(side.runs for _, side in of)
    names = list(dict.fromkeys(benchmark for benchmark, _ in marked))
    are = "is" if number == 1 else "are"
    return (
        f"{name}: {number} of {runs} runs {are} not steady ({listed(names, _NAMED)}; the first:"
        f" {marked[0][1][0]}); a change may be that of their warm-up: let runs last longer, or see"
        " `hati harness steady`"
    )


def interference_warnings(found: Sequence[SamplePair]) -> tuple[str, ...]:
    """A sentence for each side that has disturbed runs: how many, of which benchmarks, and one of the reasons."""
    sides = (("before", [pair.before for pair in found]), ("after", [pair.after for pair in found]))
    return tuple(text for name, samples in sides if (text := _sentence(name, samples)))


def _sentence(side: str, samples: Iterable[Sample]) -> str:
    judged = [(sample, disturbances([run.usage for run in sample.runs])) for sample in samples]
    marked = [(sample, list(filter(None, reasons))) for sample, reasons in judged if any(reasons)]
    if not marked:
        return ""
    number, runs = sum(len(reasons) for _, reasons in marked), sum(len(reasons) for _, reasons in judged)
    names = list(dict.fromkeys(sample.benchmark for sample, _ in marked))
    return (
        f"{side}: {number} of {runs} runs {'was' if number == 1 else 'were'} disturbed ({listed(names, _NAMED)}"
        f"; the first: {marked[0][1][0]}); {'it is' if number == 1 else 'they are'} counted nevertheless,"
        " and repeating them may decide more"
    )


_FEWEST_STARTS = 2


def session_warnings(found: Sequence[SamplePair]) -> tuple[str, ...]:
    """A warning if all runs of one side started before all of the other: the number of pairs and the gap."""
    gaps = [(gap, pair.before.benchmark) for pair in found if (gap := _gap(pair)) is not None]
    if not gaps:
        return ()
    longest, name = max(gaps)
    return (
        f"in {number_of(len(gaps), len(found))} all runs of one side started before those of the other ({name}:"
        f" {span_text(longest.total_seconds())} apart): how much the machine differs between sessions is not known, and"
        " counts as a change; `hati check` and `hati compare` of two benchmarks interleave the runs of both sides",
    )


def machine_warnings(found: Sequence[SamplePair]) -> tuple[str, ...]:
    """A warning for each reason why sides of different machines cannot be compared, with the runs that would help."""
    apart = [pair for pair in found if pair.on_other_machines]
    texts = [
        (_same_revision_text, [pair for pair in apart if not pair.across]),
        (_no_bridge_text, [pair for pair in apart if pair.across and not pair.bridges]),
        (_one_bridge_text, [pair for pair in apart if len(pair.bridges) == 1]),
    ]
    return tuple(text(pairs[0], number_of(len(pairs), len(found))) for text, pairs in texts if pairs)


def _same_revision_text(pair: SamplePair, of: str) -> str:
    names = command_text([pair.before.machine, pair.after.machine])
    return (
        f"in {of} the sides were measured on different machines ({_machines(pair)}): these are what is compared; where"
        f" both are probed, `hati probe diff {names}` shows how they differ"
    )


def _no_bridge_text(pair: SamplePair, of: str) -> str:
    revision = pair.before.revision or "the revision before"
    return (
        f"in {of} the sides were measured on different machines ({_machines(pair)}): what the machines differ by cannot"
        f" be distinguished from a change, and revisions are not decided; measure {revision} on {pair.after.machine} as"
        " well, as by `hati check AFTER --reference BEFORE`; or measure three or more revisions with several runs each"
        " on both machines, and name their files after --history"
    )


def _one_bridge_text(pair: SamplePair, of: str) -> str:
    revision = pair.bridges[0][0].revision
    other = pair.before.revision or "the revision before"
    direct = f"compare {revision} and the revision after on {pair.after.machine}, or " if revision == other else ""
    return (
        f"in {of} the machines ({_machines(pair)}) are joined by one revision, {revision}: the interval does not"
        f" include how the ratio of machines varies between revisions, and nothing is decided; {direct}measure another"
        " revision on both machines, with several runs"
    )


def _machines(pair: SamplePair) -> str:
    return f"{pair.before.machine} before, {pair.after.machine} after"


def without_clusters_across_machines(comparisons: Comparisons) -> Comparisons:
    """The comparisons without clusters where machine and revision differ together: clusters have no machine ratio."""
    rows = tuple(row if row.joining is None else replace(row, clusters=()) for row in comparisons.rows)
    return replace(comparisons, rows=rows)


def _gap(pair: SamplePair) -> timedelta | None:
    """The time from the last start of one side to the first of the other; None if they overlap or are unknown."""
    sides = [_starts(sample) for sample in (pair.before, pair.after)]
    if min(map(len, sides)) < _FEWEST_STARTS:
        return None
    first, second = sorted(sides, key=min)
    return min(second) - max(first) if max(first) < min(second) else None


def _starts(sample: Sample) -> list[datetime]:
    """The start times of all runs; empty if one is unknown."""
    known = [run.started for run in sample.runs if run.started is not None]
    return known if len(known) == len(sample.runs) else []


def compare(
    found: Sequence[SamplePair], question: Question, warnings: Sequence[str] = (), history: Sequence[Sample] = ()
) -> Comparisons:
    """Compare each pair, with the noise estimated from all pairs.

    Run values are compared on the logarithmic scale, where a change is a ratio, or, if one is not above zero, as
    fractions of the first mean. Their variance borrows from the other pairs, the more the more alike these are, with
    the unsteadiness within runs as a covariate (`variance_prior`), and from earlier samples of the same benchmark, the
    ``history`` (`earlier_variances`). A change is reported if it is significant at alpha over all pairs (false
    discovery rate) and not shown to be within the margin; two are the same if two one-sided tests at alpha each show
    it. If observations form clusters, these are compared, too (`cluster_changes`). An automatic statistic is chosen for
    each pair, from its history or the other pairs (`choose_statistics`).

    Raises:
        InputError: if the units of a pair cannot be converted.
    """
    earlier = earlier_samples(found, history)
    decided, prior = decided_rows(found, question, statistics_of(found, question, earlier), earlier)
    clusters = cluster_changes(found, question)
    rows = tuple(replace(row, clusters=parts) for row, parts in zip(decided, clusters, strict=True))
    return Comparisons(
        question.alpha,
        question.margin,
        str(question.statistic),
        rows,
        prior.df,
        mean_ratios(rows),
        (*warnings, *summary_warnings(found, decided), *_remarked(found)),
        sum(map(bool, earlier)),
    )


def decided_rows(
    found: Sequence[SamplePair],
    question: Question,
    choices: Sequence[StatisticChoice],
    earlier: Sequence[Sequence[Sample]] = (),
) -> tuple[list[Comparison], VariancePrior]:
    """The comparison of each pair by the statistic that was chosen for it, and the variance prior of all pairs.

    Raises:
        InputError: where the units of a pair cannot be converted.
    """
    known = earlier or [()] * len(found)
    compared = [Compared.of(*each) for each in zip(found, choices, known, strict=True)]
    decisions, prior = decide([each.own for each in compared], question, [each.rest for each in compared])
    return [_row(*each, question) for each in zip(found, compared, choices, decisions, strict=True)], prior


class Compared(NamedTuple):
    """The run values of a pair, and those by the mean if the mean keeps a part of alpha."""

    own: Sides
    rest: MeanSides | None

    @classmethod
    def of(cls, pair: SamplePair, choice: StatisticChoice, earlier: Sequence[Sample] = ()) -> Compared:
        """The run values of a pair.

        Raises:
            InputError: where the units cannot be converted.
        """
        own = sides_of(pair, choice.statistic, earlier)
        return cls(own, MeanSides.of(sides_of(pair, MEAN, earlier), own) if choice.keeps_mean else None)


def sides_of(pair: SamplePair, statistic: Statistic, earlier: Sequence[Sample] = ()) -> Sides:
    """The run values of both samples, and of earlier ones, in the first one's unit.

    Raises:
        InputError: where the units cannot be converted.
    """

    def values(sample: Sample) -> RunValues:
        return run_values(sample, statistic).times(conversion(sample.metric.unit, pair.before.metric.unit))

    tick = 1.0 if pair.before.metric.name in COUNTERS and pair.before.metric.unit == COUNT else 0.0
    bridges = tuple((values(first), values(second)) for first, second in pair.bridges) if pair.across else None
    known = tuple(map(values, earlier))
    return Sides(values(pair.before), values(pair.after), known, tick, bridges, pair.mean_of_one_side)


def _row(
    pair: SamplePair,
    compared: Compared,
    choice: StatisticChoice,
    decision: Decision,
    question: Question,
) -> Comparison:
    first = pair.before
    shown, noise = compared.own, decision.decided
    if compared.rest is not None and decision.rest is not None and decision.of_tail:
        shown, noise = compared.rest.mean, decision.rest.mean
    return Comparison(
        benchmark=first.benchmark,
        configuration=first.configuration.shared(pair.after.configuration),
        workload=first.workload,
        metric=first.metric,
        change=decision.change(question, first.metric.better),
        before=_side(first, shown.before, noise, decision.scale, question),
        after=_side(pair.after, shown.after, noise, decision.scale, question),
        choice=choice,
        joining=_joining(pair, noise, decision, question) if pair.across else None,
    )


def _joining(pair: SamplePair, decided: Difference, decision: Decision, question: Question) -> Joining:
    machines = (pair.before.machine, pair.after.machine)
    ratio = decided.ratio if isinstance(decided, JoinedDifference) else None
    if ratio is None or not isinstance(decided, JoinedDifference):
        return Joining(machines)
    width = ratio.half_width(1.0 - question.alpha)
    interval = (ratio_of(ratio.estimate - width, None), ratio_of(ratio.estimate + width, None))
    undecided = decision.verdict(question, pair.before.metric.better) is ChangeVerdict.INCONCLUSIVE
    return Joining(
        machines,
        tuple(first.revision for first, _ in pair.bridges),
        ratio_of(ratio.estimate, None),
        interval if math.isfinite(interval[1]) else None,
        decided.bridges_needed(decision.own_level, POWER) if undecided else None,
    )


def _side(sample: Sample, own: RunValues, decided: Difference, scale: float | None, question: Question) -> Side:
    mean = float(own.values.mean())
    alone = Difference(0.0, decided.variance / 2.0, decided.own, (own.runs, own.runs), decided.borrowed)
    width = spread_of(alone.half_width(1.0 - question.alpha), mean, scale)
    return Side(
        mean,
        width,
        own.runs,
        sample.revision,
        sample.machine,
        sum(map(bool, disturbances([run.usage for run in sample.runs]))),
    )


def _remarked(found: Sequence[SamplePair]) -> Iterator[str]:
    """Yield the remarks that were recorded with runs, each once per sample, with the number of runs that have it."""
    for pair in found:
        for sample in (pair.before, pair.after):
            for remark, number in Counter(run.remark for run in sample.runs if run.remark).items():
                of = " ".join(filter(None, (sample.benchmark, str(sample.configuration), sample.revision)))
                yield f"{number} of {len(sample.runs)} runs of {of}: {remark}"


def mean_ratios(rows: Sequence[Comparison]) -> dict[str, float]:
    """The geometric mean of the ratios of each metric with several benchmarks, by its name."""
    logs = defaultdict[str, list[float]](list)
    for row in rows:
        ratio = row.change.ratio
        if ratio is not None and ratio > 0.0:
            logs[row.metric.name].append(math.log(ratio))
    return {name: math.exp(fmean(own)) for name, own in logs.items() if len(own) > 1}


_FEW_RUNS = 10


def with_bootstrap_intervals(
    compared: Comparisons, found: Sequence[SamplePair], question: Question, seed: int
) -> Comparisons:
    """The same comparisons with bootstrap intervals of the ratios, where the runs of both sides are known.

    Verdicts, p-values and everything derived from them stay: with few runs, bootstrap intervals are too narrow.
    """
    both = list(zip(compared.rows, found, strict=True))
    means = [row for row, pair in both if _has_interval(row) and _has_mean(pair)]
    own = [row for row, pair in both if _has_interval(row) and not _has_mean(pair)]
    warnings = compared.warnings
    if means:
        warnings += (
            f"in {number_of(len(means), len(found))} a side is a mean, whose runs cannot be drawn by the bootstrap: the"
            f" interval is by Student's t ({listed(list(dict.fromkeys(row.benchmark for row in means)), _NAMED)})",
        )
    if not own:
        return replace(compared, warnings=warnings)
    rows = tuple(_with_interval(row, pair, question, seed) for row, pair in both)
    few = sum(min(row.before.runs, row.after.runs) < _FEW_RUNS for row in own)
    if few:
        warnings += (
            f"{few} of {len(own)} comparisons have fewer than {_FEW_RUNS} runs of a side, with which bootstrap"
            " intervals are too narrow (at 99 %, those of 5 runs hold the truth in 97.5 %): make 10 runs, or use"
            " --interval t",
        )
    return replace(compared, rows=rows, seed=seed, warnings=warnings)


def _has_interval(row: Comparison) -> bool:
    """Whether the ratio has an interval that is computed from runs alone."""
    return row.change.interval is not None and row.within_process is None and row.joining is None


def _has_mean(pair: SamplePair) -> bool:
    return is_mean(pair.before) or is_mean(pair.after)


def _with_interval(row: Comparison, pair: SamplePair, question: Question, seed: int) -> Comparison:
    if not _has_interval(row) or _has_mean(pair):
        return row
    assert row.choice is not None
    compared = Compared.of(pair, row.choice)
    tail = compared.rest.tail if compared.rest is not None and row.change.of_tail else compared.own
    before, after, scale = on_scale(tail)
    rng = generator(seed, "bootstrap", *pair.before.identity)
    found = bootstrap_interval(before, after, 1.0 - question.alpha, rng)
    least = least_ratio(before, after) if scale is not None else 0.0
    interval = None if found is None else (max(least, ratio_of(found[0], scale)), ratio_of(found[1], scale))
    return replace(row, change=replace(row.change, interval=interval), interval_method=IntervalMethod.BOOTSTRAP)


_MEDIAN = Statistic(0.5)


def with_median_tests(compared: Comparisons, found: Sequence[SamplePair]) -> Comparisons:
    """The same comparisons with tests of medians; these decide nothing and are not corrected for each other."""
    rows = []
    for row, pair in zip(compared.rows, found, strict=True):
        sides = sides_of(pair, _MEDIAN)
        rows.append(replace(row, tests=two_sample_tests(sides.before.values, sides.after.values)))
    return replace(compared, rows=tuple(rows))


_BATCHES = 10
"""The least number of batches of equal length, if there are that many observations: Schmeiser (1982, Operations
Research 30, 556-568) recommends 10 to 30. The longer a batch, the less consecutive ones depend on each other."""
_FEWEST = 2
_BY_MEAN = StatisticChoice(MEAN, ChoiceBasis.ONE_PROCESS)
"""The mean, because a batch has too few observations for another statistic: of ten values, each is a batch."""


def with_estimates_within_process(
    compared: Comparisons, found: Sequence[SamplePair], question: Question
) -> Comparisons:
    """The comparisons of those pairs, with estimates if each side is one process and the noise is unknown.

    The estimates have no verdict, and are of means: there are none for another requested statistic, or if machine and
    revision differ together. The p-values of these comparisons are corrected among themselves.

    Raises:
        InputError: if the units of a pair cannot be converted.
    """
    places = [place for place, each in enumerate(zip(compared.rows, found, strict=True)) if _alone(*each)]
    if not places:
        return compared
    batched = [SamplePair(_batched(found[place].before), _batched(found[place].after)) for place in places]
    decided, _ = decided_rows(batched, question, [_BY_MEAN] * len(places))
    rows = list(compared.rows)
    for place, row in zip(places, decided, strict=True):
        rows[place] = _estimated(rows[place], row, found[place])
    return replace(compared, rows=tuple(rows), mean_ratios=mean_ratios(rows))


def with_verdicts_within_process(compared: Comparisons) -> Comparisons:
    """The same comparisons, with the verdicts within one process as their verdicts."""
    return replace(compared, rows=tuple(map(_decided, compared.rows)))


def _alone(row: Comparison, pair: SamplePair) -> bool:
    """Whether the noise is unknown, and each side is one process with several observations."""
    sides = (pair.before.runs, pair.after.runs)
    several = all(len(runs) == 1 and not runs[0].pooled and len(runs[0].steady) >= _FEWEST for runs in sides)
    choice = row.choice
    by_mean = choice is not None and (choice.statistic == MEAN or choice.basis is not ChoiceBasis.ASKED)
    return several and by_mean and row.change.q_value is None and row.joining is None


def _batched(sample: Sample) -> Sample:
    """The sample of one run, with batches of its observations as runs; the remainder is dropped from the beginning."""
    (run,) = sample.runs
    values = run.steady
    size = max(1, len(values) // _BATCHES)
    first = len(values) % size
    pieces = values[first:].reshape(-1, size)
    metric = sample.metric
    runs = tuple(SampledRun(Observations(metric.name, metric.unit, piece)) for piece in pieces)
    return replace(sample, runs=runs)


def _estimated(row: Comparison, within: Comparison, pair: SamplePair) -> Comparison:
    """A row without a verdict, with the estimate from its observations; batches are not runs, so none are needed."""
    change = replace(within.change, runs_needed=None)
    observations = len(pair.before.runs[0].steady), len(pair.after.runs[0].steady)
    return replace(
        row,
        change=Change(ChangeVerdict.INCONCLUSIVE, change.ratio),
        before=replace(row.before, mean=within.before.mean),
        after=replace(row.after, mean=within.after.mean),
        choice=row.choice if row.choice and row.choice.basis is ChoiceBasis.ASKED else _BY_MEAN,
        within_process=WithinProcess(change, observations, (within.before.runs, within.after.runs)),
    )


def _decided(row: Comparison) -> Comparison:
    within = row.within_process
    if within is None:
        return row
    return replace(row, change=within.change, within_process=replace(within, decides=True))
