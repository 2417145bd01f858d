"""Effects at two revisions: which options matter more or less than before, and by how much.

A screening's design is measured at both, in rounds of pairs. The effect of an option is estimated in each round at each
revision; a change of it is tested on the differences of pairs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Annotated, NamedTuple

import numpy as np
from msgspec import Struct

from hati.core import (
    Benchmark,
    Configuration,
    Evidence,
    FloatArray,
    InputError,
    Metric,
    Plan,
    Revision,
    Setting,
    StudyId,
    Task,
    setting_text,
)
from hati.core.wording import counted
from hati.design import sum_codes
from hati.document.document import Document, Shown, Table, change, columns_of, general, p_text, percent
from hati.document.publishing import Interval, Joined, Of, StudyJson
from hati.stats import cell_noise, f_above, holm, t_quantile
from hati.studies.comparison import Question
from hati.studies.schedule import failure_reasons, nothing_measured, paired_round, tasks_left


class OptionDrift(Struct, frozen=True):
    """An option's effect before and after: the metric with ``settings[1]`` relative to ``settings[0]``, a fraction.

    For an option with more settings, these are the two that differ most. ``ratio`` is the effect after over that
    before, on the logarithmic scale, with Fieller's interval: None if the effect before is not shown to differ from
    zero. ``difference`` is that of the logarithms of these relative metrics, with its interval. ``p_value`` is that
    of an unchanged effect, for all options together (Holm).
    """

    option: str
    settings: tuple[Setting, Setting]
    before: float
    after: float
    difference: float
    difference_interval: tuple[float, float]
    ratio: float | None
    interval: tuple[float, float] | None
    p_value: float
    changed: bool


class EffectDrift(Struct, frozen=True):
    """All options, the most surely changed first; ``rounds`` of ``configurations`` at both revisions.

    Effects are those at the settings of the ``fixed`` options, which all configurations have.
    """

    study: str
    benchmark: str
    metric: Metric
    reference: Revision
    revision: Revision
    alpha: float
    options: tuple[OptionDrift, ...]
    unestimable: tuple[str, ...]
    fixed: tuple[tuple[str, Setting], ...]
    configurations: int
    rounds: int
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float


class Coding(NamedTuple):
    """An option's columns in the model, by sum coding, and its settings in their order."""

    option: str
    settings: tuple[Setting, ...]
    columns: slice


class MainEffectsModel(Struct, frozen=True, eq=False, dict=True):
    """The model of all main effects on a design's cells: ``matrix`` has shape (cells, parameters), the mean first."""

    codings: tuple[Coding, ...]
    matrix: FloatArray
    unestimable: tuple[str, ...]

    @classmethod
    def of(cls, configurations: Sequence[Configuration]) -> MainEffectsModel:
        """The model of these cells; an option that is determined by those before it is left out.

        An option that is inactive in a cell does not contribute to its value.
        """
        columns = [np.ones(len(configurations))]
        codings, left_out = [], []
        for name in sorted(set().union(*configurations)):
            settings = tuple(dict.fromkeys(cell[name] for cell in configurations if name in cell))
            made = _columns(name, settings, configurations)
            whole = np.column_stack([*columns, *made]) if made else np.column_stack(columns)
            if not made or np.linalg.matrix_rank(whole) < whole.shape[1]:
                left_out.append(name)
                continue
            codings.append(Coding(name, settings, slice(len(columns), len(columns) + len(made))))
            columns += made
        return cls(tuple(codings), np.column_stack(columns), tuple(left_out))

    def coefficients(self, values: FloatArray) -> FloatArray:
        """Least-squares estimates for each round of ``values``, shape (rounds, cells): shape (rounds, parameters)."""
        return np.asarray(values @ np.linalg.pinv(self.matrix).T, dtype=np.float64)

    @cached_property
    def unscaled(self) -> FloatArray:
        """The coefficients' covariance for a noise of 1, shape (parameters, parameters)."""
        return np.asarray(np.linalg.inv(self.matrix.T @ self.matrix))

    def p_values(self, changes: FloatArray) -> FloatArray:
        """The p-values of an unchanged effect of each option, shape (options,).

        ``changes``, shape (rounds, cells), holds the change of the logarithm of each cell's value in each round. These
        are F tests of the coefficients; the error is the variation of cells' changes between rounds.
        """
        noise, df = cell_noise(changes)
        variance = max(noise, np.finfo(float).tiny)
        found = self.coefficients(changes).mean(axis=0)
        statistics = []
        for coding in self.codings:
            own, block = found[coding.columns], self.unscaled[coding.columns, coding.columns]
            wald = float(own @ np.linalg.solve(block, own)) / len(own) / (variance / len(changes))
            statistics.append(float(f_above(np.array([wald]), len(own), df)[0]))
        return np.array(statistics)


