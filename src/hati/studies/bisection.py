"""Bisection: find the commits that changed a metric between a good and a bad revision, with as few runs as needed.

Every probe is measured together with the good revision, in pairs, until changes are located on one side of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import UNSET, Struct, UnsetType

from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    Evidence,
    FloatArray,
    InputError,
    Metric,
    Plan,
    Revision,
    Stopping,
    StudyId,
    Task,
    batches,
)
from hati.core.wording import counted
from hati.document.document import (
    Document,
    Shown,
    Table,
    change,
    change_number,
    columns_of,
    duration,
    percent,
)
from hati.document.publishing import Interval, Joined, Of, StudyJson, publish
from hati.harness import RULES
from hati.studies.comparison import Question, Statistic
from hati.studies.comparison.conclusion import WITH_POWER
from hati.studies.gate.document import RevisionJson
from hati.studies.harness_changes import HarnessChange
from hati.studies.paired.judging import JudgedPairs, PairValues
from hati.studies.schedule import failure_reasons, given_up, nothing_paired, paired_round, tasks_without_run


class Culprit(Struct, frozen=True):
    """A change between two measured revisions; no revision between them could be measured.

    ``revisions`` are those that can have caused it, oldest first: one, unless those before it could not be measured.
    ``ratio`` is the ratio of the metric after to before, with its ``interval``; ``confidence`` is that of there being a
    change at all, 0 if the budget ended before it was shown.
    """

    revisions: tuple[Revision, ...]
    ratio: float
    interval: tuple[float, float] | None
    confidence: float


class BisectionConclusion(Struct, frozen=True):
    """The culprits from the oldest, the total change, and the cost.

    ``same`` means that the total is shown to be within the ``margin``: the search stops then.

    ``open_ranges`` are intervals with a change that the budget did not suffice to locate; the whole range if it did not
    suffice to decide whether there is one. ``pairs`` counts those of both ends; ``pairs_needed`` would decide whether
    they differ, if the estimate and the noise hold, None beyond 10,000.
    """

    study: str
    good: Revision
    bad: Revision
    benchmark: str
    metric: Metric
    ratio: float | None
    interval: tuple[float, float] | None
    margin: float
    same: bool
    culprits: tuple[Culprit, ...]
    open_ranges: tuple[tuple[Revision, Revision], ...]
    skipped: tuple[Revision, ...]
    probes: int
    runs: int
    failed: int
    seconds: float
    pairs: int
    pairs_needed: int | None

    @property
    def decided(self) -> bool:
        """Whether every change is located and shown, or the total is shown to be within the margin."""
        return not self.open_ranges and bool(self.culprits or self.same) and not self.unshown

    @property
    def unshown(self) -> bool:
        """Whether a located change is not shown yet."""
        return any(culprit.confidence == 0.0 for culprit in self.culprits)


RULE = RULES[Stopping.ANYTIME]
PART = 1.0 / 3.0
"""The fraction of an interval's change below which a half is not followed."""


class ProbeSide(StrEnum):
    """The side of a run of a probe: the good revision, or the probed one."""

    BASE = "base"
    PROBE = "probe"


def stage(probe: str, side: ProbeSide) -> str:
    """The stage of a probe's tasks on a side."""
    return f"{side.value} {probe}"


def probe_of(task: Task) -> str:
    """The probed revision of a task's pair."""
    return task.stage.partition(" ")[2]


class PlacedValue(NamedTuple):
    """The value of a run, and its machine."""

    value: float
    machine: str


class Half(StrEnum):
    """Whether a half of an interval has a relevant part of its change."""

    CHANGED = "changed"
    UNCHANGED = "unchanged"
    OPEN = "open"


