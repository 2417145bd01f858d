"""What a screening concludes, in sentences."""

from __future__ import annotations

from hati.core import Better, setting_text
from hati.report.counts import counted
from hati.report.quantities import change, duration, percent, quantity
from hati.studies.screening import Effect, Noise, Options, OptionSummary, Scale, ScreeningConclusion

IMPORTANT = "important"
NOT_SHOWN = "not shown"
DIFFERENCE_OF_MEANS = "difference of means"
LEAST_SQUARES = "least squares"

_NAMED = 4
"""How many important options a sentence names before it counts the rest."""
_TOGETHER = 2
"""How many important interactions it names beside them."""
_PAIR = 2
_SHOWN = 4
"""How many settings of an option a list names."""
_CONFOUNDED = 3
"""The resolution in which a main effect cannot be told from interactions of two options."""


def effect_name(options: Options) -> str:
    """An effect by its options: ``a`` or ``a x b``."""
    return " x ".join(options)


def verdict(effect: Effect) -> str:
    """The word for an effect."""
    return IMPORTANT if effect.important else NOT_SHOWN


def main_effect(conclusion: ScreeningConclusion, option: str) -> Effect | None:
    """The main effect of an option, or None where it was not estimated."""
    return next((effect for effect in conclusion.effects if effect.options == (option,)), None)


def option_summary(conclusion: ScreeningConclusion, name: str) -> OptionSummary:
    """The option of that name."""
    return next(option for option in conclusion.options if option.name == name)


def step(option: OptionSummary) -> str:
    """From its first setting to its second: ``FULL -> OFF``; of an option with more, how many there are."""
    if not option.two_level:
        return f"{len(option.settings)} settings"
    return f"{setting_text(option.first)} -> {setting_text(option.second)}"


def answer(conclusion: ScreeningConclusion) -> str:
    """The study's question answered in a sentence or two."""
    metric = conclusion.metric.name
    total = len(conclusion.options)
    if not conclusion.effects:
        return f"Nothing can be said about {metric} yet: no effect could be estimated."
    if conclusion.judged_by is Noise.NONE:
        return f"Which options matter for {metric} is undecided: nothing measures the noise yet."
    shown = conclusion.important[:_NAMED]
    named = "; ".join(_influence(conclusion, option) for option in shown)
    if named:
        rest = len(conclusion.important) - len(shown)
        more = f"; and {rest} more" if rest else ""
        together = _together(conclusion, _TOGETHER)
        also = f"; also together: {together}" if together else ""
        verb = "matters" if len(conclusion.important) == 1 else "matter"
        return (
            f"{len(conclusion.important)} of {total} options {verb} for {metric}: {named}{more}{also}."
            f"{_confounding(conclusion)}"
        )
    together = _together(conclusion, _NAMED)
    if together:
        return f"No option alone was shown to matter for {metric}, but combinations were: {together}."
    return f"None of the {total} options was shown to matter for {metric}."


def _together(conclusion: ScreeningConclusion, most: int) -> str:
    """The first of the important interactions, and how many more there are."""
    effects = [effect for effect in conclusion.effects if effect.important and len(effect.options) > 1]
    rest = len(effects) - most
    return ", ".join(map(_combination, effects[:most])) + (f" and {rest:,} more" if rest > 0 else "")


def _combination(effect: Effect) -> str:
    another = any(len(alias) == _PAIR for alias in effect.aliases)
    return f"{effect_name(effect.options)}{' (or an alias of it)' if another else ''}"


def _confounding(conclusion: ScreeningConclusion) -> str:
    if conclusion.design.resolution != _CONFOUNDED:
        return ""
    these = "this" if len(conclusion.important) == 1 else "each of these"
    return f" In resolution {roman(_CONFOUNDED)} {these} may be an interaction of two others."


def _influence(conclusion: ScreeningConclusion, name: str) -> str:
    effect = main_effect(conclusion, name)
    if effect is None:
        return name
    option = option_summary(conclusion, name)
    if not option.two_level:
        return f"{name} {change(effect.relative)} from its lowest to its highest setting"
    good = (effect.relative < 0) is (conclusion.metric.better is Better.LOWER)
    setting = setting_text(option.second)
    return f"{name}={setting} {change(effect.relative)} ({'better' if good else 'worse'})"


def detection(conclusion: ScreeningConclusion) -> str:
    """What could have been found, in words: no 'not shown' without it."""
    found = conclusion.detectable
    if found is None:
        return "How small an effect could have been found is unknown: nothing measures the noise."
    if len({point.value for point in conclusion.points}) == 1:
        return "All values are equal: no effect was seen, and no noise that it would have had to stand out of."
    size = quantity(found.estimate, conclusion.metric.unit, 2)
    share = percent(found.relative, 2)
    if conclusion.scale is Scale.LOG:
        share = f"+{share} or -{percent(found.relative / (1 + found.relative), 2)}"
    return f"An effect of {share} ({size}) or more would have been found with 80 % power; smaller ones may exist."


