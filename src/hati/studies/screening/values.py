"""The published values of a screening: unrounded, null where unknown."""

from __future__ import annotations

from typing import Annotated

from msgspec import UNSET, Struct, UnsetType

from hati.core import Better, Setting
from hati.document.publishing import DetectableJson, Interval, Joined, Of, RunsJson, StudyJson, detectable_json, publish
from hati.studies.known import Knowledge, KnowledgeJson
from hati.studies.recalibration import EffectChanges
from hati.studies.recalibration.document import EffectChangesJson
from hati.studies.recommendation import RecommendationConclusion
from hati.studies.recommendation.document import RecommendationJson
from hati.studies.screening import (
    Effect,
    EffectScale,
    EffectVerdict,
    FlipVerdict,
    FollowUpSummary,
    LackOfFit,
    Losses,
    MachineBlocks,
    Noise,
    RelativeTo,
    ScreeningConclusion,
    SuspectRun,
)
from hati.studies.screening.support import ConditionalEffectJson, DominatingOptionJson, RobustFitJson, dominating_json
from hati.studies.screening.words import estimated_by
from hati.studies.validation import ValidationConclusion
from hati.studies.validation.document import ValidationJson

_LOG_VARIANCE = "ln s^2"


class SpaceJson(Struct, frozen=True):
    """The size of a space."""

    options: Annotated[int, Of(lambda found: len(found.options))]
    configurations: int


class OptionJson(Struct, frozen=True):
    """An option with its settings; ``letter`` stands for it in generators."""

    name: str
    letter: str
    first: Setting
    second: Setting
    settings: list[Setting]
    doc: str


class DesignSummaryJson(Struct, frozen=True, kw_only=True):
    """The design; its efficiency, and the runs that are repeated, are of optimal ones."""

    kind: str
    runs: int
    configurations: int
    repetitions: int
    resolution: int | None
    generators: list[str]
    d_efficiency: float | UnsetType = UNSET
    replicated: Annotated[
        int | UnsetType, Of(lambda design: UNSET if design.d_efficiency is None else design.replicated)
    ] = UNSET


class SettingJson(Struct, frozen=True):
    """The mean at a setting."""

    setting: Setting
    estimate: float | None
    unit: str
    interval: Interval | None
    relative: float | None


class EffectJson(Struct, frozen=True):
    """An effect: its size, in the metric's unit and as a fraction, and what it is shown to be.

    ``contrast`` is the effect on the deciding scale, ``share`` its fraction of the variance, ``half_normal`` its
    coordinate among all contrasts, and ``confirmed`` whether flips confirm it.
    """

    options: list[str]
    estimate: float | None
    unit: str
    relative: float | None
    interval: Interval | None
    relative_interval: Interval | None
    standard_error: float | None
    contrast: float | None
    share: float | None
    p_value: float | None
    half_normal: float | None
    important: bool
    verdict: EffectVerdict
    confirmed: Annotated[bool | None, Of(lambda effect: effect.confirmed if effect.shown or effect.flips else None)]
    aliases: list[list[str]]
    settings: Annotated[
        list[SettingJson], Of(lambda effect: [Joined(each, unit=effect.unit) for each in effect.settings])
    ]


class EvidenceJson(Struct, frozen=True):
    """The evidence for the verdict on an effect; null where only flips provide it and none were made."""

    design_rows: int
    flips: int = 0
    claimed: float | None = None
    flip_change: float | None = None
    flip_interval: Interval | None = None
    refuted: bool = False
    missed: bool = False
    depends_on: str | None = None


class ScreenedEffectJson(EffectJson, frozen=True):
    """An effect with what supports its verdict."""

    evidence: EvidenceJson


class DispersionJson(Struct, frozen=True):
    """Effects on the logarithm of the variance, of which nothing is a fraction."""

    of: str
    effects: Annotated[list[EffectJson], Of(lambda found: list(map(_log_effect, found.effects)))]
    important: list[str]


class AllRunsJson(RunsJson, frozen=True):
    """The runs that count, and ``all`` runs of the campaign."""

    all: Annotated[RunsJson, Of("all_runs")]


class ExclusionJson(Struct, frozen=True):
    """Settings that do not work, and how they fail."""

    settings: str
    message: str


class LossesJson(Struct, frozen=True):
    """The number of failed runs, and the effects left out because of them."""

    failed: int
    made: int
    excluded: Annotated[list[ExclusionJson], Of(_excluded)]


