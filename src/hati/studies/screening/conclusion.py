"""The conclusion of a screening study, as plain values."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct

from hati.core import Assignment, Configuration, Evidence, FloatArray, InputError, Metric, Setting
from hati.design import letters
from hati.studies.command_line import CommandLine

if TYPE_CHECKING:
    from hati.space import Space


class OptionSummary(Struct, frozen=True):
    """An option and its settings; ``letter`` names it in the design.

    With two settings, the effect is the change from the ``first``, the base, to the ``second``. ``default`` is the
    default setting, None if it is not known.
    """

    name: str
    letter: str
    settings: tuple[Setting, ...]
    doc: str
    default: Setting | None = None

    @property
    def first(self) -> Setting:
        """The first setting."""
        return self.settings[0]

    @property
    def second(self) -> Setting:
        """The second setting, or the only one."""
        return self.settings[min(1, len(self.settings) - 1)]

    @property
    def two_level(self) -> bool:
        """Whether there are exactly two settings."""
        return len(self.settings) == 2


def option_summaries(space: Space) -> tuple[OptionSummary, ...]:
    """All options of a space in order, named by letters, or by position if there are too few letters."""
    count = len(space.options)
    names = letters(count) if count <= len(letters(52)) else tuple(f"x{i}" for i in range(1, count + 1))
    return tuple(
        OptionSummary(option.name, letter, option.settings, option.doc, option.default)
        for option, letter in zip(space.options, names, strict=True)
    )


class EffectScale(StrEnum):
    """The scale on which importance is decided."""

    LOG = "log"
    RAW = "raw"

    def decided(self, values: FloatArray) -> FloatArray:
        """Values on this scale.

        Raises:
            InputError: if a value at or below zero has no logarithm.
        """
        if self is EffectScale.RAW:
            return values
        if np.min(values, initial=1.0) <= 0.0:
            raise InputError("the screening was decided on logarithms, and a follow-up run's value is not above zero")
        return np.asarray(np.log(values))

    def relative(self, difference: float, typical: float) -> float:
        """A difference on this scale as a fraction; on the raw one, of the ``typical`` size."""
        if self is EffectScale.LOG:
            return float(np.expm1(min(difference, 700.0)))
        return difference / typical if typical > 0.0 else 0.0

    def difference(self, relative: float, typical: float) -> float:
        """The difference on this scale that corresponds to a fraction."""
        return float(np.log1p(relative)) if self is EffectScale.LOG else relative * typical


class RelativeTo(StrEnum):
    """The base of changes: the mean that a difference is from, or the mean size where values are below zero."""

    FIRST_SETTING = "first setting"
    MEAN_SIZE = "mean size"


class Noise(StrEnum):
    """The source of the noise estimate."""

    PURE_ERROR = "pure error"
    LENTH = "pseudo standard error"
    LACK_OF_FIT = "lack of fit"
    RESIDUALS = "residuals"
    NONE = "none"


class EffectVerdict(StrEnum):
    """The verdict of a screening on an effect.

    IMPORTANT: significant and relevant. ALIASED: the estimate is significant and relevant, but the design gives it to
    several effects, including this one. NOT_SHOWN: anything else.
    """

    IMPORTANT = "important"
    ALIASED = "important or aliased"
    NOT_SHOWN = "not shown"


Options = tuple[str, ...]
"""The options of an effect: one for a main effect, two for an interaction."""


class SettingEstimate(Struct, frozen=True):
    """The metric's mean at one setting of an option, in its unit, as a model estimates it; 95 % ``interval``.

    ``relative`` is the difference from the mean over the option's settings, a fraction on the deciding scale.
    """

    setting: Setting
    estimate: float
    interval: tuple[float, float] | None
    relative: float


class ModelSummary(Struct, frozen=True):
    """The predictive model: its terms, and ``r_squared``, the fraction of variance explained on the deciding scale.

    For a fraction, the terms are the important effects. For any other design, ``stability`` is the frequency, from 0 to
    1, with which a Lasso selects each term from half of the runs (`hati.stats.selection`).
    """

    terms: tuple[Options, ...]
    r_squared: float
    stability: tuple[float, ...] = ()


class FlipVerdict(StrEnum):
    """The verdict of flips on a claim of the design's rows."""

    CONFIRMED = "confirmed"
    REFUTED = "refuted"
    MISSED = "missed"
    """The flips do not show the effect, but the design's rows leave no doubt about it."""
    NOT_DECIDED = "not decided"


