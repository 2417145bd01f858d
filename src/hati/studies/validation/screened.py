"""Runs of a validation as arrays, on the deciding scale, and the test of a model's predictions for them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, Evidence, FloatArray, InputError, Metric, conversion
from hati.design.coding import Levels, Model, levels
from hati.document.document import change_range, percent
from hati.space import Space
from hati.stats import (
    Index,
    Term,
    additive_blocks,
    block_columns,
    confounded_with_order,
    pure_error,
    successive_blocks,
    within_residuals,
)
from hati.stats.distributions import f_above, f_quantile
from hati.stats.terms import spanned
from hati.studies.screening.changes import EffectContrast, Readable, RelativeChange
from hati.studies.screening.conclusion import EffectScale
from hati.studies.screening.runs import model_units
from hati.studies.validation.conclusion import PredictionCheck


class Runs(Struct, frozen=True, eq=False):
    """Runs as arrays; equal if the arrays are.

    ``levels`` has shape (runs, options), ``values`` (runs,) are on the deciding scale, and ``blocks``, as in
    ``additive_blocks``, the repetitions of a screening, each follow-up, and the ``machines`` of each. ``trends``,
    shape (runs, times), are linear trends over the order of the screening's runs and over that of each follow-up's,
    zero in the other runs; there are none if the order is unknown.
    """

    levels: Levels
    values: FloatArray
    blocks: Index
    machines: Index
    trends: FloatArray

    def __post_init__(self) -> None:
        arrays = (self.values, self.blocks, self.machines, self.trends)
        if any(len(array) != len(self.levels) for array in arrays):
            raise InputError(
                "runs have one row of levels, one value, one block, one machine and one place in time each"
            )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Runs) and self._bytes == other._bytes

    def __hash__(self) -> int:
        return hash(self._bytes)

    def __len__(self) -> int:
        return len(self.values)

    @classmethod
    def together(
        cls,
        levels: Levels,
        values: FloatArray,
        repetitions: Index,
        machines: Index | None = None,
        order: FloatArray | None = None,
    ) -> Runs:
        """The runs of one period; repetitions and machines are blocks.

        Args:
            levels: the settings of each run by position, shape (runs, options).
            values: on the deciding scale.
            repetitions: of the runs' configurations; or blocks, as in ``additive_blocks``.
            machines: the machine of each run, from 0; a single one if not given.
            order: the place of each run in time, if known.
        """
        machines = np.zeros(len(values), dtype=np.intp) if machines is None else machines
        return cls(levels, values, additive_blocks(repetitions, machines), machines, _trend(order, len(values)))

    def followed_by(self, later: Runs) -> Runs:
        """These runs and those of a later period."""
        from scipy.linalg import block_diag  # slow to load

        return Runs(
            np.concatenate([self.levels, later.levels]),
            np.concatenate([self.values, later.values]),
            successive_blocks(self.blocks, later.blocks),
            np.concatenate([self.machines, later.machines]),
            block_diag(self.trends, later.trends),
        )

    def at(self, places: Index) -> Runs:
        """The runs at those places."""
        return Runs(
            self.levels[places], self.values[places], self.blocks[places], self.machines[places], self.trends[places]
        )

    def since(self, first: int) -> Runs:
        """The runs from that place on."""
        return self.at(np.arange(first, len(self)))

    def by_configuration(self) -> Runs:
        """One mean for each configuration if these are the units of the screening's model, else these runs.

        A configuration on each of several machines is a unit.
        """
        sizes = tuple(int(most) + 1 for most in self.levels.max(axis=0))
        units = model_units(Model.of_order(sizes, 1), self.levels, self.blocks, self.machines)
        if units.are_runs:
            return self
        trends = np.zeros((len(units.levels), self.trends.shape[1]))
        for place, trend in enumerate(self.trends.T):
            trends[:, place] = units.values(trend)
        return Runs(units.levels, units.values(self.values), units.blocks, units.blocks, trends)

    @property
    def nuisance(self) -> FloatArray:
        """The columns that are in every model: the effects of blocks, and the trends."""
        return np.hstack([block_columns(self.blocks), self.trends])

    @property
    def shifts(self) -> FloatArray:
        """The nuisance columns in addition to the mean of all runs."""
        return self.nuisance[:, 1:]

    def confounded(self, columns: Mapping[Term, FloatArray]) -> frozenset[Term]:
        """The terms with a column that is correlated with the order of these runs."""
        if not self.trends.size or not columns:
            return frozenset()
        owners = [term for term, own in columns.items() for _ in range(own.shape[1])]
        places = confounded_with_order(np.hstack(list(columns.values())), self.trends, self.blocks)
        return frozenset(owners[place] for place in places)

    @property
    def _bytes(self) -> tuple[bytes, ...]:
        arrays = (self.levels, self.values, self.blocks, self.machines, self.trends)
        return tuple(array.tobytes() for array in arrays)


def _trend(order: FloatArray | None, runs: int) -> FloatArray:
    """The standardised order as a column; no column if it is unknown."""
    if order is None or runs < 2:
        return np.empty((runs, 0))
    return np.asarray((order - order.mean()) / order.std())[:, None]


class ScreenedSize(Struct, frozen=True):
    """The size of an effect that a screening reported, on the deciding scale; 95 % ``margin``, None without one.

    ``change`` is the size as a fraction, None if it was not reported.
    """

    estimate: float
    margin: float | None
    change: RelativeChange | None = None


class Screened(Struct, frozen=True):
    """A screening as a validation sees it.

    ``study`` is its key; ``important`` are its important effects, by their options' names, the largest first;
    ``aliases`` those that the design could not distinguish from each of them; ``relevant`` is the difference on the
    deciding scale that matters; ``typical`` the mean size of a value in the metric's unit; ``predicting`` the terms of
    its predictive model, if any. ``sizes`` are the reported sizes of the important effects, in their order; empty if it
    reported none. Of ``planned`` runs ``failed`` failed, and ``unmade`` were not made. ``made`` are all runs of its
    campaign, of any purpose; 0 where these are the ``runs``.
    """

    study: str
    runs: Runs
    scale: EffectScale
    important: tuple[tuple[str, ...], ...]
    aliases: tuple[tuple[tuple[str, ...], ...], ...]
    relevant: float
    typical: float
    predicting: tuple[tuple[str, ...], ...] = ()
    sizes: tuple[ScreenedSize, ...] = ()
    planned: int = 0
    failed: int = 0
    unmade: int = 0
    made: int = 0

    def __post_init__(self) -> None:
        if len(self.aliases) != len(self.important):
            raise InputError("every important effect has a set of aliases, perhaps an empty one")
        if self.sizes and len(self.sizes) != len(self.important):
            raise InputError("every important effect has a size, or none has")
        if not len(self.runs):
            raise InputError("there is no screening to validate: it has no run", fix="screen first")

    def relative(self, difference: float) -> float:
        """A difference on the deciding scale as a fraction."""
        return self.scale.relative(difference, self.typical)

    def change(self, contrast: EffectContrast) -> RelativeChange:
        """A difference of means as a fraction."""
        return self._readable.change(contrast)

    def fraction(self, contrast: EffectContrast) -> float | None:
        """A difference of means as a fraction; None from a mean of zero."""
        found = self.change(contrast).relative
        return found if math.isfinite(found) else None

    def limit(self, contrast: EffectContrast) -> float:
        """The difference that matters between the means that a contrast compares, on the deciding scale."""
        if self.scale is EffectScale.LOG:
            return self.relevant
        return self._readable.limit(self.relative(self.relevant), contrast)

    def sized(self, contrast: EffectContrast) -> str:
        """A difference of means as a change in percent, with its interval."""
        return _in_percent(self.change(contrast))

    def reported(self, size: ScreenedSize) -> str:
        """The size that the screening reported, in percent, with its interval."""
        return _in_percent(size.change or self.change(EffectContrast(size.estimate, None, size.margin)))

    @property
    def _readable(self) -> Readable:
        return Readable(self.runs.values, self.scale, self.typical)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings on planned runs that have no value."""
        of = f"of {self.planned} planned runs of the screening"
        lost = ((self.failed, "failed"), (self.unmade, "were never made"))
        return tuple(f"{n} {of} {what}: the validation uses the others" for n, what in lost if n)

    def missed(self, size: float) -> str:
        """The size, on the deciding scale, of effects that are found with 80 % power, in words."""
        return f"one of {percent(self.relative(size), 2)} would have been found with 80 % power"