class RevisionLevels(Struct, frozen=True, eq=False, dict=True):
    """The levels of probed revisions by their pairs: logarithms of ratios to the good one.

    ``alpha`` is the level of each interval.
    """

    evidence: Evidence
    metric: Metric
    statistic: Statistic
    alpha: float

    def pairs(self, revision: str) -> int:
        """The number of pairs of a revision that were begun."""
        rounds = self._rounds.get(revision)
        return 0 if not rounds else 1 + max(rounds)

    def broken(self, revision: str, side: ProbeSide = ProbeSide.PROBE) -> bool:
        """Whether a revision, or by ``side`` the good one paired with it, does not work or cannot be built."""
        return stage(revision, side) in self._given_up

    def differences(self, revision: str) -> FloatArray:
        """The differences of the complete pairs, in order.

        A pair is a block: one whose runs are of two machines, or of two states of a machine, does not count.
        """
        pairs = [sides for _, sides in sorted(self._rounds.get(revision, {}).items()) if len(sides) == len(ProbeSide)]
        both = [
            (base.value, probe.value)
            for base, probe in ((sides[ProbeSide.BASE], sides[ProbeSide.PROBE]) for sides in pairs)
            if base.machine == probe.machine
        ]
        return PairValues(*np.array(both).T).differences if both else np.empty(0)

    def interval(self, revision: str | None) -> tuple[float, float]:
        """The interval of a level; infinite if nothing is known, zero for the good revision itself (None)."""
        if revision is None:
            return 0.0, 0.0
        found = self.differences(revision)
        if len(found) < RULE.fewest(self.alpha):
            return -np.inf, np.inf
        judged = self.judged(revision, 0.0)
        return judged.estimate - judged.half_width, judged.estimate + judged.half_width

    def judged(self, revision: str, limit: float) -> JudgedPairs:
        """The test of a revision's pairs, at least one, with a margin of ``limit``."""
        return JudgedPairs(self.differences(revision), RULE, self.alpha, limit)

    def level(self, revision: str | None) -> float:
        """The mean difference of a revision's pairs; 0 for the good revision itself (None)."""
        return 0.0 if revision is None else float(self.differences(revision).mean())

    def split(self, first: str | None, probe: str, last: str | None) -> tuple[Half, Half]:
        """Whether the change from ``first`` to ``last`` happened up to a probe, and after it.

        A half has a relevant part of it if the probe's level is at least a third of the way from the half's own end.
        The levels of both ends are taken as estimated: a search's result is shown separately.
        """
        start, change = self.level(first), self.level(last) - self.level(first)
        ends = sorted((end - start) / change for end in self.interval(probe))
        return _beyond(ends, PART), _beyond([1.0 - ends[1], 1.0 - ends[0]], PART)

    @cached_property
    def _given_up(self) -> frozenset[str]:
        return given_up(self.evidence.runs, lambda run: run.task.stage)

    @cached_property
    def _rounds(self) -> dict[str, dict[int, dict[ProbeSide, PlacedValue]]]:
        """The values by probed revision and number of the pair; pairs that were begun are included, even if empty."""
        found: dict[str, dict[int, dict[ProbeSide, PlacedValue]]] = {}
        for run in self.evidence.runs:
            side, _, probe = run.task.stage.partition(" ")
            sides = found.setdefault(probe, {}).setdefault(run.task.repetition, {})
            value = run.value(self.metric, self.statistic.of)
            if value is not None:
                sides[ProbeSide(side)] = PlacedValue(value, run.machine)
        return found


def middle(inside: Sequence[str], broken: Sequence[str]) -> str | None:
    """The working revision nearest to the middle; None if there is none inside."""
    places = [place for place, revision in enumerate(inside) if revision not in broken]
    if not places:
        return None
    centre = (len(inside) - 1) / 2.0
    return inside[min(places, key=lambda place: (abs(place - centre), place))]


def _beyond(interval: Sequence[float], limit: float) -> Half:
    low, high = interval
    if low > limit:
        return Half.CHANGED
    return Half.UNCHANGED if high < limit else Half.OPEN


BATCH = 4
"""The number of pairs planned at a time before there are enough, so that a failing revision is recognised soon."""
MOST_PAIRS = 64
"""The largest number of pairs of a revision between the ends: if it is undecided by then, both sides are followed."""
GROWTH = 32
"""At most the inverse of the fraction by which a plan adds to a revision's pairs, so that planning stays cheap."""


def bisection_id(
    benchmark: Benchmark,
    configuration: Configuration,
    metric: Metric,
    revisions: Sequence[Revision],
    question: Question,
    seed: int,
    machine: str,
) -> StudyId:
    """The identity of a bisection with all that decides its tasks; a larger budget continues it."""
    parameters: dict[str, object] = {
        "benchmark": [benchmark.name, benchmark.definition, dict(configuration)],
        "metric": metric.name,
        "revisions": [revision.id for revision in revisions],
        "question": [question.alpha, str(question.statistic)],
    }
    return StudyId.of("bisection", parameters, seed, machine)


class _Range(Struct, frozen=True):
    """The range between two revisions, by their places; the good one's place is 0."""

    first: int
    last: int


