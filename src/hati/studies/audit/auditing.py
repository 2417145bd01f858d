"""The audit: runs are split at random and in time, halves are compared, and alarms are counted."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct, field

from hati.core import InputError, Sample, generator, replace
from hati.core.wording import listed
from hati.knowledge import Entry
from hati.stats import Proportion, clustered_proportion, sign_test
from hati.studies.audit.conclusion import (
    FEWEST_RUNS,
    Audit,
    AuditedBenchmark,
    ClusterAlarms,
    Directions,
    Halves,
    Later,
    Marks,
    Outcomes,
    RecommendedStatistic,
    StatisticSensitivity,
    Whole,
    cluster_outcomes,
    clustered,
    correlation,
    found_mostly,
    halves,
    in_time,
    later,
    later_halves,
    random_outcomes,
)
from hati.studies.comparison import (
    CANDIDATES,
    Question,
    SamplePair,
    Statistic,
    StatisticChoice,
    candidate_values,
    choose_statistic,
    combined_ratios,
    earlier_samples,
    sides_of,
    variance_ratios,
)

LEVEL = 0.05
_DIRECTIONS = 0.01
_COARSER = 1.25
_FAR = 0.005
"""The level for each rate: three rates and more are tested, and an audit should not raise false alarms itself."""


def audit_warnings(found: Audit) -> tuple[str, ...]:
    """The warnings in sentences; those on error rates require more than chance."""
    return tuple(
        text for text in (_wolf(found), _one_sided(found), _drift(found), _coarse(found), _missing(found)) if text
    )


def _wolf(found: Audit) -> str:
    measured = [
        (found.false_alarms, "comparisons of equal halves end in an alarm"),
        (found.uncorrected, "comparisons of equal halves have a p-value up to alpha"),
        (found.any_alarm, "splits end in an alarm of some benchmark"),
    ]
    if found.clusters is not None:
        measured.append((found.clusters.alarms, "comparisons report a change of a cluster"))
        measured.append((found.clusters.misplaced, "comparisons of shifted halves find another change of clusters"))
    for rate, what in measured:
        if rate.p_above(found.alpha) <= _FAR:
            return (
                f"too many false alarms: {_percent(rate.estimate)} of {what}, where {_percent(found.alpha)} should; "
                "look at the benchmarks with alarms, and compare with more runs, another statistic or a smaller alpha"
            )
    return ""


def _one_sided(found: Audit) -> str:
    sides = found.directions
    if sides.p_value > _DIRECTIONS:
        return ""
    return (
        f"alarms are one-sided: {sides.slower} slower and {sides.faster} faster, where both are as likely; do not trust"
        " a comparison that does so"
    )


def _drift(found: Audit) -> str:
    time = found.in_time
    if time.p_value > LEVEL and time.alarms.p_above(found.alpha) > _FAR:
        return ""
    alarms = f"{time.slower} slower and {time.faster} faster of {len(found.rows)}"
    return (
        f"earlier and later runs differ more than random halves do ({alarms}): what is measured drifts, and of two"
        " campaigns one after the other that would pass for a change; measure what is compared alternately"
    )


def _coarse(found: Audit) -> str:
    """A warning if another statistic finds much smaller changes in the same runs."""
    wanted = {each.choice.statistic for each in found.recommended}
    best = next((each for each in found.by_statistic if wanted == {each.statistic}), None)
    if best is None or best.detectable is None or str(best.statistic) == found.statistic:
        return ""
    if found.detectable is not None and found.detectable <= _COARSER * best.detectable:
        return ""
    here = "none" if found.detectable is None else _percent(found.detectable)
    return (
        f"the {best.statistic.title} of runs finds a change of {_percent(best.detectable)}, this comparison {here}:"
        f" compare with --statistic {best.statistic}, or give these runs as --history"
    )


def _missing(found: Audit) -> str:
    if not found.left_out:
        return ""
    names = [sample.benchmark for sample in found.left_out]
    return f"with fewer than 4 runs, which cannot be split, these are left out: {listed(names, 5)}"


def _percent(fraction: float) -> str:
    return f"{100.0 * fraction:.3g} %"


SPLITS = 20
_MOST_SPLITS = 10_000

_Split = list[Halves]
"""The halves of every sample."""

Watch = Callable[[int, int], None]
"""Called with the number of steps done, and of all steps."""


def unwatched(_: int, __: int) -> None:
    """Report nothing."""


class AuditSettings(Struct, frozen=True):
    """The audited comparison, the number of random splits, and their seed.

    ``known`` holds, by metric, the statistic that was chosen before; an automatic choice uses it.

    Raises:
        InputError: for no splits, or more than 10,000.
    """

    question: Question = field(default_factory=Question)
    splits: int = SPLITS
    seed: int = 1
    known: Mapping[str, Entry[StatisticChoice]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 1 <= self.splits <= _MOST_SPLITS:
            raise InputError(f"an audit takes 1 to {_MOST_SPLITS:,} splits, not {self.splits:,}", fix="write 20")


def audit(
    samples: Sequence[Sample], request: AuditSettings, history: Sequence[Sample] = (), watch: Watch = unwatched
) -> Audit:
    """Split the runs of each sample at random, and in time, and compare the halves of all samples together.

    Earlier samples of the same benchmarks, the ``history``, help to estimate the noise as in a comparison; ``watch`` is
    called with the number of steps done.

    Raises:
        InputError: if no sample has enough runs for a split.
    """
    chosen = [sample for sample in samples if len(sample.runs) >= FEWEST_RUNS]
    if not chosen:
        raise _too_few(samples)
    question = request.question
    splits = _splits(chosen, request)
    known = {} if isinstance(question.statistic, Statistic) else request.known
    wholes = [each._replace(known=_choice(known, each.metric)) for each in _wholes(chosen, question, history)]
    outcomes = random_outcomes(chosen, wholes, _watched(splits, 0, watch), question)
    decisions = later_halves(chosen, wholes, question)
    ends = [later(each, question, sample) for sample, each in zip(chosen, decisions, strict=True)]
    slower, faster = int(outcomes.slower.sum()), int(outcomes.faster.sum())
    found = Audit(
        alpha=question.alpha,
        margin=question.margin,
        statistic=str(question.statistic),
        splits=request.splits,
        seed=request.seed,
        false_alarms=_share(outcomes.alarms, chosen),
        any_alarm=_share(np.any(outcomes.alarms, axis=1, keepdims=True), chosen),
        uncorrected=_share(outcomes.significant, chosen),
        same=_share(outcomes.same, chosen),
        false_same=_share(outcomes.false_same, chosen),
        directions=Directions(slower, faster, sign_test(slower, faster)),
        detectable=found_mostly(outcomes.changes),
        clusters=_clusters(chosen, splits, question, watch),
        in_time=in_time(chosen, decisions, [each.verdict for each in ends], outcomes.surprise),
        by_statistic=_by_statistic(chosen, wholes, splits, question, watch),
        recommended=_recommended(wholes),
        rows=tuple(_row(sample, outcomes, place, ends[place]) for place, sample in enumerate(chosen)),
        left_out=tuple(sample for sample in samples if len(sample.runs) < FEWEST_RUNS),
        known={metric: entry for metric, entry in known.items() if any(each.metric == metric for each in wholes)},
    )
    return replace(found, warnings=audit_warnings(found))


def _choice(known: Mapping[str, Entry[StatisticChoice]], metric: str) -> StatisticChoice | None:
    entry = known.get(metric)
    return None if entry is None else entry.value


def _too_few(samples: Sequence[Sample]) -> InputError:
    most = max((len(sample.runs) for sample in samples), default=0)
    return InputError(
        f"no benchmark has the {FEWEST_RUNS} runs that two halves take: the most are {most}",
        fix="measure 10 runs or more, each a process of its own",
    )


def _wholes(samples: Sequence[Sample], question: Question, history: Sequence[Sample]) -> list[Whole]:
    """The run values of each sample, as both sides of a comparison with itself, by all statistics."""
    itself = [SamplePair(sample, sample) for sample in samples]
    found = []
    for pair, known in zip(itself, earlier_samples(itself, history), strict=True):
        asked = {question.statistic} if isinstance(question.statistic, Statistic) else set()
        sides = {statistic: sides_of(pair, statistic, known) for statistic in {*CANDIDATES, *asked}}
        ratios = variance_ratios([candidate_values(sample) for sample in known])
        found.append(Whole(pair.before.metric.name, sides, ratios))
    return found


def _splits(samples: Sequence[Sample], request: AuditSettings) -> list[_Split]:
    """Random halves of every sample, for each split."""
    rng = generator(request.seed, "audit")
    return [[halves(rng.permutation(len(sample.runs))) for sample in samples] for _ in range(request.splits)]


def _clusters(
    samples: Sequence[Sample], splits: Sequence[_Split], question: Question, watch: Watch
) -> ClusterAlarms | None:
    """The alarms of the samples that have clusters; None if none has."""
    places = clustered(samples, question)
    if not places:
        return None
    own = [samples[place] for place in places]
    of_them = [[split[place] for place in places] for split in splits]
    found = cluster_outcomes(own, _watched(of_them, len(splits), watch), question)
    names = tuple(sample.benchmark for sample in own)
    return ClusterAlarms(_share(found.alarms, own), _share(found.misplaced, own), names)


def _watched(splits: Sequence[_Split], before: int, watch: Watch) -> Iterator[_Split]:
    """The splits; each is a step for whole runs, for clusters, and for each statistic."""
    for number, split in enumerate(splits):
        yield split
        watch(before + number + 1, (2 + len(CANDIDATES)) * len(splits))


def _by_statistic(
    samples: Sequence[Sample],
    wholes: Sequence[Whole],
    splits: Sequence[_Split],
    question: Question,
    watch: Watch,
) -> tuple[StatisticSensitivity, ...]:
    """The sensitivity of each statistic in the same splits."""
    found = []
    for number, statistic in enumerate(CANDIDATES):
        watched = _watched(splits, (2 + number) * len(splits), watch)
        outcomes = random_outcomes(samples, wholes, watched, replace(question, statistic=statistic))
        found.append(StatisticSensitivity(statistic, found_mostly(outcomes.changes)))
    return tuple(found)


def _recommended(wholes: Sequence[Whole]) -> tuple[RecommendedStatistic, ...]:
    """The statistic of each metric that varies least between all runs; it is for later runs, so these may decide."""
    found = []
    for metric in dict.fromkeys(whole.metric for whole in wholes):
        own = [
            ratios
            for whole in wholes
            if whole.metric == metric
            and (ratios := variance_ratios([np.array([whole.sides[one].before.values for one in CANDIDATES])]))
        ]
        found.append(RecommendedStatistic(metric, choose_statistic(combined_ratios(own), ())))
    return tuple(found)


def _share(marks: Marks, samples: Sequence[Sample]) -> Proportion:
    """The proportion of ``marks``, shape (splits, clusters); splits of one benchmark, or of all, are correlated."""
    alike = max(correlation(len(sample.runs)) for sample in samples)
    return clustered_proportion(np.mean(marks, axis=0), len(marks), alike)


def _row(sample: Sample, outcomes: Outcomes, place: int, end: Later) -> AuditedBenchmark:
    return AuditedBenchmark(
        sample=sample,
        runs=len(sample.runs) // 2,
        slower=int(outcomes.slower[:, place].sum()),
        faster=int(outcomes.faster[:, place].sum()),
        same=int(outcomes.same[:, place].sum()),
        false_same=int(outcomes.false_same[:, place].sum()),
        detectable=found_mostly(outcomes.changes[:, place]),
        later=end.verdict,
        later_ratio=end.ratio,
    )