def not_listed(effects: int) -> str:
    """How many smaller effects a table leaves out."""
    if effects == 1:
        return "1 smaller effect is not listed; it was not shown."
    return f"{effects:,} smaller effects are not listed; none of them was shown."


def judgement(conclusion: ScreeningConclusion) -> str:
    """What 'important' means here."""
    smallest = percent(conclusion.relevant)
    if conclusion.judged_by is Noise.NONE:
        return "No effect is called important while nothing measures the noise."
    level = percent(conclusion.alpha)
    noise = {
        Noise.PURE_ERROR: "the differences between repetitions",
        Noise.LENTH: "Lenth's pseudo standard error",
        Noise.RESIDUALS: "permutations of what the model leaves",
    }[conclusion.judged_by]
    return (
        f"Important: significant at {level} over all effects together, judged by {noise}, and larger than {smallest}."
    )


def scale_sentence(conclusion: ScreeningConclusion) -> str:
    """The deciding scale, with the reason for it."""
    name = "logarithmic" if conclusion.scale is Scale.LOG else "raw"
    reason = conclusion.scale_reason.strip().rstrip(".")
    return f"Decided on the {name} scale: {reason}." if reason else f"Decided on the {name} scale."


def estimated_by(conclusion: ScreeningConclusion) -> str:
    """How effects are estimated: in a complete design as differences of means, in one that lost runs by a fit."""
    fitted = conclusion.by_model or conclusion.done < conclusion.design.runs
    return LEAST_SQUARES if fitted else DIFFERENCE_OF_MEANS


def estimate_meaning(conclusion: ScreeningConclusion) -> str:
    """What an estimate is, and which direction is good."""
    if conclusion.by_model:
        several = any(len(option.settings) > 2 for option in conclusion.options)
        more = ", of options with more settings the highest mean minus the lowest" if several else ""
        return (
            f"Effect = mean {conclusion.metric.name} at the second setting minus that at the first{more}, "
            f"by least squares; {conclusion.metric.better.value} is better."
        )
    lost = estimated_by(conclusion) == LEAST_SQUARES
    return (
        f"Effect = mean {conclusion.metric.name} at the second setting minus that at the first"
        f"{', by least squares over the runs that there are' if lost else ''}; "
        f"{conclusion.metric.better.value} is better."
    )


def interval_meaning(conclusion: ScreeningConclusion) -> tuple[str, ...]:
    """What intervals and verdicts refer to; nothing where there are none."""
    if conclusion.judged_by is Noise.NONE:
        return ()
    return ("Intervals are for each effect by itself; verdicts are for all together.",)


def space_size(conclusion: ScreeningConclusion) -> str:
    """``14 options, 16,384 configurations``."""
    options = len(conclusion.options)
    return f"{counted(options, 'option')}, {counted(conclusion.configurations, 'configuration')}"


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
    return (
        f"{size}{resolution}: {counted(design.configurations, 'configuration')} x "
        f"{counted(design.repetitions, 'repetition')} = {counted(design.runs, 'run')}"
    )


def run_summary(conclusion: ScreeningConclusion) -> str:
    """``96 done, 0 failed, 2 min 5 s in all``."""
    return f"{conclusion.done:,} done, {conclusion.failed:,} failed, {duration(conclusion.seconds)} in all"


def settings_summary(conclusion: ScreeningConclusion, most: int = 24) -> str:
    """The options with their first and second setting: ``journal_mode DELETE/WAL, ...``."""
    named = [f"{o.name} {'/'.join(map(setting_text, o.settings[:_SHOWN]))}{_etc(o)}" for o in conclusion.options[:most]]
    rest = len(conclusion.options) - len(named)
    return ", ".join(named) + (f" and {rest:,} more" if rest else "")


def _etc(option: OptionSummary) -> str:
    return "/..." if len(option.settings) > _SHOWN else ""


def aliased_with(effect: Effect, most: int) -> str:
    """The other members of the alias set, of the lowest order first; after the first few only how many more."""
    names = [effect_name(alias) for alias in sorted(effect.aliases, key=len)[:most]]
    rest = len(effect.aliases) - len(names)
    return ", ".join(names) + (f" and {rest:,} more" if rest else "")


def roman(number: int) -> str:
    """A resolution as it is written."""
    ones = ("", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX")
    return "X" * (number // 10) + ones[number % 10]
