"""What a recalibration changed: effects of two screenings side by side."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from msgspec import Struct

from hati.studies.recalibration.prediction import Prior
from hati.studies.screening import Effect, Options, ScreeningConclusion


class EffectStatus(StrEnum):
    """What became of an effect."""

    BECAME = "became important"
    CEASED = "no longer shown"
    STAYED = "still important"
    NEVER = "not shown"


class EffectChange(Struct, frozen=True):
    """An effect then and now, fractions on the scale that each screening decided on, with intervals of 95 %.

    None where a screening has no such effect. ``moved``: the intervals have nothing in common.
    """

    options: Options
    change: EffectStatus
    before: float | None
    before_interval: tuple[float, float] | None
    after: float | None
    after_interval: tuple[float, float] | None

    @property
    def moved(self) -> bool:
        """Whether the sizes are distinguishable: of equal effects far less than one in twenty is."""
        if self.before_interval is None or self.after_interval is None:
            return False
        return max(self.before_interval[0], self.after_interval[0]) > min(
            self.before_interval[1], self.after_interval[1]
        )


class EffectChanges(Struct, frozen=True):
    """All options, and the interactions that are important in either screening, the largest effect of now first.

    ``added`` and ``removed`` name options that only one of the screenings has.
    """

    before: str
    after: str
    metric: str
    effects: tuple[EffectChange, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]

    def of(self, change: EffectStatus) -> tuple[EffectChange, ...]:
        """Those of which that became."""
        return tuple(effect for effect in self.effects if effect.change is change)


def effect_changes(before: Prior, after: ScreeningConclusion) -> EffectChanges:
    """Compare the effects of a screening with those of a later one, of the same metric."""
    then = _by_options(before.conclusion.effects if before.conclusion else ())
    now, names = _by_options(after.effects), [option.name for option in after.options]
    terms = [
        key for key in dict.fromkeys((*now, *then)) if len(key) == 1 or _important(then, key) or _important(now, key)
    ]
    return EffectChanges(
        before=before.study,
        after=after.study,
        metric=after.metric.name,
        effects=tuple(_change(then.get(key), now.get(key)) for key in terms),
        added=tuple(name for name in names if name not in before.options),
        removed=tuple(name for name in before.options if name not in names),
    )


def _by_options(effects: Iterable[Effect]) -> dict[frozenset[str], Effect]:
    return {frozenset(effect.options): effect for effect in effects}


def _important(effects: dict[frozenset[str], Effect], key: frozenset[str]) -> bool:
    return key in effects and effects[key].shown


def _change(before: Effect | None, after: Effect | None) -> EffectChange:
    known = after or before
    assert known is not None
    return EffectChange(
        options=known.options,
        change=_KINDS[before is not None and before.shown, after is not None and after.shown],
        before=None if before is None else before.relative,
        before_interval=None if before is None else before.relative_interval,
        after=None if after is None else after.relative,
        after_interval=None if after is None else after.relative_interval,
    )


_KINDS = {
    (False, True): EffectStatus.BECAME,
    (True, False): EffectStatus.CEASED,
    (True, True): EffectStatus.STAYED,
    (False, False): EffectStatus.NEVER,
}
