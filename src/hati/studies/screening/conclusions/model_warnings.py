"""Warnings of a screening by a model, each with its remedy."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from hati.core import replace
from hati.core.wording import listed
from hati.design.information import Ties
from hati.stats import rank_trend
from hati.studies.screening.analysis.model import ModelAnalysis
from hati.studies.screening.analysis.runs import MeasuredDesign
from hati.studies.screening.conclusion import DesignSummary, LackOfFit, Noise, ScreeningConclusion
from hati.studies.screening.conclusions.remedies import Remedies, advised
from hati.studies.screening.conclusions.warnings import COARSE, DRIFT, NOTABLE, common_settings, confounded_warning
from hati.studies.screening.follow_up.follow_up import ATTEMPTS, fewest_followed
from hati.studies.screening.planning.models import ModelChoice


def model_warnings(
    names: Sequence[str],
    design: DesignSummary,
    found: MeasuredDesign,
    analysis: ModelAnalysis,
    relevant: float,
    tied: Ties,
    remedies: Remedies,
    lacking: LackOfFit | None,
) -> tuple[str, ...]:
    """Every warning that holds, the gravest first."""
    return (
        *_missing_runs(design, found, remedies),
        *_lost(names, analysis),
        *_tied(names, tied),
        *_unsized(names, analysis),
        *_full(analysis),
        *confounded_warning([_name(names, term) for term in analysis.confounded]),
        *_drift(found, analysis, remedies),
        *_coarse(design, analysis, relevant, remedies, lacking),
        *_mixed_signs(found),
    )


def follow_up_warnings(
    conclusion: ScreeningConclusion, choice: ModelChoice, parameters: int, remedies: Remedies
) -> Iterator[str]:
    """A warning where flips ended early, or where the findings lack an attempt to refute them."""
    if conclusion.follow_up and conclusion.follow_up.given_up:
        names = listed(conclusion.follow_up.given_up)
        yield (
            f"the flips of {names} ended early: {ATTEMPTS} pairs in a row failed, or no valid pair was found; "
            "`hati runs` shows why runs failed"
        )
    whole = choice.configurations >= conclusion.configurations
    if choice.follow_up or whole or not remedies.rest or not conclusion.important:
        return
    yield (
        "no runs were set aside to refute the important effects by flips; "
        f"--fresh with a budget of {fewest_followed(parameters)} runs or more sets some aside"
    )


def _missing_runs(design: DesignSummary, found: MeasuredDesign, remedies: Remedies) -> Iterator[str]:
    done, failed = len(found.values), len(found.failed)
    if failed:
        yield advised(
            f"{failed} of {done + failed} runs failed, most often because: {found.reasons[0]}; "
            "effects are estimated from the others, and less surely",
            remedies.failures,
        )
    shared = common_settings(found.failed, found.runs)
    if shared:
        yield advised(f"all {failed} failed runs have {listed(shared)}", remedies.fix_setting)
    unmade = design.runs - done - failed
    if unmade > 0:
        yield (
            f"{unmade} of {design.runs} planned runs {'was' if unmade == 1 else 'were'} not made; "
            "if the budget is spent, give a larger one, else run the same command again"
        )


def _lost(names: Sequence[str], analysis: ModelAnalysis) -> Iterator[str]:
    if analysis.judged_by is Noise.NONE:
        yield "too few runs to distinguish effects from noise, so none is called important; give a larger budget"
    elif analysis.missing:
        lost = [_name(names, term) for term in analysis.missing]
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


def _unsized(names: Sequence[str], analysis: ModelAnalysis) -> Iterator[str]:
    effects = [e for e in analysis.effects if e.important and len(analysis.judged.determined(e.term)) < 2]
    if effects:
        yield (
            f"combinations that were not run hide how large {listed([_name(names, e.term) for e in effects])} "
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
    """Taken out are the configurations' means where they are the units, else what the model predicts."""
    if not remedies.rest:
        return
    units = analysis.units
    trend = [] if units.order is None else [len(np.unique(units.blocks))]
    columns = np.delete(analysis.prediction.columns, trend, axis=1)
    rows = np.zeros_like(units.places) if units.are_runs else units.places
    taken = np.hstack([found.machine_columns, columns if units.are_runs else columns[:, :0][units.places]])
    correlation, p_value = rank_trend(analysis.readable.values, found.order.astype(np.float64), taken, rows)
    if p_value < DRIFT:
        way = "rise" if correlation > 0 else "fall"
        yield (
            f"values {way} over the order of runs (rank correlation {correlation:.2f}, p = {p_value:.2g}); "
            f"{remedies.rest}"
        )


def _coarse(
    design: DesignSummary, analysis: ModelAnalysis, relevant: float, remedies: Remedies, lacking: LackOfFit | None
) -> Iterator[str]:
    found = analysis.detectable
    if found is None or found[1] <= max(COARSE * relevant, NOTABLE):
        return
    lost = lacking is not None and lacking.found
    hidden = "effects that the model lacks hide others" if lost else "the noise hides effects"
    more = replace(remedies, more=remedies.unmodelled) if lost else remedies
    yield advised(
        f"{hidden} below {100 * found[1]:.2g} %, the smallest that is found with 80 % power",
        more.against_noise(design.runs),
    )


def _mixed_signs(found: MeasuredDesign) -> Iterator[str]:
    if np.min(found.values) < 0.0 < np.max(found.values):
        yield "values are below and above zero: fractions are of their mean size, and say little; look at the unit"


def _name(names: Sequence[str], term: Sequence[int]) -> str:
    return ":".join(names[option] for option in term)
