"""Conformance suites for engines and kinds of studies, to be inherited."""

from __future__ import annotations

from collections.abc import Generator, Iterable
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
from msgspec import Struct

from hati.campaign import silent
from hati.core import (
    Batch,
    BatchOrder,
    Better,
    Configuration,
    Engine,
    Event,
    EventKind,
    Evidence,
    InputError,
    Job,
    Machine,
    Metric,
    Observations,
    Outcome,
    Resources,
    Run,
    SeriesKey,
    Size,
    StudyId,
    Task,
    Workload,
    decode,
    replace,
)
from hati.render import document_html, document_markdown, document_text, json_schema, to_json
from hati.wiring import Workplace
from hati.wiring.stored_studies import StoredStudy, stored_report
from hati.wiring.study_types import AnyStudyType, format_of
from hati.wiring.workplace import mute


class EngineConformance:
    """The tests of an engine. A subclass overrides the three fixtures.

    ``engine`` is under test; ``good_jobs`` are at least three different jobs whose runs always succeed; ``bad_job`` is
    a job whose runs always fail.
    """

    @pytest.fixture
    def engine(self) -> AnyEngine:
        """The engine, ready."""
        raise pytest.UsageError("a subclass of EngineConformance needs the fixture `engine`")

    @pytest.fixture
    def good_jobs(self) -> tuple[AnyWork, ...]:
        """Three jobs or more that succeed."""
        raise pytest.UsageError("a subclass of EngineConformance needs the fixture `good_jobs`")

    @pytest.fixture
    def bad_job(self) -> AnyWork:
        """A job that fails."""
        raise pytest.UsageError("a subclass of EngineConformance needs the fixture `bad_job`")

    def test_nothing_comes_where_nothing_is_out(self, engine: AnyEngine) -> None:
        """An engine without batches has capacity, and yields no runs."""
        assert engine.capacity() > 0
        assert list(engine.completed()) == []

    def test_every_job_is_run(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """Each job is run at least once, and nothing else; runs carry their tasks unchanged."""
        assert {run.task for run in _runs(engine, *map(_alone, good_jobs))} == {_task(job) for job in good_jobs}

    def test_a_good_run_has_observations(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """They are finite, of at least one metric, each metric once, with the run's resources."""
        for run in _runs(engine, *map(_alone, good_jobs)):
            assert run.outcome is Outcome.DONE, run.detail
            assert len({o.metric for o in run.observations}) == len(run.observations) > 0
            assert all(np.isfinite(o.values).all() and o.steady.size for o in run.observations)
            assert run.resources is not None
            assert run.resources.wall_time <= run.seconds

    def test_runs_say_where_and_when(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """Every run has its machine, and starts in UTC."""
        for run in _runs(engine, *map(_alone, good_jobs)):
            assert run.machine
            assert run.started.utcoffset() == timedelta(0)
            assert run.seconds > 0

    def test_a_failure_is_a_run_with_its_reason(self, engine: AnyEngine, bad_job: AnyWork) -> None:
        """A failure is neither an exception nor silently dropped."""
        runs = _runs(engine, _alone(bad_job))
        assert runs
        assert all(run.outcome is not Outcome.DONE and run.detail and not run.observations for run in runs)

    def test_a_failure_ends_nothing(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...], bad_job: AnyWork) -> None:
        """The jobs after a failure are run, in its batch and in later ones."""
        made = _runs(engine, Batch((bad_job, good_jobs[0])), *map(_alone, good_jobs[1:]))
        assert {run.task for run in made if run.outcome is Outcome.DONE} == {_task(job) for job in good_jobs}

    def test_batches_begin_in_the_order_of_their_release(
        self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]
    ) -> None:
        """They do so for any order of the jobs: a randomised order is not changed to save time."""
        for jobs in (good_jobs, good_jobs[::-1]):
            made = _by_task(_runs(engine, *map(_alone, jobs)))
            starts = [made[_task(job).id].started for job in jobs]
            assert starts == sorted(starts), "batches did not begin in the order in which they were submitted"

    def test_a_sequence_is_kept_on_one_machine(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """Each run begins after the previous one has ended, and nothing else runs between them."""
        for jobs in (good_jobs, good_jobs[::-1]):
            other = _again(good_jobs[0], len(good_jobs))
            made = _by_task(_runs(engine, Batch(jobs), _alone(other)))
            runs, foreign = [made[_task(job).id] for job in jobs], made[_task(other).id]
            assert len({run.machine for run in runs}) == 1, "a batch was split"
            for first, second in pairwise(runs):
                ended = first.started + timedelta(seconds=first.seconds) - CLOCKS_DIFFER
                assert second.started >= max(ended, first.started), "a sequence was not kept"
            between = runs[0].started < foreign.started < runs[-1].started
            assert foreign.machine != runs[0].machine or not between, "something else was run within a batch"

    def test_a_free_batch_stays_on_one_machine(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """Its order is free; two batches, so that a second machine would be idle."""
        for made in (_runs(engine, Batch(good_jobs, BatchOrder.FREE)), _runs(engine, Batch(good_jobs))):
            assert {run.task for run in made} == {_task(job) for job in good_jobs}
            assert len({run.machine for run in made}) == 1, "a batch was split"

    def test_those_together_run_at_the_same_time(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """They run on one machine."""
        first, second = _runs(engine, Batch(good_jobs[:2], BatchOrder.TOGETHER))
        assert first.machine == second.machine, "a batch was split"
        for one, other in ((first, second), (second, first)):
            assert one.started < other.started + timedelta(seconds=other.seconds), "a duet did not run at the same time"

    def test_what_waits_can_be_withdrawn(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """No job of a withdrawn batch runs; other batches do. A batch that was not submitted has not begun."""
        room = engine.capacity()
        batches = [_alone(_again(good_jobs[0], number)) for number in range(room + 1)]
        for batch in batches:
            engine.submit(batch)
        last = batches[-1]
        assert engine.withdraw(last)
        assert engine.withdraw(_alone(_again(good_jobs[0], room + 1)))
        made = {run.task.id for run in engine.completed()}
        assert made == {_task(job).id for batch in batches[:-1] for job in batch.members}

    def test_withdrawing_ends_what_has_not_begun(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """A batch has begun with its first run; the rest of it is running, or is never run."""
        batch = Batch(good_jobs)
        engine.submit(batch)
        runs = engine.completed()
        first = next(runs)
        assert not engine.withdraw(batch)
        assert len({first.task.id, *(run.task.id for run in runs)}) < len(good_jobs)

    def test_what_is_under_way_comes_whatever_is_withdrawn(
        self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]
    ) -> None:
        """Both jobs of a duet have begun."""
        batch = Batch(good_jobs[:2], BatchOrder.TOGETHER)
        engine.submit(batch)
        runs = engine.completed()
        first = next(runs)
        assert not engine.withdraw(batch)
        assert {first.task, *(run.task for run in runs)} == set(map(_task, good_jobs[:2]))

    def test_it_has_room_again(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """The capacity is as at first once all runs are done, and smaller before."""
        room = engine.capacity()
        engine.submit(_alone(good_jobs[0]))
        assert engine.capacity() == room - 1
        assert [run.task for run in engine.completed()] == [_task(good_jobs[0])]
        assert engine.capacity() == room

    def test_room_is_there_when_a_run_is_handed_over(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """So no machine waits for all others: runs of batches submitted meanwhile come from the same iterator."""
        engine.submit(_alone(good_jobs[0]))
        runs = engine.completed()
        assert next(runs).task == _task(good_jobs[0])
        assert engine.capacity() > 0
        engine.submit(_alone(good_jobs[1]))
        assert [run.task for run in runs] == [_task(good_jobs[1])]

    def test_it_can_be_left_unfinished(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """An aborted campaign closes the iterator; the engine works as before once its batches are withdrawn."""
        room, batch = engine.capacity(), Batch(good_jobs)
        engine.submit(batch)
        runs = engine.completed()
        assert next(runs).task in set(map(_task, good_jobs))
        if isinstance(runs, Generator):
            runs.close()
        engine.withdraw(batch)
        under_way = {run.task for run in engine.completed()}
        assert under_way < set(map(_task, good_jobs))
        assert engine.capacity() == room
        again = [_again(job, len(good_jobs)) for job in good_jobs]
        assert {run.task for run in _runs(engine, *map(_alone, again))} == set(map(_task, again))

    def test_closing_ends_all(self, engine: AnyEngine, good_jobs: tuple[AnyWork, ...]) -> None:
        """Waiting batches are dropped, and no more runs come."""
        for job in good_jobs:
            engine.submit(_alone(job))
        runs = engine.completed()
        next(runs)
        engine.close()
        assert list(runs) == []


AnyWork = Job | Task
AnyEngine = Engine[Any]
"""An engine of jobs; a fake may take tasks."""
CLOCKS_DIFFER = timedelta(milliseconds=5)
"""The largest difference over a run between the clocks of its start (time of day) and of its length (monotonic)."""


def _task(work: AnyWork) -> Task:
    return work.task if isinstance(work, Job) else work


def _alone(job: AnyWork) -> Batch[AnyWork]:
    return Batch((job,))


def _again(job: AnyWork, number: int) -> AnyWork:
    """The same work with another repetition."""
    if isinstance(job, Job):
        return replace(job, task=replace(job.task, repetition=job.task.repetition + number))
    return replace(job, repetition=job.repetition + number)


def _runs(engine: AnyEngine, *batches: Batch[AnyWork]) -> list[Run]:
    for batch in batches:
        engine.submit(batch)
    return list(engine.completed())


def _by_task(runs: Iterable[Run]) -> dict[str, Run]:
    """The first run of each task."""
    found: dict[str, Run] = {}
    for run in runs:
        found.setdefault(run.task.id, run)
    return found


MACHINE = Machine.of({"cpu": "test"})
METRICS = (Metric("latency", "s"), Metric("throughput", "1/s", Better.HIGHER))
START = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


def a_study(campaign: int = 1, seed: int = 1, token: str = "") -> StudyId:
    """A study to record runs for."""
    return StudyId.of("screening", {"budget": "8"}, seed, MACHINE.fingerprint).numbered(campaign, token)


def a_run(study: StudyId, repetition: int = 0, setting: int = 1, outcome: Outcome = Outcome.DONE) -> Run:
    """A run with observations of two metrics, or a failure."""
    task = Task(
        study.key, "design", "b", Configuration({"o": setting, "p": True}), "r1", Workload({"n": 3}), repetition
    )
    done = outcome is Outcome.DONE
    values = np.array([0.3, 0.1, 1e-300, -0.0, 5e-324])
    return Run(
        task=task,
        machine=MACHINE.fingerprint,
        started=START + timedelta(seconds=repetition),
        seconds=0.25,
        outcome=outcome,
        detail="" if done else "exit status 3",
        exit=0 if done else 3,
        output="the end\n",
        resources=Resources(0.2, 0.1, 0.05, 10_000_000, 3, 4, 0.5, 0.02, 0.01),
        observations=(Observations("latency", "s", values, 1), Observations("throughput", "1/s", np.array([5.0])))
        if done
        else (),
        reset=0.05 if done else None,
    )


def an_event(second: int) -> Event:
    """A sighting of a regression, ``second`` seconds and a fraction after the start."""
    at = START.replace(microsecond=0) + timedelta(seconds=second, milliseconds=500 * (second % 2))
    spot = SeriesKey("b", "latency", "o=1", "", MACHINE.fingerprint)
    return Event("regression-1", EventKind.SEEN, at, "study", "r0", "r1", {spot: Size(1.2, 1.1, 1.3)})


class StudyTypeConformance:
    """The tests of a kind of study. A subclass overrides the three fixtures.

    ``kind`` is under test; ``request_`` is a request that needs few runs; ``project`` is the folder of a project.
    """

    @pytest.fixture
    def kind(self) -> AnyStudyType:
        """The kind under test."""
        raise pytest.UsageError("a subclass of StudyTypeConformance needs the fixture `kind`")

    @pytest.fixture
    def request_(self) -> Struct:
        """The request under test."""
        raise pytest.UsageError("a subclass of StudyTypeConformance needs the fixture `request_`")

    @pytest.fixture
    def project(self) -> Path:
        """The folder of a project."""
        raise pytest.UsageError("a subclass of StudyTypeConformance needs the fixture `project`")

    @pytest.fixture
    def place(self, kind: AnyStudyType, request_: Struct, project: Path) -> Workplace:
        """The project, with a store in memory."""
        return kind.open(project, "sqlite://", request_, mute)

    def test_its_request_is_described(self, kind: AnyStudyType) -> None:
        """The request is frozen, has a docstring for the help, and describes the option of each field."""
        for name, hint in get_type_hints(kind.request, include_extras=True).items():
            assert hasattr(hint, "__metadata__"), f"{name} has no FlagField"
        assert kind.request.__struct_config__.frozen
        assert kind.request.__doc__
        assert kind.section in {"Model", "Measure", "Decide", "Follow", "Share"}

    def test_the_same_is_planned_twice(self, kind: AnyStudyType, place: Workplace, request_: Struct) -> None:
        """A plan depends on the evidence alone."""
        study = kind.prepare(place, request_, fresh=True).study
        first, again = study.plan(Evidence()), study.plan(Evidence())
        assert [task.id for task in first.tasks] == [task.id for task in again.tasks]

    def test_a_finished_one_is_not_measured_again(self, kind: AnyStudyType, place: Workplace, request_: Struct) -> None:
        """Its campaign is found, and has nothing left to run; or its kind measures again each time."""
        prepared = kind.prepare(place, request_, fresh=False)
        kind.concluded(prepared, request_, kind.make(prepared, request_, mute, silent)).written()
        runs = len(prepared.evidence().runs)
        again = kind.prepare(place, request_, fresh=False)
        assert (prepared if kind.afresh else again).finished
        assert len(again.evidence().runs) == (0 if kind.afresh else runs)

    def test_it_goes_on_where_it_was_broken_off(self, kind: AnyStudyType, place: Workplace, request_: Struct) -> None:
        """An interrupted campaign keeps its runs, and no task is run twice."""
        prepared = kind.prepare(place, request_, fresh=False)
        with pytest.raises(KeyboardInterrupt):
            kind.make(prepared, request_, mute, _stop)
        assert prepared.evidence().runs
        resumed = kind.prepare(place, request_, fresh=False)
        assert resumed.study.id == prepared.study.id
        kind.make(resumed, request_, mute, silent)
        tasks = [run.task.id for run in resumed.evidence().runs]
        assert len(tasks) == len(set(tasks))

    def test_a_store_gives_it_back(self, kind: AnyStudyType, place: Workplace, request_: Struct) -> None:
        """The stored request is unchanged, and the report of the stored study has the same answer.

        For a kind that a store cannot restore, the report is refused, or its runs are reported as another kind.
        """
        prepared = kind.prepare(place, request_, fresh=False)
        found = kind.make(prepared, request_, mute, silent)
        written = kind.concluded(prepared, request_, found)
        if not kind.restores:
            own = prepared.study.id.kind == kind.kind
            refused: AbstractContextManager[object] = pytest.raises(InputError) if own else nullcontext()
            with refused:
                assert stored_report(place, prepared.study.id.key).document.answer
            return
        stored = StoredStudy(place, next(each for each in place.store.studies() if each.id == prepared.study.id))
        assert stored.asked(kind.request) == request_
        report = stored_report(place, prepared.study.id.key)
        assert report.document.answer == written.document.answer

    def test_it_is_written_in_every_format(self, kind: AnyStudyType, place: Workplace, request_: Struct) -> None:
        """The formats are text, Markdown, HTML and JSON; kinds with verdicts have test cases."""
        prepared = kind.prepare(place, request_, fresh=False)
        written = kind.concluded(prepared, request_, kind.make(prepared, request_, mute, silent))
        for write in (document_text, document_markdown, document_html):
            assert write(written.document)
        published = written.values()
        assert kind.published in {None, type(published)}
        assert format_of(published)
        read = decode(to_json(published), type(published), dec_hook=lambda type_, value: type_(value))
        assert to_json(read) == to_json(published)
        assert json_schema(type(published))
        assert bool(written.document.cases) is kind.judges


def _stop(*_: object) -> None:
    raise KeyboardInterrupt