class FlipEvidence(Struct, frozen=True):
    """The evidence from flips of an ``option`` between its ``ends``: fresh configurations that differ only in it.

    ``change`` is the mean change over the ``flips`` from the first end to the second, a fraction on the deciding scale.
    ``interval`` is the 99 % interval of the average effect, None for a single flip; it accounts for what the design's
    model expects in the flips' configurations. ``claimed`` is the change that the design's rows showed. ``depends_on``
    names what changes the sign of the effect beyond noise: another option, or the configuration; empty if the sign does
    not change.
    """

    option: str
    ends: tuple[Setting, Setting]
    flips: int
    change: float
    interval: tuple[float, float] | None
    claimed: float
    verdict: FlipVerdict
    depends_on: str = ""


class EffectSize(Struct, frozen=True, kw_only=True):
    """The estimates of an effect; `Effect` says what each field is."""

    estimate: float
    interval: tuple[float, float] | None
    standard_error: float | None
    relative: float
    relative_interval: tuple[float, float] | None
    contrast: float
    share: float
    p_value: float | None
    important: bool
    half_normal: float


class Effect(EffectSize, frozen=True, kw_only=True):
    """One estimated effect, named by the member of its alias set that has the lowest order and the likeliest parents.

    ``estimate``, ``interval`` (95 %) and ``standard_error`` are in the metric's unit: the second setting's
    mean minus the first's. ``relative`` and ``relative_interval`` are fractions (0.12 = 12 %), on the deciding
    scale: exp(effect) - 1 on the log scale; on the raw one the effect divided by the mean that is subtracted, infinite
    if this is zero, and by the mean size of values if some are below zero. ``contrast`` is the effect on the deciding
    scale. ``share`` is the effect's fraction of the variance between the configurations' means
    on that scale, within blocks and after trends. ``p_value`` is study-wise (already corrected). ``half_normal``
    is the coordinate of the RES paper's equation 4 among all contrasts. ``aliases`` are the other members of the alias
    set up to third order. A field is None if it cannot be estimated.

    ``important`` is true if the effect is significant and relevant, and its alias set holds no other effect up to third
    order; if the set holds others, ``aliased`` is true instead.

    ``flips`` is the evidence of the follow-up, None if the option was not flipped. A refuted effect is not important.

    If an option has more than two settings, the effect is the largest mean change between two of its ``settings``,
    which are its ``ends`` (for an interaction, between combinations), and ``interval`` allows for the choice of these
    two (Scheffe 1953). ``means`` are those at the settings of a single option of any number of settings, over the valid
    configurations with that setting; empty for a fraction.
    """

    options: Options
    aliases: tuple[Options, ...]
    settings: tuple[SettingEstimate, ...] = ()
    means: tuple[SettingEstimate, ...] = ()
    ends: tuple[Setting, Setting] | None = None
    aliased: bool = False
    flips: FlipEvidence | None = None

    @property
    def confirmed(self) -> bool:
        """Whether it is important and flips confirm it."""
        return self.important and self.flips is not None and self.flips.verdict is FlipVerdict.CONFIRMED

    @property
    def shown(self) -> bool:
        """Whether the estimate is significant and relevant, whether it is due to this effect or to an alias."""
        return self.important or self.aliased

    @property
    def verdict(self) -> EffectVerdict:
        """The verdict: important, important or aliased, or not shown."""
        if self.important:
            return EffectVerdict.IMPORTANT
        return EffectVerdict.ALIASED if self.aliased else EffectVerdict.NOT_SHOWN


