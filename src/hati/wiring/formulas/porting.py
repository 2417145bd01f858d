"""Compare formulas on two machines, with the definitions of their benchmarks at the time of the runs."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from msgspec import Struct

from hati.core import Configuration, Evidence, InputError, Run, StudyId, Workload, replace
from hati.logic.syntax import Method
from hati.python import of_any_interpreter
from hati.store import Selection, SqlStore
from hati.studies.assertion import (
    CONFIDENCE,
    STAGE,
    Assertion,
    DefinedRun,
    KnownMachine,
    Portability,
    Requirement,
    SampleCollector,
    Standard,
    TakenRuns,
    portability,
    taken_runs,
)
from hati.wiring.formulas.loading import method_named
from hati.wiring.formulas.measuring import prepare_assertion
from hati.wiring.formulas.methods import is_called
from hati.wiring.workplace import Workplace

_KIND = "assertion"


def defined_runs(store: SqlStore, runs: Sequence[Run]) -> Iterator[DefinedRun]:
    """Each run of formulas with the definition of its benchmark at that time, empty if the store lacks it."""
    studies = {record.id.key: record.id for record in store.studies() if record.id.kind == _KIND}
    points = {key: list(_measured_points(studies[key])) for key in {run.task.study for run in runs} & studies.keys()}
    known: dict[tuple[str, str, str], str] = {}
    for run in runs:
        what = (run.task.study, run.task.benchmark, run.task.revision)
        if what not in known:
            found = {each.definition for each in points.get(run.task.study, ()) if each.is_of(run)}
            known[what] = found.pop() if len(found) == 1 else ""
        yield DefinedRun(run, known[what])


class _Point(Struct, frozen=True, dict=True):
    """A stored study's record of a method: the ``MeasuredMethod.identity`` of that time."""

    method: Method
    definition: str
    revision: str
    configuration: Configuration

    @cached_property
    def known(self) -> dict[str, Any]:
        """The parts of the definition."""
        return dict(json.loads(self.definition))

    def is_of(self, run: Run) -> bool:
        """Whether a run is one of this method."""
        task = run.task
        same = (self.revision, self.configuration) == (task.revision, task.configuration)
        on = Workload(self.known["workload"]) == task.workload
        return same and on and is_called(self.method, self.known, task.benchmark)


def _measured_points(study: StudyId) -> Iterator[_Point]:
    for text, definition, revision, configuration in json.loads(study.parameters)["points"]:
        yield _Point(method_named(text), definition, revision, Configuration(configuration))


_ANY_BUDGET = "1000000"
_MOST_REVISIONS = 5


def stored_portability(
    place: Workplace, requirements: Sequence[Requirement], names: tuple[str, str], confidence: float = CONFIDENCE
) -> Portability:
    """Compare two machines by the stored runs of ``hati assert``, of the revisions in the formulas and any campaign.

    Raises:
        InputError: where the store has no such machines, or no runs of both.
    """
    study = prepare_assertion(place, requirements, Standard(), _ANY_BUDGET, fresh=False).study
    named = _named(place, study)
    runs = _of_study(named, study)
    if named and not runs:
        raise InputError(
            f"{place.store.name} has runs of these formulas, but none of the revisions that they name now",
            fix=f"bring the files back, or write method@REVISION; there is {_revisions(named)}",
        )
    known = [_known(place, fingerprint) for fingerprint in dict.fromkeys(run.machine for run in runs)]
    first, second = chosen_machines(names, known, place.store.name)
    now = {point.benchmark.name: point.benchmark.definition for point in study.points.values()}
    both = (first.fingerprint, second.fingerprint)
    taken = taken_runs(list(defined_runs(place.store, runs)), now, both, of_any_interpreter)
    books = (_book(study, taken, first.fingerprint), _book(study, taken, second.fingerprint))
    found = portability(requirements, (first, second), books, confidence)
    return replace(found, set_aside=taken.set_aside, former=taken.former)


