"""What the rows of a design and of its follow-up show of a screening's effects, and what the model says of the
whole space.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import Evidence, FloatArray, Run
from hati.design import Levels
from hati.stats import averaged_model, ordered_settings, rank_by_explained, stability, unordered_settings
from hati.studies.screening.analysis.model import ModelAnalysis, model_terms
from hati.studies.screening.analysis.runs import MeasuredDesign
from hati.studies.screening.analysis.screening_model import ScreeningModel
from hati.studies.screening.analysis.suspects import Unsettled, unsettled
from hati.studies.screening.conclusion import FlipEvidence, FlipVerdict
from hati.studies.screening.follow_up.claims import (
    Claim,
    between_ends,
    claim_of,
    expected_changes,
    judge_flips,
    noise_of_a_difference,
)
from hati.studies.screening.follow_up.flips import Flip, is_flip, is_of_flip
from hati.studies.screening.follow_up.follow_up import FollowedDesign, flips_made
from hati.studies.screening.follow_up.reruns import repeated

if TYPE_CHECKING:
    from hati.space import Option


class JudgedDesign(Struct, frozen=True, eq=False):
    """What decides: the runs that yielded a value, their analysis, and what flips say of single options."""

    found: MeasuredDesign
    analysis: ModelAnalysis
    flips: tuple[FlipEvidence, ...]


class ModelJudgement(Struct, frozen=True):
    """The analysis of ``rows`` by a ``model``, and what flips say of its claims."""

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
        """Of the options that the design's rows show to be important."""
        _, analysis = self._design(evidence)
        found = (claim_of(effect, analysis, self.model.space) for effect in analysis.effects if effect.important)
        return tuple(claim for claim in found if claim is not None)

    def suspect_runs(self, evidence: Evidence) -> tuple[Run, ...]:
        """Of the design, the most suspect first."""
        return self._suspects(self.rows.measured(evidence))

    def suspect_flips(self, evidence: Evidence) -> tuple[Run, ...]:
        """The most suspect first, by all rows."""
        found = self._suspects(self.rows.measured_with_flips(evidence))
        return tuple(run for run in found if is_of_flip(run.task))

    def unsettled(self, evidence: Evidence, judged: JudgedDesign) -> Unsettled:
        """The suspect runs that were not repeated."""
        return unsettled(judged.found, self.model.suspected(judged.found), repeated(evidence, self.rows.metric))

    def important_without(self, left: Unsettled, evidence: Evidence, judged: JudgedDesign) -> tuple[str, ...]:
        """The important options where suspect runs have predicted values, and flips of them are left out."""
        others = (run for run in evidence.runs if not (is_flip(run.task) and run.task.id in left.predicted))
        flips = self._flip_evidence(Evidence(tuple(others)))
        return _not_refuted(self.model.important(self.model.analysis(left.without(judged.found))), flips)

    def _design(self, evidence: Evidence) -> tuple[MeasuredDesign, ModelAnalysis]:
        """The design's runs and their analysis."""
        return _judged_by_design(self, self.rows.design_runs(evidence))

    def _suspects(self, found: MeasuredDesign) -> tuple[Run, ...]:
        return tuple(found.runs[place] for place in self.model.suspected(found)[0])

    def _flip_evidence(self, evidence: Evidence) -> tuple[FlipEvidence, ...]:
        """What flips say of the claims of the design's rows."""
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
        expected = expected_changes(analysis.model, analysis.judged, self.model.space, own)
        noise = noise_of_a_difference(design, analysis.readable.values, total)
        return judge_flips(claim, own, analysis.readable, expected, noise, self.model.relevant)


@lru_cache(maxsize=8)
def _judged_by_design(judgement: ModelJudgement, runs: Evidence) -> tuple[MeasuredDesign, ModelAnalysis]:
    """Kept, since each flip is planned from it."""
    found = judgement.rows.measured(runs)
    return found, judgement.model.analysis(found)


def _not_refuted(options: Sequence[str], flips: Sequence[FlipEvidence]) -> tuple[str, ...]:
    refuted = {each.option for each in flips if each.verdict is FlipVerdict.REFUTED}
    return tuple(name for name in options if name not in refuted)


def ranking(analysis: ModelAnalysis, population: Levels, options: Sequence[Option]) -> tuple[int, ...]:
    """All options, ranked by what they explain of the predictions of an average over models.

    A single chosen model is certain of its terms and blind for the missing ones: where options have several settings,
    an interaction that is chosen early takes the place of a main effect, which is then ranked last.

    Args:
        analysis: that of the runs.
        population: valid configurations, all or a uniform sample.
        options: the space's.
    """
    fit = analysis.prediction
    model = averaged_model(analysis.units.levels, [_alike(option) for option in options], fit.always, fit.values)
    return rank_by_explained(population, model.predicted(population))


def _alike(option: Option) -> FloatArray:
    """How alike the settings of an option are: numbers have an order."""
    if not option.kind.numeric:
        return unordered_settings(len(option.settings))
    numbers = np.array(option.settings, dtype=np.float64)
    return ordered_settings(np.argsort(np.argsort(numbers)).tolist())


def often_selected(analysis: ModelAnalysis, rng: np.random.Generator) -> tuple[float, ...]:
    """How often a Lasso selects each term of the model that predicts from half of the runs, from 0 to 1.

    The number of columns is limited so that at a share of .75 at most one false selection is expected in all
    (Meinshausen and Buhlmann 2010, Theorem 1).
    """
    units = analysis.units
    terms = model_terms(analysis.model, units.levels, units.blocks, units.order)
    most = math.isqrt(sum(columns.shape[1] for columns in terms.columns.values()) // 2)
    found = stability(terms, units.values(analysis.readable.values), max(1, most), rng)
    return tuple(found[term] for term in analysis.predicting)
