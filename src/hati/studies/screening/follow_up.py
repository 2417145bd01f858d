"""The follow-up of a screening: runs set aside to refute the design's findings, after its rows.

A claim is what a design's rows show about a single option; flips confirm it, refute it, or leave it open.
"""

from __future__ import annotations

import math
from collections import Counter, deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import count

import numpy as np
from msgspec import Struct

from hati.core import Benchmark, Configuration, Evidence, FloatArray, Metric, Plan, StudyId, Task, generator, replace
from hati.design import Model, levels
from hati.space import Space
from hati.stats import PERMUTATIONS, f_above, pure_error, t_quantile
from hati.studies.schedule import nothing_measured
from hati.studies.screening.changes import BaseMean, EffectContrast, Readable
from hati.studies.screening.conclusion import EffectScale, FlipEvidence, FlipVerdict, ScreeningConclusion, SuspectRun
from hati.studies.screening.model import ModelAnalysis, ModelEffect
from hati.studies.screening.model_fit import ModelFit
from hati.studies.screening.planning.tasks import STAGE
from hati.studies.screening.reruns import (
    RERUN_STAGE,
    Ends,
    Flip,
    flip_stage,
    flipped,
    is_flip,
    is_of_flip,
    is_rerun,
    rerun_stage,
    reruns_made,
    run_key,
    settled,
)
from hati.studies.screening.runs import MeasuredDesign

_LEAST = 1.0 / (1.0 + PERMUTATIONS)
"""The smallest p-value that permutations give."""


class Claim(Struct, frozen=True):
    """The effect of an option as the design's rows show it: the change between its ``ends``, on the deciding scale.

    ``p_value`` is the study-wise p-value of the option's effect, by permutations. If it is the smallest that these
    give, the p-value by the distribution of F (Scheffe 1953), times the number of options, replaces it if smaller.
    """

    option: str
    ends: Ends
    change: EffectContrast
    p_value: float

    @property
    def certainty(self) -> float:
        """The size of the change in standard errors."""
        error = self.change.standard_error
        return abs(self.change.estimate) / error if error else float("inf")


Claims = Callable[[Evidence], Sequence[Claim]]
"""Returns the claims of a design's rows; called only when they are needed."""


def claim_of(found: ModelEffect, analysis: ModelAnalysis, space: Space) -> Claim | None:
    """The claim of an effect; None for interactions, and if the rows do not distinguish the settings."""
    if len(found.term) > 1 or found.decided.standard_error is None or found.p_value is None:
        return None
    option = space.options[found.term[0]]
    change = analysis.judged.change(found.term[0])
    low, high = (0, 1) if change is None else (change.before, change.after)
    ends = option.settings[low], option.settings[high]
    smallest = len(space.names) * _by_f(found.decided, len(option.settings) - 1, analysis.judged.df)
    p_value = found.p_value if found.p_value > _LEAST else min(found.p_value, smallest)
    return Claim(option.name, ends, found.decided, p_value)


def _by_f(change: EffectContrast, freedom: int, df: int) -> float:
    """The p-value of the difference between the extremes of ``freedom`` + 1 settings."""
    if not change.standard_error or df < 1:
        return 0.0
    squares = (change.estimate / change.standard_error) ** 2
    return float(f_above(np.array([squares / freedom]), freedom, df)[0])


CONFIDENCE = 0.99
"""The confidence of the interval of an option's flips: a few flips of an interacting option are easily alike."""
_ABSENT = 0.75
"""The fraction of configurations in which an effect that depends on two other options is absent."""
_RARE = 0.02
"""The assumed fraction of important effects that are absent in such a fraction of configurations."""
THE_CONFIGURATION = "the configuration"
_SIGNS = 0.05


class ExpectedFlips(Struct, frozen=True, eq=False):
    """The values ``before`` and the ``changes`` that a design's model expects of flips, on the deciding scale.

    Both have the shape (flips,).
    """

    before: FloatArray
    changes: FloatArray


