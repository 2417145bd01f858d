"""Conformance suites for engines, stores and kinds of studies, to be inherited."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from threading import Barrier
from typing import Any, get_type_hints

import msgspec
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
    replace,
)
from hati.render import document_html, document_markdown, document_text, json_schema, to_json
from hati.store import Selection, Span, SqlStore
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


class StoreConformance(ABC):
    """The tests of a store: inherit, implement ``open``, and let pytest run them."""

    @abstractmethod
    def open(self) -> SqlStore:
        """The store under test; each call opens the same place again."""

    def begun(self, campaign: int = 1) -> tuple[SqlStore, StudyId]:
        """An open store with a study."""
        store, study = self.open(), a_study(campaign)
        store.begin(study, METRICS, MACHINE)
        return store, study

    def test_a_run_comes_back_as_it_was(self) -> None:
        store, study = self.begun()
        run = a_run(study)
        assert store.record(run)
        (found,) = self.open().evidence(study).runs
        assert found == run
        assert found.observations[0].values.tobytes() == run.observations[0].values.tobytes()

    def test_a_failure_comes_back_as_it_was(self) -> None:
        store, study = self.begun()
        run = a_run(study, outcome=Outcome.FAILED)
        store.record(run)
        assert store.evidence(study).failed == (run,)

    def test_the_largest_numbers_and_any_text_come_back(self) -> None:
        store, study = self.open(), a_study(seed=2**63 - 1)
        store.begin(study, METRICS, MACHINE)
        largest = Resources(1e308, 5e-324, 0.0, 2**62, 2**33, 2**33, 0.1, None, None)
        text = "\0 \ue000\ue0000 %s %(a)s '\"\\ é 🐺 \x1b[1m\r\n"
        run = replace(a_run(study), resources=largest, output=text, detail="a\0b")
        store.record(run)
        assert self.open().evidence(study).runs == (run,)
        assert [record.id for record in store.studies()] == [study]

    def test_a_task_is_recorded_once(self) -> None:
        store, study = self.begun()
        assert store.record(a_run(study))
        assert not store.record(a_run(study))
        assert not self.open().record(a_run(study, outcome=Outcome.FAILED))
        assert store.evidence(study).runs == (a_run(study),)

    def test_it_knows_when_studies_were_measured(self) -> None:
        store, study = self.begun()
        assert store.spans() == {}
        for repetition in (2, 0, 1):
            store.record(a_run(study, repetition))
        assert store.spans() == {study.key: Span(START, START + timedelta(seconds=2), 3)}

    def test_several_begin_and_record_the_same_at_once(self) -> None:
        _, study = self.begun(campaign=9)
        several, one = 4, a_study()
        start = Barrier(several)

        def worker(_: int) -> list[bool]:
            store = self.open()
            start.wait()
            store.begin(one, METRICS, MACHINE)
            store.add_events([an_event(1), an_event(2)])
            recorded = [store.record(a_run(one, repetition)) for repetition in range(5)]
            store.close()
            return recorded

        with ThreadPoolExecutor(several) as pool:
            recorded = list(pool.map(worker, range(several)))
        store = self.open()
        assert [sum(each) for each in zip(*recorded, strict=True)] == [1] * 5
        assert {run.task.repetition for run in store.evidence(one).runs} == set(range(5))
        assert [record.id for record in store.studies()] == [study, one]
        assert store.events() == (an_event(1), an_event(2))

    def test_events_are_kept_once_in_the_order_of_their_times(self) -> None:
        store = self.open()
        assert store.add_events([an_event(3), an_event(1), an_event(3)]) == 2
        assert self.open().add_events([an_event(1), an_event(2)]) == 1
        assert store.events() == (an_event(1), an_event(2), an_event(3))

    def test_evidence_keeps_the_order_of_recording_and_one_study(self) -> None:
        store, study = self.begun()
        other = a_study(campaign=2)
        store.begin(other, METRICS, MACHINE)
        for repetition in (2, 0, 1):
            store.record(a_run(study, repetition))
        store.record(a_run(other, 7))
        assert [run.task.repetition for run in store.evidence(study).runs] == [2, 0, 1]
        assert [run.task.repetition for run in store.evidence(other).runs] == [7]

    def test_a_study_is_begun_once_and_keeps_its_choice(self) -> None:
        store, study = self.begun()
        store.keep_choice(study, '{"runs":32}')
        again = self.open().begin(study, METRICS, MACHINE)
        assert again.id == study
        assert again.metrics == METRICS
        assert again.choice == '{"runs":32}'

    def test_latest_is_the_highest_campaign_of_the_family(self) -> None:
        store = self.open()
        for campaign in (1, 10, 2):
            store.begin(a_study(campaign), METRICS, MACHINE)
        store.begin(a_study(campaign=99, seed=2), METRICS, MACHINE)
        assert [record.id for record in store.latest(a_study())] == [a_study(10)]
        assert store.latest(a_study(seed=3)) == ()

    def test_campaigns_of_one_number_are_distinguished_by_their_tokens(self) -> None:
        store = self.open()
        begun = [a_study(2), a_study(2, 1, "b"), a_study(2, 1, "a"), a_study(1, 1, "c")]
        for study in begun:
            store.begin(study, METRICS, MACHINE)
            assert store.record(a_run(study))
        assert [record.id for record in self.open().studies()] == begun
        assert [record.id for record in store.latest(a_study())] == [begun[2], begun[1], begun[0]]
        assert [store.evidence(study).runs for study in begun] == [(a_run(study),) for study in begun]

    def test_studies_are_in_the_order_in_which_they_were_begun(self) -> None:
        store = self.open()
        begun = [a_study(campaign, seed) for seed in (3, 1, 2) for campaign in (1, 2, 10)]
        for study in begun:
            store.begin(study, METRICS, MACHINE)
        assert [record.id for record in self.open().studies()] == begun

    def test_spans_show_when_studies_were_measured(self) -> None:
        store, study = self.begun()
        store.begin(a_study(campaign=2), METRICS, MACHINE)
        second = START.replace(microsecond=0)
        times = [second + timedelta(microseconds=part) for part in (500_000, 0, 999_999, 20)]
        for repetition, started in enumerate(times):
            store.record(replace(a_run(study, repetition), started=started))
        assert store.spans() == {study.key: Span(second, times[2], 4)}

    def test_forgetting_removes_runs_and_empty_studies(self) -> None:
        store, study = self.begun()
        for repetition in range(3):
            store.record(a_run(study, repetition))
        first = store.evidence(study).runs[0].task.id
        assert store.forget(Selection(task=first)) == 1
        assert store.latest(study) != ()
        assert first not in store.evidence(study).known
        assert store.forget(Selection(study=study.key)) == 2
        assert store.latest(study) == ()
        assert store.forget(Selection(study=study.key)) == 0

    def test_samples_are_two_level_and_one_for_each_configuration_and_metric(self) -> None:
        store, study = self.begun()
        store.record(a_run(study, 0, setting=1))
        store.record(a_run(study, 1, setting=1))
        store.record(a_run(study, 0, setting=2))
        store.record(a_run(study, 2, setting=2, outcome=Outcome.TIMEOUT))
        samples = store.samples(Selection(study=study.key))
        sizes = {(s.metric.name, s.configuration["o"]): len(s.runs) for s in samples}
        assert sizes == {("latency", 1): 2, ("latency", 2): 1, ("throughput", 1): 2, ("throughput", 2): 1}
        assert {s.metric.name: s.metric.better for s in samples} == {
            "latency": Better.LOWER,
            "throughput": Better.HIGHER,
        }

    def test_the_newest_runs_of_a_machine_are_selected(self) -> None:
        store, study = self.begun()
        for repetition in range(4):
            store.record(a_run(study, repetition))
        newest = store.runs(Selection(machine=MACHINE.fingerprints, newest=2))
        assert [run.task.repetition for run in newest] == [2, 3]
        assert store.runs(Selection(machine=("none",), newest=2)) == ()

    def test_the_machine_is_kept(self) -> None:
        store, _ = self.begun()
        assert store.machine(MACHINE.fingerprint) == MACHINE
        assert store.machine("none") is None


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
        read = msgspec.json.decode(to_json(published), type=type(published), dec_hook=lambda type_, value: type_(value))
        assert to_json(read) == to_json(published)
        assert json_schema(type(published))
        assert bool(written.document.cases) is kind.judges


def _stop(*_: object) -> None:
    raise KeyboardInterrupt
