"""The conformance suite of a store in any database, to be inherited."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

from hati.core import Better, Outcome, Resources, StudyId, replace
from hati.store import Selection, Span, SqlStore
from hati.testing.conformance import MACHINE, METRICS, START, a_run, a_study, an_event


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