def drifts(
    configurations: Sequence[Configuration], before: FloatArray, after: FloatArray, alpha: float
) -> tuple[tuple[OptionDrift, ...], tuple[str, ...]]:
    """The drift of each option's effect, the most surely changed first, and the options that cannot be estimated.

    ``before`` and ``after`` are logarithms of each cell's values, shape (rounds, cells). An interval has the noise and
    the level of its option's test; for two settings it therefore excludes zero exactly if a change is shown.
    """
    model = MainEffectsModel.of(configurations)
    p_values = model.p_values(after - before) if model.codings else np.empty(0)
    corrected = holm(p_values) if model.codings else p_values
    smallest = np.full(len(corrected), 1.0 / max(1, len(corrected)))
    levels = alpha * np.divide(p_values, corrected, out=smallest, where=corrected > 0.0)
    noise = _Noise.of(before, after)
    first, second = model.coefficients(before).mean(axis=0), model.coefficients(after).mean(axis=0)
    found = []
    for coding, p_value, level in zip(model.codings, corrected.tolist(), levels.tolist(), strict=True):
        at = coding.columns
        tested = _Tested(p_value, p_value <= alpha, noise, t_quantile(1.0 - level / 2.0, noise.df))
        found.append(_drift(coding, first[at], second[at], model.unscaled[at, at], tested))
    return tuple(sorted(found, key=lambda one: one.p_value)), model.unestimable


def _columns(name: str, settings: Sequence[Setting], configurations: Sequence[Configuration]) -> list[FloatArray]:
    codes = sum_codes(len(settings))
    codes[:-1] = np.roll(codes[:-1], 1, axis=0)  # the first setting has no column
    rows = [settings.index(cell[name]) if name in cell else len(settings) for cell in configurations]
    return list(codes[rows].T)


class _Noise(NamedTuple):
    """The covariance of a cell's mean over the rounds before and after, shape (2, 2), and its degrees of freedom."""

    covariance: FloatArray
    df: float

    @classmethod
    def of(cls, before: FloatArray, after: FloatArray) -> _Noise:
        """Estimate it from the variation of cells between rounds; for changes as in their test."""
        changed, df = cell_noise(after - before)
        first, second = cell_noise(before)[0], cell_noise(after)[0]
        shared = (first + second - changed) / 2.0
        return cls(np.array([[first, shared], [shared, second]]) / len(before), df)


class _Tested(NamedTuple):
    p_value: float
    changed: bool
    noise: _Noise
    critical: float


def _drift(coding: Coding, before: FloatArray, after: FloatArray, unscaled: FloatArray, tested: _Tested) -> OptionDrift:
    """The drift for the two settings that differ most in the mean of both; coefficients of shape (settings - 1,)."""
    levels = np.vstack([-np.ones(len(before)), np.eye(len(before))])
    order = np.argsort(levels @ (before + after))
    low, high = sorted((int(order[0]), int(order[-1])))
    contrast = levels[high] - levels[low]
    old, new = float(contrast @ before), float(contrast @ after)
    covariance = tested.noise.covariance * float(contrast @ unscaled @ contrast)
    difference = new - old
    width = tested.critical * math.sqrt(max(0.0, covariance[0, 0] + covariance[1, 1] - 2.0 * covariance[0, 1]))
    ratio, interval = fieller(old, new, covariance, tested.critical)
    return OptionDrift(
        option=coding.option,
        settings=(coding.settings[low], coding.settings[high]),
        before=math.expm1(old),
        after=math.expm1(new),
        difference=difference,
        difference_interval=(difference - width, difference + width),
        ratio=ratio,
        interval=interval,
        p_value=tested.p_value,
        changed=tested.changed,
    )


