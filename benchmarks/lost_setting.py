"""Screenings of a simulated nginx, with and without a setting that this build lacks.

``python -m benchmarks.lost_setting`` prints a table as Markdown, in about an hour and a half;
``--quick`` a tenth of the studies.
The program has the sixteen options of examples/nginx, and the effects that the flips of examples/nginx/flips.csv show
within their intervals: without TCP_NODELAY an answer in several small packets waits for an acknowledgement. Compressed
answers are one packet. ``--flips`` prints the program's average effects beside the intervals.
"""

from __future__ import annotations

import csv
import math
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from scipy import stats

from benchmarks.markdown import table
from benchmarks.parallel import spread
from hati.campaign import campaign
from hati.core import (
    Benchmark,
    Better,
    Budget,
    Configuration,
    Evidence,
    Metric,
    Reader,
    ReaderKind,
    Setting,
    StudyId,
    Task,
    generator,
)
from hati.space import Option, Space, narrowed
from hati.studies.screening import (
    NOTHING_ISOLATED,
    AnyScreening,
    Isolation,
    ScreeningConclusion,
    choose_followed,
    screening,
)
from hati.studies.screening.planning.pilot import UntilFailure, usable_configurations
from hati.testing import FakeEngine, MemoryStore

STUDIES, RUNS, NOISE = 400, 128, 0.064
"""NOISE: 150 flips of etag show a change of .1 %, -1.4 to 1.6: the deviation of one run is 6.4 %."""
FLIPS = Path(__file__).parents[1] / "examples" / "nginx" / "flips.csv"
METRIC = Metric("requests", "1/s", Better.HIGHER)
BENCHMARK = Benchmark("page", ("true",), Reader(ReaderKind.HATI), (METRIC,))
_WAIT = math.log(40.0)
_SLIGHT = {
    "worker_processes": 0.18,
    "multi_accept": -0.04,
    "accept_mutex": -0.035,
    "reuseport": 0.036,
    "sendfile": 0.10,
    "tcp_nopush": 0.10,
    "open_file_cache": 0.053,
    "keepalive_requests": 0.05,
    "access_log": -0.024,
}
STRONG = ("gzip", "tcp_nodelay", "directio", "output_buffers", "postpone_output")
INERT = ("etag", "server_tokens", "event")


class Flips(NamedTuple):
    """A row of the table: an option's settings, and the interval of its effect, in percent."""

    option: str
    before: str
    after: str
    low: float
    high: float


def flips() -> list[Flips]:
    """The rows of examples/nginx/flips.csv."""
    with FLIPS.open(encoding="utf-8") as lines:
        return [
            Flips(row["option"], row["from"], row["to"], float(row["low %"]), float(row["high %"]))
            for row in csv.DictReader(lines)
        ]


def space(event: Sequence[str] = ()) -> Space:
    """The options of the table, each with its default first, and ``event`` if it has settings."""
    more = (Option("event", tuple(event), event[0]),) if event else ()
    return Space((*(Option(row.option, (row.before, row.after), row.before) for row in flips()), *more))


def log_rate(configuration: Mapping[str, Setting]) -> float:
    """The logarithm of the requests a second, without noise, compared with the default configuration."""
    on = {row.option: configuration[row.option] == row.after for row in flips_of_table}
    several = on["postpone_output"] or (not on["gzip"] and (on["directio"] or on["output_buffers"]))
    read = on["gzip"] or on["directio"] or not on["sendfile"]
    return (
        sum(size for name, size in _SLIGHT.items() if on[name])
        - _WAIT * (on["tcp_nodelay"] and several)
        - 1.2 * (on["output_buffers"] and read)
        - 1.0 * on["directio"]
        + 0.3 * (on["gzip"] and on["directio"])
    )


flips_of_table = flips()


class Outcome(NamedTuple):
    """One study: the important options, those found by interactions at least, the runs that failed, and all runs."""

    important: frozenset[str]
    involved: frozenset[str]
    failed: int
    runs: int


