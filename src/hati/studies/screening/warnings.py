"""Warnings of a screening study, each with its remedy, which depends on the source of its runs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from msgspec import Struct

from hati.core import Configuration, FloatArray, Run, replace, setting_text
from hati.core.wording import counted, effect_name, listed
from hati.document.document import percent
from hati.stats import Signs, Term
from hati.studies.screening.changes import EffectAnalysis
from hati.studies.screening.conclusion import (
    ConfoundedOption,
    DesignSummary,
    MachineBlocks,
    Noise,
    Options,
    SettingMachines,
)
from hati.studies.screening.contrasts import Analysis, Estimated, likely_pairs
from hati.studies.screening.planning.models import PARTIAL, ModelChoice
from hati.studies.screening.runs import MeasuredDesign
from hati.studies.screening.spread import Spread, drift, shown_effects

_FOUR_TIMES = 4


class Remedies(Struct, frozen=True):
    """The advice in warnings, in words; empty where there is none.

    ``repeated_from`` is the smallest budget that runs every configuration twice, None if there is none; ``available``
    is the number of available runs. ``failures`` says where to see failed runs, ``fix_setting`` how to handle a setting
    with which all fail, ``lost`` how to estimate an effect that was lost, ``more`` what four times the runs do against
    noise, ``unmodelled`` what they do against effects that a model lacks, ``unmade`` how to have the planned runs
    that were not made, ``flips`` why flips were not made, and ``rest`` how to keep values from drifting: if it is
    empty, runs have no order in time.
    """

    repeated_from: int | None = None
    available: float = math.inf
    failures: str = "see `hati runs`"
    fix_setting: str = "fix or drop that setting, or forbid it by a constraint, then start afresh with --fresh"
    lost: str = "more of the planned runs are needed"
    more: str = "four times as many runs, or longer ones, halve that"
    unmodelled: str = "four times as many runs halve that, longer ones do not"
    unmade: str = "if the budget is spent, give a larger one, else run the same command again"
    flips: str = ""
    rest: str = "run fewer other programs on the machine"

    def against_noise(self, runs: int) -> str:
        """The remedy that halves the noise of a study of ``runs`` runs; empty where the runs are not available."""
        return self.more if _FOUR_TIMES * runs <= self.available else ""


OF_PROGRAMS = Remedies()

OF_TABLES = Remedies(
    failures="",
    fix_setting="drop that setting from the space, or forbid it by a constraint",
    lost="if what the table does not have is not valid, say so by a constraint of the space",
    more="four times as many runs halve that",
    unmodelled="four times as many runs halve that",
    rest="",
)


def of_table(available: float, *, repeated_from: int | None, failures: str) -> Remedies:
    """The remedies where runs are looked up in a table with ``available`` runs."""
    return replace(OF_TABLES, available=available, repeated_from=repeated_from, failures=failures)


def advised(what: str, advice: str) -> str:
    """A warning with the advice, if there is any."""
    return f"{what}; {advice}" if advice else what


def ambiguities(effects: Sequence[Estimated], names: Sequence[str]) -> Iterator[str]:
    """A sentence for each important effect that may well be one of its aliases.

    By effect heredity an interaction is likely where its options matter individually.

    Args:
        effects: all effects of a study.
        names: the options.
    """
    main = {effect.term[0] for effect in effects if len(effect.term) == 1 and effect.important}
    for effect in effects:
        if effect.important:
            yield from (_of_main if len(effect.term) == 1 else _of_pair)(effect, main, names)


def _of_main(effect: Estimated, main: set[int], names: Sequence[str]) -> Iterator[str]:
    pairs = [term for term in effect.aliases if len(term) == 2 and main.issuperset(term)]
    if pairs:
        yield (
            f"the effect of {names[effect.term[0]]} may be the interaction {_either(pairs, names)}, whose options are "
            "important too; the design cannot tell which: a larger budget can"
        )


def _of_pair(effect: Estimated, main: set[int], names: Sequence[str]) -> Iterator[str]:
    pairs = [term for term in (effect.term, *effect.aliases) if len(term) == 2]
    triples = [term for term in effect.aliases if len(term) == 3 and main.issuperset(term)]
    if triples and not any(main.intersection(pair) for pair in pairs):
        yield (
            f"the important interaction {listed(_words(pairs, names))} is more likely {_either(triples, names)}: these "
            "options have important main effects; the design cannot tell which: a larger budget can"
        )
    elif len(pairs) > 1:
        likely = likely_pairs(effect, main)
        guess = f", most likely {_words(likely, names)[0]}" if len(likely) == 1 else ""
        yield (
            f"an important interaction is one of {listed(_words(pairs, names))}{guess}; "
            "the design cannot tell which: a larger budget can"
        )


def _words(terms: Sequence[Term], names: Sequence[str]) -> list[str]:
    return [effect_name(names[option] for option in term) for term in terms]


def _either(terms: Sequence[Term], names: Sequence[str]) -> str:
    return " or ".join(_words(terms, names))


DRIFT = 0.01
"""Drift is reported below this p-value."""

_COARSE = 5.0
"""A study is coarse if it misses effects of this multiple of the relevant size, and of ``_NOTABLE``."""

_NOTABLE = 0.05


class Situation(Struct, frozen=True, eq=False):
    """The basis of a study's warnings."""

    names: tuple[str, ...]
    matrix: Signs
    design: DesignSummary
    measured: MeasuredDesign
    analysis: Analysis
    spread: Spread | None
    relevant: float
    remedies: Remedies
    machines: MachineBlocks | None = None


