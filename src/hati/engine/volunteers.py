"""The engine whose batches are run by volunteers: workers that have only what their owner signed."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from hati.core import Batch, Benchmark, InputError, Job, MeasurementError, replace
from hati.core.wording import listed
from hati.engine.engines import ANYWHERE, Placement
from hati.engine.workers import Released, WorkersEngine, counted_attempts
from hati.steering import ANYTHING, Client, ClientKind, Requirements
from hati.store import DISAGREE, BatchState, Ledger, Volunteers
from hati.subject.releases import check_for_volunteers, job_content, release_key, unsigned_value


class VolunteersEngine(WorkersEngine):
    """Releases batches of signed benchmarks into a ledger, for the machines that a server registered.

    A result counts where as many machines agree on it as is ``asked``.

    Raises:
        InputError: where volunteers cannot run one of the benchmarks.
    """

    def __init__(
        self,
        ledger: Ledger,
        volunteers: Volunteers,
        benchmarks: Iterable[Benchmark],
        waiting: Callable[[str], None],
        asked: Requirements | None = None,
        placement: Placement = ANYWHERE,
    ) -> None:
        lent = replace(asked or ANYTHING, kind=ClientKind.VOLUNTEER)
        super().__init__(ledger, (), waiting, lent, placement)
        self._volunteers = volunteers
        for benchmark in benchmarks:
            check_for_volunteers(benchmark)

    def _release(self, batch: Batch[Job], again: Collection[str] = ()) -> int:
        """Release a batch, also once more where a server withdrew it since its signed release is not there.

        Raises:
            InputError: where volunteers cannot run it, or its release is not signed.
        """
        keys = {release_key(job.benchmark, job.sources) for job in batch.members}
        if len(keys) > 1:
            raise InputError(
                "a batch has jobs of several benchmarks or revisions, and volunteers run one at a time",
                fix="use --engine workers",
            )
        for job in batch.members:
            check_for_volunteers(job.benchmark)
            job_content(job)  # raises where a file of it cannot be rendered
        releases = self._volunteers.releases(keys)
        for job in batch.members:
            _check_signed(job, {key: each.statement for key, each in releases.items()})
        return super()._release(batch, again)

    def _give_up(self, out: Released) -> BatchState:
        """End the campaign: machines that leave or disagree say nothing about the subject.

        Raises:
            MeasurementError: always.
        """
        found = self._ledger.attempts(out.number)
        attempts = counted_attempts(found)
        if found[-1].reason == DISAGREE:
            raise MeasurementError(
                f"no {self._asked.replicas} volunteers agree on the results of a batch: {DISAGREE}",
                fix="run it on a machine of your own, by --engine local or workers; what was recorded is kept",
            )
        reasons = listed(list(dict.fromkeys(each.reason for each in attempts)), separator="; ")
        raise MeasurementError(
            f"no volunteer could run a batch in {len(attempts)} attempts: {reasons}",
            fix="see to these machines, or use --engine workers; what was recorded is kept",
        )

    def _requirements(self, batch: Batch[Job]) -> Requirements:
        return replace(super()._requirements(batch), sources=())

    def _present(self) -> tuple[Client, ...]:
        return tuple(each for each in super()._present() if each.kind is ClientKind.VOLUNTEER)

    nobody = "waiting for a volunteer: start `hati serve --volunteers` with the same store, and `hati join` elsewhere"


def _check_signed(job: Job, statements: dict[str, str]) -> None:
    revision, benchmark = job.task.revision, job.benchmark.name
    statement = statements.get(release_key(job.benchmark, job.sources))
    if statement is None:
        raise InputError(
            f"benchmark {benchmark!r}, as it is now, has no signed release of revision {revision}",
            fix="run `hati grid sign --key FILE` with the same store, where the key is",
        )
    if value := unsigned_value(job, statement):
        raise InputError(
            f"the signed release of benchmark {benchmark!r} does not allow {value}",
            fix="run `hati grid sign --key FILE` again: the space has changed",
        )