def _in_percent(found: RelativeChange) -> str:
    middle = _percent_number(found.relative)
    return f"{middle} %" if found.interval is None else f"{middle} % ({change_range(*found.interval, _percent_number)})"


def _percent_number(fraction: float) -> str:
    return f"{100.0 * fraction:+,.1f}" if math.isfinite(fraction) else "?"


def screened_runs(
    configurations: tuple[Configuration, ...],
    values: FloatArray,
    repetitions: Index,
    space: Space,
    scale: EffectScale,
    machines: Index | None = None,
    order: FloatArray | None = None,
) -> Runs:
    """The runs of a screening, as ``Runs.together``: configurations and values in the metric's unit."""
    return Runs.together(levels(configurations, space), scale.decided(values), repetitions, machines, order)


class MetricValues(NamedTuple):
    """The runs with a value, in the order in which they were made.

    ``values`` are means after warm-up, in the metric's unit; ``machines`` number the recorded fingerprints from 0;
    ``order`` holds the places in time of the runs' starts, None if runs took no time because they were looked up in a
    table.
    """

    configurations: tuple[Configuration, ...]
    values: FloatArray
    machines: Index
    order: FloatArray | None


def metric_values(evidence: Evidence, metric: Metric) -> MetricValues:
    """The values of a metric.

    Raises:
        InputError: if a run's unit cannot be converted to the metric's.
    """
    found = [(place, run, run.of(metric.name)) for place, run in enumerate(evidence.runs)]
    usable = [(place, run, observed) for place, run, observed in found if observed is not None]
    values = [observed.mean * conversion(observed.unit, metric.unit) for _, _, observed in usable]
    timed = any(run.seconds > 0.0 for _, run, _ in usable)
    return MetricValues(
        configurations=tuple(run.task.configuration for _, run, _ in usable),
        values=np.array(values, dtype=np.float64),
        machines=np.unique([run.machine for _, run, _ in usable], return_inverse=True)[1].astype(np.intp),
        order=np.array([place for place, _, _ in usable], dtype=np.float64) if timed else None,
    )