class DetectableEffect(Struct, frozen=True):
    """The smallest main effect that would have been found with 80 % power; in the unit, and as a fraction."""

    estimate: float
    relative: float


class DesignSummary(Struct, frozen=True):
    """The design as it was planned. ``runs`` = ``configurations`` x ``repetitions`` + ``replicated``.

    ``replicated`` configurations have one run more than the others. ``d_efficiency`` is that of the main effects, None
    where the design is orthogonal by construction.
    """

    kind: str
    runs: int
    configurations: int
    repetitions: int
    resolution: int | None
    generators: tuple[str, ...]
    d_efficiency: float | None = None
    replicated: int = 0


class LackOfFit(Struct, frozen=True):
    """The ``noise`` of a run and the deviation that the model ``left``, fractions on the deciding scale.

    The noise is estimated from repeated runs of a configuration, with ``repeated`` degrees of freedom. ``found`` is
    true if the model left more than noise explains: it lacks effects.
    """

    noise: float
    left: float
    repeated: int
    found: bool


class FollowUpSummary(Struct, frozen=True):
    """The number of runs ``planned`` to refute the design's findings, and of those ``done`` that yielded a value.

    Flips of the options ``given_up`` ended early: their pairs failed, or no valid pair was found.
    """

    planned: int
    done: int
    given_up: tuple[str, ...] = ()


class SuspectRun(Struct, frozen=True):
    """A run far from what the other runs predict for its configuration; ``order`` is its place among them, from 0.

    ``value`` is its own value, and ``fresh`` holds the values of the runs that repeat it. The analysis uses ``used``:
    the median if all of these yielded a value, else its own value. ``used`` is None if the run was not repeated.
    """

    order: int
    configuration: Configuration
    value: float
    fresh: tuple[float, ...]
    used: float | None


class RobustFit(Struct, frozen=True):
    """The options shown by the same analysis with predicted values for suspect runs that were not repeated.

    ``added`` are options that the analysis of all runs does not show, ``lost`` are options that only that one shows.
    """

    shown: tuple[str, ...]
    added: tuple[str, ...]
    lost: tuple[str, ...]

    @property
    def differs(self) -> bool:
        """Whether the two analyses show different options."""
        return bool(self.added or self.lost)


class ConditionalEffect(Struct, frozen=True):
    """The effect of an option ``at`` one setting of another, or at settings of two others.

    ``relative`` is the change from ``before`` to ``after`` (from the first setting to the second; with more settings,
    from the one with the lowest mean there to the one with the highest), a fraction on the deciding scale as in
    `Effect`. ``interval`` is the 95 % interval, None if the noise is unknown; if settings are chosen, it is
    simultaneous for all their differences (Scheffe 1953). ``found`` is true if the interaction was found; else a
    dependence of the effect on the other option could not be excluded.
    """

    option: str
    before: Setting
    after: Setting
    at: Assignment
    relative: float
    interval: tuple[float, float] | None
    found: bool


DOMINATING = 0.9
"""An option that explains this fraction of the variance, interactions included, hides the rest."""


class Narrowing(Struct, frozen=True):
    """A design whose runs after the first ``runs`` were all made at one ``setting`` of an option.

    ``others`` of the first runs yielded a value at another setting.
    """

    setting: Setting
    runs: int
    others: int


class DominatingOption(Struct, frozen=True):
    """An option that explains nearly all of the variance: its ``share`` of it, and its ``default`` setting.

    ``fixed`` holds the options that the space fixes, each with its setting. If the design was ``narrowed`` to one
    setting of the option, the other options' effects are those at this setting.
    """

    name: str
    share: float
    default: Setting
    fixed: tuple[tuple[str, Setting], ...]
    narrowed: Narrowing | None = None


