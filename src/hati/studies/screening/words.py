"""The conclusion of a screening in sentences."""

from __future__ import annotations

import math
from collections.abc import Iterable

from hati.core import Better, setting_text
from hati.core.wording import counted, effect_name, listed
from hati.document.document import change, duration, percent, quantity, roman
from hati.studies.screening import (
    Effect,
    EffectScale,
    EffectVerdict,
    Losses,
    Noise,
    OptionSummary,
    ScreeningConclusion,
)
from hati.studies.screening.support import (
    MOST_NAMED,
    refuted_sentence,
    screening_command,
    sufficient_runs,
    suspects_sentence,
)

IMPORTANT = EffectVerdict.IMPORTANT.value
ALIASED = EffectVerdict.ALIASED.value
NOT_SHOWN = EffectVerdict.NOT_SHOWN.value
DIFFERENCE_OF_MEANS = "difference of means"
LEAST_SQUARES = "least squares"

_TOGETHER = 2
"""The number of important interactions that the sentence names in addition."""
_PAIR = 2
_SHOWN = 4
"""The number of settings of an option that a list names."""
_ALIASED_WITH = {3: "two", 4: "three"}
"""The number of options in the interactions that a main effect is aliased with, by the resolution."""


def verdict(effect: Effect) -> str:
    """The word for an effect."""
    return effect.verdict.value


def main_effect(conclusion: ScreeningConclusion, option: str) -> Effect | None:
    """The main effect of an option, or None where it was not estimated."""
    return next((effect for effect in conclusion.effects if effect.options == (option,)), None)


def option_summary(conclusion: ScreeningConclusion, name: str) -> OptionSummary:
    """The option of that name."""
    return next(option for option in conclusion.options if option.name == name)


def answer(conclusion: ScreeningConclusion) -> str:
    """The study's answer in a sentence or two, with what machines hide, refuted effects, suspect runs and lost runs."""
    sentences = _effects_answer, _of_machines, refuted_sentence, suspects_sentence, losses
    return " ".join(filter(None, (sentence(conclusion) for sentence in sentences)))


def losses(conclusion: ScreeningConclusion) -> str:
    """The number of runs that failed, and the settings left out because of it; empty if no run failed.

    If some of the design and its follow-up failed, and there are other runs, such as pilots, their number is added.
    """
    analysed = Losses(conclusion.failed, conclusion.done + conclusion.failed)
    lost = conclusion.losses or analysed
    if not lost.failed:
        return ""
    left_out = f"; left out because it does not work: {', '.join(lost.excluded)}" if lost.excluded else ""
    apart = ""
    if analysed.failed and lost.made != analysed.made:
        apart = f" ({analysed.failed:,} of the {analysed.made:,} of the design and its follow-up)"
    return f"{lost.failed:,} of {counted(lost.made, 'run')} failed{apart}{left_out}."


def _effects_answer(conclusion: ScreeningConclusion) -> str:
    metric = conclusion.metric.name
    total = len(conclusion.options)
    measured = len({point.configuration for point in conclusion.points})
    if measured > 1 and _all_equal(conclusion):
        return f"All values of {metric} are equal: no option had an effect in these {measured:,} configurations."
    if not conclusion.effects:
        return _nothing_estimated(conclusion)
    if conclusion.judged_by is Noise.NONE:
        return f"Which options matter for {metric} is undecided: nothing measures the noise yet."
    found = _found(conclusion, metric, total)
    if found:
        together = _together(conclusion, _TOGETHER)
        also = f"; also together: {together}" if together else ""
        return f"{'; '.join(found)}{also}.{_confirming(conclusion)}"
    together = _together(conclusion, MOST_NAMED)
    if together:
        return f"No option alone was shown to matter for {metric}, but combinations were: {together}."
    return f"None of the {total} options was shown to matter for {metric}."


def _nothing_estimated(conclusion: ScreeningConclusion) -> str:
    """Why no effect is estimated, and the runs that suffice for all together."""
    start, needed = f"Nothing can be said about {conclusion.metric.name} yet", conclusion.fewest_runs
    if needed is None:
        return f"{start}: no effect could be estimated."
    runs, options = counted(conclusion.done, "run"), counted(len(conclusion.options), "option")
    why = f"{start}: the effects of {options} cannot be estimated together from {runs}."
    if conclusion.design.runs >= needed:
        return f"{why} The {conclusion.design.runs:,} planned runs suffice."
    command = screening_command(conclusion, "--budget", str(needed))
    return f"{why} From {needed:,} runs on they can be estimated: `{command}`."


