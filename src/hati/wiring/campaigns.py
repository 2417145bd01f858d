"""Which campaign of a study is gone on with, and how a new one is told from all others."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Protocol, TypeVar

from hati.core import StudyId
from hati.wiring.workplace import Workplace

_BYTES = 4


class Prepared(Protocol):
    """A campaign that can be measured, resumed or concluded."""

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be run, or to be spent."""


P = TypeVar("P", bound=Prepared)


def campaign_of(
    place: Workplace,
    study: StudyId,
    prepared: Callable[[StudyId], P],
    over: Callable[[P], bool],
    *,
    fresh: bool,
) -> P:
    """The newest campaign of a study that is not ``over``; a new one where there is none, or it is to be ``fresh``.

    Merged stores may have several campaigns of the highest number: an unfinished one is preferred, then the one
    with the most runs, then the last one.
    """
    latest = place.store.latest(study)
    if len(latest) > 1:
        latest = tuple(sorted(latest, key=lambda record: -len(place.store.evidence(record.id).runs)))
    known = [] if fresh else [each for each in map(prepared, (record.id for record in latest)) if not over(each)]
    if known:
        return known[0] if len(known) == 1 else min(known, key=lambda each: each.finished)
    return prepared(study.numbered(max((record.id.campaign for record in latest), default=0) + 1, _token(place)))


def never(_: Prepared) -> bool:
    """A finished campaign is taken as it is."""
    return False


def _token(place: Workplace) -> str:
    """None where runs are looked up: those of one task are the same in every store."""
    return "" if place.table is not None else secrets.token_hex(_BYTES)