Columns = tuple[FloatArray, FloatArray]
"""The columns of the screening's runs, and of the later ones."""

ALPHA = 0.05
REPETITIONS = "repetitions"
RESIDUALS = "what the model leaves of the screening's runs"
NO_RUNS = PredictionCheck(0, 0, None, None, "nothing yet", None, None, None, None, None)
_POWER = 0.8
_SIMULATIONS = 199
_LEAST_PURE = 8
"""The degrees of freedom from which repetitions estimate the noise; with fewer, the model's residuals do."""
LEAST_PREDICTED = 3
_RANK = 1e-9
_UNKNOWN = 1e-6
_EXACT = 1e-14
_FLOOR = 4.0
"""Noise below the relevant size divided by this does not count."""


def check_predictions(
    screened: Screened,
    predicting: Columns,
    judging: Columns,
    later: Runs,
    reselected: Callable[[FloatArray], Columns],
    rng: np.random.Generator,
) -> PredictionCheck:
    """Test the errors of predictions for later runs, apart from a shift and a trend common to all (Chow 1960).

    The statistic is (S2 - S1) / d over the noise's variance, where S1 is the sum of squared residuals of the
    screening's runs, S2 that of all runs with blocks and a trend of the later ones, and d the additional degrees of
    freedom of S2. It has the F distribution with d and the noise's degrees of freedom if only the model is active (Chow
    1960, Econometrica 28, 591-605). This is the squared error relative to its covariance I + X0 (X'X)^-1 X0';
    unpredictable parts do not count. The model was selected by the same runs that fit it, so that its errors are
    larger: if the test would reject, the p-value is at least that of 199 simulations in which only the judging columns
    are active and the model is selected again.

    Args:
        screened: the runs of the screening.
        predicting: the columns of the predictive model, shape (runs, columns) each; the mean included.
        judging: columns whose residuals estimate the noise if repetitions do not.
        later: the later runs.
        reselected: returns ``predicting`` as selected for other values of the screening's runs.
        rng: for the simulations.
    """
    model, ahead = predicting
    noise, df, known_from = _noise(screened, screened.runs.values, judging[0])
    inverse = np.linalg.pinv(model, rcond=_RANK)
    known = predictable(model, ahead)
    shifts = spanned(later.nuisance)
    first, both = spanned(model), spanned(_with_shifts(model, ahead, shifts))
    before = screened.runs.values
    free = len(later) - (both.shape[1] - first.shape[1])
    if np.count_nonzero(known) < LEAST_PREDICTED or free < 1 or df < 1:
        return PredictionCheck(int(known.sum()), len(later), None, None, known_from, None, None, None, None, None)
    ratio = _ratio(predicting, shifts, before, later.values, noise)
    p_value = float(f_above(np.array(max(ratio, 0.0)), free, df))
    if p_value <= ALPHA:
        simulated = _simulated(screened, judging, shifts, reselected, rng)
        p_value = max(p_value, float(1 + np.count_nonzero(simulated >= ratio)) / (len(simulated) + 1))
    errors = (later.values - ahead @ (inverse @ before))[known]
    own = spanned(later.nuisance[known])
    sizes = np.abs([screened.relative(float(error)) for error in errors - own @ (own.T @ errors)])
    carried = len(later) - float(np.sum(both[len(before) :] ** 2))
    hidden = noise * _needed(free, df) * free / carried
    return PredictionCheck(
        runs=int(known.sum()),
        random=len(later),
        p_value=p_value,
        df=(free, df),
        noise=known_from,
        ratio=ratio,
        median=float(np.median(sizes)),
        largest=float(sizes.max()),
        deviation=screened.relative(float(np.sqrt(noise))),
        unseen=screened.relative(float(np.sqrt(hidden))) if known_from == REPETITIONS else None,
    )