def _of_machines(conclusion: ScreeningConclusion) -> str:
    """The options, and the pairs of options, whose effects are confounded with those of machines."""
    blocks = conclusion.machine_blocks
    if blocks is None or not blocks.undecided:
        return ""
    unknown = listed([each.option for each in blocks.confounded if each.is_unknown], MOST_NAMED)
    partly = listed([each.option for each in blocks.confounded if not each.is_unknown], MOST_NAMED)
    found = [f"Nothing is known of {unknown}: each machine ran one setting of it only."] if unknown else []
    found += [f"Not all settings of {partly} can be compared: no machines link them."] if partly else []
    pairs = listed([" and ".join(pair) for pair in blocks.confounded_pairs], MOST_NAMED, "; ")
    found += [f"Nothing is known of how these interact, since machines determine it: {pairs}."] if pairs else []
    return " ".join(found)


def _all_equal(conclusion: ScreeningConclusion) -> bool:
    return len({point.value for point in conclusion.points}) == 1


def _found(conclusion: ScreeningConclusion, metric: str, total: int) -> list[str]:
    """The options that are important, or important or aliased, with their effects; and those that only interact."""
    important, aliased = conclusion.important, conclusion.important_or_aliased
    found = []
    if important:
        verb = "matters" if len(important) == 1 else "matter"
        found.append(f"{len(important)} of {total} options {verb} for {metric}: {_influences(conclusion, important)}")
    if aliased:
        verb = "is" if len(aliased) == 1 else "are"
        many = f"{len(aliased)} more {verb} {ALIASED}"
        whole = many if important else f"{len(aliased)} of {total} options {verb} {ALIASED} for {metric}"
        found.append(f"{whole}: {_influences(conclusion, aliased)}")
    if found and conclusion.interacting:
        found.append(f"only by interactions: {listed(conclusion.interacting, MOST_NAMED)}")
    return found


def _influences(conclusion: ScreeningConclusion, options: tuple[str, ...]) -> str:
    return listed((_influence(conclusion, option) for option in options), MOST_NAMED, "; ")


def _together(conclusion: ScreeningConclusion, most: int) -> str:
    """The first of the important interactions, and how many more there are."""
    effects = [effect for effect in conclusion.effects if effect.shown and len(effect.options) > 1]
    return listed(map(_combination, effects), most)


def _combination(effect: Effect) -> str:
    another = any(len(alias) == _PAIR for alias in effect.aliases)
    return f"{effect_name(effect.options)}{' (or an alias of it)' if another else ''}"


def _confirming(conclusion: ScreeningConclusion) -> str:
    """What the design cannot distinguish, and the commands that would; empty if no option is aliased."""
    aliased = conclusion.important_or_aliased
    if not aliased:
        return ""
    these = "this effect" if len(aliased) == 1 else "these effects"
    order = _ALIASED_WITH.get(conclusion.design.resolution or 0)
    others = f"interactions of {order} options" if order else "other effects"
    again = screening_command(conclusion, "--fresh", "--budget", str(sufficient_runs(conclusion)))
    validate = conclusion.command.validate(conclusion.study, conclusion.metric.name)
    confirm = f"`{validate}`, or by " if conclusion.command.resumable else ""
    return f" The design cannot distinguish {these} from {others}: confirm by {confirm}another design, `{again}`."


def _influence(conclusion: ScreeningConclusion, name: str) -> str:
    effect = main_effect(conclusion, name)
    if effect is None:
        return name
    option = option_summary(conclusion, name)
    if not option.two_level:
        return _settings_influence(conclusion, effect)
    good = (effect.contrast < 0) is (conclusion.metric.better is Better.LOWER)
    setting = setting_text(option.second)
    return f"{name}={setting} {_changed(conclusion, effect)} ({'better' if good else 'worse'})"


def _settings_influence(conclusion: ScreeningConclusion, effect: Effect) -> str:
    """The settings between which the effect is, which of them is the better, and the change between them."""
    (name,) = effect.options
    if effect.ends is None:
        return f"{name} {_changed(conclusion, effect)} from the setting with the lowest mean to that with the highest"
    low, high = effect.ends
    first, second = ("best", "worst") if conclusion.metric.better is Better.LOWER else ("worst", "best")
    ends = f"{setting_text(low)} ({first}) to {setting_text(high)} ({second})"
    return f"{name}={ends} {_changed(conclusion, effect)}"