def judge_flips(
    claim: Claim,
    flips: Sequence[Flip],
    readable: Readable,
    expected: ExpectedFlips,
    noise: float | None,
    relevant: float,
) -> FlipEvidence | None:
    """The evidence of an option's flips on the claim about it; None without flips, or if the claim is no change.

    The interval covers the Student intervals of two estimates of the average effect: the mean change, and the claim
    corrected by the differences between the changes and what the design's model expects in these configurations (the
    difference estimator of survey sampling; Särndal, Swensson and Wretman, Model Assisted Survey Sampling, 1992,
    section 6.3). Each is relative to a base of the same kind: the mean before, and the claim's base corrected by the
    differences between the values before and the expected ones. The two estimates are the same if the model has no
    interaction of the option. If it has one, either interval may be narrow by chance because a few flips are alike, as
    when an effect is absent in most configurations; the two estimates then disagree.

    Flips confirm the claim if the interval contains only relevant effects of the claim's sign. They refute a doubtful
    claim of a relevant effect if the interval excludes these effects, or if the mean change falls short of both the
    claim and the expected mean by more than the half-widths of the interval and of the claim's, added in quadrature. A
    claim is doubtful unless its p-value is at most the probability that flips miss an effect because it is absent in
    most configurations.

    Args:
        claim: from the design's rows.
        flips: between the claim's ends, as ``between_ends`` returns them.
        readable: the scale of the claim.
        expected: what the model expects of each flip, on that scale.
        noise: the largest difference that the noise of two runs explains; None if it is unknown.
        relevant: the fraction that matters.
    """
    estimate = claim.change.estimate
    if not flips or estimate == 0.0:
        return None
    changes = differences(flips, readable)
    both = _estimates(claim, flips, changes, readable, expected)
    found = _cover(*(each.interval for each in both))
    limit = readable.limit(relevant, both[0])
    verdict = FlipVerdict.NOT_DECIDED
    doubtful = claim.p_value > _RARE * _ABSENT ** len(changes)
    if found is not None:
        sign = math.copysign(1.0, estimate)
        low, high = sorted(sign * end for end in found)
        missing = min(sign * estimate, sign * float(np.mean(expected.changes))) - sign * float(np.mean(changes))
        contradicts = missing > math.hypot(0.5 * (high - low), claim.change.margin or 0.0)
        if low > limit:
            verdict = FlipVerdict.CONFIRMED
        elif sign * estimate > limit and (contradicts or high <= limit):
            verdict = FlipVerdict.REFUTED if doubtful else FlipVerdict.MISSED
    return FlipEvidence(
        option=claim.option,
        ends=claim.ends,
        flips=len(changes),
        change=readable.change(both[0]).relative,
        interval=_cover(*(readable.change(each).interval for each in both)),
        claimed=readable.change(claim.change).relative,
        verdict=verdict,
        depends_on=THE_CONFIGURATION if noise is not None and _both_signs(changes, max(noise, limit)) else "",
    )


def _estimates(
    claim: Claim, flips: Sequence[Flip], changes: FloatArray, readable: Readable, expected: ExpectedFlips
) -> tuple[EffectContrast, EffectContrast]:
    """The mean change of the flips, and the claim corrected by them, each as a difference from its own base."""
    before = readable.scale.decided(np.array([flip.values[0] for flip in flips]))
    claimed = claim.change.estimate + changes - expected.changes
    base = 0.0 if claim.change.base is None else claim.change.base.mean
    return _mean_change(changes, before), _mean_change(claimed, base + before - expected.before)


def _mean_change(changes: FloatArray, before: FloatArray) -> EffectContrast:
    """The mean of changes as a difference from the mean of the values before."""
    estimate, base, count = float(np.mean(changes)), BaseMean(float(np.mean(before))), len(changes)
    if count < 2:
        return EffectContrast(estimate, None, None, base)
    deviation, root = float(np.std(changes, ddof=1)), math.sqrt(count)
    margin = t_quantile(0.5 + CONFIDENCE / 2.0, count - 1) * deviation / root
    variance, covariance = np.cov(before, changes)[0] / count
    base = replace(base, variance=float(variance), covariance=float(covariance))
    return EffectContrast(estimate, deviation / root, margin, base)


def _cover(*intervals: tuple[float, float] | None) -> tuple[float, float] | None:
    """The interval from the lowest to the highest end; None without any."""
    ends = [end for each in intervals if each is not None for end in each]
    return (min(ends), max(ends)) if ends else None


def between_ends(claim: Claim, flips: Sequence[Flip], scale: EffectScale) -> tuple[Flip, ...]:
    """The flips between the claim's ends, each from the first to the second; on the log scale, of positive values."""
    first, second = claim.ends
    turned = (flip if flip.before[claim.option] == first else flip.turned for flip in flips)
    return tuple(
        flip
        for flip in turned
        if (flip.before[claim.option], flip.after[claim.option]) == (first, second)
        and (scale is EffectScale.RAW or min(flip.values) > 0.0)
    )


