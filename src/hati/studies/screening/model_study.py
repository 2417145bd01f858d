"""Screening of any space: options with several settings, constraints, options active under a condition."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hati.core import (
    Benchmark,
    Configuration,
    Evidence,
    FloatArray,
    InputError,
    Metric,
    Plan,
    Run,
    StudyId,
    Task,
    generator,
)
from hati.design import Levels, Model, candidates, from_levels, levels
from hati.design.identified import Ties, ties
from hati.stats import Index, log_variances
from hati.studies.failures import nothing_measured
from hati.studies.screening.conclusion import (
    DesignSummary,
    Detectable,
    Dispersion,
    Effect,
    FlipEvidence,
    FollowUpSummary,
    ModelSummary,
    Options,
    Point,
    Scale,
    ScreeningConclusion,
    SettingEstimate,
)
from hati.studies.screening.flip_judgement import (
    expected_changes,
    judge_flips,
    noise_of_a_difference,
    with_flips,
)
from hati.studies.screening.flips import Flip
from hati.studies.screening.follow_up import Claim, FollowUp, fewest_followed, is_flip
from hati.studies.screening.forecast import ALPHA, RELEVANT
from hati.studies.screening.lack_of_fit import lack_of_fit
from hati.studies.screening.measured import Measured
from hati.studies.screening.model_analysis import (
    ModelAnalysis,
    ModelEffect,
    analyse_model,
    analyse_model_variance,
    model_terms,
)
from hati.studies.screening.model_cautions import model_warnings
from hati.studies.screening.model_choice import ModelChoice
from hati.studies.screening.model_fit import Contrast
from hati.studies.screening.model_prediction import often_selected, ranking
from hati.studies.screening.option_summary import option_summaries
from hati.studies.screening.remedies import OF_PROGRAMS, Remedies
from hati.studies.screening.scale import choose_scale
from hati.studies.screening.suspects import (
    Reruns,
    again_warning,
    is_rerun,
    repeated,
    reruns,
    reruns_made,
    robust_fit,
    settled,
    suspected,
    unsettled,
)
from hati.studies.screening.tasks import STAGE, design_tasks, tasks_left

if TYPE_CHECKING:
    from hati.space import Space

_POPULATION = 4_096
_TWO_LEVEL = 2


@dataclass(frozen=True, eq=False)
class Judged:
    """What decides: the runs that yielded a value, their analysis, and what flips say of single options."""

    found: Measured
    analysis: ModelAnalysis
    flips: tuple[FlipEvidence, ...]


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
        """The tasks that are left: those of the design, then those that may refute what it shows."""
        left = tasks_left(self._first, evidence)
        if left or not evidence.stage(STAGE).done:
            return left
        again = self._reruns.plan(evidence, self.metric, self._suspects)
        held_back = tasks_left(self._last(evidence), evidence)
        return again or held_back or self._follow_up(evidence).plan(evidence, self._claims)

    def conclude(self, evidence: Evidence) -> ScreeningConclusion:
        """What the runs say, complete or not.

        Raises:
            MeasurementError: where not one run yielded a value, with the reason of the failures.
        """
        judged = self.judged(evidence)
        given_up = len(self.tasks) - len(self.due(evidence))
        rows = self._conclusion(judged.found, judged.analysis, evidence.seconds, given_up)
        conclusion = self._with_suspects(with_flips(rows, judged.flips), judged, evidence)
        warned = (*conclusion.warnings, *self._not_followed(conclusion))
        return replace(conclusion, follow_up=self._followed(evidence), warnings=warned)

    def important(self, judged: Judged) -> tuple[str, ...]:
        """The options whose main effect is important and not refuted, the largest first."""
        refuted = {each.option for each in judged.flips if each.refuted}
        return tuple(name for name in self._important(judged.analysis) if name not in refuted)

    def judged(self, evidence: Evidence) -> Judged:
        """The analysis of all rows, those of flips included, and what the flips say of what the design's rows show.

        Raises:
            MeasurementError: where not one run of the design yielded a value.
        """
        found = self.measured(evidence)
        analysis = self.analysis(found)
        flips = {name: made for name in self.space.names if (made := self._flips(evidence, name))}
        if not flips:
            return Judged(found, analysis, ())
        claims = {claim.option: claim for effect in analysis.effects if (claim := self._claim(effect, analysis))}
        everything = self._with_flips(evidence)
        told = (
            self._judged(claims[name], own, found, analysis, sum(map(len, flips.values())))
            for name, own in flips.items()
            if name in claims
        )
        return Judged(everything, self.analysis(everything), tuple(each for each in told if each is not None))

    def measured(self, evidence: Evidence) -> Measured:
        """The design's runs that yielded a value; in place of those that were repeated the median runs.

        Raises:
            MeasurementError: where there is none.
        """
        made = Evidence(tuple(run for run in evidence.runs if run.task.stage == STAGE or is_rerun(run.task)))
        found = settled(made, self.metric, self._rows)
        if not len(found.values):
            raise nothing_measured(found.reasons)
        one_block = self.choice.repetitions == 1  # replicated configurations are run among the others
        return replace(found, blocks=found.machines) if one_block else found

    def analysis(self, found: Measured) -> ModelAnalysis:
        """The effects that runs tell."""
        rng = generator(self.id.seed, "permutations")
        return analyse_model(
            self.model,
            self._levels(found),
            found.values,
            found.blocks,
            rng,
            alpha=self.alpha,
            relevant=self.relevant,
            machines=found.machines,
            order=found.in_time,
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

    def _conclusion(
        self, found: Measured, analysis: ModelAnalysis, seconds: float, given_up: int
    ) -> ScreeningConclusion:
        """``given_up`` of the design's runs gave their place to suspect ones."""
        from hati.space import count

        design, lacking = self._design, lack_of_fit(found, analysis)
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
            ranking=tuple(
                self.space.names[option] for option in ranking(analysis, self.population, self.space.options)
            ),
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
            warnings=model_warnings(
                self.space.names,
                replace(design, runs=design.runs - given_up),
                found,
                analysis,
                self.relevant,
                self.ties,
                self.remedies,
                lacking,
            ),
            model=ModelSummary(
                tuple(map(self._named, analysis.predicting)),
                analysis.prediction.r_squared,
                often_selected(analysis, self.model, generator(self.id.seed, "stability")),
            ),
            lack_of_fit=lacking,
        )

    @cached_property
    def _rows(self) -> dict[Configuration, int]:
        return {configuration: row for row, configuration in enumerate(self.configurations)}

    @property
    def _reruns(self) -> Reruns:
        return Reruns(self.id, self.benchmark, self.revision, self.choice.again)

    @cached_property
    def _first(self) -> tuple[Task, ...]:
        """The design's runs that are made in any case."""
        return self.tasks[: len(self.tasks) - self.choice.held_back]

    def due(self, evidence: Evidence) -> tuple[Task, ...]:
        """The design's runs, without those that gave their place to suspect ones."""
        return (*self._first, *self._last(evidence))

    def _last(self, evidence: Evidence) -> tuple[Task, ...]:
        """Those of the others whose place no suspect run takes."""
        taken = min(self.choice.held_back, reruns(evidence))
        return self.tasks[len(self._first) : len(self.tasks) - taken]

    def _suspects(self, evidence: Evidence) -> tuple[Run, ...]:
        """By the runs that are made in any case, so that it does not matter which others there are."""
        first = {task.id for task in self._first}
        known = tuple(run for run in evidence.runs if run.task.id in first or is_rerun(run.task))
        found = self.measured(Evidence(known))
        return tuple(found.runs[place] for place in self._suspected(found)[0])

    def _suspected(self, found: Measured) -> tuple[Index, FloatArray]:
        terms = model_terms(self.model, self._levels(found), found.blocks, found.in_time)
        mains = np.hstack([terms.columns[term] for term in terms.main_effects])
        return suspected(terms, found.values, choose_scale(found.values, mains, found.blocks)[0])

    def _with_suspects(
        self, conclusion: ScreeningConclusion, judged: Judged, evidence: Evidence
    ) -> ScreeningConclusion:
        """With the runs that were repeated, and the robust fit where others should be."""
        again = reruns_made(evidence, self.metric, self._rows)
        design = self.measured(evidence)
        left = unsettled(design, self._suspected(design), repeated(evidence, self.metric))
        if not left.runs:
            return replace(conclusion, suspects=again)
        refuted = {each.option for each in judged.flips if each.refuted}
        robust = self._important(self.analysis(left.without(judged.found)))
        return replace(
            conclusion,
            suspects=(*again, *left.runs),
            robust=robust_fit(conclusion.important, tuple(name for name in robust if name not in refuted)),
            warnings=(
                *conclusion.warnings,
                *again_warning(len(left.runs), self.choice.again - reruns(evidence), self.remedies),
            ),
        )

    def _follow_up(self, evidence: Evidence) -> FollowUp:
        runs = max(0, self.choice.follow_up - reruns(evidence))
        return FollowUp(self.id, self.benchmark, self.metric, self.revision, self.space, runs)

    def _flips(self, evidence: Evidence, option: str) -> tuple[Flip, ...]:
        return self._follow_up(evidence).flips(evidence, option) if self.choice.follow_up else ()

    def _claims(self, evidence: Evidence) -> tuple[Claim, ...]:
        """Of the options that the design's rows show to be important."""
        analysis = self.analysis(self.measured(evidence))
        found = (self._claim(effect, analysis) for effect in analysis.effects if effect.important)
        return tuple(claim for claim in found if claim is not None)

    def _claim(self, found: ModelEffect, analysis: ModelAnalysis) -> Claim | None:
        """None for interactions, and where the rows do not tell the settings apart."""
        if len(found.term) > 1 or found.decided.standard_error is None:
            return None
        option = self.space.options[found.term[0]]
        means = analysis.judged.settings(found.term[0])
        low, high = 0, 1
        if len(option.settings) > _TWO_LEVEL:
            ordered = sorted(means, key=lambda place: means[place].estimate)
            low, high = ordered[0], ordered[-1]
        return Claim(option.name, (option.settings[low], option.settings[high]), found.decided)

    def _judged(
        self, claim: Claim, flips: Sequence[Flip], found: Measured, analysis: ModelAnalysis, total: int
    ) -> FlipEvidence | None:
        expected = expected_changes(self.model, analysis.judged, self.space, claim, flips)
        noise = noise_of_a_difference(found, analysis.readable.values, total)
        return judge_flips(claim, flips, analysis.readable, expected, noise, self.relevant)

    def _with_flips(self, evidence: Evidence) -> Measured:
        """The runs of the design and of the follow-up that yielded a value, those that were repeated settled."""
        made = dict.fromkeys(
            run.task.configuration for run in evidence.runs if run.task.stage == STAGE or is_flip(run.task)
        )
        found = settled(evidence, self.metric, {configuration: row for row, configuration in enumerate(made)})
        return replace(found, blocks=found.machines)

    def _followed(self, evidence: Evidence) -> FollowUpSummary | None:
        if not self.choice.follow_up:
            return None
        return FollowUpSummary(self.choice.follow_up, sum(is_flip(run.task) for run in evidence.done))

    def _not_followed(self, conclusion: ScreeningConclusion) -> Iterator[str]:
        """That nothing may refute what was found, where that was possible."""
        whole = self.choice.configurations >= conclusion.configurations
        if self.choice.follow_up or whole or not self.remedies.rest or not conclusion.important:
            return
        fewest = fewest_followed(1 + sum(len(option.settings) - 1 for option in self.space.options))
        yield (
            "no runs were set aside to refute the important effects by flips; "
            f"--fresh with a budget of {fewest} runs or more sets some aside"
        )

    def _levels(self, found: Measured) -> Levels:
        return levels([run.task.configuration for run in found.runs], self.space)

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
        analysis = analyse_model_variance(
            self.model, self._levels(found), spread, found.blocks, rng, alpha=self.alpha, relevant=self.relevant
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