def sampled_portability(
    book: SampleCollector, requirements: Sequence[Requirement], names: tuple[str, str], confidence: float = CONFIDENCE
) -> Portability:
    """Compare two machines by samples in files, which name their machine.

    Raises:
        InputError: for an unknown machine, or where no sample is of both.
    """
    samples = [sample for each in book.samples.values() for sample in each]
    known = [KnownMachine(name, {}) for name in dict.fromkeys(sample.machine for sample in samples) if name]
    first, second = chosen_machines(names, known, "the samples")
    books = (_of_machine(book, first.fingerprint), _of_machine(book, second.fingerprint))
    return portability(requirements, (first, second), books, confidence)


def chosen_machines(
    names: tuple[str, str], known: Sequence[KnownMachine], where: str
) -> tuple[KnownMachine, KnownMachine]:
    """The two machines with these names.

    Raises:
        InputError: where no machine or several machines have a name, or both are the same.
    """
    first, second = (_chosen(name, known, where) for name in names)
    if first == second:
        raise InputError(f"--machines {' '.join(names)}: both are {first.name}", fix=f"there are {_listed(known)}")
    return first, second


def _chosen(text: str, known: Sequence[KnownMachine], where: str) -> KnownMachine:
    found = [machine for machine in known if machine.is_called(text)]
    if not found:
        fix = f"there are {_listed(known)}" if known else "nothing was measured of these formulas"
        raise InputError(f"--machines {text}: there is no run of these formulas on it in {where}", fix=fix)
    if len(found) > 1:
        raise InputError(f"--machines {text}: {len(found)} machines are called so", fix=f"write {_listed(found)}")
    return found[0]


def _listed(known: Iterable[KnownMachine]) -> str:
    names = [each.name if each.name == each.fingerprint else f"{each.fingerprint} ({each.name})" for each in known]
    return ", ".join(names)


def _known(place: Workplace, fingerprint: str) -> KnownMachine:
    machine = place.store.machine(fingerprint)
    states = [state for state in machine.states if state.fingerprint == fingerprint] if machine else []
    return KnownMachine(fingerprint, dict(states[0].properties) if states else {})


def _named(place: Workplace, study: Assertion) -> list[Run]:
    """The runs by ``hati assert`` of the study's benchmarks, on any machine and of any revision."""
    names = dict.fromkeys(point.benchmark.name for point in study.points.values())
    runs = [run for name in names for run in place.store.runs(Selection(benchmark=name))]
    return [run for run in runs if run.task.stage == STAGE]


def _of_study(runs: Iterable[Run], study: Assertion) -> tuple[Run, ...]:
    points = study.points.values()
    wanted = {(p.benchmark.name, p.revision.id, p.configuration.key, p.benchmark.workload.key) for p in points}
    return tuple(run for run in runs if _what(run) in wanted)


def _book(study: Assertion, taken: TakenRuns, machine: str) -> SampleCollector:
    """The measurements on a machine; for a method without valid runs, the reason."""
    book = study.book(Evidence(tuple(run for run in taken.runs if run.machine == machine)))
    names = {key: point.benchmark.name for key, point in study.points.items()}
    unlike = {
        key: f"its definition is not the same on both: {', '.join(taken.unlike[name])}"
        for key, name in names.items()
        if name in taken.unlike
    }
    return replace(book, missing={**book.missing, **unlike})


def _revisions(runs: Iterable[Run]) -> str:
    return ", ".join(list(dict.fromkeys(run.task.revision for run in runs))[-_MOST_REVISIONS:])


def _what(run: Run) -> tuple[str, str, str, str]:
    task = run.task
    return task.benchmark, task.revision, task.configuration.key, task.workload.key


def _of_machine(book: SampleCollector, machine: str) -> SampleCollector:
    found = {key: tuple(each for each in samples if each.machine == machine) for key, samples in book.samples.items()}
    missing = {key: "there is no sample of it" for key, samples in found.items() if not samples}
    return replace(book, samples={key: samples for key, samples in found.items() if samples}, missing=missing)
