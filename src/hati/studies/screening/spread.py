"""The analysis of variation, lack of fit compared with the noise of runs, and machines as blocks.

Effects are estimated within blocks, so that a slower machine shifts no effect (Box, Hunter and Hunter, Statistics for
Experimenters, 2005, section 4.3). This is the additive model of a block design: a machine on which an option has
another effect refutes it. A single machine may also have changed in the meantime.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, Setting, replace
from hati.stats import (
    Contrasts,
    Index,
    ModelTerms,
    Signs,
    SumOfSquares,
    Term,
    anova,
    block_columns,
    f_quantile,
    holm,
    log_variances,
    pure_error,
    rank_trend,
    within_residuals,
    without_means,
)
from hati.studies.screening.changes import Readable
from hati.studies.screening.conclusion import (
    ConfoundedOption,
    EffectScale,
    LackOfFit,
    MachineBlocks,
    MeasuredMachine,
    Options,
    SettingMachines,
    linked_settings,
)
from hati.studies.screening.contrasts import Analysis, analyse_log_variance
from hati.studies.screening.model import ModelAnalysis
from hati.studies.screening.runs import MeasuredDesign

FEWEST = 3
"""The fewest runs of every configuration: with fewer, the variance between them says next to nothing."""

_SAME = 1e-9


class Spread(Struct, frozen=True, eq=False):
    """An analysis of ln s^2, ``of`` the ``observations`` within runs or the ``runs`` of each configuration.

    Or of their logarithms: ``log observations``, ``log runs``.
    """

    of: str
    analysis: Analysis


def analyse_spread(
    contrasts: Contrasts, measured: MeasuredDesign, scale: EffectScale, *, alpha: float, relevant: float
) -> Spread | None:
    """The effects on ln s^2, or None without a variance.

    s^2 is the variance of the observations within each run if every run has two or more that differ; otherwise of the
    runs of each configuration if each has three or more. The effects are a family of their own, with the study-wise
    error ``alpha`` again.

    If the deciding scale is the logarithm, s^2 is of logarithms, if these exist: an effect that multiplies all values
    by m adds 2 ln m to the ln s^2 of the values, though it does not change their relative variation. Effects are
    estimated together with a trend over the order of runs, if known, and within machines.
    """
    found = _within_runs(contrasts, measured, scale, alpha=alpha, relevant=relevant)
    return found or _between_runs(contrasts, measured, scale, alpha=alpha, relevant=relevant)


def _within_runs(
    contrasts: Contrasts, measured: MeasuredDesign, scale: EffectScale, *, alpha: float, relevant: float
) -> Spread | None:
    logs = scale is EffectScale.LOG and all(np.min(sample) > 0.0 for sample in measured.samples)
    within = log_variances([np.log(sample) for sample in measured.samples] if logs else measured.samples)
    if within is None:
        return None
    rows, blocks, order = measured.rows, measured.blocks, measured.in_time
    found = analyse_log_variance(contrasts, within, rows, blocks, alpha=alpha, relevant=relevant, order=order)
    return Spread("log observations" if logs else "observations", found)


def _between_runs(
    contrasts: Contrasts, measured: MeasuredDesign, scale: EffectScale, *, alpha: float, relevant: float
) -> Spread | None:
    """The effects on ln s^2 of the runs of each configuration; its place in time is the mean over its runs."""
    present, row = np.unique(measured.rows, return_inverse=True)
    runs = np.bincount(row)
    if np.min(runs) < FEWEST:
        return None
    values, order = scale.decided(measured.values), measured.in_time
    cleared = _cleared(values, row, measured.blocks, order)
    weights = 1.0 / _machine_variances(cleared, row, measured.machines)
    groups = [row == i for i in range(len(present))]
    between = log_variances([cleared[own] for own in groups], [weights[own] for own in groups])
    if between is None:
        return None
    mean_order = None if order is None else np.bincount(row, weights=order) / runs
    single: Index = np.zeros(len(present), dtype=np.intp)
    found = analyse_log_variance(contrasts, between, present, single, alpha=alpha, relevant=relevant, order=mean_order)
    return Spread("log runs" if scale is EffectScale.LOG else "runs", found)


def _cleared(values: FloatArray, rows: Index, blocks: Index, order: FloatArray | None) -> FloatArray:
    """The values without the effects of blocks and of a linear trend over the order, which are not variation."""
    residuals, _ = within_residuals(values, rows, blocks)
    if order is not None:
        trend, _ = within_residuals(order - order.mean(), rows, blocks)
        square = float(trend @ trend)
        if square > _SAME * len(values):
            residuals = residuals - float(trend @ residuals) / square * trend
    return np.asarray((np.bincount(rows, weights=values) / np.bincount(rows))[rows] + residuals)


def _machine_variances(values: FloatArray, rows: Index, machines: Index) -> FloatArray:
    """The variance of each run's machine relative to all machines, pooled within configurations; or all 1."""
    cells = rows * (int(machines.max()) + 1) + machines
    squares = without_means(values[:, None], cells)[:, 0] ** 2
    _, first = np.unique(cells, return_index=True)
    freedom = np.bincount(machines) - np.bincount(machines[first])
    sums = np.bincount(machines, weights=squares)
    if np.min(sums) <= _SAME * np.sum(sums):
        return np.ones(len(values))
    return np.asarray((sums / freedom * (freedom.sum() / sums.sum()))[machines])


