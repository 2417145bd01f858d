"""How the conclusion of a screening by a model is put together."""

from __future__ import annotations

import numpy as np
from msgspec import Struct

from hati.core import Benchmark, Metric, StudyId, generator, replace
from hati.design import levels
from hati.studies.screening.analysis.judging import often_selected, ranking
from hati.studies.screening.analysis.machine_blocks import compare_machines
from hati.studies.screening.analysis.model import EffectContrast, ModelAnalysis, ModelEffect
from hati.studies.screening.analysis.runs import MeasuredDesign
from hati.studies.screening.analysis.screening_model import ScreeningModel
from hati.studies.screening.analysis.spread import lack_of_fit
from hati.studies.screening.conclusion import (
    DesignSummary,
    DetectableEffect,
    Dispersion,
    Effect,
    EffectScale,
    MachineBlocks,
    ModelSummary,
    Point,
    ScreeningConclusion,
    SettingEstimate,
    option_summaries,
)
from hati.studies.screening.conclusions.model_warnings import model_warnings
from hati.studies.screening.conclusions.remedies import Remedies
from hati.studies.screening.conclusions.warnings import machine_warnings
from hati.studies.screening.planning.models import ModelChoice


class ConclusionBuilder(Struct, frozen=True):
    """The fixed part of conclusions: the study, its subject, design and model."""

    id: StudyId
    subject: str
    benchmark: Benchmark
    metric: Metric
    revision: str
    choice: ModelChoice
    model: ScreeningModel
    remedies: Remedies

    def conclusion(
        self, found: MeasuredDesign, analysis: ModelAnalysis, seconds: float, given_up: int
    ) -> ScreeningConclusion:
        """Of the runs alone; ``given_up`` of the design's runs gave their place to suspect ones."""
        from hati.space import count

        space, design, lacking = self.model.space, self._design, lack_of_fit(found, analysis)
        machines = self._machine_blocks(found, analysis)
        return ScreeningConclusion(
            study=self.id.key,
            subject=self.subject,
            benchmark=self.benchmark.name,
            revision=self.revision,
            metric=self.metric,
            scale=analysis.readable.scale,
            scale_reason=analysis.scale_reason,
            judged_by=analysis.judged_by,
            alpha=self.model.alpha,
            relevant=self.model.relevant,
            options=option_summaries(space),
            configurations=count(space),
            design=design,
            effects=tuple(self._effect(effect, analysis) for effect in analysis.effects),
            ranking=tuple(space.names[option] for option in ranking(analysis, self.model.population, space.options)),
            important=self.model.important(analysis),
            threshold=analysis.threshold,
            detectable=None if analysis.detectable is None else DetectableEffect(*analysis.detectable),
            missing=tuple(self.model.named(term) for term in analysis.missing),
            dispersion=self._dispersion(found, analysis.readable.scale),
            points=tuple(
                Point(int(order), float(value), run.task.configuration)
                for order, value, run in zip(found.order, found.values, found.runs, strict=True)
            ),
            done=len(found.values),
            failed=len(found.failed),
            failures=found.reasons,
            seconds=seconds,
            warnings=(
                *machine_warnings(machines),
                *model_warnings(
                    space.names,
                    replace(design, runs=design.runs - given_up),
                    found,
                    analysis,
                    self.model.relevant,
                    self.model.ties,
                    self.remedies,
                    lacking,
                ),
            ),
            model=ModelSummary(
                tuple(map(self.model.named, analysis.predicting)),
                analysis.prediction.r_squared,
                often_selected(analysis, generator(self.id.seed, "stability")),
            ),
            lack_of_fit=lacking,
            machine_blocks=machines,
            template=tuple(map(str, space.template)),
        )

    def _machine_blocks(self, found: MeasuredDesign, analysis: ModelAnalysis) -> MachineBlocks | None:
        if not np.any(found.machines):
            return None
        rows = levels([run.task.configuration for run in found.runs], self.model.space)
        columns = analysis.model.columns(rows)
        mains = {self.model.named(term)[0]: own for term, own in columns.items() if len(term) == 1}
        chosen = [columns[term] for term in analysis.predicting]
        return compare_machines(found, analysis.readable, mains, chosen, alpha=self.model.alpha)

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

    def _dispersion(self, found: MeasuredDesign, scale: EffectScale) -> Dispersion | None:
        of_variance = self.model.variance_analysis(found, scale)
        if of_variance is None:
            return None
        of, analysis = of_variance
        effects = tuple(self._effect(effect, analysis) for effect in analysis.effects)
        return Dispersion(of, effects, self.model.important(analysis))

    def _effect(self, found: ModelEffect, analysis: ModelAnalysis) -> Effect:
        relative = analysis.readable.relative
        return Effect(
            options=self.model.named(found.term),
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
        """The means at each setting of an option with more than two, of those that the runs distinguish."""
        option, settings = found.term[0], self.model.space.options[found.term[0]].settings
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


def _around(contrast: EffectContrast) -> tuple[float, float] | None:
    if contrast.margin is None:
        return None
    return contrast.estimate - contrast.margin, contrast.estimate + contrast.margin