def warnings(situation: Situation) -> tuple[str, ...]:
    """All warnings that apply, the most serious first."""
    kinds = (_missing_runs, _failed_settings, _lost_effects, _weak, _noise, _confounded, _drift, _coarse)
    return tuple(text for kind in (*kinds, _ambiguous, _mixed_signs) for text in kind(situation))


def _missing_runs(s: Situation) -> Iterator[str]:
    yield from failure_warning(s.measured, "more of them are aliased", s.remedies)
    yield from unmade_warning(s.measured, s.design.runs, s.remedies)


def failure_warning(found: MeasuredDesign, loss: str, remedies: Remedies) -> Iterator[str]:
    """A warning if runs failed, with what the estimates lose by it."""
    done, failed = len(found.values), len(found.failed)
    if failed:
        yield advised(
            f"{failed} of {done + failed} runs failed, most often because: {found.reasons[0]}; "
            f"effects are estimated from the others, and {loss}",
            remedies.failures,
        )


def unmade_warning(found: MeasuredDesign, planned: int, remedies: Remedies) -> Iterator[str]:
    """A warning if ``planned`` runs were not made."""
    unmade = planned - len(found.values) - len(found.failed)
    if unmade > 0:
        yield f"{unmade} of {planned} planned runs {'was' if unmade == 1 else 'were'} not made; {remedies.unmade}"


def _failed_settings(s: Situation) -> Iterator[str]:
    yield from failed_settings_warning(s.measured, s.remedies)


def failed_settings_warning(found: MeasuredDesign, remedies: Remedies) -> Iterator[str]:
    """A warning if all failed runs have a setting in common that few others have."""
    shared = _common_settings(found.failed, found.runs)
    if shared:
        yield advised(f"all {len(found.failed)} failed runs have {listed(shared)}", remedies.fix_setting)


def _common_settings(failed: Sequence[Run], done: Sequence[Run]) -> list[str]:
    """The settings that all failed runs have, and at most half of the others; none for a single configuration."""
    configurations = {run.task.configuration for run in failed}
    if len(configurations) < 2:
        return []
    first = next(iter(configurations))
    return [
        f"{name}={setting_text(setting)}"
        for name, setting in first.items()
        if all(_has(other, name, setting) for other in configurations)
        and 2 * sum(_has(run.task.configuration, name, setting) for run in done) <= len(done)
    ]


def _has(configuration: Configuration, name: str, setting: object) -> bool:
    found = configuration.get(name)
    return type(found) is type(setting) and found == setting


def _lost_effects(s: Situation) -> Iterator[str]:
    of_machines = () if s.machines is None else s.machines.undecided
    names = [tuple(s.names[option] for option in term) for term in s.analysis.missing]
    if lost := [effect_name(each) for each in names if each not in of_machines]:
        yield advised(f"the available runs cannot estimate {listed(lost)}", s.remedies.lost)


def _weak(s: Situation) -> Iterator[str]:
    if s.design.resolution is not None and s.design.resolution < 4:
        yield (
            "the design has resolution III: each main effect is aliased with two-factor interactions; "
            "a larger budget gives resolution IV"
        )


def _noise(s: Situation) -> Iterator[str]:
    fewest = s.remedies.repeated_from if s.design.repetitions == 1 else None
    twice = f"a budget of {fewest} runs and more repeats every configuration" if fewest else ""
    if s.analysis.judged_by is Noise.NONE:
        yield advised("too few runs to distinguish effects from noise, so none is called important", twice)
    elif s.analysis.judged_by is Noise.LENTH and s.design.repetitions == 1:
        yield advised("no repetitions: noise is judged by the smaller effects, supposing that most do nothing", twice)
    elif s.analysis.judged_by is Noise.LACK_OF_FIT:
        yield (
            "most effects are larger than the noise: effects that the fraction does not list bias those that it does; "
            "a screening without a fraction (`--fresh`) has no such bias"
        )
    elif s.analysis.judged_by is Noise.LENTH:
        yield "too few repetitions were made to judge noise by them: it is judged by the smaller effects"


def _drift(s: Situation) -> Iterator[str]:
    effects = shown_effects(s.analysis, s.matrix[s.measured.rows])
    yield from drift_warning(s.analysis.readable.values, s.measured, effects, s.remedies)


