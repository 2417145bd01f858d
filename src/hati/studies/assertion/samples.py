"""Samples by the names in formulas, and the definitions of their benchmarks."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set

import numpy as np
from msgspec import Struct, field

from hati.core import SINGLE_CALLS, InputError, Metric, Observations, Run, Sample, SampledRun, replace
from hati.core.wording import suggestion
from hati.logic.syntax import MeasuredStatistic, Method

_USED = {"cpu_time": Metric("cpu_time", "s"), "peak_memory": Metric("peak_memory", "B")}
"""Metrics that are known of whole runs, where no benchmark reports them."""


class SampleCollector(Struct, frozen=True):
    """Samples by the texts of methods; ``history`` are earlier ones of the same, which estimate how runs vary.

    ``own`` is the metric of a method that is meant where a formula names none; ``missing`` gives the reason why a
    method has no sample, ``failed`` why its runs failed, all or all from some run on. ``reported`` are the metrics
    that a method's benchmark reports itself: those of whole runs, with the start of the interpreter, never stand
    for them.
    """

    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    history: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    reported: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def has(self, method: Method) -> bool:
        """Whether something was given by a method's name as it is written."""
        return str(method) in self.samples

    def sample(self, measured: MeasuredStatistic) -> Sample:
        """The sample of a method's metric.

        Raises:
            FormulaError: where it has none, or more than one.
        """
        key = str(measured.method)
        if key not in self.samples:
            raise measured.method.error(f"there is no sample of {key}", fix=suggestion(key, tuple(self.samples)))
        metric = measured.metric or self.own.get(key, "")
        used = _USED.keys() - self.reported.get(key, frozenset())
        try:
            return _one(key, _of_metric(key, self.samples[key], metric, used))
        except InputError as error:
            raise measured.error(error.message, fix=error.fix) from None

    def single(self, method: Method) -> bool:
        """Whether each observation of a method's times is one call, as far as its runs show."""
        reported = (each for each in self.samples.get(str(method), ()) if each.metric.name == SINGLE_CALLS)
        return all((run.steady == 1.0).all() for each in reported for run in each.runs)

    def earlier(self, measured: MeasuredStatistic, metric: Metric) -> tuple[SampledRun, ...]:
        """Earlier runs of the same in the same unit; none where nothing is known."""
        known = self.history.get(str(measured.method), ())
        return tuple(run for sample in known if sample.metric == metric for run in sample.runs)

    def unfit(self, error: InputError) -> str:
        """Why a relation cannot be judged by these samples: samples from files must be fit for it.

        Raises:
            InputError: always, the error itself.
        """
        raise error


class MeasuredSamples(SampleCollector, frozen=True):
    """Measurements of methods by their full names; a declared name has no samples of its own.

    Unfit measurements leave their relation undecided; the others are reported all the same.
    """

    def has(self, method: Method) -> bool:  # noqa: ARG002  # as those of all books
        """Never: what a formula's names mean is what it declares."""
        return False

    def unfit(self, error: InputError) -> str:
        """The reason."""
        return error.message


def _of_metric(key: str, samples: tuple[Sample, ...], metric: str, whole: Set[str]) -> list[Sample]:
    names = dict.fromkeys(sample.metric.name for sample in samples)
    if not metric and len(names) > 1:
        first = next(iter(names))
        raise InputError(
            f"{key} has several metrics: {', '.join(names)}", fix=f"say which in the formula, as in {first} of {key}"
        )
    found = [sample for sample in samples if metric in {"", sample.metric.name}]
    used = [] if found or metric not in whole else [each for s in samples[:1] if (each := _whole_runs(s, metric))]
    if not (found or used):
        raise InputError(f"{key} has no metric {metric!r}", fix=f"it has {', '.join(names)}")
    return found or used


def _whole_runs(sample: Sample, metric: str) -> Sample | None:
    """What runs used of a resource, one value for each; None where it is not known of all."""
    kind = _USED[metric]
    values: list[float | None] = [getattr(run.usage, metric) for run in sample.runs]
    if any(value is None for value in values):
        return None
    runs = tuple(
        replace(run, observations=Observations(kind.name, kind.unit, np.array([value], dtype=np.float64), 0))
        for run, value in zip(sample.runs, values, strict=True)
    )
    return replace(sample, metric=kind, runs=runs)


