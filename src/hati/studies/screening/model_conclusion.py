"""The conclusion of a screening by a model: the judgement of effects, the warnings, and how they are put together.

The rows of the design and of its follow-up show effects; the model says what they mean for the whole space.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import Evidence, FloatArray, Run, Setting, generator, replace
from hati.core.wording import counted, effect_name, listed
from hati.design import Levels, levels
from hati.design.information import Ties
from hati.stats import (
    averaged_model,
    block_columns,
    ordered_settings,
    rank_by_explained,
    runs_for_all,
    stability,
    unordered_settings,
)
from hati.studies.screening.conclusion import (
    DesignSummary,
    Dispersion,
    Effect,
    EffectScale,
    FlipEvidence,
    FlipVerdict,
    LackOfFit,
    MachineBlocks,
    ModelSummary,
    Noise,
    ScreeningConclusion,
    SettingEstimate,
    important_options,
)
from hati.studies.screening.designed import DesignedScreening, ScreeningFindings
from hati.studies.screening.follow_up import (
    ATTEMPTS,
    Claim,
    FollowedDesign,
    between_ends,
    claim_of,
    expected_flips,
    fewest_followed,
    flips_made,
    judge_flips,
    noise_of_a_difference,
)
from hati.studies.screening.model import ModelAnalysis, ModelEffect, model_terms
from hati.studies.screening.planning.models import ModelChoice
from hati.studies.screening.planning.tasks import FRESH
from hati.studies.screening.reruns import Flip, Unsettled, is_flip, is_of_flip, repeated, unsettled
from hati.studies.screening.runs import MeasuredDesign
from hati.studies.screening.screening_model import ScreeningModel
from hati.studies.screening.spread import compare_machines, lack_of_fit, settings_of_machines
from hati.studies.screening.warnings import (
    Remedies,
    coarse_warning,
    confounded_warning,
    drift_warning,
    failed_settings_warning,
    failure_warning,
    mixed_signs_warning,
    unmade_warning,
)

if TYPE_CHECKING:
    from hati.space import Option, Space

_PAIR = 2


def model_warnings(
    space: Space,
    design: DesignSummary,
    found: MeasuredDesign,
    analysis: ModelAnalysis,
    relevant: float,
    tied: Ties,
    remedies: Remedies,
    lacking: LackOfFit | None,
) -> tuple[str, ...]:
    """All warnings that apply, the most serious first."""
    names = space.names
    return (
        *failure_warning(found, "less surely", remedies),
        *failed_settings_warning(found, remedies),
        *unmade_warning(found, design.runs, remedies),
        *_lost(names, found, analysis),
        *_tied(names, tied),
        *_unsized(space, analysis),
        *_full(analysis),
        *confounded_warning([_name(names, term) for term in analysis.confounded]),
        *_drift(found, analysis, remedies),
        *_coarse(design, analysis, relevant, remedies, lacking),
        *mixed_signs_warning(found.values),
    )


def follow_up_warnings(
    conclusion: ScreeningConclusion, choice: ModelChoice, parameters: int, remedies: Remedies
) -> Iterator[str]:
    """A warning if flips ended early, or if nothing was run to refute the findings."""
    if conclusion.follow_up and conclusion.follow_up.given_up:
        names = listed(conclusion.follow_up.given_up)
        yield (
            f"the flips of {names} ended early: {ATTEMPTS} pairs in a row failed, or no valid pair was found; "
            "`hati runs` shows why runs failed"
        )
    if remedies.flips and conclusion.follow_up and conclusion.follow_up.done < conclusion.follow_up.planned:
        made, planned = conclusion.follow_up.done, conclusion.follow_up.planned
        yield f"flips ended after {made} of {counted(planned, 'run')}: {remedies.flips}"
    whole = choice.configurations >= conclusion.configurations
    if choice.follow_up or whole or not remedies.rest or not conclusion.important:
        return
    yield (
        "no runs were set aside to refute the important effects by flips; "
        f"--fresh with a budget of {fewest_followed(parameters)} runs or more sets some aside"
    )


def _lost(names: Sequence[str], found: MeasuredDesign, analysis: ModelAnalysis) -> Iterator[str]:
    if analysis.judged_by is Noise.NONE:
        yield "too few runs to distinguish effects from noise, so none is called important; give a larger budget"
        return
    of_machines = settings_of_machines(found)
    if lost := [name for term in analysis.missing if (name := _name(names, term)) not in of_machines]:
        yield f"the runs cannot distinguish the effect of {listed(lost)} from those of other options"


def _tied(names: Sequence[str], tied: Ties) -> Iterator[str]:
    if tied.wholly:
        yield (
            f"other options decide {listed([names[option] for option in tied.wholly])} in every valid configuration: "
            "effects cannot be attributed to them alone, and those of the others stand for them"
        )
    if tied.partly:
        yield (
            f"other options decide {listed([names[option] for option in tied.partly])} in a part of the valid "
            "configurations: what one of them does there may be the others', and may go unseen"
        )


def _unsized(space: Space, analysis: ModelAnalysis) -> Iterator[str]:
    effects = [e for e in analysis.effects if e.important and len(analysis.judged.determined(e.term)) < 2]
    if effects:
        gone = "constraints exclude or that were not run" if space.constraints else "were not run"
        yield (
            f"combinations that {gone} hide how large {listed([_name(space.names, e.term) for e in effects])} "
            f"{'is' if len(effects) == 1 else 'are'}: the size shown is twice the root mean square of what the effect "
            "explains"
        )


def _full(analysis: ModelAnalysis) -> Iterator[str]:
    if analysis.unsought:
        yield (
            f"the important effects take {analysis.judged.parameters} parameters, more than half of the runs: "
            f"further interactions were not looked for; {4 * analysis.judged.parameters} runs would show more"
        )


def _drift(found: MeasuredDesign, analysis: ModelAnalysis, remedies: Remedies) -> Iterator[str]:
    """A warning of drift, tested within blocks, without what the important and the confounded terms explain."""
    units, fit = analysis.units, analysis.judged
    terms = [e.term for e in analysis.effects if e.important or e.term in analysis.confounded]
    columns = [fit.columns[:, fit.places[term]][units.places] for term in terms]
    effects = np.hstack([block_columns(units.run_blocks), *columns])
    yield from drift_warning(analysis.readable.values, found, effects, remedies)


def _coarse(
    design: DesignSummary, analysis: ModelAnalysis, relevant: float, remedies: Remedies, lacking: LackOfFit | None
) -> Iterator[str]:
    lost = lacking is not None and lacking.found
    hidden = "effects that the model lacks hide others" if lost else "the noise hides effects"
    more = replace(remedies, more=remedies.unmodelled) if lost else remedies
    yield from coarse_warning(analysis, relevant, hidden, more.against_noise(design.runs))


def _name(names: Sequence[str], term: Sequence[int]) -> str:
    return effect_name(names[option] for option in term)


class JudgedDesign(Struct, frozen=True, eq=False):
    """The basis of a conclusion: the runs that yielded a value, their analysis, and the evidence of flips."""

    found: MeasuredDesign
    analysis: ModelAnalysis
    flips: tuple[FlipEvidence, ...]


class ModelJudgement(Struct, frozen=True):
    """The analysis of ``rows`` by a ``model``, and the flips' evidence on its claims."""

    rows: FollowedDesign
    model: ScreeningModel

    def judged(self, evidence: Evidence) -> JudgedDesign:
        """The analysis of all rows, those of flips included, and the flips' evidence on the design's rows.

        Raises:
            MeasurementError: where not one run of the design yielded a value.
        """
        design, analysis = self._design(evidence)
        if not any(is_flip(run.task) for run in evidence.runs):
            return JudgedDesign(design, analysis, ())
        everything = self.rows.measured_with_flips(evidence)
        return JudgedDesign(everything, self.model.analysis(everything), self._flip_evidence(evidence))

    def important(self, judged: JudgedDesign) -> tuple[str, ...]:
        """The options whose main effect is important and not refuted, the largest first."""
        return _not_refuted(self.model.important(judged.analysis), judged.flips)

    def claims(self, evidence: Evidence) -> tuple[Claim, ...]:
        """The claims about options that the design's rows show to be important."""
        return _claims(self, self.rows.design_runs(evidence))

    def suspect_runs(self, evidence: Evidence) -> tuple[Run, ...]:
        """The suspect runs of the design, the most suspect first."""
        return _suspects(self, evidence)

    def suspect_flips(self, evidence: Evidence) -> tuple[Run, ...]:
        """The suspect runs of flips, judged by all rows, the most suspect first."""
        return tuple(run for run in _suspects(self, evidence) if is_of_flip(run.task))

    def unsettled(self, evidence: Evidence, judged: JudgedDesign) -> Unsettled:
        """The suspect runs that were not repeated."""
        suspects = self.model.suspected(judged.found, judged.analysis.readable.scale)
        return unsettled(judged.found, suspects, repeated(evidence, self.rows.metric))

    def important_without(self, left: Unsettled, evidence: Evidence, judged: JudgedDesign) -> tuple[str, ...]:
        """The important options with predicted values for suspect runs, and without suspect flips."""
        others = (run for run in evidence.runs if not (is_flip(run.task) and run.task.id in left.predicted))
        flips = self._flip_evidence(Evidence(tuple(others)))
        return _not_refuted(self.model.important(self.model.analysis(left.without(judged.found))), flips)

    def _design(self, evidence: Evidence) -> tuple[MeasuredDesign, ModelAnalysis]:
        """The design's runs and their analysis."""
        return _judged_by_design(self, self.rows.design_runs(evidence))

    def _flip_evidence(self, evidence: Evidence) -> tuple[FlipEvidence, ...]:
        """The flips' evidence on the claims of the design's rows."""
        _, analysis = self._design(evidence)
        space = self.model.space
        made = ((name, flips_made(evidence, self.rows.metric, space, name)) for name in space.names)
        flips = {name: own for name, own in made if own}
        claims = (claim_of(effect, analysis, space) for effect in analysis.effects)
        known = {claim.option: claim for claim in claims if claim is not None}
        total = sum(map(len, flips.values()))
        said = (self._said(known[name], own, evidence, total) for name, own in flips.items() if name in known)
        return tuple(each for each in said if each is not None)

    def _said(self, claim: Claim, flips: Sequence[Flip], evidence: Evidence, total: int) -> FlipEvidence | None:
        """The evidence of an option's flips on a claim, of ``total`` flips in all."""
        design, analysis = self._design(evidence)
        own = between_ends(claim, flips, analysis.readable.scale)
        expected = expected_flips(analysis.model, analysis.judged, self.model.space, own)
        noise = noise_of_a_difference(design, analysis.readable.values, total)
        return judge_flips(claim, own, analysis.readable, expected, noise, self.model.relevant)