def _changed(conclusion: ScreeningConclusion, effect: Effect) -> str:
    """The change by an effect; from a mean that may be zero, in the metric's unit."""
    if math.isfinite(effect.relative):
        return change(effect.relative)
    return f"{'+' if effect.estimate > 0.0 else ''}{quantity(effect.estimate, conclusion.metric.unit, 3)}"


def detection(conclusion: ScreeningConclusion) -> str:
    """The smallest effect that would have been found, in words: no 'not shown' without it."""
    found = conclusion.detectable
    if found is None:
        return "How small an effect could have been found is unknown: nothing measures the noise."
    if _all_equal(conclusion):
        return "All values are equal: the runs show neither an effect nor noise."
    size = quantity(found.estimate, conclusion.metric.unit, 2)
    share = percent(found.relative, 2)
    both = f"+{share} or -{percent(found.relative / (1 + found.relative), 2)}"
    share = both if conclusion.scale is EffectScale.LOG else f"{share} of the mean"
    return f"An effect of {share} ({size}) or more would have been found with 80 % power; smaller ones may exist."


def not_listed(effects: int) -> str:
    """How many smaller effects a table leaves out."""
    if effects == 1:
        return "1 smaller effect is not listed; it was not shown."
    return f"{effects:,} smaller effects are not listed; none of them was shown."


def judgement(conclusion: ScreeningConclusion) -> str:
    """The meaning of 'important' in this screening."""
    smallest = percent(conclusion.relevant)
    if conclusion.judged_by is Noise.NONE:
        return "No effect is called important while nothing measures the noise."
    level = percent(conclusion.alpha)
    noise = {
        Noise.PURE_ERROR: "the differences between repetitions",
        Noise.LENTH: "the adaptive standard error of all contrasts",
        Noise.LACK_OF_FIT: "the adaptive standard error of all contrasts, larger than repetitions explain",
        Noise.RESIDUALS: "permutations of the model's residuals",
    }[conclusion.judged_by]
    return (
        f"Important: significant at {level} over all effects together, judged by {noise}, and larger than {smallest}."
    )


def scale_sentence(conclusion: ScreeningConclusion) -> str:
    """The deciding scale, with the reason for it."""
    name = "logarithmic" if conclusion.scale is EffectScale.LOG else "raw"
    reason = conclusion.scale_reason.strip().rstrip(".")
    return f"Decided on the {name} scale: {reason}." if reason else f"Decided on the {name} scale."


def estimated_by(conclusion: ScreeningConclusion) -> str:
    """How effects are estimated: in a complete design as differences of means, in one that lost runs by a fit."""
    fitted = conclusion.by_model or conclusion.done < conclusion.design.runs
    return LEAST_SQUARES if fitted else DIFFERENCE_OF_MEANS


def estimate_meaning(conclusion: ScreeningConclusion) -> str:
    """The meaning of an estimate, and which direction is better."""
    if conclusion.by_model:
        several = any(len(option.settings) > 2 for option in conclusion.options)
        way = "best to worst" if conclusion.metric.better is Better.LOWER else "worst to best"
        more = f", of options with more settings the largest between two ({way})" if several else ""
        return (
            f"Effect = mean change of {conclusion.metric.name} from the first setting to the second{more}, over "
            f"configurations that allow both, by least squares; {conclusion.metric.better.value} is better."
        )
    lost = estimated_by(conclusion) == LEAST_SQUARES
    return (
        f"Effect = mean {conclusion.metric.name} at the second setting minus that at the first"
        f"{', by least squares over the available runs' if lost else ''}; "
        f"{conclusion.metric.better.value} is better."
    )


def interaction_meaning(conclusion: ScreeningConclusion, effects: Iterable[Effect]) -> tuple[str, ...]:
    """The meaning of the size of an interaction of options with more than two settings; empty without such."""
    several = {option.name for option in conclusion.options if not option.two_level}
    if not any(len(effect.options) > 1 and several & {*effect.options} for effect in effects):
        return ()
    return (
        "Effect of an interaction = how far the means of combinations of settings are from what the options' other "
        "effects add up to: the highest of these differences minus the lowest.",
    )


def adjustment(conclusion: ScreeningConclusion) -> tuple[str, ...]:
    """What effects are adjusted for; empty for runs without an order in time, such as those of a table."""
    timed = len(conclusion.points) > 1 and conclusion.seconds > 0.0
    return ("Effects are adjusted for a linear trend over the order of runs.",) if timed else ()


