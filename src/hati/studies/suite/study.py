"""The screening suite: the performance of a program over its whole space, from few configurations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import (
    Benchmark,
    Configuration,
    Evidence,
    FloatArray,
    InputError,
    MeasurementError,
    Metric,
    Plan,
    StudyId,
    Task,
    generator,
)
from hati.design.run_orders import run_order
from hati.design.suite import Suite, centred_columns, screening_suite
from hati.space import Space, count, enumerate_configurations, sample
from hati.studies.schedule import tasks_left
from hati.studies.suite.conclusion import (
    FULL,
    PARTIAL,
    RANDOM,
    Agreement,
    MeasuredSuite,
    StratumEstimate,
    SuiteConclusion,
    SuiteScale,
    Weighted,
    agreement,
    geometric_mean,
    measured,
    quantiles,
    space_mean,
    stratum_estimates,
    unvaried_settings,
    weighted,
)

if TYPE_CHECKING:
    from numpy.random import Generator


class SuitePlan(Struct, frozen=True):
    """The plan of a suite: its important options, the ranking of all, its size, and the interleaved sample.

    ``size`` is the number of configurations, ``repetitions`` the number of runs of each; ``sampled`` configurations of
    a uniform random sample run interleaved with it (0: none). ``options_from`` is the source of the options in words.
    ``left_out`` are important options for whose strata there are too few runs, over which those of each stratum are
    spread; ``including`` is the number that would suffice, None if these are too many to count.
    """

    options: tuple[str, ...]
    ranking: tuple[str, ...]
    size: int
    repetitions: int = 1
    sampled: int = 0
    options_from: str = "given"
    left_out: tuple[str, ...] = ()
    including: int | None = None

    def __post_init__(self) -> None:
        if self.size < 1 or self.repetitions < 1 or self.sampled < 0:
            raise InputError(f"a suite of {self.size} configurations x {self.repetitions} is nothing to run")


def suite_id(
    *, subject: str, revision: str, benchmark: Benchmark, space: Space, plan: SuitePlan, seed: int, machine: str
) -> StudyId:
    """The identity of a suite study, with all that decides its tasks; the metric does not."""
    parameters = {
        "subject": subject,
        "revision": revision,
        "benchmark": benchmark.name,
        "definition": benchmark.definition,
        "space": space.digest,
        "names": list(space.names),
        "options": list(plan.options),
        "ranking": list(plan.ranking),
        "size": plan.size,
        "repetitions": plan.repetitions,
        "sampled": plan.sampled,
        **({"left_out": list(plan.left_out)} if plan.left_out else {}),
        **({"template": list(map(str, space.template))} if space.template else {}),
    }
    return StudyId.of("suite", parameters, seed, machine)


_DENSE = 2


def random_sample(space: Space, number: int, rng: Generator) -> tuple[Configuration, ...]:
    """``number`` different valid configurations, all sets of them equally likely; all if the space has fewer."""
    total = count(space)
    if total <= _DENSE * number:
        everything = list(enumerate_configurations(space))
        return tuple(everything[int(place)] for place in rng.permutation(total)[:number])
    found: dict[Configuration, None] = {}
    while len(found) < number:
        found.update(dict.fromkeys(sample(space, number - len(found), rng)))
    return tuple(found)


_LOW_POWER = 0.8
_ALPHA = 0.05


def warnings(
    wanted: SuitePlan,
    strata: Sequence[StratumEstimate],
    single: int,
    planned: int,
    found: MeasuredSuite,
    random_sampled: MeasuredSuite,
    against: Agreement | None,
) -> tuple[str, ...]:
    """Warnings, each with its remedy; ``single`` counts strata of several configurations with only one value."""
    sentences = [
        _left_out(wanted),
        _missing(strata, found),
        _single(single, len(strata)),
        _unfinished(planned, found, random_sampled),
        _apart(found),
        _weak(against),
    ]
    return tuple(sentence for sentence in sentences if sentence)


def _left_out(wanted: SuitePlan) -> str:
    if not wanted.left_out:
        return ""
    all_ = f"{wanted.including} configurations (--runs) include all" if wanted.including else "more --runs include more"
    return f"important too, but left out of the strata for want of runs: {', '.join(wanted.left_out)}; {all_}"


def _missing(strata: Sequence[StratumEstimate], found: MeasuredSuite) -> str:
    empty = [stratum for stratum in strata if stratum.estimate is None]
    if not empty:
        return ""
    share = sum(s.weight for s in empty) / sum(s.weight for s in strata)
    names = ", ".join(str(stratum.setting) or "all" for stratum in empty[:3])
    return (
        f"{len(empty)} of {len(strata)} strata ({names}{', ...' if len(empty) > 3 else ''}) have no value, "
        f"{100 * share:.3g} % of the space: the estimates are for the rest; {_reason(found)}"
    )


def _reason(found: MeasuredSuite) -> str:
    return "see why their runs failed" if found.failed else "a larger budget makes their runs"


def _single(single: int, strata: int) -> str:
    if not single:
        return ""
    return (
        f"{single} of {strata} strata {'has' if single == 1 else 'have'} one value only, whose error is "
        f"{'not known' if strata == 1 else 'judged by other strata'}: "
        f"give --runs {2 * strata} or more, or fewer --options; or see why runs failed"
    )


def _unfinished(planned: int, found: MeasuredSuite, random_sampled: MeasuredSuite) -> str:
    made = int(found.runs.sum() + random_sampled.runs.sum()) + found.failed + random_sampled.failed
    if made >= planned:
        return ""
    return f"{made} of {planned} runs were made before the budget was spent: give a larger --budget"


def _apart(found: MeasuredSuite) -> str:
    if not found.apart:
        return ""
    return (
        "runs are of several machines, or states of one, which share too few configurations to estimate how far they "
        "are apart: their difference is part of the estimates; repeat each configuration by a larger --budget"
    )


def _weak(against: Agreement | None) -> str:
    if against is None or against.mann_whitney.power >= _LOW_POWER or against.mann_whitney.p_value < _ALPHA:
        return ""
    return (
        f"the Mann-Whitney test finds a shift of the equivalence margin with a probability of "
        f"{against.mann_whitney.power:.2g} only: that it found none shows nothing; rely on the equivalence test"
    )


STAGE = "suite"
RANDOM_STAGE = "random"
LEVELS = (0.05, 0.25, 0.5, 0.75, 0.95)
MARGIN = 0.05


@dataclass(frozen=True)
class SuiteStudy:
    """Measures a suite's configurations, interleaved with a random sample's if requested, in random order.

    ``population`` holds the metric's values of all or many configurations, if they are known from a data set.

    Raises:
        InputError: if the space has no such options, or the size does not cover the strata.
    """

    id: StudyId
    subject: str
    benchmark: Benchmark
    metric: Metric
    revision: str
    space: Space
    wanted: SuitePlan
    levels: tuple[float, ...] = LEVELS
    margin: float = MARGIN
    population: FloatArray | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not all(0.0 < level < 1.0 for level in self.levels):
            raise InputError("the level of a quantile is a fraction between 0 and 1", fix="write 0.99 for 99 %")
        if not 0.0 < self.margin < float("inf"):
            raise InputError(f"the margin is a fraction above 0, not {self.margin}", fix="write 0.05 for 5 %")
        _ = self.suite

    @cached_property
    def suite(self) -> Suite:
        """The suite, the same for the same seed."""
        rng = generator(self.id.seed, "suite")
        wanted = self.wanted
        return screening_suite(self.space, wanted.options, wanted.size, rng, wanted.ranking, wanted.left_out)

    @cached_property
    def sampled(self) -> tuple[Configuration, ...]:
        """The random sample's configurations, all different."""
        return random_sample(self.space, self.wanted.sampled, generator(self.id.seed, "random sample"))

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All runs in order: each repetition is a block of all configurations in a random order of its own.

        The first block begins with a configuration of each stratum: a small budget leaves none out.
        """
        staged = [(STAGE, c) for c in self.suite.configurations] + [(RANDOM_STAGE, c) for c in self.sampled]
        order = run_order(len(staged), self.wanted.repetitions, generator(self.id.seed, "order"))
        block, owners = [int(row) for row in order[: len(staged)]], self.suite.owners.tolist()
        leading = set({owners[row]: row for row in reversed(block) if row < len(owners)}.values())
        rows = [*sorted(block, key=lambda row: row not in leading), *order[len(staged) :]]
        return tuple(self._task(*staged[int(row)], place // len(staged)) for place, row in enumerate(rows))

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left; at most five until a first run has worked, so that a study that cannot work ends."""
        return tasks_left(self.tasks, evidence)

    def conclude(self, evidence: Evidence) -> SuiteConclusion:
        """The estimates for the whole space from the runs so far, complete or not.

        Raises:
            MeasurementError: if no run of the suite yielded a value, with the reason of the failures.
        """
        found = measured(evidence.stage(STAGE), self.metric, self.suite.configurations)
        random_sampled = measured(evidence.stage(RANDOM_STAGE), self.metric, self.sampled)
        if not len(found.values):
            reasons = "; ".join(found.reasons) or "the budget was spent before the first run"
            raise MeasurementError("nothing was measured", fix=reasons)
        others, kind = self._others(random_sampled)
        scale = _scale(found.values, others)
        given = weighted(self.suite, found, self._columns)
        against = None if others is None else agreement(given, others, kind, scale, self.margin)
        return self._conclusion(evidence, found, random_sampled, given, scale, against)

    def _conclusion(
        self,
        evidence: Evidence,
        found: MeasuredSuite,
        random_sampled: MeasuredSuite,
        given: Weighted,
        scale: SuiteScale,
        against: Agreement | None,
    ) -> SuiteConclusion:
        unvaried = unvaried_settings(self.suite, self.space, self.wanted.left_out, found)
        strata = stratum_estimates(self.suite, found, given, scale, unvaried)
        return SuiteConclusion(
            study=self.id.key,
            subject=self.subject,
            benchmark=self.benchmark.name,
            revision=self.revision,
            metric=self.metric,
            scale=scale,
            options=self.suite.options,
            options_from=self.wanted.options_from,
            configurations=count(self.space),
            size=len(self.suite.configurations),
            repetitions=self.wanted.repetitions,
            strata=strata,
            quantiles=quantiles(given, self.levels),
            mean=space_mean(given),
            geometric_mean=geometric_mean(given) if scale is SuiteScale.LOG else None,
            against=against,
            planned=len(self.tasks),
            done=int(found.runs.sum() + random_sampled.runs.sum()),
            failed=found.failed + random_sampled.failed,
            failures=tuple(dict.fromkeys((*found.reasons, *random_sampled.reasons))),
            seconds=evidence.seconds,
            warnings=warnings(self.wanted, strata, given.single, len(self.tasks), found, random_sampled, against),
        )

    def _others(self, random_sampled: MeasuredSuite) -> tuple[FloatArray | None, str]:
        """The values to compare with, and their kind."""
        if self.population is not None:
            return self.population, FULL if len(self.population) >= count(self.space) else PARTIAL
        return (random_sampled.values, RANDOM) if len(random_sampled.values) else (None, RANDOM)

    @cached_property
    def _columns(self) -> FloatArray:
        return centred_columns(self.suite, self.space, generator(self.id.seed, "columns"), self.wanted.ranking)

    def _task(self, stage: str, configuration: Configuration, repetition: int) -> Task:
        return self.benchmark.task(self.id, stage, configuration, self.revision, repetition)


def _scale(values: FloatArray, others: FloatArray | None) -> SuiteScale:
    parts: Sequence[FloatArray] = (values,) if others is None else (values, others)
    return SuiteScale.LOG if all(np.all(part > 0.0) for part in parts) else SuiteScale.RAW
