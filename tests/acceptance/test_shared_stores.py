"""Stores under several processes at once, and under the death of any: nothing is lost, nothing is there twice."""

from __future__ import annotations

import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import psycopg
import pytest
from evolving import git

from hati.core import Event, Run, StudyId, replace
from hati.store import Selection, open_store, read_store
from hati.testing.conformance import MACHINE, METRICS, START, a_run, a_study, an_event
from postgres import PostgresServer

pytestmark = [pytest.mark.acceptance, pytest.mark.xdist_group("postgres")]

HATI = str(Path(sys.executable).with_name("hati"))
PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "share-a-store.md"

WRITER = """
import sys
from hati.store import open_store
from hati.testing.conformance import MACHINE, METRICS, a_run, a_study, an_event
store, study = open_store(sys.argv[1]), a_study()
store.begin(study, METRICS, MACHINE)
store.add_events([an_event(1), an_event(2)])
for repetition in range(5):
    store.record(a_run(study, repetition))
store.close()
"""

PROGRAM = """
import json, time
time.sleep(0.02)
print(json.dumps({"metric": "latency", "value": 0.02}))
"""

PROJECT = """
[[benchmark]]
name = "main"
command = ["python3", "-S", "program.py", "{repetition}"]
[[benchmark.metric]]
name = "latency"
unit = "s"
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def places(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """New places for stores, without end."""
    if request.param == "sqlite":
        return (str(tmp_path / f"store-{number}.sqlite") for number in range(1000))
    server: PostgresServer = request.getfixturevalue("postgres")
    return (server.database() for _ in range(1000))


def writers(place: str, count: int) -> list[subprocess.Popen[str]]:
    words = [sys.executable, "-c", WRITER, place]
    return [subprocess.Popen(words, stderr=subprocess.PIPE, text=True) for _ in range(count)]


def check_written(place: str) -> None:
    with closing(read_store(place)) as store:
        assert {run.task.repetition for run in store.evidence(a_study()).runs} == set(range(5))
        assert len(store.runs(Selection())) == 5
        assert store.events() == (an_event(1), an_event(2))


def test_several_processes_make_one_store_at_once(places: Iterator[str]) -> None:
    for _ in range(2):
        place = next(places)
        for process in writers(place, 4):
            said = process.communicate(timeout=120)[1]
            assert (process.returncode, said) == (0, "")
        check_written(place)


def test_a_store_whose_makers_were_killed_is_whole(places: Iterator[str]) -> None:
    rng = random.Random(5)
    for _ in range(5):
        place = next(places)
        killed = writers(place, 3)
        time.sleep(rng.uniform(0.4, 2.0))
        for process in killed:
            process.send_signal(signal.SIGKILL)
            process.communicate()
        (last,) = writers(place, 1)
        said = last.communicate(timeout=120)[1]
        assert (last.returncode, said) == (0, "")
        check_written(place)


def importing(source: str, place: str, folder: Path) -> subprocess.Popen[str]:
    words = [HATI, "import", source, "--store", place]
    return subprocess.Popen(words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def fill(place: str, runs: Sequence[int], seconds: int) -> None:
    with closing(open_store(place)) as store:
        for campaign in (1, 2, 3):
            study = a_study(campaign)
            store.begin(study, METRICS, MACHINE)
            for repetition in runs:
                run = a_run(study, repetition)
                store.record(replace(run, started=START + timedelta(seconds=seconds + repetition)))
        store.add_events([an_event(second) for second in runs])


def contents(place: str) -> tuple[list[StudyId], dict[str, Run], tuple[Event, ...]]:
    with closing(read_store(place)) as store:
        runs = {run.task.id: run for run in store.runs(Selection())}
        assert len(runs) == len(store.runs(Selection()))
        return [record.id for record in store.studies()], runs, store.events()


def count(place: str) -> int:
    connection = psycopg.connect(place) if "://" in place else sqlite3.connect(place)
    with closing(connection):
        return int(connection.execute("SELECT count(*) FROM run").fetchone()[0])


def test_a_killed_import_has_lost_nothing_and_is_completed(places: Iterator[str], tmp_path: Path) -> None:
    source, undisturbed, place = str(tmp_path / "source.sqlite"), next(places), next(places)
    fill(source, range(50, 650), 0)
    fill(undisturbed, range(100), 7)
    assert "1,800 runs" in importing(source, undisturbed, tmp_path).communicate(timeout=300)[0]
    whole = contents(undisturbed)
    fill(place, range(100), 7)
    for kill in range(4):
        before = set(contents(place)[1])
        process, rows = importing(source, place, tmp_path), count(place)
        while count(place) == rows and process.poll() is None:
            time.sleep(0.002)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        there = set(contents(place)[1])
        assert before <= there
        assert kill or before < there < set(whole[1])
    importing(source, place, tmp_path).communicate(timeout=300)
    assert contents(place) == whole
    again = importing(source, place, tmp_path)
    assert ": 0 studies, 0 runs, 0 events taken; 3 studies, 1,800 runs, 600 events there" in again.communicate()[0]


def test_imports_into_one_store_at_once_take_everything_once(places: Iterator[str], tmp_path: Path) -> None:
    runs = list(range(300))
    sources = [str(tmp_path / name) for name in ("up", "down", "later")]
    fill(sources[0], runs, 0)
    fill(sources[1], runs[::-1], 0)
    fill(sources[2], runs[100:], 60)
    place = next(places)
    for process in [importing(source, place, tmp_path) for source in sources]:
        _, said = process.communicate(timeout=300)
        assert (process.returncode, said) == (0, "")
    importing(sources[0], place, tmp_path).communicate(timeout=300)
    found, expected = contents(place), contents(sources[0])
    assert found[1:] == expected[1:]
    assert set(found[0]) == set(expected[0])


def test_a_server_that_dies_during_a_campaign_costs_no_run(postgres: PostgresServer, tmp_path: Path) -> None:
    (tmp_path / "hati.toml").write_text(PROJECT)
    (tmp_path / "program.py").write_text(PROGRAM)
    place, rng = postgres.database(), random.Random(3)
    words = [HATI, "run", "--budget", "60", "--store", place]
    environment = {**os.environ, "HATI_LOCK": str(tmp_path.parent / "lock")}

    def starting() -> subprocess.Popen[str]:
        return subprocess.Popen(
            words, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    process, deaths = starting(), 0
    while process.poll() is None:
        time.sleep(rng.uniform(0.5, 1.5))
        if deaths < 5 and process.poll() is None:
            postgres.stop()
            deaths += 1
            time.sleep(0.3)
            postgres.start()
        if process.poll() == 4:  # it died within a transaction
            said = process.communicate()[1].splitlines()[-1]
            assert said.startswith("error: the ")
            assert "Traceback" not in said
            process = starting()
    assert process.wait() == 0
    process.communicate()
    assert deaths >= 2
    with closing(read_store(place)) as store:
        tasks = [run.task.id for run in store.runs(Selection())]
    assert len(tasks) == len(set(tasks)) == 60


def test_jobs_that_share_a_branch_at_once_lose_nothing(tmp_path: Path) -> None:
    block = re.search(r'```sh title="share.sh"\n(.*?)```', PAGE.read_text(), re.DOTALL)
    assert block is not None
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "origin.git")], check=True)
    jobs = [tmp_path / f"job-{number}" for number in range(4)]
    environment = {**os.environ, "PATH": f"{Path(HATI).parent}{os.pathsep}{os.environ['PATH']}"}
    for number, job in enumerate(jobs):
        (job / ".hati").mkdir(parents=True)
        (job / "share.sh").write_text(block[1])
        with closing(open_store(str(job / ".hati" / "store.sqlite"))) as store:
            store.begin(a_study(number + 1), METRICS, MACHINE)
            store.record(a_run(a_study(number + 1), number))
            store.add_events([an_event(number)])
        git(tmp_path, "clone", "--quiet", "origin.git", str(job / "results"))
        if number == 0:
            git(job / "results", "switch", "--quiet", "--orphan", "measurements")
            subprocess.run(
                [HATI, "import", "../.hati/store.sqlite", "--store", "store.sqlite"], cwd=job / "results", check=True
            )
            git(job / "results", "add", "store.sqlite")
            git(job / "results", "commit", "--quiet", "--message", "Measurements")
            git(job / "results", "push", "--quiet", "origin", "measurements")
    for key, value in (("user.name", "me"), ("user.email", "me@here")):
        for job in jobs:
            git(job / "results", "config", key, value)
    sharing = [
        subprocess.Popen(["sh", "share.sh"], cwd=job, env=environment, stderr=subprocess.PIPE, text=True)
        for job in jobs
    ]
    refused = 0
    for process in sharing:
        said = process.communicate(timeout=300)[1]
        assert process.returncode == 0, said
        refused += "rejected" in said
    assert refused, "no two were at it at once"
    git(jobs[0] / "results", "pull", "--quiet", "origin", "measurements")
    with closing(read_store(str(jobs[0] / "results" / "store.sqlite"))) as store:
        assert {run.task.repetition for run in store.runs(Selection())} == set(range(4))
        assert len(store.studies()) == 4
        assert store.events() == tuple(an_event(number) for number in range(4))
