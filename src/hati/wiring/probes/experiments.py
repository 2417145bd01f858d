"""Infrastructure experiments on this machine, measured if the store has no fresh result, and their conclusions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

from msgspec import Struct

from hati.core import (
    Configuration,
    InputError,
    Machine,
    MeasurementError,
    Observations,
    Outcome,
    Run,
    StudyId,
    Task,
    Workload,
    parse_duration,
    replace,
)
from hati.driver import RemoteMachine
from hati.prediction import MeasuredNumber
from hati.probing import AddedExperiment, Executed, KernelProgram, Setting, execute, neighbours_json
from hati.probing.conditions import read_conditions
from hati.probing.executing import CHECKED, validate_here
from hati.store import Selection, SqlStore, open_store
from hati.studies.probe import (
    EXPERIMENTS,
    Experiment,
    Fitness,
    ProbeConclusion,
    Probed,
    chosen_experiments,
    fitness,
    validate_given,
)
from hati.studies.probe.planning import ProbePlanJson, plan_of
from hati.subject import instruction_counter, this_machine
from hati.wiring.probes import virtual
from hati.wiring.probes.links import link_experiments
from hati.wiring.probes.results import (
    FRESH_SECONDS,
    KIND,
    added_experiments,
    attempted,
    checked_experiment,
    default_store,
    known_experiments,
    probed_of,
)
from hati.wiring.probes.task_sets import measuring_alone
from hati.wiring.workplace import mute

_QUICK, _WHOLE = 1.0, 4.0
_UNKNOWN_UNITS = {"ps": "ps", "ns": "ns", "bytes": "B"}


class ProbeRequest(Struct, frozen=True, kw_only=True):
    """What is asked: experiments or domains (none: all), and how.

    ``given`` are inputs that are not measured; results of at most ``age`` seconds are reused; ``folder`` is where the
    disk is measured. ``machines`` have agents that answer, and are measured by their links. ``inside`` is a command
    that runs programs in a container or virtual machine, and ``reference`` the rate of work of another machine: with
    one of them, ``virt.speed`` is measured.

    Raises:
        InputError: where both are given.
    """

    names: tuple[str, ...] = ()
    given: Mapping[str, float] = {}
    quick: bool = False
    age: float = FRESH_SECONDS
    folder: Path = Path()
    machines: Mapping[str, RemoteMachine] = {}
    inside: tuple[str, ...] = ()
    reference: MeasuredNumber | None = None

    def __post_init__(self) -> None:
        if self.inside and self.reference is not None:
            raise InputError("--inside and --reference are two comparisons", fix="measure one after the other")


_FITNESS = ProbeRequest(names=EXPERIMENTS, quick=True, age=0.0)


def parse_given(texts: Sequence[str]) -> dict[str, float]:
    """Read ``NAME=VALUE``, each an input of an experiment.

    Raises:
        InputError: for anything else.
    """
    found = {}
    for text in texts:
        name, equals, value = text.partition("=")
        try:
            found[name] = float(value)
        except ValueError:
            equals = ""
        if not equals:
            raise InputError(f"--given {text!r} is not NAME=VALUE", fix="write it like --given cpu.rate=480000")
    validate_given(found, known_experiments(added_experiments(mute)))
    return found


def parse_age(text: str) -> float:
    """Seconds of an age such as ``1h``; ``0`` reuses nothing."""
    return 0.0 if text.strip() == "0" else parse_duration(text)


def measure_probe(request: ProbeRequest, place: str | None, announce: Callable[[str], None]) -> ProbeConclusion:
    """Measure the experiments without a fresh result in the store, commit each as it ends, and conclude.

    Raises:
        InputError: for an unknown experiment or input, circular inputs, a rate that is not this machine's, or a folder
            that is missing or read-only.
        MeasurementError: where nothing could be measured, or a result not stored.
    """
    extra, experiments = _chosen(request, announce)
    needed = {name for each in experiments if not each.asks for name in each.inputs}
    if checked := {name: value for name, value in request.given.items() if name in needed & CHECKED}:
        validate_here(KernelProgram(), checked)
    machine = this_machine(datetime.now(UTC), announce)
    store = open_store(place or default_store())
    try:
        probed = tuple(_Library(store, machine, request, extra, announce).probed(experiments))
    finally:
        store.close()
    if not any(each.properties for each in probed):
        asking = {each.name for each in experiments if each.asks}
        first = next((each for each in probed if each.experiment not in asking), probed[0])
        raise MeasurementError(f"nothing was measured: {first.experiment}: {first.refused}")
    return ProbeConclusion(machine.name, machine.fingerprint, probed)


def plan_probe(request: ProbeRequest, announce: Callable[[str], None]) -> ProbePlanJson:
    """The experiments that ``measure_probe`` would measure, and their planned time; nothing is touched.

    Raises:
        InputError: as ``measure_probe``, but for a given input that is not this machine's.
    """
    experiments = _chosen(request, announce)[1]
    return plan_of(experiments, len(os.sched_getaffinity(0)), _QUICK if request.quick else _WHOLE)


def plan_fitness(announce: Callable[[str], None]) -> ProbePlanJson:
    """The experiments of ``machine_fitness``, and their planned time; nothing is touched."""
    return plan_probe(_FITNESS, announce)


def _chosen(
    request: ProbeRequest, announce: Callable[[str], None]
) -> tuple[dict[str, AddedExperiment], tuple[Experiment, ...]]:
    """The experiments that are not the library's own, by their names, and all that are measured, in order."""
    extra = added_experiments(announce)
    links = link_experiments(request.machines)
    for link in links.values():
        checked_experiment(known_experiments(extra), link)
    extra |= links | _compared(request)
    experiments = chosen_experiments(request.names, request.given, known_experiments(extra))
    if unused := links.keys() - {each.name for each in experiments}:
        raise InputError(f"--on is of links, and {min(unused)} is not measured", fix="name the domain net")
    if (request.inside or request.reference) and virtual.NAME not in {each.name for each in experiments}:
        raise InputError(f"--inside and --reference are of {virtual.NAME}", fix="name the domain virt")
    if not request.folder.is_dir() or not os.access(request.folder, os.W_OK):
        raise InputError(f"{request.folder} is not a folder that can be written", fix="name another one by --folder")
    return extra, experiments


