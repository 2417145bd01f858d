"""The runs of a screening design as arrays, the deciding scale, and the units that a model takes as independent."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from msgspec import Struct

from hati.core import Configuration, Evidence, FloatArray, Metric, Observations, Run, conversion
from hati.design import Levels, Model
from hati.stats import (
    EXACT,
    BoxCox,
    Index,
    ModelTerms,
    additive_blocks,
    block_columns,
    box_cox,
    significant_model,
    unit_means,
)
from hati.studies.schedule import failure_reasons
from hati.studies.screening.conclusion import EffectScale, Point


class MeasuredDesign(Struct, frozen=True, eq=False):
    """The values of a design's runs in their order; a run that replaces another has the other's position.

    ``values``, shape (runs,): each run's mean after warm-up, in the metric's unit; the run is the unit of replication.
    ``rows`` are the design's rows, and ``machines`` number the recorded fingerprints from 0. ``blocks``, as in
    ``additive_blocks``, are the repetitions and the machines; ``order`` are the places in time among all runs of the
    stage. ``samples`` holds the observations whose means are ``values``. ``failed`` are the runs without a value, and
    ``reasons`` says why, each reason once with its count, the most frequent first.
    """

    values: FloatArray
    rows: Index
    blocks: Index
    machines: Index
    order: Index
    runs: tuple[Run, ...]
    samples: tuple[FloatArray, ...]
    failed: tuple[Run, ...]
    reasons: tuple[str, ...]

    @property
    def points(self) -> tuple[Point, ...]:
        """The values with their places in time and configurations."""
        return tuple(
            Point(int(order), float(value), run.task.configuration)
            for order, value, run in zip(self.order, self.values, self.runs, strict=True)
        )

    @property
    def machine_columns(self) -> FloatArray:
        """Indicators of the machines but the first, shape (runs, machines - 1)."""
        return np.asarray(self.machines[:, None] == np.arange(1, int(self.machines.max(initial=0)) + 1), dtype=float)

    @property
    def in_time(self) -> FloatArray | None:
        """The places in time of the runs' starts.

        None for a single run, and if runs took no time because they were looked up in a table.
        """
        timed = len(self.runs) > 1 and any(run.seconds > 0.0 for run in self.runs)
        return self.order.astype(np.float64) if timed else None


def measured(evidence: Evidence, metric: Metric, rows: Mapping[Configuration, int]) -> MeasuredDesign:
    """Sort the evidence of a design's stage into runs with and without a value.

    Raises:
        InputError: where a run's unit cannot be converted to the metric's.
    """
    found = [
        (place, run, run.of(metric.name)) for place, run in enumerate(evidence.runs) if run.task.configuration in rows
    ]
    usable = [(place, run, observations) for place, run, observations in found if observations is not None]
    failed = tuple(run for _, run, observations in found if observations is None)
    samples = tuple(_converted(observations, metric) for _, _, observations in usable)
    repetitions = np.array([run.task.repetition for _, run, _ in usable], dtype=np.intp)
    machines = machines_of([run for _, run, _ in usable])
    return MeasuredDesign(
        values=np.array([sample.mean() for sample in samples], dtype=np.float64),
        rows=np.array([rows[run.task.configuration] for _, run, _ in usable], dtype=np.intp),
        blocks=additive_blocks(repetitions, machines),
        machines=machines,
        order=np.array([place for place, _, _ in usable], dtype=np.intp),
        runs=tuple(run for _, run, _ in usable),
        samples=samples,
        failed=failed,
        reasons=failure_reasons(failed, metric),
    )


def machines_of(runs: Sequence[Run]) -> Index:
    """The recorded fingerprint of each run, counted from 0."""
    return np.unique([run.machine for run in runs], return_inverse=True)[1].astype(np.intp)


def _converted(observations: Observations, metric: Metric) -> FloatArray:
    factor = conversion(observations.unit, metric.unit)
    return observations.steady if factor == 1.0 else observations.steady * factor


_PER_PARAMETER = 3


class Units(Struct, frozen=True, eq=False):
    """The units' ``levels`` and ``blocks``, and for each run its unit, ``places``, and its block, ``run_blocks``.

    ``order`` are the units' places in time, adjusted for the blocks of their runs as their values are; None if they
    are unknown or all the same.
    """

    levels: Levels
    blocks: Index
    places: Index
    run_blocks: Index
    order: FloatArray | None = None

    @property
    def are_runs(self) -> bool:
        """Whether every run is a unit."""
        return len(self.levels) == len(self.places)

    def values(self, of_runs: FloatArray) -> FloatArray:
        """The units' values, from those of the runs."""
        return of_runs if self.are_runs else unit_means(of_runs, self.places, self.run_blocks)


def configurations_are_units(configurations: int, parameters: int) -> bool:
    """Whether there are enough configurations to estimate their variation in addition to the main effects."""
    return configurations >= _PER_PARAMETER * parameters