_CONFIDENCE = 0.95
_ROUNDING = 1e-12
"""Deviations below this fraction are rounding errors."""


def lack_of_fit(found: MeasuredDesign, analysis: ModelAnalysis) -> LackOfFit | None:
    """The lack of fit by repeated configurations; None without any, or if no degrees of freedom are left."""
    readable, left = analysis.readable, analysis.judged.variance
    noise, df = pure_error(readable.values, found.rows, found.blocks)
    if not df or left is None:
        return None
    deviations = [readable.relative(math.sqrt(variance)) for variance in (noise, left)]
    own, rest = (deviation if deviation > _ROUNDING else 0.0 for deviation in deviations)
    return LackOfFit(
        noise=own,
        left=rest,
        repeated=df,
        found=rest > 0.0 and left > noise * f_quantile(_CONFIDENCE, analysis.judged.df, df),
    )


def drift(
    values: FloatArray, rows: Index, order: Index, machines: FloatArray, effects: FloatArray
) -> tuple[float, float]:
    """The rank correlation of values with the order of runs, and its p-value.

    The configurations' means, or the effects if most runs are single, and the machines are removed first. Effects that
    were selected because they fit the runs, without being significant, must not be: they leave little but the trend.

    Args:
        values: on the deciding scale, shape (runs,).
        rows: the design's row of each run.
        order: the place of each run.
        machines: columns of the machines, shape (runs, any).
        effects: the columns of the effects that are significant or confounded with the order, shape (runs, any).
    """
    present, row = np.unique(rows, return_inverse=True)
    taken = machines
    if len(row) < 2 * len(present):
        row, taken = np.zeros_like(row), np.hstack([machines, effects])
    return rank_trend(values, order.astype(np.float64), taken, row)


def shown_effects(analysis: Analysis, signs: Signs) -> FloatArray:
    """The columns of effects that are important or confounded with the order, shape (runs, effects).

    Args:
        analysis: of the runs.
        signs: the settings of each run, shape (runs, options).
    """
    terms = [list(each.term) for each in analysis.effects if each.important or each.term in analysis.confounded]
    columns = [signs[:, term].prod(axis=1) for term in terms]
    return np.asarray(columns, dtype=np.float64).reshape(len(terms), len(signs)).T


_FEWEST = 3
"""Degrees of freedom of the residuals below which an interaction is not tested."""


def compare_machines(
    found: MeasuredDesign,
    readable: Readable,
    main_effects: Mapping[str, FloatArray],
    model: Sequence[FloatArray],
    *,
    alpha: float,
    pairs: Sequence[Options] = (),
) -> MachineBlocks | None:
    """The comparison of machines; None for a single machine.

    The interaction of each option with machine is tested by F, in a model with the interactions of all options, and
    corrected by Holm's method. The means of configurations are removed by one column each if machines share
    configurations, else by the model's columns.

    Args:
        found: the runs.
        readable: their values on the deciding scale.
        main_effects: the columns of each option, shape (runs, parameters).
        model: the columns of all terms of the model, each of shape (runs, parameters).
        alpha: the error over the interactions of all options.
        pairs: the interactions of two options that the study looks for.
    """
    names = sorted({run.machine for run in found.runs})
    if len(names) < 2:
        return None
    machines = found.machine_columns
    shared = len(found.values) > len(np.unique(found.rows)) and _crossed(found)
    others = [block_columns(found.rows)] if shared else [np.ones((len(found.values), 1)), *model]
    terms = ModelTerms(
        np.hstack([block_columns(found.blocks), *others]),
        {(place,): _products(columns, machines) for place, columns in enumerate(main_effects.values())},
    )
    p_values = _p_values(terms, readable.values)
    options = tuple(main_effects)
    measured = _measured_machines(found, readable, names, others)
    return MachineBlocks(
        machines=measured,
        tested=tuple(options[term[0]] for term in p_values),
        p_value=min(p_values.values(), default=None),
        differing=tuple(options[term[0]] for term, p_value in p_values.items() if p_value <= alpha),
        confounded=tuple(_confounded_options(found, {each.fingerprint: each.offset for each in measured})),
        confounded_pairs=tuple(_determined(pairs, main_effects, found.machines)),
    )