def fieller(
    bottom: float, top: float, covariance: FloatArray, critical: float
) -> tuple[float | None, tuple[float, float] | None]:
    """The ratio of two means, top / bottom, and Fieller's interval; None if the bottom one may be zero.

    Fieller (1954), Some problems in interval estimation, Journal of the Royal Statistical Society B 16(2), 175-185: the
    ratios r for which top - r bottom is not significant. ``covariance`` is that of (bottom, top), shape (2, 2).
    """
    squared = critical**2
    a = bottom**2 - squared * float(covariance[0, 0])
    if a <= 0.0:
        return None, None
    b = bottom * top - squared * float(covariance[0, 1])
    c = top**2 - squared * float(covariance[1, 1])
    root = math.sqrt(max(0.0, b**2 - a * c))
    return top / bottom, ((b - root) / a, (b + root) / a)


def fixed_settings(configurations: Sequence[Configuration]) -> dict[str, Setting]:
    """The settings that all of several configurations have; none of a single one."""
    if len(configurations) == 1:
        return {}
    first, *others = configurations
    return {name: own for name, own in first.items() if all(each.get(name) == own for each in others)}


STAGES = ("before", "after")
FEWEST_ROUNDS = 2


def effect_drift_id(
    benchmark: Benchmark,
    configurations: Sequence[Configuration],
    reference: Revision,
    revision: Revision,
    rounds: int,
    seed: int,
    machine: str,
) -> StudyId:
    """The identity of a study of effect drift, with all that determines its tasks."""
    parameters: dict[str, object] = {
        "benchmark": [benchmark.name, benchmark.definition],
        "configurations": [dict(configuration) for configuration in configurations],
        "revisions": [reference.id, revision.id],
        "rounds": rounds,
    }
    return StudyId.of("effect-drift", parameters, seed, machine)


class EffectDriftStudy(Struct, frozen=True):
    """Measures a number of rounds of a design at two revisions; the two runs of a configuration follow each other.

    Raises:
        InputError: for fewer than two rounds, or one revision twice.
    """

    id: StudyId
    benchmark: Benchmark
    metric: Metric
    configurations: tuple[Configuration, ...]
    reference: Revision
    revision: Revision
    rounds: int
    question: Question

    def __post_init__(self) -> None:
        if self.rounds < FEWEST_ROUNDS:
            raise InputError(
                f"{self.rounds} rounds of {len(self.configurations)} configurations give no estimate of the noise",
                fix=f"give --budget {2 * FEWEST_ROUNDS * len(self.configurations)} or more",
            )
        if self.reference.id == self.revision.id:
            raise InputError(f"{self.revision} is {self.reference} itself", fix="name two revisions")

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left; at most five before a first run has worked."""
        return tasks_left(self.tasks(), evidence)

    def conclude(self, evidence: Evidence) -> EffectDrift:
        """The change of each effect, from complete rounds of the configurations with values.

        Raises:
            MeasurementError: if fewer than two rounds are complete.
        """
        before, after = (self._logarithms(evidence, stage) for stage in STAGES)
        known = ~np.isnan(before) & ~np.isnan(after)
        cells = np.flatnonzero(known.any(axis=0))
        rounds = np.flatnonzero(known[:, cells].all(axis=1)) if len(cells) else np.empty(0, dtype=np.intp)
        reasons = failure_reasons(evidence.runs, self.metric)
        if len(rounds) < FEWEST_ROUNDS:
            raise nothing_measured(reasons)
        chosen = [self.configurations[cell] for cell in cells]
        block = np.ix_(rounds, cells)
        options, unestimable = drifts(chosen, before[block], after[block], self.question.alpha)
        fixed = fixed_settings(self.configurations)
        return EffectDrift(
            study=self.id.key,
            benchmark=self.benchmark.name,
            metric=self.metric,
            reference=self.reference,
            revision=self.revision,
            alpha=self.question.alpha,
            options=options,
            unestimable=tuple(name for name in unestimable if name not in fixed),
            fixed=tuple(fixed.items()),
            configurations=len(cells),
            rounds=len(rounds),
            done=len(evidence.done),
            failed=len(evidence.failed),
            failures=reasons,
            seconds=evidence.seconds,
        )

    def tasks(self) -> Iterator[Task]:
        """All tasks, round after round."""
        for number in range(self.rounds):
            rng = self.id.order(str(number))
            for row, side in paired_round(len(self.configurations), rng):
                yield self._task(side, self.configurations[row], number)

    def _task(self, side: int, configuration: Configuration, number: int) -> Task:
        return self.benchmark.task(
            self.id, STAGES[side], configuration, (self.reference, self.revision)[side].id, number
        )

    def _logarithms(self, evidence: Evidence, stage: str) -> FloatArray:
        """The logarithms of the runs' values, shape (rounds, cells); NaN without a value or if not above zero."""
        places = {configuration: place for place, configuration in enumerate(self.configurations)}
        found = np.full((self.rounds, len(self.configurations)), np.nan)
        for run in evidence.stage(stage).done:
            value = run.value(self.metric, self.question.fixed.of)
            if value is not None and value > 0.0:
                found[run.task.repetition, places[run.task.configuration]] = np.log(value)
        return found


