"""What supports the effects of a screening: effects at other settings, the follow-up by flips, and suspect runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from types import MappingProxyType
from typing import Annotated

from msgspec import UNSET, Struct, UnsetType, field

from hati.core import Assignment, Setting, setting_text
from hati.core.wording import counted, listed
from hati.document.document import Shown, Table, change_number, change_range, columns_of, fixed, quantity
from hati.document.publishing import Interval, Of, Settings
from hati.space import assignment_text, parse_formula, template_texts
from hati.space.constraint import literal_text, name_text
from hati.stats.terms import LEAST_LEFT
from hati.studies.screening import DominatingOption, FlipEvidence, FlipVerdict, RobustFit, ScreeningConclusion
from hati.studies.screening.conclusion import DOMINATING, Narrowing


def conditional_table(conclusion: ScreeningConclusion) -> Table | None:
    """The effects of options at the settings of others that they may depend on; None where there are none."""
    found = conclusion.conditional_effects
    if not found:
        return None
    notes = ["Each change is from the first to the second of the settings shown, averaged over the options not named."]
    several = {option.name for option in conclusion.options if not option.two_level}
    if any(effect.option in several for effect in found):
        notes.append("Of options with more settings, these are the ones with the lowest and the highest mean there.")
    if any(effect.found for effect in found):
        notes.append("Found: the effect depends on the other option, by an important interaction.")
    if not all(effect.found for effect in found):
        notes.append("Not excluded: by these runs, the effect may differ by half between settings.")
    notes += _unknown_changes(conclusion)
    notes += unbounded_note(effect.interval for effect in found)
    return Table(
        f"Effects on {conclusion.metric.name} at each setting of another option",
        columns_of("effect of | at | > change (%) | > 95 % interval (%) | interaction"),
        tuple(
            (
                f"{each.option}: {setting_text(each.before)} -> {setting_text(each.after)}",
                str(each.at),
                Shown(change_number(each.relative), 100 * each.relative),
                interval_cell(each.interval),
                "found" if each.found else "not excluded",
            )
            for each in found
        ),
        tuple(notes),
    )


def _unknown_changes(conclusion: ScreeningConclusion) -> list[str]:
    """A note on each option that has no value at some settings of the options that it depends on."""
    shown: dict[tuple[str, tuple[str, ...]], list[Assignment]] = {}
    for effect in conclusion.conditional_effects:
        shown.setdefault((effect.option, tuple(effect.at)), []).append(effect.at)
    settings = {option.name: option.settings for option in conclusion.options}
    notes = []
    for (option, others), known in shown.items():
        every = (
            Assignment(dict(zip(others, cell, strict=True))) for cell in product(*(settings[name] for name in others))
        )
        if unknown := [str(each) for each in every if each not in known]:
            notes.append(
                f"No change of {option} at {listed(unknown, MOST_NAMED)}: no configuration there is valid with both "
                "settings, or the runs do not determine it."
            )
    return notes


def dominating_sentence(conclusion: ScreeningConclusion) -> str | None:
    """What an option that explains most of the variance hides, with the command that shows it; None without one."""
    found = conclusion.dominating
    if found is None:
        return None
    if found.narrowed is not None:
        return _narrowed_sentence(conclusion, found, found.narrowed)
    return (
        f"{_explained(conclusion, found)}, and the effects in the table are averages over "
        f"its settings. Fix `{assignment_text(found.name, found.default)}` and screen the rest: "
        f"`{_command(conclusion, found, found.default)}`."
    )


def _narrowed_sentence(conclusion: ScreeningConclusion, found: DominatingOption, narrowed: Narrowing) -> str:
    """From where on all runs have one setting of the dominating option, and what was not tested."""
    at = f"{found.name}={setting_text(narrowed.setting)}"
    option = next(each for each in conclusion.options if each.name == found.name)
    others = [each for each in option.settings if each != narrowed.setting]
    elsewhere = f"{found.name}={setting_text(others[0])}" if len(others) == 1 else f"other settings of {found.name}"
    command = f": `{_command(conclusion, found, others[0])}`." if len(others) == 1 else " by --set."
    return (
        f"From run {narrowed.runs + 1} on, all runs were made at {at}: {found.name} explains "
        f"{fixed(100 * found.share, 1)} % of the variance of the first {narrowed.runs}. The other effects are those at "
        f"{at}; at {elsewhere} they were not tested, in {counted(narrowed.others, 'run')} only. Screen them there"
        f"{command}"
    )


def narrowed_note(conclusion: ScreeningConclusion) -> tuple[str, ...]:
    """A note on the effects if all later runs have one setting of a dominating option."""
    found = conclusion.dominating
    if found is None or found.narrowed is None:
        return ()
    at = f"{found.name}={setting_text(found.narrowed.setting)}"
    return (
        f"All effects but that of {found.name} are those at {at}, with their shares of the variance there; "
        f"the share of {found.name} is that of the first {found.narrowed.runs} runs.",
    )


def _command(conclusion: ScreeningConclusion, found: DominatingOption, setting: Setting) -> str:
    """The command that screens the other options at a setting of the dominating one, by as many runs."""
    return screening_command(
        conclusion,
        "--budget",
        str(sufficient_runs(conclusion)),
        fixed={**dict(found.fixed), found.name: setting},
    )


def sufficient_runs(conclusion: ScreeningConclusion) -> int:
    """The number of runs so far, or more where another design than a fraction needs more."""
    parameters = 1 + sum(len(option.settings) - 1 for option in conclusion.options)
    return max(conclusion.done, parameters + LEAST_LEFT)


def screening_command(
    conclusion: ScreeningConclusion, *words: str, fixed: Mapping[str, Setting] = MappingProxyType({})
) -> str:
    """The command that screens the space as the conclusion's template and the ``fixed`` settings restrict it."""
    template = template_texts(map(parse_formula, conclusion.template), fixed)
    restricted = (word for text in template for word in ("--set", text))
    return conclusion.command.screen("--metric", conclusion.metric.name, *restricted, *words)


