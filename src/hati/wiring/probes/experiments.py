"""Infrastructure experiments on this machine, measured if the store has no fresh result, and their conclusions."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TypeVar

import msgspec
import platformdirs
from msgspec import Struct

from hati.core import (
    Configuration,
    InputError,
    Machine,
    MeasurementError,
    Observations,
    Outcome,
    Place,
    Run,
    StudyId,
    Task,
    Workload,
    convert,
    decode,
    parse_duration,
    replace,
)
from hati.driver import RemoteMachine
from hati.file_errors import read_error, write_error
from hati.packages import added, called, load_entry
from hati.prediction import MeasuredNumber
from hati.probing import AddedExperiment, Executed, KernelProgram, Setting, execute, neighbours_json, read_neighbours
from hati.probing.given import CHECKED, validate_here
from hati.probing.kernel import read_conditions, system_root
from hati.store import Selection, SqlStore, find_store, open_store, read_store
from hati.studies.probe import (
    EXPERIMENTS,
    LIBRARY,
    Conditions,
    Disturbance,
    Experiment,
    Fitness,
    ProbeConclusion,
    Probed,
    ProbeVerdict,
    Property,
    chosen_experiments,
    fitness,
    shown_disturbances,
    unfit_warning,
    validate_given,
)
from hati.studies.probe.planning import ProbePlanJson, plan_of
from hati.subject import instruction_counter, this_machine
from hati.wiring.probes import virtual
from hati.wiring.probes.links import link_experiments
from hati.wiring.probes.task_sets import measuring_alone
from hati.wiring.workplace import mute

T = TypeVar("T")

KIND = "probe"
"""The kind of these studies in the store."""
HERE = "here"
"""This machine, as a side of a difference and as the machine of a prediction."""
FRESH_SECONDS = 24 * 3600.0
_QUICK, _WHOLE = 1.0, 4.0
_RECENT = timedelta(hours=1)
_ALWAYS = datetime.max.replace(tzinfo=UTC)
GROUP = "hati.experiments"
"""The entry points of experiments that packages add."""
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


def default_store() -> str:
    """The store of this user's machines: properties belong to a machine, and not to a project.

    Raises:
        InputError: where its folder cannot be created.
        MeasurementError: where the disk is full.
    """
    file = _default_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fix = "set XDG_STATE_HOME to a folder that can be written, or name a store by --store FILE"
        raise write_error(file.parent, error, fix) from None
    return str(file)


def _default_file() -> Path:
    return platformdirs.user_state_path("hati") / "probe.sqlite"


def added_experiments(announce: Callable[[str], None]) -> dict[str, AddedExperiment]:
    """The experiments of other packages by their names; one that cannot be used is announced, and left out."""
    found: dict[str, AddedExperiment] = {}
    for entry in added(GROUP):
        known = [*LIBRARY, *(each.declared for each in found.values())]
        try:
            one = load_entry(entry, "experiment", partial(_checked, known))
        except InputError as error:
            announce(f"warning: {error}")
        else:
            found[one.declared.name] = one
    return found


def _checked(known: Sequence[Experiment], found: object) -> AddedExperiment:
    if not isinstance(found, AddedExperiment):
        raise InputError(f"{found!r} is not an AddedExperiment")
    name = found.declared.name
    if not all(name.partition(".")):
        raise InputError(f"{name!r} is not a domain, a dot and a name")
    for each in known:
        if each.name == name:
            raise InputError(f"there is an experiment {name!r} already")
        if both := set(each.outputs) & set(found.declared.outputs):
            raise InputError(f"{each.name} yields {min(both)} already")
    return found


def _library(extra: Mapping[str, AddedExperiment]) -> tuple[Experiment, ...]:
    own = tuple(each for each in LIBRARY if each.name not in extra)
    return (*own, *(each.declared for each in extra.values()))


def _attempted(name: str, function: Callable[..., T], *arguments: object) -> T:
    """What a function of an experiment returns; an error of another package's code is one of measurement."""
    try:
        return called(f"the experiment {name!r}", function, *arguments)
    except InputError as error:
        raise MeasurementError(error.message, fix=error.fix) from error


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
    validate_given(found, _library(added_experiments(mute)))
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
        _checked(_library(extra), link)
    extra |= links | _compared(request)
    experiments = chosen_experiments(request.names, request.given, _library(extra))
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


