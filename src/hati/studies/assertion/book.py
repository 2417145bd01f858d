"""What was measured, by what formulas call it."""

from __future__ import annotations

from collections.abc import Mapping, Set

import numpy as np
from msgspec import Struct, field

from hati.core import SINGLE_CALLS, InputError, Metric, Observations, Sample, SampledRun, replace
from hati.core.nearest import suggestion
from hati.logic.syntax import Measured, Method, NodeError

_USED = {"cpu_time": Metric("cpu_time", "s"), "peak_memory": Metric("peak_memory", "B")}
"""Metrics that are known of whole runs, where no benchmark tells them."""


class Book(Struct, frozen=True):
    """Samples by the texts of methods; ``history`` are earlier ones of the same, which tell how runs vary.

    ``own`` is the metric of a method that is meant where a formula names none; ``missing`` says why nothing was
    measured of a method that is there, ``failed`` why its runs were of no use, all or all from some run on. ``told``
    are the metrics that a method's benchmark tells itself: those of whole runs, with the start of the interpreter,
    never stand for them.
    """

    samples: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    history: Mapping[str, tuple[Sample, ...]] = field(default_factory=dict)
    own: Mapping[str, str] = field(default_factory=dict)
    missing: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    told: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def has(self, method: Method) -> bool:
        """Whether something was given by a method's name as it is written."""
        return str(method) in self.samples

    def sample(self, measured: Measured) -> Sample:
        """What was measured of a method's metric.

        Raises:
            NodeError: where there is nothing of it, or more than one.
        """
        key = str(measured.method)
        if key not in self.samples:
            raise NodeError(measured.method, f"there is no sample of {key}", fix=suggestion(key, tuple(self.samples)))
        metric = measured.metric or self.own.get(key, "")
        used = _USED.keys() - self.told.get(key, frozenset())
        try:
            return _one(key, _of_metric(key, self.samples[key], metric, used))
        except InputError as error:
            raise NodeError(measured, error.message, fix=error.fix) from None

    def single(self, method: Method) -> bool:
        """Whether observations of a method's times are of one call each, as far as its runs tell."""
        told = (each for each in self.samples.get(str(method), ()) if each.metric.name == SINGLE_CALLS)
        return all((run.steady == 1.0).all() for each in told for run in each.runs)

    def earlier(self, measured: Measured, metric: Metric) -> tuple[SampledRun, ...]:
        """Earlier runs of the same in the same unit; none where nothing is known."""
        known = self.history.get(str(measured.method), ())
        return tuple(run for sample in known if sample.metric == metric for run in sample.runs)

    def unfit(self, error: InputError) -> str:
        """Why a relation cannot be judged by what is here: what was given must be fit for it.

        Raises:
            InputError: always, the error itself.
        """
        raise error


class MeasuredBook(Book, frozen=True):
    """What was measured of methods as they are called with all that is declared; no name is given by itself.

    What turns out to be unfit leaves its relation undecided; the others are told all the same.
    """

    def has(self, method: Method) -> bool:  # noqa: ARG002  # as those of all books
        """Never: what a formula's names mean is what it declares."""
        return False

    def unfit(self, error: InputError) -> str:
        """What is wrong."""
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