def predictable(model: FloatArray, ahead: FloatArray) -> NDArray[np.bool_]:
    """Whether a model can predict each row: if it is a combination of the rows that fitted the model."""
    projected = np.linalg.pinv(model, rcond=_RANK) @ model
    return np.asarray(np.linalg.norm(ahead - ahead @ projected, axis=1) < _UNKNOWN)


def _ratio(columns: Columns, shifts: FloatArray, before: FloatArray, values: FloatArray, noise: float) -> float:
    model, ahead = columns
    first, both = spanned(model), spanned(_with_shifts(model, ahead, shifts))
    free = len(values) - (both.shape[1] - first.shape[1])
    if free < 1:
        return 0.0
    return float((_left(both, np.concatenate([before, values])) - _left(first, before)) / free / noise)


def _simulated(
    screened: Screened,
    judging: Columns,
    shifts: FloatArray,
    reselected: Callable[[FloatArray], Columns],
    rng: np.random.Generator,
) -> FloatArray:
    """The statistic of simulated studies in which only the judging columns are active.

    The predictive columns are not simulated: those selected by chance would count as true, and be selected again.
    """
    columns, ahead = judging
    noise, _, _ = _noise(screened, screened.runs.values, columns)
    coefficients = np.linalg.pinv(columns, rcond=_RANK) @ screened.runs.values
    found = []
    for _ in range(_SIMULATIONS):
        before = columns @ coefficients + np.sqrt(noise) * rng.standard_normal(len(columns))
        after = ahead @ coefficients + np.sqrt(noise) * rng.standard_normal(len(ahead))
        projected, _, _ = _noise(screened, before, columns)
        found.append(_ratio(reselected(before), shifts, before, after, projected))
    return np.array(found)


def _with_shifts(model: FloatArray, ahead: FloatArray, shifts: FloatArray) -> FloatArray:
    """The columns of all runs, and the shifts of the later ones, which are zero before."""
    return np.hstack([np.vstack([model, ahead]), np.vstack([np.zeros((len(model), shifts.shape[1])), shifts])])


def _left(basis: FloatArray, values: FloatArray) -> float:
    left = values - basis @ (basis.T @ values)
    return float(left @ left)


def _noise(screened: Screened, values: FloatArray, judging: FloatArray) -> tuple[float, int, str]:
    """The variance of a run, its degrees of freedom, and its source."""
    runs = screened.runs
    floor = (screened.relevant / _FLOOR) ** 2
    least = _EXACT * float(np.sum((values - values.mean()) ** 2)) or _EXACT
    _, rows = np.unique(runs.levels, axis=0, return_inverse=True)
    own: Index = np.asarray(rows, dtype=np.intp).ravel()
    trend = next((within_residuals(each, own, runs.blocks)[0] for each in runs.trends.T), None)
    variance, df = pure_error(values, own, runs.blocks, trend)
    if df >= _LEAST_PURE:
        return max(variance, floor, least), int(df), REPETITIONS
    basis = spanned(judging)
    df = len(runs) - basis.shape[1]
    return max(_left(basis, values) / max(df, 1), floor, least), int(df), RESIDUALS


def _needed(free: int, df: int) -> float:
    """The additional variance that the test finds with 80 % power, as a fraction of the noise's."""
    return f_quantile(1.0 - ALPHA, free, df) / f_quantile(1.0 - _POWER, free, df) - 1.0