def _determined(pairs: Sequence[Options], main_effects: Mapping[str, FloatArray], machines: Index) -> Iterator[Options]:
    """The interactions with contrasts that no machine can estimate, though runs on one machine could."""
    together = np.zeros_like(machines)
    for first, second in pairs:
        mains = np.hstack([main_effects[first], main_effects[second]])
        products = _products(main_effects[first], main_effects[second])
        if _contrasts_left(mains, products, together) > _contrasts_left(mains, products, machines):
            yield first, second


def _contrasts_left(known: FloatArray, columns: FloatArray, blocks: Index) -> int:
    """The number of independent columns within blocks, after the known ones."""
    within, own = (without_means(each, blocks) for each in (known, columns))
    within = np.where(np.abs(within) < _SAME, 0.0, within)  # what is left of columns that blocks determine
    left = own - within @ np.linalg.lstsq(within, own, rcond=None)[0]
    return int(np.sum(np.linalg.svd(left, compute_uv=False) > _SAME * len(left)))


def settings_of_machines(found: MeasuredDesign) -> dict[str, tuple[SettingMachines, ...]]:
    """The settings, with the machines of each, of options that have settings that no machines link."""
    ran: dict[str, dict[Setting, dict[str, None]]] = {}
    pairs = {(run.machine, row): run for run, row in zip(found.runs, found.rows.tolist(), strict=True)}
    for (machine, _), run in pairs.items():
        for option, setting in run.task.configuration.items():
            ran.setdefault(option, {}).setdefault(setting, {})[machine] = None
    settings = {
        option: tuple(SettingMachines(setting, tuple(machines)) for setting, machines in own.items())
        for option, own in ran.items()
    }
    return {option: own for option, own in settings.items() if len(linked_settings(own)) > 1}


def _confounded_options(found: MeasuredDesign, offsets: Mapping[str, float]) -> Iterator[ConfoundedOption]:
    for option, settings in settings_of_machines(found).items():
        shared = [[offsets[name] for name in own.machines] for own in settings if len(own.machines) > 1]
        yield ConfoundedOption(option, settings, max((max(own) - min(own) for own in shared), default=None))


def _measured_machines(
    found: MeasuredDesign, readable: Readable, names: Sequence[str], others: Sequence[FloatArray]
) -> tuple[MeasuredMachine, ...]:
    """The machines in the order of their first runs, each with its offset from the first as a fraction of its mean.

    The offsets are estimated by least squares, together with the other columns, but their combinations that machines
    determine.
    """
    machines, beside = np.column_stack([found.machine_columns, np.ones(len(found.values))]), np.hstack(others)
    left = beside - machines @ np.linalg.lstsq(machines, beside, rcond=None)[0]
    _, sizes, directions = np.linalg.svd(left, full_matrices=False)
    columns = np.hstack([machines, beside @ directions[sizes > _SAME * len(left)].T])
    solved = np.linalg.lstsq(columns, readable.values, rcond=None)[0]
    offsets = np.concatenate([[0.0], solved[: len(names) - 1]])
    ordered = sorted(range(len(names)), key=lambda place: int(found.order[found.machines == place].min()))
    first = ordered[0]
    scale = replace(readable, typical=float(np.mean(np.abs(found.values[found.machines == first]))))
    return tuple(
        MeasuredMachine(
            names[place], int(np.sum(found.machines == place)), scale.relative(float(offsets[place] - offsets[first]))
        )
        for place in ordered
    )


def _crossed(found: MeasuredDesign) -> bool:
    """Whether every configuration ran on two machines or more."""
    pairs = np.unique(np.column_stack([found.rows, found.machines]), axis=0)
    return bool(np.min(np.bincount(np.unique(pairs[:, 0], return_inverse=True)[1])) > 1)


def _products(columns: FloatArray, machines: FloatArray) -> FloatArray:
    return np.hstack([columns * machines[:, [place]] for place in range(machines.shape[1])])


def _p_values(terms: ModelTerms, values: FloatArray) -> dict[Term, float]:
    """The corrected p-value of each interaction that the runs can estimate; empty with too few degrees of freedom."""
    table = anova(terms, tuple(terms), values, SumOfSquares.TYPE_3)
    if table.df < _FEWEST:
        return {}
    known = {row.term: row.p_value for row in table.rows if row.p_value is not None}
    return dict(zip(known, holm(np.array(list(known.values()))).tolist(), strict=True)) if known else {}