class ModelJson(Struct, frozen=True):
    """The model that predicts; ``stability`` is how often each term is selected from half of the runs."""

    terms: list[list[str]]
    r_squared: float | None
    stability: Annotated[list[float] | None, Of(lambda model: model.stability or None)]


class ScreeningJson(StudyJson, frozen=True, kw_only=True, tag_field="format", tag="hati-screen-1"):
    """The options that matter; every number unrounded, with its unit."""

    study: str
    subject: str
    benchmark: str
    revision: str
    metric: Annotated[str, Of("metric.name")]
    unit: Annotated[str, Of("metric.unit")]
    better: Annotated[Better, Of("metric.better")]
    scale: EffectScale
    scale_reason: str
    estimated_by: Annotated[str, Of(estimated_by)]
    relative_to: Annotated[str, Of(_base)]
    judged_by: Noise
    alpha: float | None
    relevant: float | None
    threshold: float | None
    space: Annotated[SpaceJson, Of()]
    template: list[str]
    options: list[OptionJson]
    design: DesignSummaryJson
    effects: Annotated[
        list[ScreenedEffectJson],
        Of(lambda of: [Joined(each, unit=of.metric.unit, evidence=_evidence(of, each)) for each in of.effects]),
    ]
    ranking: list[str]
    important: list[str]
    important_or_aliased: list[str]
    interacting: list[str]
    detectable: Annotated[
        DetectableJson,
        Of(lambda of: detectable_json(of.detectable and of.detectable.estimate, of.detectable, of.metric)),
    ]
    missing: list[list[str]]
    dispersion: DispersionJson | None
    runs: Annotated[AllRunsJson, Of()]
    follow_up: FollowUpSummary | None
    suspects: list[SuspectRun]
    robust: RobustFitJson | None
    lack_of_fit: LackOfFit | None
    failures: list[str]
    losses: LossesJson | None
    seconds: float | None
    warnings: list[str]
    model: ModelJson
    conditional_effects: list[ConditionalEffectJson]
    dominating: Annotated[DominatingOptionJson | None, Of(dominating_json)]
    machine_blocks: Annotated[
        MachineBlocks | UnsetType, Of(lambda found: UNSET if found.machine_blocks is None else found.machine_blocks)
    ] = UNSET
    validation: ValidationJson | None
    recommendation: RecommendationJson | UnsetType = UNSET
    changes: EffectChangesJson | UnsetType = UNSET
    known: KnowledgeJson | UnsetType = UNSET


def screening_json(
    conclusion: ScreeningConclusion,
    validation: ValidationConclusion | None = None,
    recommendation: RecommendationConclusion | None = None,
    changes: EffectChanges | None = None,
    known: Knowledge | None = None,
) -> ScreeningJson:
    """The published form of a screening, and of the studies that build on it."""
    more = {"validation": validation, "recommendation": recommendation, "changes": changes, "known": known}
    return publish(Joined(conclusion, **more), ScreeningJson)


def _base(conclusion: ScreeningConclusion) -> str:
    """The base of relative effects; with more than two settings, the mean that a difference is from is the lowest."""
    several = any(not option.two_level for option in conclusion.options)
    lowest = several and conclusion.relative_to is RelativeTo.FIRST_SETTING
    return f"{conclusion.relative_to}{' or lowest mean' if lowest else ''}"


def _log_effect(effect: Effect) -> Joined:
    settings = [Joined(each, relative=None) for each in effect.settings]
    return Joined(effect, unit=_LOG_VARIANCE, relative=None, relative_interval=None, settings=settings)


def _evidence(conclusion: ScreeningConclusion, effect: Effect) -> EvidenceJson:
    rows, flips = conclusion.done - (conclusion.follow_up.done if conclusion.follow_up else 0), effect.flips
    if flips is None:
        return EvidenceJson(rows)
    refuted, missed = (flips.verdict is verdict for verdict in (FlipVerdict.REFUTED, FlipVerdict.MISSED))
    depends_on = flips.depends_on or None
    return EvidenceJson(rows, flips.flips, flips.claimed, flips.change, flips.interval, refuted, missed, depends_on)


def _excluded(losses: Losses) -> list[ExclusionJson]:
    return [ExclusionJson(*each) for each in zip(losses.excluded, losses.messages, strict=True)]
