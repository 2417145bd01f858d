"""How often settings are used: weights of configurations, with options used independently of one another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from msgspec import Struct

from hati.core import InputError, Setting, canonical_json


class SettingUsage(Struct, frozen=True):
    """The ``fraction`` of uses of an option in which it has a setting."""

    option: str
    setting: Setting
    fraction: float


class UsageDistribution(Struct, frozen=True):
    """The fractions of use of options' settings; options without any are not weighted."""

    settings: tuple[SettingUsage, ...] = ()

    @classmethod
    def of(cls, weights: Mapping[str, Mapping[Setting, float]]) -> UsageDistribution:
        """The distribution with these weights, which need not add up to 1.

        Raises:
            InputError: for a weight that is negative or not finite, or an option whose weights add up to 0.
        """
        found: list[SettingUsage] = []
        for name, each in weights.items():
            if not all(math.isfinite(weight) and weight >= 0 for weight in each.values()) or not sum(each.values()):
                raise InputError(
                    f"the usage of option {name!r} is {', '.join(f'{weight:g}' for weight in each.values())}",
                    fix="give a number from 0 for each setting, not all of them 0",
                )
            total = sum(each.values())
            found += [SettingUsage(name, setting, weight / total) for setting, weight in each.items()]
        return cls(tuple(found))

    def __bool__(self) -> bool:
        return bool(self.settings)

    def fraction(self, elements: Iterable[tuple[str, Setting]]) -> float:
        """The fraction of uses with all of these settings; options without weights are left out.

        >>> usage = UsageDistribution.of({"log": {"full": 1, "none": 3}, "cache": {True: 1, False: 1}})
        >>> usage.fraction([("log", "full"), ("cache", True), ("threads", 4)])
        0.125
        """
        known = {(each.option, canonical_json(each.setting)): each.fraction for each in self.settings}
        return math.prod(known.get((name, canonical_json(setting)), 1.0) for name, setting in elements)