def _explained(conclusion: ScreeningConclusion, found: DominatingOption) -> str:
    """What the option explains by the shares in the table, or, if other options' columns take from these, by it alone.

    Shares leave out what the settings of other options explain as well, which is much if there are few runs.
    """
    own = [effect for effect in conclusion.effects if effect.shown and found.name in effect.options]
    share = sum(effect.share for effect in own)
    alone, shares = (f"{fixed(100 * min(1.0, each), 1)} %" for each in (found.share, share))
    several = len(own) > 1
    together = f"{found.name} and its interactions" if several else found.name
    if share < DOMINATING:
        listed_as = (
            f"their shares in the table, {shares} together, leave"
            if several
            else f"its share in the table, {shares}, leaves"
        )
        return (
            f"A model of {together} alone explains {alone} of the variance ({listed_as} out what other options explain "
            "as well)"
        )
    if several:
        return f"{together} explain {shares} of the variance (the sum of their shares in the table)"
    return f"{together} explains {shares} of the variance"


def _constraints(conclusion: ScreeningConclusion) -> list[str]:
    """The formulas of the template, except those that fix an option."""
    fixed = conclusion.dominating.fixed if conclusion.dominating else ()
    stated = {f"{name_text(name)} == {literal_text(setting)}" for name, setting in fixed}
    return [text for text in conclusion.template if text not in stated]


class ConditionalEffectJson(Struct, frozen=True):
    """The effect of an option at the settings of others."""

    option: str
    from_: Annotated[Setting, Of("before")] = field(name="from")
    to: Annotated[Setting, Of("after")]
    at: Assignment
    relative: float | None
    relative_interval: Annotated[Interval | None, Of("interval")]
    interaction: Annotated[str, Of(lambda each: "found" if each.found else "not excluded")]


class DominatingOptionJson(Struct, frozen=True):
    """The option next to which all others are small, and what to set to screen the rest.

    If the design was narrowed to one of its settings, the effects of the other options are those at this setting.
    """

    option: str
    share: float
    set: Settings
    constraints: list[str]
    narrowed: Narrowing | UnsetType = UNSET


def dominating_json(conclusion: ScreeningConclusion) -> DominatingOptionJson | None:
    """The published dominating option; None where no option dominates."""
    found = conclusion.dominating
    if found is None:
        return None
    fixed = {**dict(found.fixed), found.name: found.narrowed.setting if found.narrowed else found.default}
    narrowed = UNSET if found.narrowed is None else found.narrowed
    return DominatingOptionJson(found.name, found.share, fixed, _constraints(conclusion), narrowed)


def interval_cell(interval: tuple[float, float] | None) -> Shown | None:
    """The interval of a change in percent."""
    if interval is None:
        return None
    text = change_range(*interval)
    return Shown(text, text)


def unbounded_note(intervals: Iterable[tuple[float, float] | None]) -> list[str]:
    """The meaning of intervals without an upper end; empty where there are none."""
    if all(each is None or math.isfinite(each[1]) for each in intervals):
        return []
    return ["Change of ?: the mean that it is from may be zero, so that no change is too large."]


MOST_NAMED = 4
"""The number of names in a sentence before it counts the rest."""


