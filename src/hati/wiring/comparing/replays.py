"""Measure past revisions of a project now: all of a range, or effects at two."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date
from functools import partial

from hati.core import Benchmark, Budget, Configuration, InputError, Metric, Plan, Revision, StudyId
from hati.core.wording import counted, suggestion
from hati.studies.comparison import Question, parse_statistic
from hati.studies.effect_drift import EffectDrift, EffectDriftStudy, effect_drift_id
from hati.studies.replay import Replay, Replayed, ReplayOrder, replay_id
from hati.subject import Revisions
from hati.wiring.campaigns import Campaign, campaign_of, never
from hati.wiring.kinds.effect_drift import DriftRequest
from hati.wiring.kinds.replay import NO_LIMIT, HistoryRequest
from hati.wiring.kinds.screening import ScreeningRequest
from hati.wiring.known.benchmarks import statistics_of
from hati.wiring.known.screenings import affordable, benchmarks_of, representatives, screened, working_space
from hati.wiring.screening.campaign import chosen_metric, prepare_screening
from hati.wiring.workplace import Workplace

_DAY = "day"
_COUNT = re.compile(r"[1-9][0-9]{0,5}")


def prepare_replay(place: Workplace, request: HistoryRequest, *, fresh: bool) -> Campaign[Replay, Replayed]:
    """Find the campaign to resume, or number a new one.

    Raises:
        InputError: for unknown revisions, or too few.
    """
    order, statistic = _order(request.order), parse_statistic(request.statistic)
    revisions = place.revisions()
    line = tuple(_line(revisions, request))
    limit = request.budget or NO_LIMIT  # None in records of earlier versions
    budget = Budget() if limit == NO_LIMIT else Budget.parse(limit)
    most = affordable(place, request.benchmark, budget, len(line) * request.repetitions)
    chosen = representatives(place, request.benchmark, most)
    cells = chosen.cells
    first = replay_id(cells, line, request.repetitions, order, request.seed, place.measured_on.id)

    def prepared(study: StudyId) -> Campaign[Replay, Replayed]:
        benchmarks = benchmarks_of(cells)
        choices = statistics_of(place, study, Question(statistic=statistic), benchmarks)
        made = Replay(study, line, cells, request.repetitions, order, statistic, choices, chosen.coverage)
        engine = partial(place.engine, benchmarks, trees=revisions.trees(place.project.root))
        kept = choices.to_json() if choices.rows else ""
        described, tasks = partial(_described, made), lambda: made.plan(place.store.evidence(study))
        return Campaign(place, made, budget, benchmarks, engine, described, tasks, kept)

    return campaign_of(place, first, prepared, never, fresh=fresh)


def _order(text: str) -> ReplayOrder:
    known = [order.value for order in ReplayOrder]
    if text not in known:
        raise InputError(f"there is no order {text!r}", fix=suggestion(text, known))
    return ReplayOrder(text)


def _described(study: Replay) -> str:
    first, last = study.revisions[0], study.revisions[-1]
    cells, runs = counted(len(study.cells), "configuration"), counted(study.repetitions, "run")
    sources = "; ".join(dict.fromkeys(one.source for one in study.coverage))
    return f"{len(study.revisions)} revisions from {first} to {last}, {cells} ({sources}), {runs} each"


def _line(revisions: Revisions, request: HistoryRequest) -> list[Revision]:
    first, dots, last = (request.revisions or "").partition("..")
    if not dots or not first.strip():
        raise InputError(f"{request.revisions!r} is not a range of revisions", fix="write --revisions FIRST..LAST")
    if revisions.history is None:
        raise InputError("there is no repository with a past", fix="give a file of recorded values")
    start, end = revisions.find(first.strip()), revisions.find(last.strip() or "HEAD")
    return _thinned(revisions.between(start, end), request.every)


def _thinned(line: Sequence[Revision], every: str) -> list[Revision]:
    """Every n-th revision counted from the newest, and the oldest; or the last of each day, in UTC."""
    if every == _DAY:
        days: dict[date | None, Revision] = {}
        for revision in reversed(line):  # clocks differ: a day may occur twice in a history
            days.setdefault(revision.made.date() if revision.made else None, revision)
        return list(days.values())[::-1]
    if not _COUNT.fullmatch(every):
        raise InputError(f"--every {every!r} is neither a number from 1 on nor day", fix="write --every 5")
    chosen = list(line[::-1][:: int(every)])[::-1]
    return chosen if chosen[0] == line[0] else [line[0], *chosen]


ROUNDS = 4
_SIDES = 2
_DESIGN_RUNS = 4
"""The number of runs per option of a design that is made for this."""


def prepare_drift(place: Workplace, request: DriftRequest, *, fresh: bool) -> Campaign[EffectDriftStudy, EffectDrift]:
    """Find the campaign to resume, or number a new one.

    The design is that of the most informative screening, without settings known to fail; else one made for this.

    Raises:
        InputError: for unknown revisions, or a budget below two rounds.
    """
    revisions = place.revisions()
    reference, revision = revisions.find(request.before), revisions.find(request.after)
    benchmark = place.project.benchmark(request.benchmark)
    metric = chosen_metric(benchmark, request.metric)
    cells, source = _design(place, benchmark, metric, request.seed)
    budget = Budget.parse(request.budget or f"{ROUNDS} rounds", {"rounds": _SIDES * len(cells)})
    rounds = int(budget.runs // (_SIDES * len(cells))) if math.isfinite(budget.runs) else ROUNDS
    machine = place.measured_on.id
    first = effect_drift_id(benchmark, cells, reference, revision, rounds, request.seed, machine)

    def prepared(study: StudyId) -> Campaign[EffectDriftStudy, EffectDrift]:
        made = EffectDriftStudy(study, benchmark, metric, cells, reference, revision, rounds, Question(request.alpha))
        engine = partial(place.engine, (benchmark,), trees=revisions.trees(place.project.root))
        described = partial(_described_drift, made, source)
        return Campaign(place, made, budget, (benchmark,), engine, described, lambda: Plan.of(made.tasks()))

    return campaign_of(place, first, prepared, never, fresh=fresh)


def _described_drift(study: EffectDriftStudy, source: str) -> str:
    cells, rounds = counted(len(study.configurations), "configuration"), counted(study.rounds, "round")
    return f"{study.revision} against {study.reference}: {cells} ({source}) in {rounds}"


def _design(place: Workplace, benchmark: Benchmark, metric: Metric, seed: int) -> tuple[tuple[Configuration, ...], str]:
    """The configurations of the design, and its source."""
    known = screened(place, benchmark, metric)
    if known is not None:
        study, _, entry = known
        space, left_out = working_space(place, benchmark)
        cells = tuple(dict.fromkeys(each for each in study.configurations if space.valid(each)))
        return cells, "; ".join(filter(None, (f"the design of {entry.source}", left_out)))
    runs = _DESIGN_RUNS * max(1, len(place.project.space.names))
    asked = ScreeningRequest(metric=metric.name, budget=str(runs), seed=seed, benchmark=benchmark.name)
    prepared = prepare_screening(place, asked, fresh=True)
    made = prepared.designed(prepared.choice or prepared.chosen(runs)).configurations
    return tuple(dict.fromkeys(made)), f"a design made for this: {benchmark.name} is not screened"
