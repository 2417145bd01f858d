"""From the values of a design's runs to effects: the part of screening that is only arrays."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from hati.core import FloatArray, replace
from hati.stats import (
    Contrasts,
    Index,
    LeastSquares,
    Signs,
    Term,
    beside_trend,
    confounded_with_order,
    half_normal,
    least_squares,
)
from hati.studies.screening.conclusion import Noise, Scale
from hati.studies.screening.estimated import Estimated
from hati.studies.screening.heredity import named_by_heredity
from hati.studies.screening.judgement import Judgement, judge, noise_source
from hati.studies.screening.readable import Readable
from hati.studies.screening.scale import choose_scale


class Analysis(Struct, frozen=True, eq=False):
    """Everything that the values say; effects are sorted by the size of their contrast, largest first.

    ``detectable`` is a pair: in the unit, and as a fraction. ``decided`` are the values on the deciding scale.
    ``confounded`` effects cannot be distinguished from a trend over the order of runs, and are not important.
    """

    scale: Scale
    scale_reason: str
    judged_by: Noise
    effects: tuple[Estimated, ...]
    threshold: float | None
    detectable: tuple[float, float] | None
    missing: tuple[Term, ...]
    decided: FloatArray
    confounded: tuple[Term, ...] = ()


def analyse(
    contrasts: Contrasts,
    values: FloatArray,
    rows: Index,
    blocks: Index,
    *,
    alpha: float,
    relevant: float,
    order: FloatArray | None = None,
) -> Analysis:
    """Estimate and judge the effects on the mean.

    Estimates are in the values' own unit on either scale; what is important is decided on one: significant study-wise
    at ``alpha``, and larger than ``relevant``, a fraction. On the logarithmic scale larger means a ratio above
    1 + ``relevant`` or below its inverse, so that it does not matter which setting is written first.

    Args:
        contrasts: those of the planned design.
        values: one per run, shape (runs,).
        rows: the design's row of each run.
        blocks: the repetition of each run.
        alpha: the study-wise error.
        relevant: the fraction that matters.
        order: the place of each run in time, where that is known: effects are estimated beside a linear trend then.
    """
    scale, reason = choose_scale(values, contrasts.main_effects[rows].astype(np.float64), blocks)
    decided = np.log(values) if scale is Scale.LOG else values
    readable = Readable(decided, scale, float(np.mean(np.abs(values))))
    return _in_order(contrasts, values, readable, reason, rows, blocks, order, alpha=alpha, relevant=relevant)


def analyse_log_variance(
    contrasts: Contrasts,
    log_variances: FloatArray,
    rows: Index,
    blocks: Index,
    *,
    alpha: float,
    relevant: float,
    order: FloatArray | None = None,
) -> Analysis:
    """The same for ln s^2, which is a logarithm already: fractions are of the variance s^2."""
    readable = Readable(log_variances, Scale.LOG, 0.0)
    return _in_order(contrasts, log_variances, readable, "ln s^2", rows, blocks, order, alpha=alpha, relevant=relevant)


def _in_order(
    contrasts: Contrasts,
    values: FloatArray,
    readable: Readable,
    reason: str,
    rows: Index,
    blocks: Index,
    order: FloatArray | None,
    *,
    alpha: float,
    relevant: float,
) -> Analysis:
    """The effects beside a trend over the order, where that is known; those confounded with it are not important."""
    matrix = contrasts.main_effects
    fit = least_squares(contrasts, rows, blocks)
    if order is not None:
        fit = beside_trend(fit, readable.values, order, rows, blocks)
    found = _analysis(fit, values, readable, reason, rows, blocks, matrix=matrix, alpha=alpha, relevant=relevant)
    return _without_confounded(found, matrix[rows], order, blocks) if order is not None and found.effects else found


def _without_confounded(analysis: Analysis, signs: Signs, order: FloatArray, blocks: Index) -> Analysis:
    """The same analysis, in which no effect is important that the order of the runs may have made."""
    columns = np.column_stack([signs[:, list(effect.term)].prod(axis=1) for effect in analysis.effects])
    places = set(confounded_with_order(columns.astype(np.float64), order, blocks).tolist())
    effects = [
        replace(effect, important=effect.important and place not in places)
        for place, effect in enumerate(analysis.effects)
    ]
    return replace(
        analysis,
        effects=tuple(effects),
        confounded=tuple(effects[place].term for place in sorted(places)),
    )


def _analysis(
    fit: LeastSquares,
    values: FloatArray,
    decided: Readable,
    reason: str,
    rows: Index,
    blocks: Index,
    *,
    matrix: Signs,
    alpha: float,
    relevant: float,
) -> Analysis:
    judgement = judge(fit, decided.values, rows, blocks, alpha=alpha, relevant=decided.difference(relevant))
    if values is decided.values:
        raw = judgement
    else:
        judged_by, deviation, _ = noise_source(fit, values, rows, blocks)
        raw = replace(judgement, deviation=None if judged_by is Noise.NONE else deviation)
    found = _effects(fit, values, decided, judgement, raw, rows, alpha=alpha, relevant=relevant)
    named = named_by_heredity(found, matrix)
    limit = judgement.detectable
    return Analysis(
        scale=decided.scale,
        scale_reason=reason,
        judged_by=judgement.judged_by,
        effects=tuple(sorted(named, key=lambda effect: (-abs(effect.contrast), len(effect.term), effect.term))),
        threshold=judgement.threshold,
        detectable=None if limit is None else (decided.in_unit(limit), decided.relative(limit)),
        missing=fit.missing,
        decided=decided.values,
    )


def _effects(
    fit: LeastSquares,
    values: FloatArray,
    decided: Readable,
    judgement: Judgement,
    raw: Judgement,
    rows: Index,
    *,
    alpha: float,
    relevant: float,
) -> list[Estimated]:
    """The reported effects; ``raw`` is the judgement of the noise in the values' own unit."""
    differences = fit.effects(decided.values)
    estimates = fit.effects(values)
    relatives = [decided.relative(float(difference)) for difference in differences]
    p_values = np.full(len(fit.reported), np.nan) if judgement.p_values is None else judgement.p_values
    ranked = half_normal(np.abs(fit.standardised(decided.values)))
    margins, errors = _margins(judgement, fit), raw.standard_errors(fit.variances)
    own_margins = _margins(raw, fit)
    limit = decided.difference(relevant)
    shares = differences**2 * (len(values) / 4.0)
    total = max(_between(decided.values, rows), float(shares.sum()))
    return [
        Estimated(
            term=fit.terms[i],
            aliases=fit.aliases[i],
            estimate=float(estimates[i]),
            interval=_around(estimates[i], own_margins, i),
            standard_error=None if errors is None else float(errors[i]),
            relative=relatives[i],
            relative_interval=_relative_interval(decided, differences[i], margins, i),
            contrast=float(differences[i]),
            share=float(shares[i] / total) if total > 0.0 else 0.0,
            p_value=None if judgement.p_values is None else float(p_value),
            important=bool(p_value <= alpha and abs(differences[i]) > limit),
            half_normal=float(ranked[i]),
        )
        for p_value, i in zip(p_values, fit.reported, strict=True)
    ]


