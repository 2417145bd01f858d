"""``python -m benchmarks.fig12``: how often ``hati history --revisions`` is right about ten daily revisions.

``examples/fig12`` builds their repository: days 3 to 5 take 10 to 14 % longer, day 6 half as much again, and day 10
30 % longer with the cache on. The output of its program follows from the seed, the day, the options and the run's
number. Each try runs it in this process, through the study and the engine's port, and concludes as the command does;
the acceptance tests run the command itself, and check that the results are the same.

A try is right if the whole space changes on days 3, 6, 7 and 10, on no other day except 4 and 5, and if day 10's strata
are those with the cache on. With a repository without changes, a try is right if no series changes. All tries take half
a minute.
"""

from __future__ import annotations

import io
import json
import sys
import tomllib
from collections.abc import Callable
from contextlib import redirect_stdout
from itertools import product
from typing import Any
from unittest.mock import patch

from examples.fig12.make_repository import EVERYWHERE, PROGRAM, PROJECT, WITH_CACHE
from scipy import stats

from benchmarks.markdown import table
from hati.campaign import campaign
from hati.core import (
    Assignment,
    Benchmark,
    Budget,
    Configuration,
    Metric,
    Reader,
    ReaderKind,
    Revision,
    RevisionKind,
    Task,
)
from hati.render import to_plain
from hati.studies.gate import Cell
from hati.studies.regression import histories
from hati.studies.replay import Replay, ReplayOrder, replay_id
from hati.studies.replay.document import replay_json
from hati.testing import FakeEngine, MemoryStore

TRIES = 40
FEWEST_RIGHT = 38
DAYS = tuple(f"day-{number + 1}" for number in range(len(EVERYWHERE)))
CHANGED, CREEPING = {"day-3", "day-6", "day-7", "day-10"}, {"day-4", "day-5"}
MAIN = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (Metric("latency", "us"),))
LINE = tuple(Revision(day, RevisionKind.GIT, day) for day in DAYS)
OPTIONS = tuple(tomllib.loads(PROJECT)["options"])
CELLS = tuple(
    Cell(MAIN, Configuration(setting), Assignment(setting))
    for setting in (dict(zip(OPTIONS, settings, strict=True)) for settings in product(("off", "on"), repeat=3))
)
RUNS = 3


def program(seed: int, day: int, *, unchanged: bool) -> Callable[[list[str]], float]:
    """The value that the program of a day prints, as a function of its arguments."""
    cost = (1.0, 1.0) if unchanged else (EVERYWHERE[day], WITH_CACHE[day])
    code = compile(PROGRAM.format(everywhere=cost[0], with_cache=cost[1], seed=seed, day=day + 1), "program.py", "exec")

    def printed(arguments: list[str]) -> float:
        text = io.StringIO()
        with redirect_stdout(text), patch.object(sys, "argv", ["program.py", *arguments]):
            exec(code, {})
        return float(json.loads(text.getvalue())["value"])

    return printed


def tried(seed: int, *, unchanged: bool) -> Any:
    """The command's JSON for the repository of a seed, with the days as names of the revisions."""
    programs = {day: program(seed, number, unchanged=unchanged) for number, day in enumerate(DAYS)}

    def measured(task: Task) -> dict[str, list[float]]:
        settings = [str(task.configuration[option]) for option in OPTIONS]
        return {"latency": [programs[task.revision]([*settings, str(task.repetition)])]}

    study = Replay(
        replay_id(CELLS, LINE, RUNS, ReplayOrder.INTERLEAVED, 1, "m"), LINE, CELLS, RUNS, ReplayOrder.INTERLEAVED
    )
    found = campaign(study, FakeEngine(measured), MemoryStore(), Budget())
    return to_plain(replay_json(found, histories(found.series)))


def days(answer: Any, stratum: dict[str, str]) -> set[str]:
    """The positions at which the series of a stratum changes; the whole space if the stratum is empty."""
    [series] = [one for one in answer["series"] if one["stratum"] == stratum]
    return {change["position"] for change in series["change_points"]}


def right(answer: Any) -> bool:
    last = [one for one in answer["affected"] if one["position"] == "day-10"]
    whole = days(answer, {})
    return whole >= CHANGED and whole <= CHANGED | CREEPING and [one["settings"] for one in last] == [{"cache": "on"}]


def silent(answer: Any) -> bool:
    return not any(one["change_points"] for one in answer["series"])


def result(tries: int = TRIES) -> tuple[str, bool]:
    rows = []
    held = True
    for name, unchanged, judged in (("ten days as in Fig. 12", False, right), ("ten days alike", True, silent)):
        count = sum(judged(tried(seed, unchanged=unchanged)) for seed in range(1, tries + 1))
        low, high = stats.binomtest(count, tries).proportion_ci(0.95)
        held = held and count >= FEWEST_RIGHT * tries // TRIES
        rows.append((name, f"{count} of {tries}", f"{low:.0%} to {high:.0%}"))
    goal = f"Seeds 1 to {tries}; goal: at least {FEWEST_RIGHT} of {TRIES} each: {'met' if held else 'MISSED'}."
    return table("History of ten revisions", ("repository", "right", "95 % interval"), rows, goal), held


if __name__ == "__main__":
    printed_table, ok = result()
    print(printed_table)
    sys.exit(0 if ok else 1)
