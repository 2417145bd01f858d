"""The strata of a space in which the histories of a replay changed."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from hati.core import (
    Assignment,
)
from hati.studies.regression import HistoryConclusion


class Affected(Struct, frozen=True):
    """The strata whose level changed at a position, and the number ``of`` all strata.

    ``settings`` are those that only the changed strata have in common; empty if no options' settings distinguish them
    from the others.
    """

    position: str
    benchmark: str
    metric: str
    strata: tuple[Assignment, ...]
    of: int
    settings: Assignment


def affected_strata(concluded: Sequence[HistoryConclusion]) -> tuple[Affected, ...]:
    """The changed strata, for each position, benchmark and metric with any, in the order of the positions."""
    found: dict[tuple[int, str, str, str], list[Assignment]] = {}
    strata: dict[tuple[str, str], list[Assignment]] = {}
    for one in concluded:
        if one.stratum:
            strata.setdefault((one.benchmark, one.metric.name), []).append(one.stratum)
            for change in one.change_points:
                key = change.index, change.position, one.benchmark, one.metric.name
                found.setdefault(key, []).append(one.stratum)
    return tuple(
        Affected(
            position=position,
            benchmark=benchmark,
            metric=metric,
            strata=tuple(changed),
            of=len(strata[benchmark, metric]),
            settings=_common(changed, strata[benchmark, metric]),
        )
        for (_, position, benchmark, metric), changed in sorted(found.items(), key=lambda item: item[0][0])
    )


def _common(changed: Sequence[Assignment], strata: Sequence[Assignment]) -> Assignment:
    """The settings that all changed strata have in common, if no other stratum has all of them; else empty."""
    common = {
        option: setting
        for option, setting in changed[0].items()
        if all(each.get(option) == setting for each in changed)
    }
    others = [each for each in strata if each not in changed]
    alone = not any(all(each.get(option) == setting for option, setting in common.items()) for each in others)
    return Assignment(common if alone and others else {})