@lru_cache(maxsize=8)
def _judged_by_design(judgement: ModelJudgement, runs: Evidence) -> tuple[MeasuredDesign, ModelAnalysis]:
    """The design's runs and their analysis, cached since flips are judged by it."""
    found = judgement.rows.measured(runs)
    return found, judgement.model.analysis(found)


@lru_cache(maxsize=8)
def _claims(judgement: ModelJudgement, runs: Evidence) -> tuple[Claim, ...]:
    """The claims about important options, cached since each flip is planned from them."""
    _, analysis = _judged_by_design(judgement, runs)
    found = (claim_of(effect, analysis, judgement.model.space) for effect in analysis.effects if effect.important)
    return tuple(claim for claim in found if claim is not None)


@lru_cache(maxsize=8)
def _suspects(judgement: ModelJudgement, runs: Evidence) -> tuple[Run, ...]:
    """The suspect runs, the most suspect first, cached since each later run is planned from those before it."""
    found = judgement.rows.measured_with_flips(runs)
    return tuple(found.runs[place] for place in judgement.model.suspected(found, judgement.model.scale(found))[0])


def _not_refuted(options: Sequence[str], flips: Sequence[FlipEvidence]) -> tuple[str, ...]:
    refuted = {each.option for each in flips if each.verdict is FlipVerdict.REFUTED}
    return tuple(name for name in options if name not in refuted)