def unfit(machine: Machine) -> str:
    """A line on what disturbs measurements on this machine, from the kernel's state and the probes of the last hour.

    Empty if nothing does.
    """
    conditions = read_conditions()
    shown = shown_disturbances(conditions, len(os.sched_getaffinity(0)))
    probed = _recently_disturbed(machine)
    known = {each.kind for each in probed}
    return unfit_warning(machine.name, (*probed, *(each for each in shown if each.kind not in known)))


def _recently_disturbed(machine: Machine) -> tuple[Disturbance, ...]:
    """The disturbances measured in the last hour; none if another root than ``/`` represents the machine."""
    if system_root() != Path("/") or not _default_file().is_file():
        return ()
    try:
        store = find_store(str(_default_file()))
    except InputError:  # a study does not need this store, so it may be damaged
        return ()
    if store is None:
        return ()
    try:
        found = _Stored(store, machine, _ALWAYS).conclusion(EXPERIMENTS)
    except InputError:  # nothing was measured on this machine
        return ()
    finally:
        store.close()
    now = datetime.now(UTC)
    fresh = tuple(each for each in found.probed if each.at is not None and now - each.at <= _RECENT)
    found = replace(found, probed=fresh)
    return tuple(each for each in fitness(found, Conditions()).disturbances if each.share is not None)


def side_of(text: str, place: str | None) -> tuple[str, ProbeConclusion]:
    """One side of a difference, with its name: ``here``, a file of ``hati-probe-1``, a date, or a machine.

    For a machine in the store, the newest results count; for a date, this machine's newest up to the end of the day.
    A property that the newest result did not measure is that of an earlier one of a day before, if this did.

    Raises:
        InputError: where the text is none of these, the date is in the future, nothing was measured, or a file has a
            property that no machine has.
    """
    if Path(text).is_file() or text.endswith(".json"):
        return text, _read_file(Path(text))
    store = read_store(place or str(_default_file()))
    try:
        until, machine = _named_side(text, store)
        found = _Stored(store, machine, until, timedelta(seconds=FRESH_SECONDS)).conclusion()
    finally:
        store.close()
    return text, found


def measured_number(machine: ProbeConclusion, name: str, otherwise: str = "") -> MeasuredNumber:
    """A property of a machine; ``otherwise`` is what else to do where it was disturbed.

    Raises:
        InputError: where it was not measured, or its measurement was disturbed.
    """
    found = machine.properties.get(name)
    repeat = f"run `hati probe cpu --max-age 0` on {machine.machine}"
    if found is None or found.value is None:
        raise InputError(f"{name} of {machine.machine} is not known", fix=repeat)
    if found.verdict is not ProbeVerdict.MEASURED:
        raise InputError(
            f"{name} of {machine.machine} is {found.verdict}: {found.reason}",
            fix=f"{repeat} when it is quiet{otherwise}",
        )
    return MeasuredNumber(machine.machine, found.value, *(found.interval or (found.value, found.value)))


def _read_file(file: Path) -> ProbeConclusion:
    from hati.studies.probe.document import ProbeJson

    try:
        content = file.read_bytes()
    except OSError as error:
        raise read_error(file, error) from None
    try:
        read = decode(content, ProbeJson)
        probed = tuple(
            Probed(
                each.experiment,
                "",
                each.method,
                None if each.measured_at is None else datetime.fromisoformat(each.measured_at),
                properties=tuple(convert(msgspec.to_builtins(one), Property) for one in each.properties),
            )
            for each in read.experiments
            if each.properties
        )
    except (msgspec.MsgspecError, ValueError, InputError) as error:
        raise InputError(f"{file} is not a result of hati probe: {error}", fix="write it by --format json") from error
    for one in (one for each in probed for one in each.properties):
        _validate_read(one, file)
    return ProbeConclusion(read.machine, read.fingerprint, probed)


_POSITIVE = frozenset({"cpu.rate", "cpu.cores", "mem.last_latency", "mem.bandwidth", "disk.durable"})
"""Properties by which others are divided."""


def _validate_read(one: Property, file: Path) -> None:
    """Check a property of a file, whoever wrote it.

    Raises:
        InputError: where it is negative, in another unit than it is measured in, or its interval has no order.
    """
    units = {name: unit for each in LIBRARY for name, unit in each.outputs.items()}
    low, high = one.interval or (0.0, 0.0)
    if one.unit != units.get(one.name, one.unit):
        wrong = f"in {one.unit!r}, and not in {units[one.name]!r}"
    elif one.value is not None and (one.value < 0.0 or (one.value == 0.0 and one.name in _POSITIVE)):
        wrong = f"{one.value:g}"
    elif low > high:
        wrong = f"between {low:g} and {high:g}"
    else:
        return
    raise InputError(
        f"{one.name} is {wrong}", place=Place(str(file)), fix="write the file by `hati probe --format json`"
    )