def interval_meaning(conclusion: ScreeningConclusion) -> tuple[str, ...]:
    """The scope of intervals and verdicts; empty if there are none."""
    if conclusion.judged_by is Noise.NONE:
        return ()
    return ("Intervals are for each effect individually; verdicts are for all together.",)


def space_size(conclusion: ScreeningConclusion) -> str:
    """``13 options, 8,192 configurations, where journal_mode=WAL``."""
    options = len(conclusion.options)
    size = f"{counted(options, 'option')}, {counted(conclusion.configurations, 'configuration')}"
    return f"{size}, where {'; '.join(conclusion.template)}" if conclusion.template else size


def design_summary(conclusion: ScreeningConclusion) -> str:
    """``2^(14-9) fraction, resolution IV: 32 configurations x 3 repetitions = 96 runs``."""
    design = conclusion.design
    factors = len(conclusion.options)
    if design.d_efficiency is not None:
        size = f"{design.kind} design"
    elif design.generators:
        size = f"2^({factors}-{len(design.generators)}) fraction"
    else:
        size = f"2^{factors} full factorial" if design.configurations == 2**factors else design.kind
    resolution = f", resolution {roman(design.resolution)}" if design.generators and design.resolution else ""
    again = f", {design.replicated} of them once more" if design.replicated else ""
    flips = f", then up to {counted(conclusion.follow_up.planned, 'run')} of flips" if conclusion.follow_up else ""
    return (
        f"{size}{resolution}: {counted(design.configurations, 'configuration')} x "
        f"{counted(design.repetitions, 'repetition')}{again} = {counted(design.runs, 'run')}{flips}"
    )


def noise_summary(conclusion: ScreeningConclusion) -> str:
    """How much runs vary, and the model's residuals; empty where no configuration was repeated.

    ``runs vary by 2.1 % (3 repeated), what the model leaves by 8.3 %: effects that it lacks``
    """
    found = conclusion.lack_of_fit
    if found is None:
        return ""
    why = "effects that it lacks" if found.found else "not shown to be more than noise"
    return (
        f"runs vary by {percent(found.noise, 2)} ({found.repeated} repeated), "
        f"what the model leaves by {percent(found.left, 2)}: {why}"
    )


def machines_summary(conclusion: ScreeningConclusion) -> str:
    """The differences between machines, and whether options have the same effect on each; empty for one machine.

    ``b12 +30.0 % relative to a7: removed, as a difference between blocks; the effect of no option differs between
    machines (8 tested, p >= 0.31)``
    """
    found = conclusion.machine_blocks
    if found is None:
        return ""
    first, *others = found.machines
    apart = listed([f"{each.fingerprint} {change(each.offset)}" for each in others], len(others))
    if not found.tested:
        checked = "too few runs to test whether effects differ between machines"
    elif found.differing:
        checked = f"the effect of {listed(found.differing)} differs between machines (p = {found.p_value:.2g})"
    else:
        checked = (
            f"the effect of no option differs between machines ({len(found.tested)} tested, p >= {found.p_value:.2g})"
        )
    return f"{apart} relative to {first.fingerprint}: removed, as a difference between blocks; {checked}"


def run_summary(conclusion: ScreeningConclusion) -> str:
    """``96 done, 0 failed, 2 min 5 s in all``; else all runs, by their purpose, and how many values are analysed.

    A run that is repeated has one value, the median.
    """
    made, time = conclusion.all_runs, duration(conclusion.seconds)
    own = f"{made.done:,} done, {made.failed:,} failed"
    if made.done == conclusion.done and made.failed == conclusion.failed and len(made.purposes) <= 1:
        return f"{own}, {time} in all"
    purposes = ", ".join(f"{count:,} {purpose}" for purpose, count in made.purposes)
    listed_by = f" ({purposes})" if purposes else ""
    return f"{own}{listed_by}, {time} in all; {conclusion.done:,} values in the analysis"


def settings_summary(conclusion: ScreeningConclusion, most: int = 24) -> str:
    """The options with their first and second setting: ``journal_mode DELETE/WAL, ...``."""
    named = [f"{o.name} {'/'.join(map(setting_text, o.settings[:_SHOWN]))}{_etc(o)}" for o in conclusion.options]
    return listed(named, most)


def _etc(option: OptionSummary) -> str:
    return "/..." if len(option.settings) > _SHOWN else ""


def aliased_with(effect: Effect, most: int) -> str:
    """The other members of the alias set, lowest order first; beyond ``most`` only their number."""
    return listed(map(effect_name, sorted(effect.aliases, key=len)), most)
