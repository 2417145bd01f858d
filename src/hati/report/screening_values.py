"""A screening conclusion as the plain values that are exchanged: unrounded, and null where nothing can be said."""

from __future__ import annotations

import math

from msgspec.structs import asdict

from hati.report.screening_parts import conditional_json, evidence_json, follow_up_json, robust_json, suspects_json
from hati.report.screening_words import estimated_by, verdict
from hati.report.table import Plain
from hati.studies.screening import (
    Dispersion,
    Effect,
    EffectScale,
    LackOfFit,
    Losses,
    ModelSummary,
    OptionSummary,
    ScreeningConclusion,
    SettingEstimate,
)

_BASES = {EffectScale.LOG: "first setting", EffectScale.RAW: "mean size"}
"""What a relative effect is a fraction of: exp(effect) - 1 is of the mean at the first setting."""


def screening_json(conclusion: ScreeningConclusion) -> dict[str, Plain]:
    """The conclusion under the names that programs rely on; every number unrounded, with its unit beside it."""
    design = conclusion.design
    unit = conclusion.metric.unit
    found = conclusion.detectable
    return {
        "study": conclusion.study,
        "subject": conclusion.subject,
        "benchmark": conclusion.benchmark,
        "revision": conclusion.revision,
        "metric": conclusion.metric.name,
        "unit": unit,
        "better": conclusion.metric.better.value,
        "scale": conclusion.scale.value,
        "scale_reason": conclusion.scale_reason,
        "estimated_by": estimated_by(conclusion),
        "relative_to": _BASES[conclusion.scale],
        "judged_by": conclusion.judged_by.value,
        "alpha": _finite(conclusion.alpha),
        "relevant": _finite(conclusion.relevant),
        "threshold": _finite(conclusion.threshold),
        "space": {"options": len(conclusion.options), "configurations": conclusion.configurations},
        "template": list(conclusion.template),
        "options": [_option(option) for option in conclusion.options],
        "design": {
            "kind": design.kind,
            "runs": design.runs,
            "configurations": design.configurations,
            "repetitions": design.repetitions,
            "resolution": design.resolution,
            "generators": list(design.generators),
            **(
                {}
                if design.d_efficiency is None
                else {"d_efficiency": _finite(design.d_efficiency), "replicated": design.replicated}
            ),
        },
        "effects": [
            {**_effect(effect, unit), "evidence": evidence_json(conclusion, effect)} for effect in conclusion.effects
        ],
        "ranking": list(conclusion.ranking),
        "important": list(conclusion.important),
        "important_or_aliased": list(conclusion.important_or_aliased),
        "interacting": list(conclusion.interacting),
        "detectable": {
            "estimate": _finite(found.estimate) if found else None,
            "relative": _finite(found.relative) if found else None,
            "unit": unit,
            "power": 0.8,
        },
        "missing": [list(options) for options in conclusion.missing],
        "dispersion": _dispersion(conclusion.dispersion) if conclusion.dispersion else None,
        "runs": {"done": conclusion.done, "failed": conclusion.failed, "all": asdict(conclusion.all_runs)},
        "follow_up": follow_up_json(conclusion),
        "suspects": suspects_json(conclusion),
        "robust": robust_json(conclusion),
        "lack_of_fit": _lack_of_fit(conclusion.lack_of_fit),
        "failures": list(conclusion.failures),
        "losses": _losses(conclusion.losses),
        "seconds": _finite(conclusion.seconds),
        "warnings": list(conclusion.warnings),
        "model": _model(conclusion.model),
        **conditional_json(conclusion),
    }


def _lack_of_fit(found: LackOfFit | None) -> dict[str, Plain] | None:
    if found is None:
        return None
    return {
        "noise": _finite(found.noise),
        "left": _finite(found.left),
        "repeated": found.repeated,
        "found": found.found,
    }


def _losses(losses: Losses | None) -> dict[str, Plain] | None:
    if losses is None:
        return None
    excluded: list[Plain] = [
        {"settings": settings, "message": message}
        for settings, message in zip(losses.excluded, losses.messages, strict=True)
    ]
    return {"failed": losses.failed, "made": losses.made, "excluded": excluded}


def _model(model: ModelSummary) -> dict[str, Plain]:
    return {
        "terms": [list(term) for term in model.terms],
        "r_squared": _finite(model.r_squared),
        "stability": list(model.stability) or None,
    }


def _option(option: OptionSummary) -> dict[str, Plain]:
    return {
        "name": option.name,
        "letter": option.letter,
        "first": option.first,
        "second": option.second,
        "settings": list(option.settings),
        "doc": option.doc,
    }


def _effect(effect: Effect, unit: str) -> dict[str, Plain]:
    return {
        "options": list(effect.options),
        "estimate": _finite(effect.estimate),
        "unit": unit,
        "relative": _finite(effect.relative),
        "interval": _pair(effect.interval),
        "relative_interval": _pair(effect.relative_interval),
        "standard_error": _finite(effect.standard_error),
        "contrast": _finite(effect.contrast),
        "share": _finite(effect.share),
        "p_value": _finite(effect.p_value),
        "half_normal": _finite(effect.half_normal),
        "important": effect.important,
        "verdict": verdict(effect),
        "confirmed": effect.confirmed if effect.shown or effect.flips is not None else None,
        "aliases": [list(alias) for alias in effect.aliases],
        "settings": [_setting(setting, unit) for setting in effect.settings],
    }


def _setting(found: SettingEstimate, unit: str) -> dict[str, Plain]:
    return {
        "setting": found.setting,
        "estimate": _finite(found.estimate),
        "unit": unit,
        "interval": _pair(found.interval),
        "relative": _finite(found.relative),
    }


def _dispersion(dispersion: Dispersion) -> dict[str, Plain]:
    return {
        "of": dispersion.of,
        "effects": [_log_effect(effect) for effect in dispersion.effects],
        "important": list(dispersion.important),
    }


def _log_effect(effect: Effect) -> dict[str, Plain]:
    """Of ln s^2, of which nothing is a fraction: what would be relative is null."""
    found = _effect(effect, "ln s^2")
    settings = [{**_setting(setting, "ln s^2"), "relative": None} for setting in effect.settings]
    return {**found, "relative": None, "relative_interval": None, "settings": list(settings)}


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _pair(interval: tuple[float, float] | None) -> Plain:
    return None if interval is None else [_finite(bound) for bound in interval]