def study(seed: int, event: Sequence[str]) -> Outcome:
    """One screening as `hati screen --budget 128` makes it; runs with event=poll fail."""
    whole, store, rng = space(event), MemoryStore(), np.random.default_rng([seed, 32])
    id_, budget = StudyId.of("screening", {}, seed, "simulated"), Budget(runs=RUNS)

    def measure(task: Task) -> Mapping[str, Sequence[float]] | str:
        if task.configuration.get("event") == "poll":
            return "invalid event type poll"
        return {METRIC.name: [30_000.0 * math.exp(log_rate(task.configuration) + NOISE * rng.standard_normal())]}

    engine = FakeEngine(measure, units={METRIC.name: METRIC.unit})
    isolated, made, known = NOTHING_ISOLATED, None, -1
    while made is None or known < len(store.evidence(id_).runs):
        evidence = store.evidence(id_)
        known = len(evidence.runs)
        if made is None:
            of = narrowed(whole, isolated.formulas)
            usable = usable_configurations(evidence, of) if isolated.formulas else ()
            made = _designed(id_, of, int(budget.left(evidence).runs), usable)
        isolation = Isolation(id_, BENCHMARK, "1", whole, isolated)
        campaign(UntilFailure(made, isolation), engine, store, budget)
        found = campaign(isolation, engine, store, budget)
        if found.formulas != isolated.formulas:
            isolated, made = found, None
    evidence = store.evidence(id_)
    return _outcome(made.conclude(evidence), evidence)


def _designed(id_: StudyId, of: Space, runs: int, known: tuple[Configuration, ...]) -> AnyScreening:
    choice = choose_followed(of, runs, generator(id_.seed, "design"), known)
    return screening(
        study=id_, subject="nginx", benchmark=BENCHMARK, metric=METRIC, revision="1", space=of, choice=choice
    )


def _outcome(found: ScreeningConclusion, evidence: Evidence) -> Outcome:
    pairs = {name for effect in found.effects if effect.important for name in effect.options}
    failed = len(evidence.failed)
    return Outcome(frozenset(found.important), frozenset(pairs) | {*found.important}, failed, len(evidence.runs))


def _share(hits: int, studies: int) -> str:
    own = stats.binomtest(hits, studies).proportion_ci()
    return f"{100 * hits / studies:.1f} % ({100 * own.low:.1f}-{100 * own.high:.1f})"


WORLDS = {"sixteen options": (), "event=epoll or poll": ("epoll", "poll"), "event=epoll or select": ("epoll", "select")}
"""The settings of event; poll fails, and select does what epoll does."""


def row(name: str, studies: int) -> list[str]:
    """The counts of one world."""
    found = spread(partial(study, event=WORLDS[name]), range(1, studies + 1))
    return [
        name,
        *(_share(sum(option in each.important for each in found), studies) for option in STRONG),
        _share(sum("gzip" in each.involved for each in found), studies),
        *(_share(sum(option in each.important for each in found), studies) for option in INERT),
        f"{np.mean([each.failed for each in found]):.1f}",
    ]


HEAD = ("world", *STRONG, "gzip, at least by interactions", *INERT, "failed runs")


def effects() -> str:
    """The program's average effects beside the intervals of the table."""
    rng = np.random.default_rng(1)
    drawn = [{r.option: (r.before, r.after)[rng.integers(2)] for r in flips_of_table} for _ in range(4_000)]
    rows = []
    for one in flips_of_table:
        ends = [[log_rate({**each, one.option: own}) for own in (one.before, one.after)] for each in drawn]
        changes = [after - before for before, after in ends]
        rows.append([one.option, f"{100 * math.expm1(float(np.mean(changes))):.1f}", f"{one.low} to {one.high}"])
    return table("Effects in %, of the program and by flips", ("option", "program", "flips"), rows)


def result(studies: int = STUDIES, worlds: Sequence[str] = tuple(WORLDS)) -> tuple[str, bool]:
    """The table; there are no goals."""
    return table("Screenings of a simulated nginx", HEAD, [row(name, studies) for name in worlds]), True


def main(arguments: Sequence[str]) -> None:
    """Print the table."""
    if "--flips" in arguments:
        print(effects())
        return
    print(result(STUDIES // 10 if "--quick" in arguments else STUDIES)[0])


if __name__ == "__main__":
    main(sys.argv[1:])