def follow_up_table(conclusion: ScreeningConclusion) -> Table | None:
    """The flips of each option with their claim; None if no option was flipped."""
    found = flipped_options(conclusion)
    if not found:
        return None
    notes = [
        "A flip is two runs of a configuration drawn at random that differ in this option alone. "
        "Claimed: what the design's rows show. Interval: of the mean change over all valid configurations "
        "that stay valid with both settings, each counted once, by the flips and by what the design's model expects in "
        "theirs.",
    ]
    if any(each.verdict is FlipVerdict.REFUTED for each in found):
        notes.append("Refuted: flips do not show the effect and contradict the claim. It counts as not shown.")
    notes += [
        f"The effect of {each.option} depends on {each.depends_on}: flips change {conclusion.metric.name} both ways."
        for each in found
        if each.depends_on
    ]
    notes += [
        f"The flips of {each.option} do not show the effect, although the design's rows do clearly: it may be absent "
        "in most configurations."
        for each in found
        if each.verdict is FlipVerdict.MISSED
    ]
    given_up = conclusion.follow_up.given_up if conclusion.follow_up else ()
    flipped = {*(each.option for each in found), *given_up}
    others = [name for name in conclusion.important if name not in flipped]
    if others:
        notes.append(f"Not flipped, for lack of runs: {listed(others, MOST_NAMED)}.")
    return Table(
        f"Follow-up of effects on {conclusion.metric.name}",
        columns_of("flips of | > number | > claimed (%)", "> change (%) | > 99 % interval (%) | claim"),
        tuple(
            (
                f"{each.option}: {' -> '.join(map(setting_text, each.ends))}",
                each.flips,
                Shown(change_number(each.claimed), 100 * each.claimed),
                Shown(change_number(each.change), 100 * each.change),
                interval_cell(each.interval),
                each.verdict.value,
            )
            for each in found
        ),
        tuple(notes),
    )


def flipped_options(conclusion: ScreeningConclusion) -> tuple[FlipEvidence, ...]:
    """The evidence of flips, in the order of the effects."""
    return tuple(effect.flips for effect in conclusion.effects if effect.flips is not None)


def refuted_sentence(conclusion: ScreeningConclusion) -> str:
    """Which options the follow-up refutes; empty where there are none."""
    names = [each.option for each in flipped_options(conclusion) if each.verdict is FlipVerdict.REFUTED]
    if not names:
        return ""
    return f"Flips refute {counted(len(names), 'effect')} of the design's rows: {listed(names, MOST_NAMED)}."


def suspects_table(conclusion: ScreeningConclusion) -> Table | None:
    """The suspect runs with their configurations and values; None where there are none."""
    if not conclusion.suspects:
        return None
    unit = conclusion.metric.unit
    notes = [
        "A suspect run is far from what the other runs predict for its configuration (1 % over all runs together)."
    ]
    if any(each.used is not None for each in conclusion.suspects):
        notes.append("Fresh: runs of the same configuration. Used: the median of the three.")
    if conclusion.robust is not None:
        notes.append(
            "Not repeated. A robust fit is shown next to the analysis of all runs, with the values that the other "
            "runs predict."
        )
    return Table(
        f"Suspect runs of {conclusion.metric.name}",
        columns_of("> run | > value | > fresh | > used | configuration"),
        tuple(
            (
                each.order + 1,
                _shown([each.value], unit),
                _shown(each.fresh, unit) if each.fresh else None,
                Shown("not repeated", None) if each.used is None else _shown([each.used], unit),
                str(each.configuration),
            )
            for each in conclusion.suspects
        ),
        tuple(notes),
    )


def suspects_sentence(conclusion: ScreeningConclusion) -> str:
    """How many runs were suspect, and where a robust fit differs; empty where there were none."""
    again = [each for each in conclusion.suspects if each.used is not None]
    left = len(conclusion.suspects) - len(again)
    parts = []
    if again:
        verb, its = ("was", "its") if len(again) == 1 else ("were", "their")
        parts.append(f"{counted(len(again), 'suspect run')} {verb} repeated, and the median used in {its} place.")
    if left:
        parts.append(f"{counted(left, 'run')} {'is' if left == 1 else 'are'} suspect: {_differences(conclusion)}.")
    return " ".join(parts)


class RobustFitJson(RobustFit, frozen=True):
    """The important effects without the suspect runs, and whether they differ."""

    differs: bool


def _differences(conclusion: ScreeningConclusion) -> str:
    found = conclusion.robust
    if found is None or not found.differs:
        return "a robust fit shows the same options"
    parts = []
    if found.added:
        parts.append(f"a robust fit also shows {listed(found.added, 4)}")
    if found.lost:
        parts.append(f"{'it' if found.added else 'a robust fit'} does not show {listed(found.lost, 4)}")
    return ", and ".join(parts)


def _shown(values: Sequence[float], unit: str) -> Shown:
    text = ", ".join(quantity(value, unit, 3) for value in values)
    return Shown(text, values[0] if len(values) == 1 else text)
