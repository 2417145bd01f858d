"""Results of experiments: detected from the runs of a store, or read from a file, as the properties of a machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TypeVar

import msgspec

from hati.core import InputError, Machine, MeasurementError, Place, Run, convert, decode, replace
from hati.file_errors import read_error, write_error
from hati.packages import added, called, load_entry
from hati.prediction import MeasuredNumber
from hati.probing import AddedExperiment, read_neighbours
from hati.store import Selection, SqlStore, read_store
from hati.studies.probe import (
    EXPERIMENTS,
    LIBRARY,
    Experiment,
    ProbeConclusion,
    Probed,
    ProbeVerdict,
    Property,
    chosen_experiments,
)
from hati.subject import this_machine
from hati.wiring.probes.disturbances import default_file
from hati.wiring.workplace import mute

T = TypeVar("T")

KIND = "probe"
"""The kind of these studies in the store."""
HERE = "here"
"""This machine, as a side of a difference and as the machine of a prediction."""
FRESH_SECONDS = 24 * 3600.0
_ALWAYS = datetime.max.replace(tzinfo=UTC)
GROUP = "hati.experiments"
"""The entry points of experiments that packages add."""


def default_store() -> str:
    """The store of this user's machines: properties belong to a machine, and not to a project.

    Raises:
        InputError: where its folder cannot be created.
        MeasurementError: where the disk is full.
    """
    file = default_file()
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        fix = "set XDG_STATE_HOME to a folder that can be written, or name a store by --store FILE"
        raise write_error(file.parent, error, fix) from None
    return str(file)


def added_experiments(announce: Callable[[str], None]) -> dict[str, AddedExperiment]:
    """The experiments of other packages by their names; one that cannot be used is announced, and left out."""
    found: dict[str, AddedExperiment] = {}
    for entry in added(GROUP):
        known = [*LIBRARY, *(each.declared for each in found.values())]
        try:
            one = load_entry(entry, "experiment", partial(checked_experiment, known))
        except InputError as error:
            announce(f"warning: {error}")
        else:
            found[one.declared.name] = one
    return found


def checked_experiment(known: Sequence[Experiment], found: object) -> AddedExperiment:
    """What is found, an experiment whose name and outputs none of the known ones has.

    Raises:
        InputError: for anything else.
    """
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


def known_experiments(extra: Mapping[str, AddedExperiment]) -> tuple[Experiment, ...]:
    """The library's experiments, with those that replace and extend them."""
    own = tuple(each for each in LIBRARY if each.name not in extra)
    return (*own, *(each.declared for each in extra.values()))


def attempted(name: str, function: Callable[..., T], *arguments: object) -> T:
    """What a function of an experiment returns; an error of another package's code is one of measurement."""
    try:
        return called(f"the experiment {name!r}", function, *arguments)
    except InputError as error:
        raise MeasurementError(error.message, fix=error.fix) from error


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
    store = read_store(place or str(default_file()))
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


def newest_conclusion(store: SqlStore, machine: Machine) -> ProbeConclusion:
    """The conclusion from the newest results of the library's experiments on a machine.

    Raises:
        InputError: where there is none.
    """
    return _Stored(store, machine, _ALWAYS).conclusion(EXPERIMENTS)


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
        library = known_experiments(added_experiments(mute))
        for each in chosen_experiments(names or [one.name for one in library], (), library):
            runs = self._runs(each)
            if not runs or not all(name in known for name in each.inputs):
                continue
            try:
                found = _measured_first([probed_of(each, run, known, reused=True) for run in runs])
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


def probed_of(experiment: Experiment, run: Run, known: Mapping[str, float], *, reused: bool) -> Probed:
    """What a run of an experiment shows, given the properties that are known.

    Raises:
        MeasurementError: where a detector of another package fails.
    """
    inputs = {name: known[name] for name in experiment.inputs}
    raw = {each.metric: each.values for each in run.observations}
    return Probed(
        experiment.name,
        experiment.title,
        experiment.method,
        run.started,
        reused,
        attempted(experiment.name, experiment.detect, raw, inputs),
        read_neighbours(run.output),
    )
