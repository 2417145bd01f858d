"""The past of a project, measured now."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from functools import partial

from msgspec import Struct

from hati.core import Benchmark, Budget, InputError, Revision, StudyId
from hati.core.wording import counted
from hati.studies.comparison import AUTO, Automatic, Question, Statistic
from hati.studies.gate import Cell
from hati.studies.replay import Order, Replay, Replayed, replay_id
from hati.subject import Revisions
from hati.wiring.campaigns import Campaign, campaign_of, never
from hati.wiring.cells import affordable, representatives
from hati.wiring.statistics import statistics_of
from hati.wiring.workplace import Workplace

REPETITIONS = 3
_DAY = "day"
_COUNT = re.compile(r"[1-9][0-9]{0,5}")


class ReplayRequest(Struct, frozen=True):
    """What a user asks: ``revisions`` as ``A..B``, of which every so many is taken, or the last of every ``day``."""

    revisions: str
    every: str = "1"
    order: Order = Order.INTERLEAVED
    repetitions: int = REPETITIONS
    benchmark: str | None = None
    budget: str | None = None
    seed: int = 1
    statistic: Statistic | Automatic = AUTO


def prepare_replay(place: Workplace, request: ReplayRequest, *, fresh: bool) -> Campaign[Replay, Replayed]:
    """Find the campaign to go on with, or number a new one.

    Raises:
        InputError: where there are no such revisions, or too few.
    """
    revisions = place.revisions()
    line = tuple(_line(revisions, request))
    budget = Budget() if request.budget is None else Budget.parse(request.budget)
    most = affordable(place, request.benchmark, budget, len(line) * request.repetitions)
    chosen = representatives(place, request.benchmark, most)
    cells = chosen.cells
    first = replay_id(cells, line, request.repetitions, request.order, request.seed, place.machine.fingerprint)

    def prepared(study: StudyId) -> Campaign[Replay, Replayed]:
        benchmarks = _benchmarks(cells)
        choices = statistics_of(place, study, Question(statistic=request.statistic), benchmarks)
        made = Replay(
            study, line, cells, request.repetitions, request.order, request.statistic, choices, chosen.coverage
        )
        engine = partial(place.engine_of_revisions, benchmarks, revisions.trees(place.project.root))
        kept = choices.to_json() if choices.rows else ""
        described, tasks = partial(_described, made), lambda: made.plan(place.store.evidence(study))
        return Campaign(place, made, budget, benchmarks, engine, described, tasks, kept)

    return campaign_of(place, first, prepared, never, fresh=fresh)


def _benchmarks(cells: Sequence[Cell]) -> tuple[Benchmark, ...]:
    return tuple({cell.benchmark.name: cell.benchmark for cell in cells}.values())


def _described(study: Replay) -> str:
    first, last = study.revisions[0], study.revisions[-1]
    cells, runs = counted(len(study.cells), "configuration"), counted(study.repetitions, "run")
    sources = "; ".join(dict.fromkeys(one.source for one in study.coverage))
    return f"{len(study.revisions)} revisions from {first} to {last}, {cells} ({sources}), {runs} each"


def _line(revisions: Revisions, request: ReplayRequest) -> list[Revision]:
    first, dots, last = request.revisions.partition("..")
    if not dots or not first.strip():
        raise InputError(f"{request.revisions!r} is not a range of revisions", fix="write --revisions FIRST..LAST")
    if revisions.history is None:
        raise InputError("there is no repository with a past", fix="give a file of recorded values")
    start, end = revisions.find(first.strip()), revisions.find(last.strip() or "HEAD")
    return _thinned(revisions.between(start, end), request.every)


def _thinned(line: Sequence[Revision], every: str) -> list[Revision]:
    """Every so many counted from the newest, and the oldest; or the last of each day, in UTC."""
    if every == _DAY:
        days: dict[date | None, Revision] = {}
        for revision in reversed(line):  # clocks differ: a day may come back on a line
            days.setdefault(revision.made.date() if revision.made else None, revision)
        return list(days.values())[::-1]
    if not _COUNT.fullmatch(every):
        raise InputError(f"--every {every!r} is neither a number from 1 on nor day", fix="write --every 5")
    chosen = list(line[::-1][:: int(every)])[::-1]
    return chosen if chosen[0] == line[0] else [line[0], *chosen]