def drift_warning(values: FloatArray, found: MeasuredDesign, effects: FloatArray, remedies: Remedies) -> Iterator[str]:
    """A warning if values rise or fall over the order of runs, which are known if they can be kept from it."""
    if not remedies.rest:
        return
    correlation, p_value = drift(values, found.rows, found.order, found.machine_columns, effects)
    if p_value < DRIFT:
        way = "rise" if correlation > 0 else "fall"
        yield (
            f"values {way} over the order of runs (rank correlation {correlation:.2f}, p = {p_value:.2g}), "
            f"for which effects are adjusted; {remedies.rest}"
        )


def _confounded(s: Situation) -> Iterator[str]:
    of_variance = () if s.spread is None else s.spread.analysis.confounded
    terms = dict.fromkeys((*s.analysis.confounded, *of_variance))
    yield from confounded_warning([effect_name(s.names[option] for option in term) for term in terms])


def confounded_warning(effects: Sequence[str]) -> Iterator[str]:
    """A warning that these effects cannot be distinguished from drift, if there are any."""
    if effects:
        yield (
            f"{listed(effects)} {'is' if len(effects) == 1 else 'are'} confounded with the order of runs, so that "
            "drift may look like an effect: not called important; run the plan in its random order"
        )


def _coarse(s: Situation) -> Iterator[str]:
    advice = s.remedies.against_noise(s.design.runs)
    yield from coarse_warning(s.analysis, s.relevant, "the noise hides effects", advice)


def coarse_warning(analysis: EffectAnalysis, relevant: float, hidden: str, advice: str) -> Iterator[str]:
    """A warning if the smallest detectable effect is large; ``hidden`` says what hides smaller ones."""
    found = analysis.detectable
    if found is not None and found[1] > max(_COARSE * relevant, _NOTABLE):
        yield advised(f"{hidden} below {percent(found[1], 2)}, the smallest that is found with 80 % power", advice)


def _ambiguous(s: Situation) -> Iterator[str]:
    yield from ambiguities(s.analysis.effects, s.names)


def _mixed_signs(s: Situation) -> Iterator[str]:
    yield from mixed_signs_warning(s.measured.values)


def mixed_signs_warning(values: FloatArray) -> Iterator[str]:
    """A warning if values are on both sides of zero."""
    if np.min(values) < 0.0 < np.max(values):
        yield "values are below and above zero: fractions are of their mean size, and say little; look at the unit"


def machine_warnings(blocks: MachineBlocks | None) -> Iterator[str]:
    """Warnings if machines interact with options, or have settings of their own."""
    if blocks is None:
        return
    yield from map(_of_machines, blocks.confounded)
    if blocks.confounded_pairs:
        yield _of_pairs(blocks.confounded_pairs)
    if not blocks.differing:
        return
    one = len(blocks.differing) == 1
    yield (
        f"the effect{'' if one else 's'} of {listed(blocks.differing)} {'is' if one else 'are'} not the same on all "
        f"machines (interaction with machine, smallest p = {blocks.p_value:.2g}): what is shown is the mean over the "
        "machines; screen each machine alone"
    )


def _of_pairs(pairs: Sequence[Options]) -> str:
    plural, they, them = ("", "it", "it") if len(pairs) == 1 else ("s", "they", "them")
    return (
        f"machines determine the interaction{plural} {listed(map(effect_name, pairs))}: {they} cannot be distinguished "
        f"from the other differences between machines, and nothing is said of {them}"
    )


def _of_machines(each: ConfoundedOption) -> str:
    ran = "; ".join(_group(own) for own in each.groups)
    text = (
        f"each machine ran one setting of {each.option} ({ran}): its effect cannot be distinguished from the other "
        "differences between these machines, and nothing is said of it"
        if each.is_unknown
        else f"no machines link all settings of {each.option} ({ran}): differences between these groups cannot be "
        "distinguished from those between their machines, and nothing is said of them"
    )
    if each.within is None:
        more = "several of the settings" if each.is_unknown else "settings of several groups"
        return f"{text}; a machine that has {more} would show {'it' if each.is_unknown else 'them'}"
    return f"{text}; machines with the same setting differ by up to {percent(each.within, 2)}"


def _group(settings: Sequence[SettingMachines]) -> str:
    machines = dict.fromkeys(machine for own in settings for machine in own.machines)
    return f"{listed([setting_text(own.setting) for own in settings])} on {listed(list(machines))}"


def partial_warnings(choice: ModelChoice) -> tuple[str, ...]:
    """A warning if the budget left did not suffice for a design without the settings that do not work."""
    if choice.kind != PARTIAL:
        return ()
    return (
        "the runs that were left are too few for a design without what does not work: effects are estimated from the "
        f"{counted(choice.configurations, 'configuration')} that had been run; give a larger budget",
    )
