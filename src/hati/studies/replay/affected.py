"""In which parts of a space a metric changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hati.core import Assignment
from hati.studies.regression import HistoryConclusion


@dataclass(frozen=True)
class Affected:
    """The strata whose level changed at a position, of how many; ``settings`` are those that only these have in common.

    ``settings`` is empty where no options' settings distinguish the strata that changed from the others.
    """

    position: str
    metric: str
    strata: tuple[Assignment, ...]
    of: int
    settings: Assignment


def affected_strata(concluded: Sequence[HistoryConclusion]) -> tuple[Affected, ...]:
    """For each metric and position at which a stratum changed, the strata that did, in the order of the positions."""
    found: dict[tuple[str, int, str], list[Assignment]] = {}
    strata: dict[str, list[Assignment]] = {}
    for one in concluded:
        if one.stratum:
            strata.setdefault(one.metric.name, []).append(one.stratum)
            for change in one.change_points:
                found.setdefault((one.metric.name, change.index, change.position), []).append(one.stratum)
    return tuple(
        Affected(position, metric, tuple(changed), len(strata[metric]), _common(changed, strata[metric]))
        for (metric, _, position), changed in sorted(found.items(), key=lambda item: item[0][:2])
    )


def _common(changed: Sequence[Assignment], strata: Sequence[Assignment]) -> Assignment:
    """The settings that all that changed have, where no other stratum has all of them."""
    common = {
        option: setting
        for option, setting in changed[0].items()
        if all(each.get(option) == setting for each in changed)
    }
    others = [each for each in strata if each not in changed]
    alone = not any(all(each.get(option) == setting for option, setting in common.items()) for each in others)
    return Assignment(common if alone and others else {})
