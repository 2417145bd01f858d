"""Which single settings may be better than the default's, by what a screening measured."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from msgspec import Struct

from hati.core import Configuration, InputError, Setting
from hati.space import Space, narrowed
from hati.space.formula import Comparator, Comparison, Literal, Name
from hati.studies.recommendation.findings import ChangeScale, Findings
from hati.studies.recommendation.gains import gains

MOST_CANDIDATES = 12
_DOUBT = 0.95
"""A setting is a candidate unless its gain is below what is relevant with this one-sided confidence."""

Allowed = Mapping[str, tuple[Setting, ...]]
"""The settings that may be recommended, for the options that are restricted."""


class Candidate(Struct, frozen=True):
    """A setting of an option, the configuration in which it is tried, and its estimated ``gain`` at the baseline.

    The gain is a difference of logarithms or a fraction of the mean size, above 0 where it is good.
    """

    option: str
    setting: Setting
    configuration: Configuration
    gain: float


def candidates(space: Space, findings: Findings, start: Configuration, allowed: Allowed) -> tuple[Candidate, ...]:
    """The settings whose gain at the start may be relevant, the most promising first.

    The gain is estimated at the start, and is not an average over settings that nobody uses. Where the screening does
    not determine it, as for a setting that was never run, it may be relevant.
    """
    flips = [
        (option.name, setting)
        for option in space.options
        if option.name in start
        for setting in option.settings
        if setting != start[option.name] and setting in allowed.get(option.name, option.settings)
    ]
    estimated = gains(space, findings, start, flips)
    bounds = estimated.bounds(_DOUBT)
    relevant = float(np.log1p(findings.relevant)) if findings.scale is ChangeScale.LOG else findings.relevant
    found: list[Candidate] = []
    for place in estimated.order:
        if bounds[place] > relevant and len(found) < MOST_CANDIDATES:
            configuration = reached(space, start, dict([flips[place]]))
            if configuration is not None and is_allowed(configuration, start, allowed):
                found.append(Candidate(*flips[place], configuration, float(estimated.estimates[place])))
    return tuple(found)


def is_allowed(configuration: Configuration, start: Configuration, allowed: Allowed) -> bool:
    """Whether a configuration differs from the start only by settings that may be recommended."""
    return all(
        setting in allowed.get(name, (setting,))
        for name, setting in configuration.items()
        if start.get(name) != setting
    )


def reached(space: Space, start: Configuration, settings: Mapping[str, Setting]) -> Configuration | None:
    """The start with these settings, or where that is not valid the nearest valid configuration; None without one."""
    try:
        direct = space.canonical({**start, **settings})
        if space.valid(direct):
            return direct
        wanted = [Comparison(Name(name), Comparator.EQUAL, Literal(setting)) for name, setting in settings.items()]
        return narrowed(space, wanted).default
    except InputError:
        return None