def differences(flips: Sequence[Flip], readable: Readable) -> FloatArray:
    """The changes from before to after, shape (flips,), on the deciding scale."""
    before, after = np.array([flip.values for flip in flips], dtype=np.float64).reshape(-1, 2).T
    return np.log(after / before) if readable.scale is EffectScale.LOG else after - before


def expected_flips(model: Model, fit: ModelFit, space: Space, flips: Sequence[Flip]) -> ExpectedFlips:
    """The values before and the changes that a model expects of flips, on the deciding scale."""
    coefficients = np.zeros(len(model.owners))
    for term, place in fit.places.items():
        coefficients[model.owners == model.terms.index(term)] = fit.coefficients[place]
    before, after = (
        model.matrix(levels(configurations, space))
        for configurations in ([flip.before for flip in flips], [flip.after for flip in flips])
    )
    return ExpectedFlips(fit.grand_mean + before @ coefficients, np.asarray((after - before) @ coefficients))


def noise_of_a_difference(found: MeasuredDesign, values: FloatArray, flips: int) -> float | None:
    """The difference that noise exceeds in any of ``flips`` pairs with 5 % probability; None without a repetition."""
    variance, df = pure_error(values, found.rows, found.blocks)
    if not df or not flips:
        return None
    return t_quantile(1.0 - _SIGNS / (2.0 * flips), df) * math.sqrt(2.0 * variance)


def with_flips(conclusion: ScreeningConclusion, found: Sequence[FlipEvidence]) -> ScreeningConclusion:
    """The conclusion of all rows with the evidence of flips: effects that they refute are not important."""
    known = {each.option: _named(each, conclusion) for each in found}
    effects = tuple(
        replace(effect, flips=own, important=effect.important and own.verdict is not FlipVerdict.REFUTED)
        if len(effect.options) == 1 and (own := known.get(effect.options[0])) is not None
        else effect
        for effect in conclusion.effects
    )
    refuted = {each.option for each in found if each.verdict is FlipVerdict.REFUTED}
    important = tuple(name for name in conclusion.important if name not in refuted)
    return replace(conclusion, effects=effects, important=important)


def _named(found: FlipEvidence, conclusion: ScreeningConclusion) -> FlipEvidence:
    """The evidence, naming the option on which an effect of both signs depends if such an interaction is known."""
    if not found.depends_on:
        return found
    pairs = (e.options for e in conclusion.effects if e.shown and len(e.options) == 2 and found.option in e.options)
    partner = next((name for pair in pairs for name in pair if name != found.option), None)
    return replace(found, depends_on=partner) if partner else found


def _both_signs(changes: FloatArray, limit: float) -> bool:
    return bool(changes.min() < -limit and changes.max() > limit)


class FollowedDesign(Struct, frozen=True, dict=True):
    """A design's ``configurations`` in a ``space``, each run ``repetitions`` times, and the flips that follow it.

    Median runs replace the runs that were repeated. Evidence may hold runs of an earlier design that was abandoned
    because settings do not work. Of these runs, only configurations of this design and flips that the space allows
    count.
    """

    metric: Metric
    space: Space
    configurations: tuple[Configuration, ...]
    repetitions: int

    def design_runs(self, evidence: Evidence) -> Evidence:
        """The runs of the design, and those that repeat them."""
        return _kept(evidence, _is_of_design)

    def measured(self, evidence: Evidence) -> MeasuredDesign:
        """The design's runs that yielded a value.

        Raises:
            MeasurementError: where there is none.
        """
        found = settled(self.design_runs(evidence), self.metric, self._rows)
        if not len(found.values):
            raise nothing_measured(found.reasons)
        one_block = self.repetitions == 1  # replicated configurations are run among the others
        return replace(found, blocks=found.machines) if one_block else found

    def measured_with_flips(self, evidence: Evidence) -> MeasuredDesign:
        """The runs of the design and of the follow-up that yielded a value; the design's where no flip did.

        Raises:
            MeasurementError: where no run of the design did.
        """
        design = self.measured(evidence)
        if not any(is_flip(run.task) for run in evidence.runs):
            return design
        made = _kept(evidence, _is_row)
        found = settled(made, self.metric, self._rows_with_flips(made))
        return replace(found, blocks=found.machines)

    def repeated_runs(self, evidence: Evidence) -> tuple[SuspectRun, ...]:
        """The runs that were repeated, each with its fresh values."""
        made = _kept(evidence, _is_row)
        return reruns_made(made, self.metric, self._rows_with_flips(made))

    @cached_property
    def _rows(self) -> dict[Configuration, int]:
        return {configuration: row for row, configuration in enumerate(self.configurations)}

    def _rows_with_flips(self, made: Evidence) -> dict[Configuration, int]:
        """The rows of the design, then the configurations of its flips."""
        flipped = dict.fromkeys(run.task.configuration for run in made.runs if is_of_flip(run.task))
        more = (each for each in flipped if each not in self._rows and self.space.valid(each))
        return {**self._rows, **{each: row for row, each in enumerate(more, len(self.configurations))}}