class Point(Struct, frozen=True):
    """One run's value of the metric: mean after warm-up, in its unit; ``order`` is the run's place in time, from 0."""

    order: int
    value: float
    configuration: Configuration


class Dispersion(Struct, frozen=True):
    """The effects on ln s^2.

    ``of`` names the values whose variance is s^2: ``observations`` within runs, or ``runs`` of a configuration; on the
    log scale, ``log observations`` or ``log runs``, which gives relative variation.
    """

    of: str
    effects: tuple[Effect, ...]
    important: tuple[str, ...]

    @property
    def shown(self) -> bool:
        """Whether the main effect of any option is shown."""
        return any(effect.shown and len(effect.options) == 1 for effect in self.effects)


def important_options(effects: Sequence[Effect]) -> Options:
    """The options whose main effect is important, the largest first."""
    return tuple(effect.options[0] for effect in effects if effect.important and len(effect.options) == 1)


class RunCounts(Struct, frozen=True):
    """How many runs yielded a value of the metric, and how many did not.

    ``purposes`` has the number of all of them for each purpose, in words.
    """

    done: int
    failed: int
    purposes: tuple[tuple[str, int], ...] = ()

    @classmethod
    def of(cls, evidence: Evidence, metric: Metric) -> RunCounts:
        """Count all runs of a campaign, whatever their purpose."""
        done = sum(run.of(metric.name) is not None for run in evidence.runs)
        return cls(done, len(evidence.runs) - done)


class Losses(Struct, frozen=True):
    """The number of ``made`` runs of a campaign that ``failed``, whatever their purpose, and what does not work.

    ``excluded`` holds the settings, or combinations of settings, that were left out; ``messages`` says how each fails.
    """

    failed: int
    made: int
    excluded: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()


class MeasuredMachine(Struct, frozen=True):
    """A machine: the fingerprint that runs carry, the number of its runs, and its offset from the first, a fraction."""

    fingerprint: str
    runs: int
    offset: float


class SettingMachines(Struct, frozen=True):
    """A setting, and the fingerprints of the machines that ran it."""

    setting: Setting
    machines: tuple[str, ...]


class ConfoundedOption(Struct, frozen=True):
    """An option whose settings no machines link: differences between its groups may be those between machines.

    Machines that ran several settings link these. ``within`` is the largest difference between machines with the same
    setting, as a fraction; None without such.
    """

    option: str
    settings: tuple[SettingMachines, ...]
    within: float | None

    @property
    def groups(self) -> tuple[tuple[SettingMachines, ...], ...]:
        """The settings that machines link; each machine ran one setting if each group has one."""
        return linked_settings(self.settings)

    @property
    def is_unknown(self) -> bool:
        """Whether no two settings can be compared."""
        return len(self.groups) == len(self.settings)


def linked_settings(settings: Sequence[SettingMachines]) -> tuple[tuple[SettingMachines, ...], ...]:
    """Groups of settings, in their order: two are in one group if machines that ran both link them, also via others."""
    groups: list[tuple[SettingMachines, ...]] = []
    for own in settings:
        linked = [group for group in groups if any(set(own.machines) & set(each.machines) for each in group)]
        merged = (*(each for group in linked for each in group), own)
        groups = [group for group in groups if group not in linked] + [merged]
    return tuple(sorted(groups, key=lambda group: settings.index(group[0])))


class MachineBlocks(Struct, frozen=True):
    """Machines whose differences were removed as block effects.

    ``tested`` are the options whose interaction with machine was tested, ``p_value`` is the smallest p-value of these,
    corrected for their number, and ``differing`` are the options whose effect differs between machines. Nothing is
    known of differences between settings of ``confounded`` options that no machines link, nor of ``confounded_pairs``,
    interactions that machines determine.
    """

    machines: tuple[MeasuredMachine, ...]
    tested: tuple[str, ...]
    p_value: float | None
    differing: tuple[str, ...]
    confounded: tuple[ConfoundedOption, ...] = ()
    confounded_pairs: tuple[Options, ...] = ()

    @property
    def undecided(self) -> tuple[Options, ...]:
        """The effects that cannot be distinguished from the differences between machines, or not all of them."""
        return (*((each.option,) for each in self.confounded), *self.confounded_pairs)