def explained_by(signs: Signs, terms: Sequence[Term], values: FloatArray, blocks: Index) -> float:
    """The share of the values' variance that these effects, and the repetitions' means, explain by least squares.

    Args:
        signs: each run's, shape (runs, options).
        terms: the effects.
        values: one per run.
        blocks: the repetition of each run.
    """
    repetitions = np.asarray(blocks[:, None] == np.unique(blocks)[None, :], dtype=np.float64)
    columns = np.column_stack([repetitions, *(np.prod(signs[:, list(term)], axis=1) for term in terms)])
    residuals = values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0]
    total = float(np.sum((values - values.mean()) ** 2))
    return 1.0 - float(residuals @ residuals) / total if total > 0.0 else 0.0


def _margins(judgement: Judgement, fit: LeastSquares) -> FloatArray | None:
    errors = judgement.standard_errors(fit.variances)
    return None if errors is None else errors * judgement.margin


def _around(middle: float, margins: FloatArray | None, i: int) -> tuple[float, float] | None:
    return None if margins is None else (float(middle - margins[i]), float(middle + margins[i]))


def _relative_interval(
    decided: Readable, difference: float, margins: FloatArray | None, i: int
) -> tuple[float, float] | None:
    around = _around(difference, margins, i)
    return None if around is None else (decided.relative(around[0]), decided.relative(around[1]))


def _between(values: FloatArray, rows: Index) -> float:
    """The sum of squares between configurations, each run counted."""
    _, row = np.unique(rows, return_inverse=True)
    means = np.bincount(row, weights=values) / np.bincount(row)
    return float(np.sum((means[row] - values.mean()) ** 2))