class Bisection(Struct, frozen=True, dict=True):
    """Finds the changes among ``revisions``, the first of which is good, the last bad, all in their order.

    Raises:
        InputError: for fewer than two revisions, one of them twice, or a budget in runs without a pair.
    """

    id: StudyId
    benchmark: Benchmark
    configuration: Configuration
    metric: Metric
    revisions: tuple[Revision, ...]
    question: Question
    budget: Budget

    def __post_init__(self) -> None:
        if len(self.revisions) < len(("good", "bad")) or len(set(self._ids)) != len(self.revisions):
            raise InputError("a bisection needs a good revision, a bad one, and none twice")
        if self.budget.runs < len(ProbeSide):
            words = "1 run is" if self.budget.runs == 1 else f"{self.budget.runs:g} runs are"
            deciding = len(ProbeSide) * RULE.fewest(self._alpha)
            raise InputError(
                f"{words} no pair of both revisions",
                fix=f"give --budget {len(ProbeSide)} or more; {deciding} are the fewest that decide",
            )

    def plan(self, evidence: Evidence) -> Plan:
        """The next pair; none if every change is found, or there is none."""
        levels = self._levels(evidence)
        tasks = tasks_without_run(self._begun(levels), evidence) or self._next(levels)
        return Plan(batches(tasks, lambda task: (probe_of(task), task.repetition))).within(self.budget.left(evidence))

    def conclude(self, evidence: Evidence) -> BisectionConclusion:
        """The culprits found so far.

        Raises:
            MeasurementError: if the good or the bad revision could not be measured.
        """
        levels = self._levels(evidence)
        bad = self._ids[-1]
        if not len(levels.differences(bad)):
            raise nothing_paired(failure_reasons(evidence.runs, self.metric), evidence)
        searched = list(self._search(levels))
        leaves = [one for one, probe in searched if probe is None]
        left = [one for one, probe in searched if probe is not None]
        if self._undecided(levels):
            left = [_Range(0, len(self._ids) - 1)]
        low, high = levels.interval(bad)
        return BisectionConclusion(
            study=self.id.key,
            good=self.revisions[0],
            bad=self.revisions[-1],
            benchmark=self.benchmark.name,
            metric=self.metric,
            ratio=math.exp(levels.level(bad)),
            interval=(math.exp(low), math.exp(high)) if math.isfinite(high) else None,
            margin=self.question.margin,
            same=self._same(levels),
            culprits=tuple(self._culprit(levels, leaf) for leaf in sorted(leaves, key=lambda leaf: leaf.first)),
            open_ranges=tuple((self.revisions[one.first], self.revisions[one.last]) for one in left),
            skipped=tuple(revision for revision in self.revisions if levels.broken(revision.id)),
            probes=len({run.task.stage.partition(" ")[2] for run in evidence.runs}),
            runs=len(evidence.runs),
            failed=len(evidence.failed),
            seconds=evidence.seconds,
            pairs=len(levels.differences(bad)),
            pairs_needed=levels.judged(bad, self.question.limit).pairs_needed(levels.alpha),
        )

    @cached_property
    def _ids(self) -> tuple[str, ...]:
        return tuple(revision.id for revision in self.revisions)

    def _levels(self, evidence: Evidence) -> RevisionLevels:
        return RevisionLevels(evidence, self.metric, self.question.fixed, self._alpha)

    @property
    def _alpha(self) -> float:
        """The level of each interval, so that all probes of a search (the bad one and those of halving) keep alpha."""
        return self.question.alpha / (1 + math.ceil(math.log2(max(2, len(self.revisions)))))

    def _next(self, levels: RevisionLevels) -> list[Task]:
        """A pair of the bad revision until its change is decided; then of the first that the search needs.

        Once every change is located, pairs of those that are not shown follow, while the budget lasts.
        """
        bad = self._ids[-1]
        if self._undecided(levels):
            return self._more(levels, bad)
        for _, probe in self._search(levels):
            if probe is not None:
                return self._more(levels, probe)
        unshown = (leaf for leaf, _ in self._search(levels) if not self._shown(levels, leaf))
        weakest = [end for leaf in unshown for end in self._ends(levels, leaf)]
        return self._more(levels, min(weakest, key=levels.pairs)) if weakest else []

    def _more(self, levels: RevisionLevels, revision: str) -> list[Task]:
        """The next pairs of a revision; at first the number of pairs that a decision needs."""
        begun = levels.pairs(revision)
        until = max(begun + max(1, begun // GROWTH), min(RULE.fewest(levels.alpha), begun + BATCH))
        return [task for number in range(begun, until) for task in self._pair(revision, number)]

    def _undecided(self, levels: RevisionLevels) -> bool:
        """Whether it is still undecided if the bad revision differs from the good one."""
        bad = self._ids[-1]
        if any(levels.broken(bad, side) for side in ProbeSide):
            return False
        low, high = levels.interval(bad)
        return low <= 0.0 <= high and not self._same(levels)

    def _same(self, levels: RevisionLevels) -> bool:
        """Whether the bad revision is shown to be within the margin, however clearly it differs."""
        low, high = levels.interval(self._ids[-1])
        return -self.question.limit <= low and high <= self.question.limit

    def _search(self, levels: RevisionLevels) -> Iterator[tuple[_Range, str | None]]:
        """Yield the ranges with a change, each with the revision to measure next, or None if the change is found."""
        low, high = levels.interval(self._ids[-1])
        if low <= 0.0 <= high or self._same(levels):
            return
        ahead = [_Range(0, len(self._ids) - 1)]
        while ahead:
            one = ahead.pop()
            inside = self._ids[one.first + 1 : one.last]
            probe = middle(inside, [revision for revision in inside if levels.broken(revision)])
            if probe is None:
                yield one, self._weaker_end(levels, one)
                continue
            place = self._ids.index(probe)
            halves = _Range(one.first, place), _Range(place, one.last)
            found = levels.split(self._name(one.first), probe, self._name(one.last))
            if Half.OPEN in found and levels.pairs(probe) < MOST_PAIRS:
                yield one, probe
            else:
                ahead += self._followed(levels, halves, found)

    def _weaker_end(self, levels: RevisionLevels, leaf: _Range) -> str | None:
        """The less measured of two neighbours until they are shown to differ; then None."""
        able = [name for name in self._ends(levels, leaf) if levels.pairs(name) < MOST_PAIRS]
        return None if self._shown(levels, leaf) else min(able, key=levels.pairs, default=None)

    def _ends(self, levels: RevisionLevels, leaf: _Range) -> list[str]:
        """The ends of a range that have pairs and still work."""
        ends = [name for name in (self._name(leaf.first), self._name(leaf.last)) if name is not None]
        return [name for name in ends if not any(levels.broken(name, side) for side in ProbeSide)]

    def _shown(self, levels: RevisionLevels, leaf: _Range) -> bool:
        low, high = self._interval(levels, leaf)
        return not low <= 0.0 <= high

    def _interval(self, levels: RevisionLevels, leaf: _Range) -> tuple[float, float]:
        (low_first, high_first), (low_last, high_last) = (
            levels.interval(self._name(place)) for place in (leaf.first, leaf.last)
        )
        return low_last - high_first, high_last - low_first

    def _followed(self, levels: RevisionLevels, halves: Sequence[_Range], found: Sequence[Half]) -> list[_Range]:
        """The halves that have a change; if none is shown to, the one with the larger part of it."""
        changed = [half for half, words in zip(halves, found, strict=True) if words is Half.CHANGED]
        if changed:
            return changed
        sizes = [abs(levels.level(self._name(half.last)) - levels.level(self._name(half.first))) for half in halves]
        return [halves[int(np.argmax(sizes))]]

    def _culprit(self, levels: RevisionLevels, leaf: _Range) -> Culprit:
        change = levels.level(self._name(leaf.last)) - levels.level(self._name(leaf.first))
        low, high = self._interval(levels, leaf)
        known = math.isfinite(low) and math.isfinite(high)
        return Culprit(
            revisions=self.revisions[leaf.first + 1 : leaf.last + 1],
            ratio=math.exp(change),
            interval=(math.exp(low), math.exp(high)) if known else None,
            confidence=1.0 - self.question.alpha if self._shown(levels, leaf) else 0.0,
        )

    def _name(self, place: int) -> str | None:
        """A revision's id; None for the good one, the partner of every pair."""
        return self._ids[place] if place else None

    def _begun(self, levels: RevisionLevels) -> Iterator[Task]:
        """The tasks of all pairs that have a run."""
        for revision in self._ids[1:]:
            for number in range(levels.pairs(revision)):
                yield from self._pair(revision, number)

    def _pair(self, revision: str, number: int) -> Iterator[Task]:
        sides = list(ProbeSide)
        for _, place in paired_round(1, self.id.order(revision, str(number))):
            side = sides[place]
            yield self.benchmark.task(
                self.id,
                stage(revision, side),
                self.configuration,
                revision if side is ProbeSide.PROBE else self._ids[0],
                number,
            )


class CulpritJson(Struct, frozen=True):
    """A commit with its part of the change; ``candidates`` where it is one of several."""

    revision: Annotated[str, Of(lambda culprit: culprit.revisions[-1].id)]
    title: Annotated[str, Of(lambda culprit: culprit.revisions[-1].title)]
    candidates: Annotated[list[str], Of(lambda culprit: [each.id for each in culprit.revisions])]
    ratio: float
    interval: Interval | None
    confidence: float


class BisectionJson(StudyJson, frozen=True, tag_field="format", tag="hati-bisect-1"):
    """The commits that changed a metric, and what finding them cost."""

    commits: Annotated[list[CulpritJson], Of("culprits")]
    good: RevisionJson
    bad: RevisionJson
    benchmark: str
    metric: Annotated[str, Of("metric.name")]
    ratio: float | None
    interval: Interval | None
    margin: float
    same: bool
    open: Annotated[list[list[str]], Of(lambda found: [[each.id for each in ends] for ends in found.open_ranges])]
    skipped: Annotated[list[str], Of(lambda found: [each.id for each in found.skipped])]
    probes: int
    runs: int
    failed: int
    seconds: float
    study: str
    harness_changed: Annotated[list[HarnessChange] | UnsetType, Of(lambda found: found.harness_changed or None)] = UNSET


def bisection_json(found: BisectionConclusion, harness_changed: Sequence[HarnessChange] = ()) -> BisectionJson:
    """The published commits, and where the harness changed with them."""
    return publish(Joined(found, harness_changed=harness_changed), BisectionJson)


def bisection_table(found: BisectionConclusion) -> Table:
    """A row for each commit that changed the metric."""
    columns = columns_of("revision | > change | > interval | > confidence (%) | title")
    rows = tuple(
        (
            " or ".join(map(str, culprit.revisions)),
            Shown(change(culprit.ratio - 1.0), culprit.ratio),
            _interval(culprit.interval),
            Shown(f"{100.0 * culprit.confidence:.3g}", culprit.confidence),
            culprit.revisions[-1].title,
        )
        for culprit in found.culprits
    )
    return Table(f"From {found.good} to {found.bad}", columns, rows, tuple(_notes(found)))


def _interval(interval: tuple[float, float] | None) -> str:
    return "none yet" if interval is None else f"{change_number(interval[0] - 1.0)} to {change(interval[1] - 1.0)}"


def _notes(found: BisectionConclusion) -> list[str]:
    whole = "not known" if found.ratio is None else f"{change(found.ratio - 1.0)} ({_interval(found.interval)})"
    notes = [
        f"{found.metric.name} of {found.benchmark} in all: {whole}. {counted(found.probes, 'revision')} measured "
        f"with the good one, {counted(found.runs, 'run')}, {duration(found.seconds)}."
    ]
    for first, last in found.open_ranges:
        notes.append(f"Not decided yet: between {first} and {last}; a larger --budget goes on.")
    if found.skipped:
        notes.append(f"Could not be measured: {', '.join(map(str, found.skipped))}.")
    if found.unshown:
        notes.append("Confidence 0: the runs of this revision alone show no change; a larger --budget goes on.")
    return notes


def bisection_document(found: BisectionConclusion, harness_changed: Sequence[HarnessChange] = ()) -> Document:
    """Which commits changed the metric."""
    return Document(
        f"{found.metric.name} of {found.benchmark} from {found.good} to {found.bad}",
        _answer(found),
        sections=(bisection_table(found),),
        warnings=tuple(each.sentence for each in harness_changed),
        study=found.study,
    )


def _answer(found: BisectionConclusion) -> str:
    if found.culprits:
        named = (f"{' or '.join(map(str, each.revisions))} ({change(each.ratio - 1.0)})" for each in found.culprits)
        return f"{'Most likely changed' if found.unshown else 'Changed'} by {', '.join(named)}."
    if found.interval is None:
        return "Too few runs to decide whether the two revisions differ."
    if found.same:
        return f"The two revisions are the same within {percent(found.margin)}: there is nothing to bisect."
    low, high = found.interval
    if low <= 1.0 <= high:
        return (
            f"Not decided whether the two revisions differ, after {counted(found.pairs, 'pair')}{_would_decide(found)}."
        )
    return "The two revisions differ; not decided yet which commits changed it."


def _would_decide(found: BisectionConclusion) -> str:
    return "" if found.pairs_needed is None else f"; {found.pairs_needed:,} would decide {WITH_POWER}"