class ScreeningConclusion(Struct, frozen=True):
    """The result of a screening campaign, complete or not.

    ``effects`` are sorted by the size of their contrast, largest first; ``ranking`` holds all options, the most
    influential first; ``important`` those whose main effect is important; ``threshold`` is the size of contrast on the
    deciding scale above which an effect is significant; ``missing`` names effects that can no longer be estimated;
    ``done`` and ``failed`` count the runs of the design and of its follow-up, ``follow_up`` how many of them are flips;
    ``campaign`` counts all runs, pilots and those that trace failures included (None: there are no others), and
    ``seconds`` is their total time. ``suspects`` are the repeated runs and the suspect runs that were not repeated; the
    ``robust`` fit is without the latter, None if there are none. ``template`` holds the formulas that narrow the space,
    as they were written. ``conditional_effects`` are the effects of options that depend, or may depend, on another;
    ``dominating`` is the option that explains nearly all of the variance. ``machine_blocks`` describes the machines if
    there are several. ``relative_to`` is the base of the effects' changes. ``fewest_runs`` is the smallest budget whose
    runs estimate all main effects together, if these runs estimate none of them. ``command`` screens the same subject.
    """

    study: str
    subject: str
    benchmark: str
    revision: str
    metric: Metric
    scale: EffectScale
    scale_reason: str
    judged_by: Noise
    alpha: float
    relevant: float
    options: tuple[OptionSummary, ...]
    configurations: int
    design: DesignSummary
    effects: tuple[Effect, ...]
    ranking: tuple[str, ...]
    important: tuple[str, ...]
    threshold: float | None
    detectable: DetectableEffect | None
    missing: tuple[Options, ...]
    dispersion: Dispersion | None
    points: tuple[Point, ...]
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float
    warnings: tuple[str, ...]
    model: ModelSummary
    losses: Losses | None = None
    follow_up: FollowUpSummary | None = None
    lack_of_fit: LackOfFit | None = None
    suspects: tuple[SuspectRun, ...] = ()
    robust: RobustFit | None = None
    campaign: RunCounts | None = None
    template: tuple[str, ...] = ()
    conditional_effects: tuple[ConditionalEffect, ...] = ()
    dominating: DominatingOption | None = None
    machine_blocks: MachineBlocks | None = None
    relative_to: RelativeTo = RelativeTo.FIRST_SETTING
    fewest_runs: int | None = None
    command: CommandLine = CommandLine()

    @property
    def all_runs(self) -> RunCounts:
        """The runs of the whole campaign."""
        return self.campaign or RunCounts(self.done, self.failed)

    @property
    def important_or_aliased(self) -> tuple[str, ...]:
        """The options whose main effect has the verdict "important or aliased", the largest first."""
        return tuple(effect.options[0] for effect in self.effects if effect.aliased and len(effect.options) == 1)

    @property
    def influential(self) -> tuple[str, ...]:
        """The options of all important effects, interactions too, in the ranking's order."""
        named = {name for effect in self.effects if effect.shown for name in effect.options}
        return tuple(name for name in self.ranking if name in named)

    @property
    def interacting(self) -> tuple[str, ...]:
        """The options of important interactions whose main effect was not shown, in the ranking's order."""
        named = {name for effect in self.effects if effect.important for name in effect.options}
        alone = {*self.important, *self.important_or_aliased}
        return tuple(name for name in self.ranking if name in named - alone)

    @property
    def by_model(self) -> bool:
        """Whether a model was fitted to the runs of an optimal design; else contrasts of a fraction were estimated."""
        return self.design.d_efficiency is not None
