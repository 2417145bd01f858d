"""Screening of any space: options with several settings, constraints, options active under a condition."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hati.core import Benchmark, Configuration, Evidence, InputError, Metric, Plan, StudyId, Task, generator
from hati.design import Levels, Model, candidates, from_levels
from hati.design.identified import Ties, ties
from hati.stats import Index, log_variances
from hati.studies.failures import nothing_measured
from hati.studies.screening.conclusion import (
    DesignSummary,
    Detectable,
    Dispersion,
    Effect,
    ModelSummary,
    Options,
    Point,
    Scale,
    ScreeningConclusion,
    SettingEstimate,
)
from hati.studies.screening.forecast import ALPHA, RELEVANT
from hati.studies.screening.measured import Measured, measured
from hati.studies.screening.model_analysis import (
    ModelAnalysis,
    ModelEffect,
    analyse_model,
    analyse_model_variance,
)
from hati.studies.screening.model_cautions import model_warnings
from hati.studies.screening.model_choice import ModelChoice
from hati.studies.screening.model_fit import Contrast
from hati.studies.screening.model_prediction import often_selected, ranking
from hati.studies.screening.option_summary import option_summaries
from hati.studies.screening.remedies import OF_PROGRAMS, Remedies
from hati.studies.screening.tasks import STAGE, design_tasks, tasks_left

if TYPE_CHECKING:
    from hati.space import Space

_POPULATION = 4_096


@dataclass(frozen=True)
class ModelScreening:
    """Measures an optimal design's configurations and concludes which options matter, on any space.

    ``choice`` is the design, ``alpha`` is the study-wise error and ``relevant`` the fraction that matters;
    ``remedies`` is what warnings advise.
    """

    id: StudyId
    subject: str
    benchmark: Benchmark
    metric: Metric
    revision: str
    space: Space
    choice: ModelChoice
    alpha: float = ALPHA
    relevant: float = RELEVANT
    remedies: Remedies = OF_PROGRAMS

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise InputError(f"alpha is a probability between 0 and 1, not {self.alpha}")
        if not 0.0 <= self.relevant < float("inf"):
            raise InputError(f"the relevant effect is a fraction, not {self.relevant}", fix="write 0.01 for 1 %")

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """The configurations to measure, one per row of the design."""
        return from_levels(self.choice.levels, self.space)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All runs of the study in order."""
        made = self.choice
        return design_tasks(
            self.id, self.benchmark, self.revision, self.configurations, made.repetitions, made.replicated
        )

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left."""
        return tasks_left(self.tasks, evidence)

    def conclude(self, evidence: Evidence) -> ScreeningConclusion:
        """What the runs say, complete or not.

        Raises:
            MeasurementError: where not one run yielded a value, with the reason of the failures.
        """
        found = self.measured(evidence)
        analysis = self.analysis(found)
        return self._conclusion(found, analysis, evidence.seconds)

    def measured(self, evidence: Evidence) -> Measured:
        """The design's runs that yielded a value.

        Raises:
            MeasurementError: where there is none.
        """
        rows = {configuration: row for row, configuration in enumerate(self.configurations)}
        found = measured(evidence.stage(STAGE), self.metric, rows)
        if not len(found.values):
            raise nothing_measured(found.reasons)
        one_block = self.choice.repetitions == 1  # replicated configurations are run among the others
        return replace(found, blocks=np.zeros_like(found.blocks)) if one_block else found

    def analysis(self, found: Measured) -> ModelAnalysis:
        """The effects that runs tell."""
        rng = generator(self.id.seed, "permutations")
        levels = self.choice.levels[found.rows]
        return analyse_model(
            self.model, levels, found.values, found.blocks, rng, alpha=self.alpha, relevant=self.relevant
        )

    @cached_property
    def model(self) -> Model:
        """The effects that are looked for."""
        model = Model.of_order([len(option.settings) for option in self.space.options], self.choice.order)
        lost = {(option,) for option in self.ties.wholly}
        return Model(model.sizes, tuple(term for term in model.terms if term not in lost))

    @cached_property
    def ties(self) -> Ties:
        """The options that have no effect of their own, since others decide them in all valid configurations."""
        return ties(self.population, [len(option.settings) for option in self.space.options])

    @cached_property
    def population(self) -> Levels:
        """The valid configurations, or a uniform sample of them."""
        rng = generator(self.id.seed, "population")
        among = candidates(self.space, rng)
        return among.levels if len(among.levels) else among.draw(_POPULATION, rng)

    def _conclusion(self, found: Measured, analysis: ModelAnalysis, seconds: float) -> ScreeningConclusion:
        from hati.space import count

        design = self._design
        return ScreeningConclusion(
            study=self.id.key,
            subject=self.subject,
            benchmark=self.benchmark.name,
            revision=self.revision,
            metric=self.metric,
            scale=analysis.readable.scale,
            scale_reason=analysis.scale_reason,
            judged_by=analysis.judged_by,
            alpha=self.alpha,
            relevant=self.relevant,
            options=option_summaries(self.space),
            configurations=count(self.space),
            design=design,
            effects=tuple(self._effect(effect, analysis) for effect in analysis.effects),
            ranking=tuple(self.space.names[option] for option in ranking(analysis, self.population)),
            important=self._important(analysis),
            threshold=analysis.threshold,
            detectable=None if analysis.detectable is None else Detectable(*analysis.detectable),
            missing=tuple(self._named(term) for term in analysis.missing),
            dispersion=self._dispersion(found, analysis.readable.scale),
            points=tuple(
                Point(int(order), float(value), run.task.configuration)
                for order, value, run in zip(found.order, found.values, found.runs, strict=True)
            ),
            done=len(found.values),
            failed=len(found.failed),
            failures=found.reasons,
            seconds=seconds,
            warnings=model_warnings(self.space.names, design, found, analysis, self.relevant, self.ties, self.remedies),
            model=ModelSummary(
                tuple(map(self._named, analysis.predicting)),
                analysis.prediction.r_squared,
                often_selected(analysis, self.model, generator(self.id.seed, "stability")),
            ),
        )

    @property
    def _design(self) -> DesignSummary:
        return DesignSummary(
            kind=self.choice.kind,
            runs=self.choice.runs,
            configurations=self.choice.configurations,
            repetitions=self.choice.repetitions,
            resolution=None,
            generators=(),
            d_efficiency=self.choice.d_efficiency,
            replicated=self.choice.replicated,
        )

    def _dispersion(self, found: Measured, scale: Scale) -> Dispersion | None:
        logs = scale is Scale.LOG and all(np.min(sample) > 0.0 for sample in found.samples)
        spread = log_variances([np.log(sample) for sample in found.samples] if logs else found.samples)
        if spread is None:
            return None
        rng: np.random.Generator = generator(self.id.seed, "dispersion")
        rows: Index = found.rows
        analysis = analyse_model_variance(
            self.model, self.choice.levels[rows], spread, found.blocks, rng, alpha=self.alpha, relevant=self.relevant
        )
        effects = tuple(self._effect(effect, analysis) for effect in analysis.effects)
        return Dispersion("log observations" if logs else "observations", effects, self._important(analysis))

    def _important(self, analysis: ModelAnalysis) -> tuple[str, ...]:
        """The options whose main effect is important, the largest first."""
        return tuple(self.space.names[e.term[0]] for e in analysis.effects if e.important and len(e.term) == 1)

    def _effect(self, found: ModelEffect, analysis: ModelAnalysis) -> Effect:
        relative = analysis.readable.relative
        return Effect(
            options=self._named(found.term),
            estimate=found.own.estimate,
            interval=_around(found.own),
            standard_error=found.own.standard_error,
            relative=relative(found.decided.estimate),
            relative_interval=None
            if (around := _around(found.decided)) is None
            else (relative(around[0]), relative(around[1])),
            contrast=found.decided.estimate,
            share=found.share,
            p_value=found.p_value,
            important=found.important,
            half_normal=found.half_normal,
            aliases=(),
            settings=self._settings(found, analysis),
        )

    def _settings(self, found: ModelEffect, analysis: ModelAnalysis) -> tuple[SettingEstimate, ...]:
        """The means at each setting of an option with more than two, of those that the runs tell apart."""
        option, settings = found.term[0], self.space.options[found.term[0]].settings
        if len(found.term) > 1 or len(settings) < 3:
            return ()
        means, differences = analysis.own.means(option), analysis.judged.settings(option)
        return tuple(
            SettingEstimate(
                settings[place],
                means[place].estimate,
                _around(means[place]),
                analysis.readable.relative(difference.estimate),
            )
            for place, difference in differences.items()
            if len(differences) > 1
        )

    def _named(self, term: tuple[int, ...]) -> Options:
        return tuple(self.space.names[option] for option in term)


def _around(contrast: Contrast) -> tuple[float, float] | None:
    if contrast.margin is None:
        return None
    return contrast.estimate - contrast.margin, contrast.estimate + contrast.margin
