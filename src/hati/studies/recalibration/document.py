"""Whether a recalibration is due, and what one changed, as plain values and in words."""

from __future__ import annotations

import math
from typing import Annotated

from msgspec import Struct

from hati.core.wording import effect_name, listed
from hati.document.document import (
    Cell,
    Shown,
    Table,
    change,
    change_range,
    columns_of,
    general,
    p_text,
    percent,
    quantity,
)
from hati.document.publishing import Of
from hati.studies.recalibration import (
    EffectChange,
    EffectChanges,
    EffectStatus,
    Reason,
    Recalibration,
    RecalibrationCondition,
    ResidualShift,
    Since,
)
from hati.studies.screening import EffectScale, Options


class ReasonJson(Struct, frozen=True):
    """A condition of recalibration that holds, and why."""

    benchmark: Annotated[str, Of("since.benchmark")]
    condition: RecalibrationCondition
    why: Annotated[str, Of(_why)]
    value: float | None
    limit: float | None
    screening: Annotated[str, Of("since.study")]
    metric: Annotated[str | None, Of(lambda reason: reason.shift and reason.shift.metric.name)]


class RecalibrationJson(Struct, frozen=True):
    """Whether a recalibration is due, and each reason."""

    due: bool
    reasons: list[ReasonJson]


def recalibration_sentence(found: Recalibration) -> str | None:
    """What to do and why, in one line; None where nothing is due."""
    if not found.due:
        return None
    several = len({reason.since.benchmark for reason in found.reasons}) > 1
    texts = "; ".join(
        f"{reason.since.benchmark}: {_why(reason)}" if several else _why(reason) for reason in found.reasons
    )
    commands = dict.fromkeys(f"`{_command(reason.since)}`" for reason in found.reasons)
    return f"Determine the important options again by {listed(commands)}: {texts}."


def _command(since: Since) -> str:
    """The command that repeats the last screening of a benchmark, or that screens it for the first time."""
    return since.command.screen(*(("--recalibrate",) if since.study else ()))


def _why(reason: Reason) -> str:
    since = reason.since
    if reason.condition is RecalibrationCondition.OPTIONS:
        parts = [
            f"{', '.join(names)} {'was' if len(names) == 1 else 'were'} {what}"
            for names, what in ((since.added, "added"), (since.removed, "removed"))
            if names
        ]
        return f"{' and '.join(parts) or 'settings or constraints have changed'} since {since.study}"
    if reason.condition is RecalibrationCondition.UNSCREENED or reason.value is None or reason.limit is None:
        return "they were never determined"
    if reason.condition is RecalibrationCondition.CHECKS:
        return f"{reason.value:.0f} checks since {since.study}; the limit is {reason.limit:.0f}"
    if reason.condition is RecalibrationCondition.DAYS:
        return f"{general(reason.value, 3)} days since {since.study}; the limit is {general(reason.limit, 3)}"
    assert reason.shift is not None
    return _shifted(reason.shift, reason.value, str(since.study))


def _shifted(shift: ResidualShift, p_value: float, study: str) -> str:
    found, expected = (_size(shift, size) for size in (shift.found, shift.expected))
    return (
        f"{shift.metric.name} differs by {found} from what {study} predicts; {expected} is usual (p {p_text(p_value)})"
    )


def _size(shift: ResidualShift, size: float) -> str:
    return percent(math.expm1(size), 2) if shift.scale is EffectScale.LOG else quantity(size, shift.metric.unit, 2)


class EffectChangeJson(EffectChange, frozen=True):
    """An effect in both screenings."""

    moved: bool


class EffectChangesJson(Struct, frozen=True):
    """The effects of both screenings, and the options that only one of them has."""

    before: str
    after: str
    metric: str
    became_important: Annotated[list[list[str]], Of(lambda found: _options(found, EffectStatus.BECAME))]
    no_longer_shown: Annotated[list[list[str]], Of(lambda found: _options(found, EffectStatus.CEASED))]
    added: list[str]
    removed: list[str]
    effects: list[EffectChangeJson]


def _options(found: EffectChanges, status: EffectStatus) -> list[Options]:
    return [effect.options for effect in found.of(status)]


def changes_table(found: EffectChanges) -> Table:
    """A row for each effect, with its interval then and now."""
    columns = columns_of("effect | > before | > interval | > now", "> interval now | what became of it")
    rows = tuple(
        (
            effect_name(effect.options),
            _effect_text(effect.before),
            _interval_text(effect.before_interval),
            _effect_text(effect.after),
            _interval_text(effect.after_interval),
            f"{effect.change.value}{', another size' if effect.moved else ''}",
        )
        for effect in found.effects
    )
    return Table(f"What changed since {found.before}", columns, rows, tuple(_changes_notes(found)))


def _changes_notes(found: EffectChanges) -> list[str]:
    sentences = [
        f"{', '.join(effect_name(effect.options) for effect in found.of(kind))} {kind.value}"
        for kind in (EffectStatus.BECAME, EffectStatus.CEASED)
        if found.of(kind)
    ]
    moved = [effect_name(effect.options) for effect in found.effects if effect.moved]
    sentences += [f"of another size: {', '.join(moved)}"] if moved else []
    sentences += [f"{', '.join(found.added)} added"] if found.added else []
    sentences += [f"{', '.join(found.removed)} removed"] if found.removed else []
    return [
        f"{'; '.join(sentences) or 'The same effects are important as before'}.",
        "Fresh runs alone decide which options are important. Another size: the 95 % intervals do not overlap. "
        "No longer shown is not shown to be zero.",
    ]


def _effect_text(effect: float | None) -> Cell:
    return None if effect is None else Shown(change(effect), effect)


def _interval_text(interval: tuple[float, float] | None) -> Cell:
    return None if interval is None else f"{change_range(*interval)} %"