class OptionDriftJson(Struct, frozen=True):
    """The effect of an option at both revisions, as fractions."""

    options: Annotated[list[str], Of(lambda one: [one.option])]
    settings: tuple[Setting, Setting]
    before: float
    after: float
    difference: float
    difference_interval: Interval
    ratio: float | None
    interval: Interval | None
    p_value: float
    changed: bool
    alpha: float
    benchmark: str
    metric: Annotated[str, Of("metric.name")]
    unit: Annotated[str, Of("metric.unit")]
    revisions: Annotated[tuple[str, str], Of(lambda one: (one.reference.id, one.revision.id))]
    rounds: int
    study: str
    fixed: Annotated[dict[str, Setting], Of(lambda one: dict(one.fixed))]


class DriftJson(StudyJson, frozen=True, tag_field="format", tag="hati-compare-effects-1"):
    """The effects of options at two revisions, the most significant change first."""

    effects: Annotated[list[OptionDriftJson], Of(lambda found: [Joined(one, found) for one in found.options])]


def drift_table(found: EffectDrift) -> Table:
    """A row for each option."""
    columns = columns_of("option | > before | > after | > times | > interval | > p | verdict")
    rows = tuple(
        (
            f"{one.option}={setting_text(one.settings[1])}",
            Shown(change(one.before), one.before),
            Shown(change(one.after), one.after),
            None if one.ratio is None else Shown(general(one.ratio, 3), one.ratio),
            None if one.interval is None else f"{general(one.interval[0], 3)} to {general(one.interval[1], 3)}",
            Shown(p_text(one.p_value), one.p_value),
            "changed" if one.changed else "not shown",
        )
        for one in found.options
    )
    title = f"Effects on {found.metric.name}: {found.revision} against {found.reference}"
    return Table(title, columns, rows, tuple(_notes(found)))


def _notes(found: EffectDrift) -> list[str]:
    notes = [
        f"{counted(found.configurations, 'configuration')} in {counted(found.rounds, 'round')} at both revisions. The "
        f"effect of a setting compared with the option's other one; times: the effect after over that before, "
        f"of logarithms, where the one before is shown. Changed: at {percent(found.alpha)} for all options together.",
    ]
    if found.fixed:
        listed = ", ".join(f"{name}={setting_text(own)}" for name, own in found.fixed)
        notes.append(f"All configurations have {listed}: effects are those there, and these options are not compared.")
    widths = [(one.difference_interval[1] - one.difference_interval[0]) / 2.0 for one in found.options]
    if widths:
        notes.append(f"A change of an effect by {general(100.0 * max(widths), 2)} % or more would mostly be seen.")
    if found.unestimable:
        notes.append(f"Not distinguishable from others: {', '.join(found.unestimable)}.")
    return notes


def _sentence(one: OptionDrift) -> str:
    if one.ratio is not None and one.ratio > 0.0:
        return f"{one.option}: effect {general(one.ratio, 2)} times what it was"
    return f"{one.option}: effect {change(one.after)} after {change(one.before)}"


def drift_document(found: EffectDrift) -> Document:
    """Which options' effects changed between two revisions."""
    changed = [one for one in found.options if one.changed]
    return Document(
        f"Effects on {found.metric.name}: {found.revision} against {found.reference}",
        f"{'; '.join(map(_sentence, changed)) or 'No effect is shown to have changed'}.",
        sections=(drift_table(found),),
        failures=tuple(f"{found.failed} of {found.done + found.failed} runs: {why}" for why in found.failures[:1]),
        study=found.study,
    )