def ranking(analysis: ModelAnalysis, population: Levels, options: Sequence[Option]) -> tuple[int, ...]:
    """All options, ranked by how much they explain of the predictions of an average over models.

    A single chosen model ignores the uncertainty of the choice: if options have several settings, an interaction that
    is chosen early can take the place of a main effect, which is then ranked last.

    Args:
        analysis: of the runs.
        population: valid configurations, all or a uniform sample.
        options: of the space.
    """
    fit = analysis.prediction
    model = averaged_model(analysis.units.levels, [_alike(option) for option in options], fit.always, fit.values)
    return rank_by_explained(population, model.predicted(population))


def _alike(option: Option) -> FloatArray:
    """The similarity of an option's settings: numeric settings are ordered."""
    if not option.kind.numeric:
        return unordered_settings(len(option.settings))
    numbers = np.array(option.settings, dtype=np.float64)
    return ordered_settings(np.argsort(np.argsort(numbers)).tolist())


def often_selected(analysis: ModelAnalysis, rng: np.random.Generator) -> tuple[float, ...]:
    """The frequency, from 0 to 1, with which a Lasso selects each predictive term from half of the runs.

    The number of columns is limited so that, at a frequency of .75, at most one false selection is expected in all
    (Meinshausen and Buhlmann 2010, Theorem 1).
    """
    units = analysis.units
    terms = model_terms(analysis.model, units.levels, units.blocks, units.order)
    most = math.isqrt(sum(columns.shape[1] for columns in terms.columns.values()) // 2)
    found = stability(terms, units.values(analysis.readable.values), max(1, most), rng)
    return tuple(found[term] for term in analysis.predicting)


class ModelFindings(Struct, frozen=True):
    """The fixed part of findings by a ``model``: the ``study`` and the model."""

    study: DesignedScreening[ModelChoice]
    model: ScreeningModel

    def of(self, found: MeasuredDesign, analysis: ModelAnalysis, given_up: int) -> ScreeningFindings:
        """The findings from the runs alone; repeats of suspect runs replaced ``given_up`` of the design's runs."""
        space, design, lacking = self.model.space, self._design, lack_of_fit(found, analysis)
        return ScreeningFindings(
            design=design,
            effects=tuple(self._effect(effect, analysis) for effect in analysis.effects),
            ranking=tuple(space.names[option] for option in ranking(analysis, self.model.population, space.options)),
            dispersion=self._dispersion(found, analysis.readable.scale),
            model=ModelSummary(
                tuple(map(self.study.named, analysis.predicting)),
                analysis.prediction.r_squared,
                often_selected(analysis, generator(self.study.id.seed, "stability")),
            ),
            machine_blocks=self._machine_blocks(found, analysis),
            warnings=model_warnings(
                space,
                replace(design, runs=design.runs - given_up),
                found,
                analysis,
                self.model.relevant,
                self.model.ties,
                self.study.remedies,
                lacking,
            ),
            lack_of_fit=lacking,
            fewest_runs=None if analysis.effects else self._fewest_runs(analysis),
        )

    def _fewest_runs(self, analysis: ModelAnalysis) -> int | None:
        """The smallest budget with runs for all main effects together, also if a suspect run is repeated.

        None if fewer runs are available.
        """
        mains = sum(analysis.model.sizes[term[0]] - 1 for term in analysis.model.terms if len(term) == 1)
        repeats = FRESH if self.study.remedies.rest else 0
        needed = runs_for_all(analysis.prediction.always.shape[1] + mains) + repeats
        return needed if needed <= self.study.remedies.available else None

    def _machine_blocks(self, found: MeasuredDesign, analysis: ModelAnalysis) -> MachineBlocks | None:
        if not np.any(found.machines):
            return None
        rows = levels([run.task.configuration for run in found.runs], self.model.space)
        columns = analysis.model.columns(rows)
        mains = {self.study.named(term)[0]: own for term, own in columns.items() if len(term) == 1}
        chosen = [columns[term] for term in analysis.predicting]
        sought = [self.study.named(term) for term in self.model.effects.terms if len(term) == _PAIR]
        pairs = [names for names in sought if mains.keys() >= set(names)]
        return compare_machines(found, analysis.readable, mains, chosen, alpha=self.model.alpha, pairs=pairs)

    @property
    def _design(self) -> DesignSummary:
        made = self.study.choice
        return DesignSummary(
            kind=made.kind,
            runs=made.runs,
            configurations=made.configurations,
            repetitions=made.repetitions,
            resolution=None,
            generators=(),
            d_efficiency=made.d_efficiency,
            replicated=made.replicated,
        )

    def _dispersion(self, found: MeasuredDesign, scale: EffectScale) -> Dispersion | None:
        of_variance = self.model.variance_analysis(found, scale)
        if of_variance is None:
            return None
        of, analysis = of_variance
        effects = tuple(self._effect(effect, analysis) for effect in analysis.effects)
        return Dispersion(of, effects, important_options(effects))

    def _effect(self, found: ModelEffect, analysis: ModelAnalysis) -> Effect:
        change, means = analysis.readable.change(found.decided), self._means(found, analysis)
        return Effect(
            options=self.study.named(found.term),
            estimate=found.own.estimate,
            interval=found.own.interval,
            standard_error=found.own.standard_error,
            relative=change.relative,
            relative_interval=change.interval,
            contrast=found.decided.estimate,
            share=found.share,
            p_value=found.p_value,
            important=found.important,
            half_normal=found.half_normal,
            aliases=(),
            settings=means if self._has_ends(found) else (),
            means=means,
            ends=self._ends(found.term[0], analysis) if means and self._has_ends(found) else None,
        )

    def _has_ends(self, found: ModelEffect) -> bool:
        """Whether it is the effect of an option with more settings than two."""
        return len(found.term) == 1 and len(self.model.space.options[found.term[0]].settings) > 2

    def _ends(self, option: int, analysis: ModelAnalysis) -> tuple[Setting, Setting] | None:
        """The settings between which the effect of an option is."""
        settings, change = self.model.space.options[option].settings, analysis.judged.change(option)
        return None if change is None else (settings[change.before], settings[change.after])

    def _means(self, found: ModelEffect, analysis: ModelAnalysis) -> tuple[SettingEstimate, ...]:
        """The mean at each setting that the runs distinguish, for a single option."""
        option, settings = found.term[0], self.model.space.options[found.term[0]].settings
        if len(found.term) > 1:
            return ()
        means, differences = analysis.own.means(option), analysis.judged.settings(option)
        return tuple(
            SettingEstimate(
                settings[place],
                means[place].estimate,
                means[place].interval,
                analysis.readable.change(difference).relative,
            )
            for place, difference in differences.items()
            if len(differences) > 1
        )