def _kept(evidence: Evidence, keeps: Callable[[Task], bool]) -> Evidence:
    return Evidence(tuple(run for run in evidence.runs if keeps(run.task)))


def _is_of_design(task: Task) -> bool:
    return task.stage in (STAGE, RERUN_STAGE)


def _is_row(task: Task) -> bool:
    return _is_of_design(task) or is_of_flip(task)


PAIRS = 5
"""The fewest flips of an option: fewer rarely exclude anything."""
ATTEMPTS = 3
"""An option is given up after this number of failed pairs in a row."""

Pair = tuple[Task, ...]
"""The two runs of a flip in their order."""


class Progress(Struct, frozen=True):
    """The flips' runs that were ``made``, the next one ``ahead`` (None if none is left), and the options given up."""

    made: tuple[Task, ...]
    ahead: Task | None
    given_up: tuple[str, ...]


class FlipOrder(Struct, frozen=True):
    """The order of flips: the most doubtful claims first, for as many options as ``runs`` suffice for."""

    id: StudyId
    benchmark: Benchmark
    metric: Metric
    revision: str
    space: Space
    runs: int

    def progress(self, evidence: Evidence, claims: Sequence[Claim], runs: int) -> Progress:
        """The flips within ``runs`` runs: a pair starts only if both runs fit, and ends if its first run fails."""
        outcomes = {run.task.id: run.of(self.metric.name) is not None for run in evidence.runs if is_flip(run.task)}
        made, failures = list[Task](), Counter[str]()
        ahead: Task | None = None
        for option, pair in self._attempts(claims, outcomes):
            known = [task for task in pair if task.id in outcomes]
            failed = not all(outcomes[task.id] for task in known)
            left = [] if failed else [task for task in pair if task not in known]
            if len(made) + len(pair) > runs or (left and len(outcomes) + len(left) > runs):
                break
            made += known
            if left:
                ahead = left[0]
                break
            failures[option] = 0 if _worked(pair, outcomes) else failures[option] + 1
        return Progress(tuple(made), ahead, tuple(name for name, number in failures.items() if number >= ATTEMPTS))

    def _attempts(self, claims: Sequence[Claim], outcomes: Mapping[str, bool]) -> Iterator[tuple[str, Pair]]:
        """Yield options and their pairs, options interleaved; a waiting option replaces one that is given up."""
        waiting = deque(sorted(claims, key=lambda claim: claim.certainty))
        pairs = self.runs // 2
        places = min(len(waiting), max(1, pairs // PAIRS))
        active = {place: waiting.popleft() for place in range(places)}
        rng, numbers = generator(self.id.seed, "flips in order"), Counter[str]()
        for turn in count():
            if not active:
                return
            last = turn == pairs // places
            for place in map(int, rng.permutation(places)):
                if last and place >= pairs % places:
                    continue
                while place in active and not (yield from self._until_one_works(active[place], numbers, outcomes)):
                    del active[place]
                    if waiting:
                        active[place] = waiting.popleft()

    def _until_one_works(
        self, claim: Claim, numbers: Counter[str], outcomes: Mapping[str, bool]
    ) -> Generator[tuple[str, Pair], None, bool]:
        for _ in range(ATTEMPTS):
            pair = self._pair(claim, numbers[claim.option])
            numbers[claim.option] += 1
            yield claim.option, pair
            if _worked(pair, outcomes):
                return True
        return False

    def _pair(self, claim: Claim, number: int) -> Pair:
        """The two tasks in the order in which they are run; empty if no pair of valid configurations was drawn."""
        pair = _flip(self.id, self.space, claim.option, claim.ends, number)
        stage = flip_stage(claim.option)
        return tuple(self.benchmark.task(self.id, stage, each, self.revision, number) for each in pair)


@lru_cache(maxsize=4096)
def _flip(study: StudyId, space: Space, option: str, ends: Ends, number: int) -> tuple[Configuration, ...]:
    """The configurations of a flip in their order, empty if none is valid; cached since each look repeats the order."""
    rng = generator(study.seed, f"flip {option} {number}")
    pair = flipped(space, option, ends, rng)
    return () if pair is None else tuple(pair[int(place)] for place in rng.permutation(2))


def _worked(pair: Pair, outcomes: Mapping[str, bool]) -> bool:
    """Whether both runs of a pair yielded a value."""
    return bool(pair) and all(outcomes.get(task.id, False) for task in pair)


PART = 0.2
"""The approximate fraction of a budget that is set aside, in steps of the flips of one option."""
FEWEST = 40
"""With fewer runs, none are set aside: the flips of one option are more than a quarter of them."""
_PER_PARAMETER = 3
"""The fewest configurations per parameter that the design keeps, so that the model's own error is known."""


def runs_aside(runs: int, parameters: int) -> int:
    """The number of runs of a budget set aside for a follow-up; 0 if flips would be useless or cost the design."""
    step = 2 * PAIRS
    wanted = step * int(PART * runs / step + 0.5) if runs >= FEWEST else 0
    spare = step * max(0, (runs - _PER_PARAMETER * parameters) // step)
    return min(wanted, spare)


def fewest_followed(parameters: int) -> int:
    """The smallest budget with runs set aside for a follow-up."""
    return next(runs for runs in count(FEWEST) if runs_aside(runs, parameters))


class FollowUp(Struct, frozen=True):
    """Flips of the options that a design found important, the most doubtful first, until ``runs`` are made.

    Repeats of suspect flips may take the place of the last ``held_back`` runs. The follow-up shares its id, and so its
    evidence and its budget, with the screening study.
    """

    id: StudyId
    benchmark: Benchmark
    metric: Metric
    revision: str
    space: Space
    runs: int
    held_back: int = 0

    def first(self, evidence: Evidence, claims: Claims) -> Plan:
        """The next flip among those not held back; ``claims`` is called if needed."""
        return self._next(evidence, claims, self.runs - self.held_back)

    def rest(self, evidence: Evidence, claims: Claims) -> Plan:
        """The next flip among all, except those replaced by repeats of suspect flips."""
        return self._next(evidence, claims, self.runs - self.reruns(evidence))

    def reruns(self, evidence: Evidence) -> int:
        """The number of runs that repeat flips."""
        return sum(is_rerun(run.task) and is_of_flip(run.task) for run in evidence.runs)

    def looked_at(self, evidence: Evidence, claims: Claims) -> frozenset[str]:
        """The ids of the tasks among which suspect flips are sought: the first flips, whatever other runs exist."""
        first = self._order.progress(evidence, claims(evidence), self.runs - self.held_back)
        return frozenset(task.id for task in first.made)

    def given_up(self, evidence: Evidence, claims: Claims) -> tuple[str, ...]:
        """The options whose last pairs all failed, or for which no valid pair is found."""
        return self._order.progress(evidence, claims(evidence), self.runs).given_up

    def _next(self, evidence: Evidence, claims: Claims, runs: int) -> Plan:
        """The next run; only one, because what follows depends on whether it fails."""
        made = sum(is_flip(run.task) for run in evidence.runs)
        if made >= runs:
            return Plan()
        ahead = self._order.progress(evidence, claims(evidence), runs).ahead
        return Plan() if ahead is None else Plan.of((ahead,), self.runs - made - self.reruns(evidence))

    @property
    def _order(self) -> FlipOrder:
        return FlipOrder(self.id, self.benchmark, self.metric, self.revision, self.space, self.runs)


def flips_made(evidence: Evidence, metric: Metric, space: Space, option: str) -> tuple[Flip, ...]:
    """The flips of an option that are valid in the space and whose two runs yielded values on the same machine.

    Each goes from the earlier setting to the later one. The median run replaces a run that was repeated.
    """
    stage = flip_stage(option)
    made = Evidence(tuple(run for run in evidence.runs if run.task.stage in (stage, rerun_stage(stage))))
    configurations = dict.fromkeys(run.task.configuration for run in made.runs)
    found = settled(made, metric, {each: 0 for each in configurations if space.valid(each)})
    pairs: dict[tuple[int, int], list[tuple[int, int]]] = {}
    settings = space.option(option).settings
    for place, run in enumerate(found.runs):
        position = settings.index(run.task.configuration[option])
        pairs.setdefault((run_key(run.task)[-1], int(found.machines[place])), []).append((position, place))
    return tuple(
        Flip(
            found.runs[one].task.configuration,
            found.runs[other].task.configuration,
            (float(found.values[one]), float(found.values[other])),
        )
        for (_, one), (_, other) in (sorted(pair) for pair in pairs.values() if len(pair) == 2)
    )