def missed(request: ProbeRequest, found: ProbeConclusion) -> tuple[Probed, ...]:
    """The experiments that were asked for by name, by --inside or by --reference, and were not measured."""
    asked = {*request.names, *_compared(request)}
    return tuple(each for each in found.probed if each.refused and each.experiment in asked)


def _compared(request: ProbeRequest) -> dict[str, AddedExperiment]:
    """The experiment on virtualisation, if the request says what to compare."""
    if request.inside:
        return {virtual.NAME: virtual.inside_experiment(request.inside)}
    if request.reference is not None:
        return {virtual.NAME: virtual.reference_experiment(request.reference)}
    return {}


def machine_fitness(place: str | None, announce: Callable[[str], None]) -> Fitness:
    """Whether benchmarks can be measured on this machine as it is now; no stored result is reused."""
    found = measure_probe(_FITNESS, place, announce)
    return fitness(found, read_conditions(), instruction_counter())


class _Library:
    """Measures experiments in order; each uses the results of earlier ones."""

    def __init__(
        self,
        store: SqlStore,
        machine: Machine,
        request: ProbeRequest,
        extra: Mapping[str, AddedExperiment],
        announce: Callable[[str], None],
    ) -> None:
        self._store, self._machine, self._request, self._announce = store, machine, request, announce
        self._extra = extra
        self._known = dict(request.given)
        self._study = StudyId.of(KIND, {"library": 1}, 0, machine.id)
        self._program: KernelProgram | None = None
        store.begin(self._study, (), machine)

    def probed(self, experiments: Sequence[Experiment]) -> Iterator[Probed]:
        """The detected properties of each experiment."""
        for number, each in enumerate(experiments, start=1):
            found = self._one(each, f"[{number}/{len(experiments)}] ")
            self._known |= {one.name: one.value for one in found.properties if one.value is not None} | dict(
                self._request.given
            )
            yield found

    def _one(self, experiment: Experiment, prefix: str) -> Probed:
        missing = [name for name in experiment.inputs if name not in self._known]
        if experiment.asks:
            return _refused(experiment, experiment.asks)
        if missing:
            return _refused(experiment, f"its input {missing[0]} is not known; give it by --given {missing[0]}=VALUE")
        runs = self._runs(experiment)
        kept = self._fresh(experiment, runs)
        if kept is not None:
            return kept
        self._announce(f"{prefix}{experiment.name}: {experiment.title}")
        try:
            run = self._measured(experiment, len(runs))
        except MeasurementError as error:
            return _refused(experiment, str(error))
        self._store.record(run)  # a full disk ends the command: the rest could not be kept either
        return self._detected(experiment, run, reused=False)

    def _detected(self, experiment: Experiment, run: Run, *, reused: bool) -> Probed:
        try:
            return probed_of(experiment, run, self._known, reused=reused)
        except MeasurementError as error:
            return _refused(experiment, str(error))

    def _runs(self, experiment: Experiment) -> tuple[Run, ...]:
        runs = self._store.runs(Selection(study=self._study.key, benchmark=experiment.name))
        return tuple(run for run in runs if run.task.revision == experiment.method)

    def _fresh(self, experiment: Experiment, runs: Sequence[Run]) -> Probed | None:
        """The newest result on the machine in its current state that was long enough.

        None if it is not recent enough, or contaminated.
        """
        now = datetime.now(UTC)
        for run in reversed(runs):
            if run.machine == self._machine.fingerprint and float(dict(run.task.workload)["scale"]) >= self._scale:
                if now - run.started > timedelta(seconds=self._request.age):
                    return None
                found = self._detected(experiment, run, reused=True)
                return None if found.contaminated else found
        return None

    @property
    def _scale(self) -> float:
        return _QUICK if self._request.quick else _WHOLE

    def _measured(self, experiment: Experiment, repetition: int) -> Run:
        """Execute an experiment.

        Raises:
            MeasurementError: where it cannot be measured.
        """
        if self._program is None:
            self._program = KernelProgram()
        setting = Setting(self._program, self._request.folder, self._scale)
        with measuring_alone(f"probe {experiment.name}", self._announce) as lock:
            setting = replace(setting, lock=lock)
            started, before = datetime.now(UTC), monotonic()
            executed = self._executed(experiment.name, setting)
            seconds = monotonic() - before
        observed = tuple(
            Observations(name, _unit(name), values) for name, values in executed.raw.items() if values.size
        )
        workload = Workload({"scale": self._scale})
        task = Task(self._study.key, KIND, experiment.name, Configuration(), experiment.method, workload, repetition)
        return Run(
            task,
            self._machine.fingerprint,
            started,
            seconds,
            Outcome.DONE,
            exit=0,
            output=neighbours_json(executed.neighbours),
            observations=observed,
        )

    def _executed(self, name: str, setting: Setting) -> Executed:
        extra = self._extra.get(name)
        if extra is None:
            return execute(name, setting, self._known)
        return attempted(name, extra.executed, setting, self._known)


def _unit(name: str) -> str:
    return _UNKNOWN_UNITS.get(name.partition("/")[0].rpartition("_")[2], "1")


def _refused(experiment: Experiment, reason: str) -> Probed:
    return Probed(experiment.name, experiment.title, experiment.method, refused=reason)
