"""Which campaign of a study is gone on with, and how a new one is told from all others."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from hati.campaign import Observer, campaign, silent
from hati.core import Benchmark, Budget, Engine, Evidence, Plan, Study, StudyId
from hati.wiring.rehearsal import Rehearsal, estimate_all
from hati.wiring.workplace import Announce, Workplace, mute

_BYTES = 4


S = TypeVar("S", bound=Study[Any])
C = TypeVar("C")


class Campaign(Struct, Generic[S, C], frozen=True):
    """A campaign of a study that can be measured, resumed or concluded.

    ``engine`` makes what runs its tasks; ``described`` says what it will do, before it is done,
    nothing where that is plain; ``rehearsed`` are the
    tasks that there may be. ``kept`` is what the store keeps with the campaign, empty: nothing.
    """

    place: Workplace
    study: S
    budget: Budget
    benchmarks: tuple[Benchmark, ...]
    engine: Callable[[Announce], AbstractContextManager[Engine]]
    described: Callable[[], str]
    rehearsed: Callable[[], Plan]
    kept: str = ""

    @property
    def finished(self) -> bool:
        """Whether nothing is left to be run, or to be spent."""
        evidence = self.evidence()
        return not self.study.plan(evidence).within(self.budget.left(evidence))

    def evidence(self) -> Evidence:
        """What the campaign has measured so far."""
        return self.place.store.evidence(self.study.id)


def in_vain(known: Campaign[S, C]) -> bool:
    """Whether a campaign ended without a run that worked."""
    evidence = known.evidence()
    return bool(evidence.failed) and not evidence.done and known.finished


def make_campaign(prepared: Campaign[S, C], announce: Announce = mute, observe: Observer = silent) -> C:
    """Make a campaign, or what is left of it, and conclude.

    Raises:
        MeasurementError: where too little could be measured for a conclusion.
    """
    place, study = prepared.place, prepared.study
    finished, evidence = prepared.finished, prepared.evidence()
    if not finished or not evidence.runs:  # one that needs no run is kept too
        metrics = {metric.name: metric for benchmark in prepared.benchmarks for metric in benchmark.metrics}
        place.store.begin(study.id, tuple(metrics.values()), place.machine)
        if prepared.kept:
            place.store.keep_choice(study.id, prepared.kept)
    if finished:
        known: C = study.conclude(evidence)
        return known
    if described := prepared.described():
        announce(described)
    with prepared.engine(announce) as engine:
        made: C = campaign(study, engine, place.store, prepared.budget, observe)
    return made


def rehearse_campaign(prepared: Campaign[S, C]) -> Rehearsal:
    """The tasks that there may be, without making or storing anything."""
    plan = prepared.rehearsed()
    expected = estimate_all(prepared.place, prepared.benchmarks, plan)
    return Rehearsal(prepared.described(), plan, expected, prepared.place.project.space.names)


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