def model_units(
    model: Model, levels: Levels, blocks: Index, machines: Index | None = None, order: FloatArray | None = None
) -> Units:
    """The configurations if they are at least three times as many as the main effects' parameters, else the runs.

    Effects that a model omits belong to configurations: with runs as units, repetitions would make them look like
    certain effects of other terms. Fewer repeated configurations are all valid ones, among which next to nothing is
    aliased.

    Args:
        model: the effects to look for.
        levels: the settings of each run by position, shape (runs, options).
        blocks: of each run, as in ``additive_blocks``.
        machines: the machine of each run, or a flip on it, as in ``additive_blocks``: a configuration on each of
            several is a unit.
        order: the place of each run in time, if known.
    """
    machines = np.zeros(len(levels), dtype=np.intp) if machines is None else machines
    units = configuration_units(levels, blocks, machines, order)
    parameters = 1 + sum(size - 1 for size in model.sizes)
    if configurations_are_units(len(units.levels), parameters) and not units.are_runs:
        return units
    return Units(levels, blocks, np.arange(len(levels)), blocks, _varying(order))


def configuration_units(levels: Levels, blocks: Index, machines: Index, order: FloatArray | None) -> Units:
    """The configurations, each on every machine where it was run; arguments as for ``model_units``."""
    both = np.column_stack([levels, machines])
    _, first, places = np.unique(both, axis=0, return_index=True, return_inverse=True)
    if len(first) == len(levels):
        return Units(levels, machines, np.arange(len(levels)), blocks, _varying(order))
    places = places.reshape(-1)
    mean = None if order is None else unit_means(order, places, blocks)
    return Units(levels[first], machines[first], places, blocks, _varying(mean))


def _varying(order: FloatArray | None) -> FloatArray | None:
    return order if order is not None and np.ptp(order) > 0.0 else None


_LARGEST_POWER = 3.0
"""`box_cox` tries powers from minus this to this."""
_SPARE = 3
"""The degrees of freedom that must be left after the main effects for them to be in the model."""


def choose_scale(values: FloatArray, main_effects: FloatArray, blocks: Index) -> tuple[EffectScale, str]:
    """The log scale if all values are positive and Box-Cox prefers it, else the raw scale; with the reason in words.

    Box-Cox prefers the logarithm if its likelihood, with the main effects and the blocks as the model, is at least that
    of the raw values (Box and Cox 1964). If the main effects use up the runs, the model is the blocks' means alone.

    Args:
        values: one per run, shape (runs,).
        main_effects: their signs, shape (runs, options).
        blocks: of each run, as in ``additive_blocks``.
    """
    if np.ptp(values) == 0.0:
        return EffectScale.RAW, "all values are equal"
    if np.min(values) <= 0.0:
        return EffectScale.RAW, "values at or below zero have no logarithm"
    spare = len(values) - block_columns(blocks).shape[1]
    model = main_effects if spare - main_effects.shape[1] >= _SPARE else main_effects[:, :0]
    if spare < _SPARE:
        return EffectScale.LOG, "too few values to choose by, and ratios are usual for positive values"
    found = box_cox(values, model, blocks)
    if found.log_gain >= 0.0:
        return EffectScale.LOG, _preferred("the logarithm (power 0)", 0.0, found)
    return EffectScale.RAW, _preferred("the values as they are (power 1)", 1.0, found)


def choose_scale_of_model(values: FloatArray, terms: ModelTerms, units: Units) -> tuple[EffectScale, str]:
    """`choose_scale` with main effects and the interactions of the better of the two scales' models (extended BIC).

    The effect of a few combinations of settings is an interaction on either scale, and larger on the log scale if these
    are fast: without it, Box-Cox would prefer the raw scale for a product of effects. Interactions are those of the
    units: repetitions would make all variation between configurations significant.

    Args:
        values: one per run, shape (runs,).
        terms: the candidates, on the units.
        units: of the runs.
    """
    columns = [terms.columns[term] for term in terms.main_effects]
    mains = np.hstack(columns)[units.places]
    if np.min(values) <= 0.0 or np.ptp(values) == 0.0:
        return choose_scale(values, mains, units.run_blocks)
    logs = np.log(values)
    decided = [units.values(each) for each in (np.exp(logs - logs.mean()), logs)]
    smallest = EXACT * float(np.sum((decided[1] - decided[1].mean()) ** 2))
    fits = [significant_model(terms, each) for each in decided]
    fewest = min(fits, key=lambda fit: fit.extended_bayes(smallest))
    columns += [fewest.candidates.columns[term] for term in fewest.terms if len(term) > 1]
    model = np.hstack(columns)[units.places]
    return choose_scale(values, model if 2 * model.shape[1] <= terms.runs else mains, units.run_blocks)


def _preferred(scale: str, power: float, found: BoxCox) -> str:
    """The reason for a scale in words: whether Box-Cox prefers it, or finds it only the nearer of the two."""
    low, high = found.interval
    ends = [f"{end:g}" for end in found.interval if abs(end) >= _LARGEST_POWER]
    limit = f"; powers beyond {' and '.join(ends)} were not tried" if ends else ""
    range_ = f"the best power is {found.power:.2f} (95 % interval {low:.2f} to {high:.2f}){limit}"
    if low <= power <= high:
        return f"Box-Cox prefers {scale}: {range_}"
    return f"of the two scales Box-Cox finds {scale} the nearer, but not near: {range_}"