def _one(key: str, samples: list[Sample]) -> Sample:
    if len(samples) == 1:
        return samples[0]
    names = list(dict.fromkeys(sample.benchmark for sample in samples))
    if len(names) > 1:
        listed = ", ".join(names[:5])
        raise InputError(
            f"{key} is {len(samples)} samples, of {listed}{' and others' if len(names) > 5 else ''}",
            fix=f"say which, as in --samples {key}=FILE#{names[0]}",
        )
    raise InputError(
        f"{key} is {len(samples)} samples of {names[0]}: several configurations, revisions, workloads or machines",
        fix="give a file with one of them",
    )


Machines = tuple[str, str]
"""The fingerprints of both."""


class DefinedRun(Struct, frozen=True):
    """A run and what its benchmark was then: canonical JSON, empty where that is not known."""

    run: Run
    definition: str


class SetAside(Struct, frozen=True):
    """Runs of a benchmark on a machine that are of another definition than those that are taken, and in what."""

    benchmark: str
    machine: str
    runs: int
    differs: tuple[str, ...]


class Former(Struct, frozen=True):
    """A benchmark with its definition at the last run on both machines, and the parts that changed since."""

    benchmark: str
    differs: tuple[str, ...]


class TakenRuns(Struct, frozen=True):
    """The runs of one definition of each benchmark; ``unlike`` says what differs where the machines share none."""

    runs: tuple[Run, ...]
    set_aside: tuple[SetAside, ...]
    former: tuple[Former, ...]
    unlike: Mapping[str, tuple[str, ...]]


def taken_runs(
    defined: Sequence[DefinedRun], now: Mapping[str, str], machines: Machines, essence: Callable[[str], str]
) -> TakenRuns:
    """Of each benchmark the runs of the definition that it has ``now``, else of the latest that both machines ran.

    ``essence`` is what of a definition has to be the same on both machines; on one machine all of it has to be.
    """
    found: dict[str, list[DefinedRun]] = defaultdict(list)
    for each in defined:
        if each.run.machine in machines:
            found[each.run.task.benchmark].append(each)
    choices = {name: _choice(runs, now.get(name, ""), machines, essence) for name, runs in found.items()}
    return TakenRuns(
        tuple(each.run for name, runs in found.items() for each in runs if choices[name].is_taken(each)),
        tuple(left for name, runs in found.items() for left in _left(name, runs, choices[name])),
        tuple(Former(name, each.former) for name, each in choices.items() if each.former),
        {name: each.unlike for name, each in choices.items() if each.unlike},
    )


def differing(one: str, other: str) -> tuple[str, ...]:
    """The parts of two definitions that are not the same; none of equal ones."""
    if one == other:
        return ()
    if not (one and other):
        return ("not known",)
    first, second = (json.loads(text) for text in (one, other))
    return tuple(sorted(key for key in first.keys() | second.keys() if first.get(key) != second.get(key)))


class _Choice(Struct, frozen=True):
    """The definition of a benchmark that is taken on each machine, none where they share none: that is ``unlike``."""

    taken: Mapping[str, str]
    former: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()

    def is_taken(self, each: DefinedRun) -> bool:
        return self.taken.get(each.run.machine) == each.definition


def _choice(known: Sequence[DefinedRun], now: str, machines: Machines, essence: Callable[[str], str]) -> _Choice:
    latest = sorted(known, key=lambda each: each.run.started, reverse=True)
    on = {
        machine: dict.fromkeys(each.definition for each in latest if each.run.machine == machine)
        for machine in machines
    }
    there = [{essence(definition) for definition in definitions} for definitions in on.values()]
    common = there[0] & there[1] if all(there) else there[0] | there[1]
    if not common:
        return _Choice({}, unlike=differing(*(essence(next(iter(definitions))) for definitions in on.values())))
    meant = next(found for text in (now, *(each.definition for each in latest)) if (found := essence(text)) in common)
    taken = {
        machine: next(text for text in (now, *definitions) if text in definitions and essence(text) == meant)
        for machine, definitions in on.items()
        if definitions
    }
    return _Choice(taken, former=differing(meant, essence(now)))


def _left(name: str, known: Sequence[DefinedRun], choice: _Choice) -> Iterator[SetAside]:
    """Those of other definitions than the one that is taken."""
    others = Counter((each.run.machine, each.definition) for each in known if not choice.is_taken(each))
    for (machine, definition), count in others.items():
        if machine in choice.taken:
            yield SetAside(name, machine, count, differing(definition, choice.taken[machine]))
