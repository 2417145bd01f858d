"""Infrastructure experiments on this machine: measured where the store has no fresh result, and concluded from it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import monotonic

import platformdirs
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
)
from hati.probing import KernelProgram, NotPermittedError, Setting, execute, neighbours_json, read_neighbours
from hati.store import Selection, SqlStore, open_store
from hati.studies.probe import Experiment, ProbeConclusion, Probed, chosen_experiments, see_given
from hati.subject import this_machine

KIND = "probe"
"""The kind of study in the store."""
FRESH_SECONDS = 24 * 3600.0
_QUICK, _WHOLE = 1.0, 4.0
_UNKNOWN_UNITS = {"ps": "ps", "ns": "ns", "bytes": "B"}


class ProbeRequest(Struct, frozen=True, kw_only=True):
    """What is asked: experiments or domains (none: all), and how.

    ``given`` are inputs that are not measured; results of at most ``age`` seconds are reused; ``folder`` is where the
    disk is measured.
    """

    names: tuple[str, ...] = ()
    given: Mapping[str, float] = {}
    quick: bool = False
    age: float = FRESH_SECONDS
    folder: Path = Path()


def default_store() -> str:
    """The store of this user's machines: properties belong to a machine, and not to a project."""
    folder = platformdirs.user_state_path("hati")
    folder.mkdir(parents=True, exist_ok=True)
    return str(folder / "probe.sqlite")


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
    see_given(found)
    return found


def parse_age(text: str) -> float:
    """Seconds of an age such as ``1h``; ``0`` reuses nothing."""
    return 0.0 if text.strip() == "0" else parse_duration(text)


def measure_probe(request: ProbeRequest, place: str | None, announce: Callable[[str], None]) -> ProbeConclusion:
    """Measure what the store has no fresh result of, each experiment committed as it ends, and conclude.

    Raises:
        InputError: for an unknown experiment or input, inputs in a circle, or a folder that there is not.
        MeasurementError: where nothing could be measured.
    """
    experiments = chosen_experiments(request.names, request.given)
    if not request.folder.is_dir() or not os.access(request.folder, os.W_OK):
        raise InputError(f"{request.folder} is not a folder that can be written", fix="name another one by --folder")
    machine = this_machine(datetime.now(UTC), announce)
    store = open_store(place or default_store())
    try:
        probed = tuple(_Library(store, machine, request, announce).probed(experiments))
    finally:
        store.close()
    if not any(each.properties for each in probed):
        raise MeasurementError(f"nothing was measured: {probed[0].experiment}: {probed[0].refused}")
    return ProbeConclusion(machine.name, machine.fingerprint, probed)


class _Library:
    """Measures experiments in their order, each with what those before it yield."""

    def __init__(
        self, store: SqlStore, machine: Machine, request: ProbeRequest, announce: Callable[[str], None]
    ) -> None:
        self._store, self._machine, self._request, self._announce = store, machine, request, announce
        self._known = dict(request.given)
        self._study = StudyId.of(KIND, {"library": 1}, 0, machine.id)
        self._program: KernelProgram | None = None
        store.begin(self._study, (), machine)

    def probed(self, experiments: Sequence[Experiment]) -> Iterator[Probed]:
        """What each experiment detects."""
        for number, each in enumerate(experiments, start=1):
            found = self._one(each, f"[{number}/{len(experiments)}] ")
            self._known |= {one.name: one.value for one in found.properties if one.value is not None} | dict(
                self._request.given
            )
            yield found

    def _one(self, experiment: Experiment, prefix: str) -> Probed:
        missing = [name for name in experiment.inputs if name not in self._known]
        if missing:
            return _refused(experiment, f"its input {missing[0]} is not known; give it by --given {missing[0]}=VALUE")
        runs = self._runs(experiment)
        run = self._fresh(runs)
        reused = run is not None
        if run is None:
            self._announce(f"{prefix}{experiment.name}: {experiment.title}")
            try:
                run = self._measured(experiment, len(runs))
            except MeasurementError as error:
                return _refused(experiment, str(error))
        inputs = {name: self._known[name] for name in experiment.inputs}
        raw = {each.metric: each.values for each in run.observations}
        return Probed(
            experiment.name,
            experiment.title,
            experiment.method,
            run.started,
            reused,
            experiment.detect(raw, inputs),
            read_neighbours(run.output),
        )

    def _runs(self, experiment: Experiment) -> tuple[Run, ...]:
        runs = self._store.runs(Selection(study=self._study.key, benchmark=experiment.name))
        return tuple(run for run in runs if run.task.revision == experiment.method)

    def _fresh(self, runs: Sequence[Run]) -> Run | None:
        """The newest run on the machine as it is now that is young enough, and measured for long enough."""
        now = datetime.now(UTC)
        return next(
            (
                run
                for run in reversed(runs)
                if run.machine == self._machine.fingerprint
                and now - run.started <= timedelta(seconds=self._request.age)
                and float(dict(run.task.workload)["scale"]) >= self._scale
            ),
            None,
        )

    @property
    def _scale(self) -> float:
        return _QUICK if self._request.quick else _WHOLE

    def _measured(self, experiment: Experiment, repetition: int) -> Run:
        """Execute an experiment, and commit its run.

        Raises:
            NotPermittedError: where the machine does not permit it.
            MeasurementError: where it cannot be measured or kept.
        """
        if self._program is None:
            self._program = KernelProgram()
        setting = Setting(self._program, self._request.folder, self._scale)
        started, before = datetime.now(UTC), monotonic()
        executed = execute(experiment.name, setting, self._known)
        observed = tuple(
            Observations(name, _unit(name), values) for name, values in executed.raw.items() if values.size
        )
        workload = Workload({"scale": self._scale})
        task = Task(self._study.key, KIND, experiment.name, Configuration(), experiment.method, workload, repetition)
        run = Run(
            task,
            self._machine.fingerprint,
            started,
            monotonic() - before,
            Outcome.DONE,
            exit=0,
            output=neighbours_json(executed.neighbours),
            observations=observed,
        )
        self._store.record(run)
        return run


def _unit(name: str) -> str:
    return _UNKNOWN_UNITS.get(name.partition("/")[0].rpartition("_")[2], "1")


def _refused(experiment: Experiment, reason: str) -> Probed:
    return Probed(experiment.name, experiment.title, experiment.method, refused=reason)


__all__ = ["FRESH_SECONDS", "KIND", "NotPermittedError", "ProbeRequest", "measure_probe", "parse_age", "parse_given"]