def _named_side(text: str, store: SqlStore) -> tuple[datetime, Machine]:
    """The time up to which results count, and the machine."""
    if text == HERE:
        return _ALWAYS, this_machine(datetime.now(UTC), mute)
    try:
        day = datetime.fromisoformat(text)
    except ValueError:
        found = [each for each in store.machines() if text in {each.name, each.fingerprint}]
        if len(found) == 1:
            return _ALWAYS, found[0]
        known = ", ".join(sorted({each.name for each in store.machines()}))
        raise InputError(
            f"{text!r} is neither a file nor a date nor one machine of the store {store.name}",
            fix=f"its machines are {known}" if known else "measure some by `hati probe`",
        ) from None
    until, now = day.replace(tzinfo=UTC) if day.tzinfo is None else day, datetime.now(UTC)
    if until > now:
        raise InputError(f"{text} is in the future: nothing was measured yet", fix=f"today is {now:%Y-%m-%d}, in UTC")
    return until if ":" in text else until + timedelta(days=1), this_machine(now, mute)


class _Stored:
    """The stored results of a machine up to a time.

    A property that the newest result of an experiment did not measure, as it is contaminated or inconclusive, is that
    of the newest result that did, of the same state of the machine and at most ``earlier`` before.
    """

    def __init__(self, store: SqlStore, machine: Machine, until: datetime, earlier: timedelta = timedelta()) -> None:
        self._store, self._machine, self._until, self._earlier = store, machine, until, earlier

    def conclusion(self, names: Sequence[str] = ()) -> ProbeConclusion:
        """The conclusion from the results of each of these experiments [default: of all].

        Raises:
            InputError: where there is none.
        """
        known: dict[str, float] = {}
        probed = []
        library = _library(added_experiments(mute))
        for each in chosen_experiments(names or [one.name for one in library], (), library):
            runs = self._runs(each)
            if not runs or not all(name in known for name in each.inputs):
                continue
            try:
                found = _measured_first([_probed(each, run, known, reused=True) for run in runs])
            except MeasurementError:  # a detector of another package
                continue
            known |= {one.name: one.value for one in found.properties if one.value is not None}
            probed.append(found)
        if not probed:
            raise InputError(
                f"{self._store.name} has no results of {self._machine.name} up to then", fix="measure by `hati probe`"
            )
        return ProbeConclusion(self._machine.name, self._machine.fingerprint, tuple(probed))

    def _runs(self, experiment: Experiment) -> list[Run]:
        """The newest run, and those of the same state shortly before, the newest first."""
        runs = self._store.runs(Selection(benchmark=experiment.name, machine=self._machine.fingerprints))
        own = [run for run in runs if run.task.revision == experiment.method and run.task.stage == KIND]
        found = sorted((run for run in own if run.started < self._until), key=lambda run: run.started, reverse=True)
        return [
            run for run in found if run.machine == found[0].machine and found[0].started - run.started <= self._earlier
        ]


def _measured_first(found: Sequence[Probed]) -> Probed:
    """The first result, each property of which is that of the first one that measured it, if any did."""
    first, *earlier = found
    measured = {one.name: one for each in reversed(earlier) for one in each.properties if _is_measured(one)}
    properties = (one if _is_measured(one) else measured.get(one.name, one) for one in first.properties)
    return replace(first, properties=tuple(properties))


def _is_measured(one: Property) -> bool:
    return one.verdict is ProbeVerdict.MEASURED


def _probed(experiment: Experiment, run: Run, known: Mapping[str, float], *, reused: bool) -> Probed:
    inputs = {name: known[name] for name in experiment.inputs}
    raw = {each.metric: each.values for each in run.observations}
    return Probed(
        experiment.name,
        experiment.title,
        experiment.method,
        run.started,
        reused,
        _attempted(experiment.name, experiment.detect, raw, inputs),
        read_neighbours(run.output),
    )


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
            return _probed(experiment, run, self._known, reused=reused)
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
        return _attempted(name, extra.executed, setting, self._known)


def _unit(name: str) -> str:
    return _UNKNOWN_UNITS.get(name.partition("/")[0].rpartition("_")[2], "1")


def _refused(experiment: Experiment, reason: str) -> Probed:
    return Probed(experiment.name, experiment.title, experiment.method, refused=reason)
