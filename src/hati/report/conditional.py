"""Effects at the settings of other options, and what to do about an option that explains most of the variance."""

from __future__ import annotations

import shlex

from hati.core import setting_text
from hati.report.plain import Plain
from hati.report.quantities import change_number, percent
from hati.report.table import Align, Column, Shown, Table
from hati.studies.screening import (
    ConditionalEffect,
    DominatingOption,
    ScreeningConclusion,
)


def conditional_table(conclusion: ScreeningConclusion) -> Table | None:
    """The effects of options at the settings of others that they may depend on; None where there are none."""
    found = conclusion.conditional_effects
    if not found:
        return None
    notes = ["Each change is from the first to the second of the settings shown, averaged over the options not named."]
    if any(effect.found for effect in found):
        notes.append("Depends: the interaction was found.")
    if not all(effect.found for effect in found):
        notes.append("May depend: the runs do not exclude that the effect differs by half of itself between settings.")
    right = Align.RIGHT
    return Table(
        f"Effects on {conclusion.metric.name} at each setting of another option",
        (
            Column("effect of"),
            Column("at"),
            Column("change", "%", right),
            Column("95 % interval", "%", right),
            Column("on it"),
        ),
        tuple(
            (
                f"{each.option}: {setting_text(each.before)} -> {setting_text(each.after)}",
                str(each.at),
                Shown(change_number(each.relative), 100 * each.relative),
                _interval(each),
                "depends" if each.found else "may depend",
            )
            for each in found
        ),
        tuple(notes),
    )


def dominating_sentence(conclusion: ScreeningConclusion) -> str | None:
    """What to do about an option that explains most of the variance, with the command; None where there is none."""
    found = conclusion.dominating
    if found is None:
        return None
    settings = (f"{name}={setting_text(setting)}" for name, setting in (*found.fixed, (found.name, found.default)))
    words = " ".join(f"--set {shlex.quote(text)}" for text in (*_constraints(conclusion), *settings))
    return (
        f"{found.name} explains {percent(found.share)} of the variance, and the effects above are averages over its "
        f"settings. Fix it and screen the rest: hati screen --metric {shlex.quote(conclusion.metric.name)} {words}"
    )


def _constraints(conclusion: ScreeningConclusion) -> list[str]:
    """The formulas of the template but those that fix an option."""
    fixed = dict(conclusion.dominating.fixed) if conclusion.dominating else {}
    return [text for text in conclusion.template if text.partition(" == ")[0] not in fixed]


def conditional_json(conclusion: ScreeningConclusion) -> dict[str, Plain]:
    """Both under the names that programs rely on."""
    found = conclusion.dominating
    return {
        "conditional_effects": [
            {
                "option": each.option,
                "from": each.before,
                "to": each.after,
                "at": dict(each.at),
                "relative": each.relative,
                "relative_interval": None if each.interval is None else list(each.interval),
                "interaction": "found" if each.found else "not excluded",
            }
            for each in conclusion.conditional_effects
        ],
        "dominating": None if found is None else {**_dominating(found), "constraints": [*_constraints(conclusion)]},
    }


def _dominating(found: DominatingOption) -> dict[str, Plain]:
    fixed: dict[str, Plain] = dict(found.fixed)
    return {"option": found.name, "share": found.share, "set": {**fixed, found.name: found.default}}


def _interval(effect: ConditionalEffect) -> Shown | None:
    if effect.interval is None:
        return None
    low, high = effect.interval
    text = f"{change_number(low)} to {change_number(high)}"
    return Shown(text, text)
