"""Effects estimated from the runs of a two-level design: the deciding scale, judgements, aliases and rankings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, replace
from hati.stats import (
    Contrasts,
    Index,
    LeastSquares,
    LenthReference,
    Shares,
    Signs,
    Term,
    adaptive_standard_error,
    adjusted_for_trend,
    block_columns,
    confounded_with_order,
    correlated_reference,
    degrees_of_freedom,
    detectable_by_lenth,
    detectable_by_pure_error,
    f_quantile,
    half_normal,
    least_squares,
    lenth_reference,
    options_first,
    pseudo_standard_error,
    pure_error,
    step_critical,
    t_two_sided,
    without_blocks,
)
from hati.studies.screening.changes import BaseMean, EffectAnalysis, EffectContrast, Readable
from hati.studies.screening.conclusion import EffectScale, EffectSize, Noise
from hati.studies.screening.runs import choose_scale


class Estimated(EffectSize, frozen=True, kw_only=True):
    """One effect, its options given by position."""

    term: Term
    aliases: tuple[Term, ...]


def likely_pairs(effect: Estimated, main: set[int]) -> list[Term]:
    """The pairs of an interaction's alias set whose options have the most important main effects (two, one or none).

    Effect heredity: an interaction is likely where its parents matter (Hamada and Wu 1992, Analysis of designed
    experiments with complex aliasing, Journal of Quality Technology 24(3), 130-137).
    """
    pairs: list[Term] = [term for term in (effect.term, *effect.aliases) if len(term) == 2]
    most = max(len(main & set(pair)) for pair in pairs)
    return [pair for pair in pairs if len(main & set(pair)) == most]


def named_by_heredity(effects: Sequence[Estimated], matrix: Signs) -> list[Estimated]:
    """The same effects, each interaction named by the likeliest pair of its alias set; the others are its aliases.

    The likeliest has the most important parents, and among those the largest main effects.

    Args:
        effects: the estimated effects.
        matrix: the design, shape (rows, factors): a pair that is the negative of another is never its name.
    """
    sizes = {effect.term[0]: abs(effect.contrast) for effect in effects if len(effect.term) == 1}
    main = {effect.term[0] for effect in effects if len(effect.term) == 1 and effect.important}
    return [effect if len(effect.term) == 1 else _renamed(effect, matrix, sizes, main) for effect in effects]


def _renamed(effect: Estimated, matrix: Signs, sizes: dict[int, float], main: set[int]) -> Estimated:
    column = _column(matrix, effect.term)
    by_size = sorted(likely_pairs(effect, main), key=lambda pair: -sum(sizes.get(option, 0.0) for option in pair))
    best = next((pair for pair in by_size if np.array_equal(_column(matrix, pair), column)), effect.term)
    if best == effect.term:
        return effect
    members = (effect.term, *effect.aliases)
    return replace(effect, term=best, aliases=tuple(term for term in members if term != best))


def _column(matrix: Signs, pair: Term) -> Signs:
    return matrix[:, pair[0]] * matrix[:, pair[1]]


FEWEST_CONTRASTS = 3
"""With fewer contrasts, their median says nothing about noise."""

_CONFIDENCE = 0.95
_LACK_OF_FIT = 0.01
"""The probability of finding a lack of fit where there is none."""


class EffectJudgement(Struct, frozen=True, eq=False):
    """The noise estimate and the tests of effects against it.

    ``deviation`` estimates the standard deviation of a run, None if it is unknown; ``margin`` standard errors
    are the half-width of a 95 % interval. ``p_values`` are study-wise, one for each reported effect. ``threshold`` is
    the size above which a main effect is significant, ``detectable`` the size that would have been found with 80 %
    power.
    """

    judged_by: Noise
    deviation: float | None
    margin: float
    p_values: FloatArray | None
    threshold: float | None
    detectable: float | None

    def standard_errors(self, variances: FloatArray) -> FloatArray | None:
        """The standard errors of effects whose variances, for runs of variance one, are ``variances``."""
        return None if self.deviation is None else self.deviation * np.sqrt(variances)


class StudentReference(Struct, frozen=True):
    """Student's t with ``df`` degrees of freedom; the counterpart without repetitions is `LenthReference`."""

    df: int

    def critical(self, alpha: float, tests: int) -> float:
        """The value that the largest of ``tests`` statistics exceeds with a probability of at most ``alpha``."""
        return step_critical(alpha, tests, self.df)

    def p_values(self, statistics: FloatArray, tests: int) -> FloatArray:
        """The p-values of the largest of ``tests`` statistics, by Bonferroni."""
        return tests * t_two_sided(statistics, self.df)


_NOTHING = EffectJudgement(Noise.NONE, None, 0.0, None, None, None)


def noise_source(fit: LeastSquares, values: FloatArray, rows: Index, blocks: Index) -> tuple[Noise, float, int]:
    """The source of the noise estimate, the standard deviation of a run, and the degrees of freedom of pure error.

    Pure error is used if repetitions give it at least the degrees of freedom that Lenth's method would have (a third of
    the contrasts): always with two complete repetitions or more. Lenth's method is used otherwise, if there are three
    contrasts, and where effects are aliased and most of them are larger than repetitions explain: effects that the
    design does not list bias those that it lists, and no repetition shows by how much.
    """
    variance, df = pure_error(values, rows, blocks, fit.trend)
    contrasts = len(fit.terms) + len(fit.remainder)
    repeated = bool(df) and df >= degrees_of_freedom(contrasts)
    if contrasts < FEWEST_CONTRASTS:
        return (Noise.PURE_ERROR, float(np.sqrt(variance)), df) if repeated else (Noise.NONE, 0.0, 0)
    standardised = fit.standardised(values)
    if not repeated:
        return Noise.LENTH, adaptive_standard_error(standardised), 0
    beyond = f_quantile(1.0 - _LACK_OF_FIT, degrees_of_freedom(contrasts), df)
    if any(fit.aliases) and pseudo_standard_error(standardised) ** 2 > variance * beyond:
        return Noise.LACK_OF_FIT, adaptive_standard_error(standardised), 0
    return Noise.PURE_ERROR, float(np.sqrt(variance)), df


def judge(
    fit: LeastSquares, values: FloatArray, rows: Index, blocks: Index, *, alpha: float, relevant: float
) -> EffectJudgement:
    """Judge the main effects and two-factor interactions of a fit, options first.

    Tests are t tests against pure error; without repetitions, they use the adaptive standard error of all contrasts,
    including those of higher order, and its simulated distribution. They are corrected by `hati.stats.multiple`. In a
    study without effects, the probability that any effect is called significant is at most ``alpha``.

    Args:
        fit: the least-squares fit of these runs.
        values: on the deciding scale, shape (runs,).
        rows: the design's row of each run.
        blocks: the repetition of each run.
        alpha: the study-wise error.
        relevant: the effect on the deciding scale below which none is important.
    """
    judged_by, deviation, df = noise_source(fit, values, rows, blocks)
    reported = fit.reported
    if judged_by is Noise.NONE or not len(reported):
        return _NOTHING
    statistics = _ratio(np.abs(fit.effects(values)[reported]), deviation * np.sqrt(fit.variances[reported]))
    typical = deviation * float(np.sqrt(np.median(fit.variances[reported])))
    sets = [(fit.terms[i], *fit.aliases[i]) for i in reported]
    reference = StudentReference(df) if judged_by is Noise.PURE_ERROR else _reference(fit)
    p_values = options_first(sets, statistics, reference.p_values)
    threshold, detectable = _power(fit, sets, p_values <= alpha, reference, typical, alpha=alpha, relevant=relevant)
    return EffectJudgement(
        judged_by, deviation, reference.critical(1.0 - _CONFIDENCE, 1), p_values, threshold, detectable
    )


def _power(
    fit: LeastSquares,
    sets: Sequence[Sequence[Term]],
    significant: NDArray[np.bool_],
    reference: StudentReference | LenthReference,
    error: float,
    *,
    alpha: float,
    relevant: float,
) -> tuple[float | None, float | None]:
    """The size above which main effects are significant, and the size that is found with 80 % power."""
    shares = Shares.of(sets)
    if not shares.options:
        return None, None
    left = max(1, sum(len(own[0]) == 1 and not known for own, known in zip(sets, significant, strict=True)))
    threshold = error * reference.critical(alpha * shares.main_effects(left), left)
    first = reference.critical(alpha * shares.main_effects(shares.options), shares.options)
    if isinstance(reference, StudentReference):
        return threshold, detectable_by_pure_error(error, reference.df, first, relevant)
    return threshold, detectable_by_lenth(error, len(fit.terms) + len(fit.remainder), first, relevant)


def _reference(fit: LeastSquares) -> LenthReference:
    if fit.correlation is None:
        return lenth_reference(len(fit.terms))
    return correlated_reference(fit.correlation, len(fit.remainder))


def _ratio(sizes: FloatArray, errors: FloatArray) -> FloatArray:
    """Sizes in standard errors; without noise, infinite for nonzero sizes."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(sizes > 0.0, sizes / errors, 0.0)


class Analysis(EffectAnalysis, frozen=True, eq=False, kw_only=True):
    """The analysis of a two-level design; effects are sorted by the size of their contrast, largest first."""

    effects: tuple[Estimated, ...]


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

    Estimates are in the values' own unit on either scale; importance is decided on one: significant study-wise
    at ``alpha``, and larger than ``relevant``, a fraction. On the logarithmic scale larger means a ratio above
    1 + ``relevant`` or below its inverse, so that it does not matter which setting is written first.

    Args:
        contrasts: those of the planned design.
        values: one per run, shape (runs,).
        rows: the design's row of each run.
        blocks: the repetition of each run.
        alpha: the study-wise error.
        relevant: the fraction that matters.
        order: the place of each run in time, where known: effects are then adjusted for a linear trend.
    """
    scale, reason = choose_scale(values, contrasts.main_effects[rows].astype(np.float64), blocks)
    decided = scale.decided(values)
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
    """Estimate and judge the effects on ln s^2, which is a logarithm already: fractions are of the variance s^2."""
    readable = Readable(log_variances, EffectScale.LOG, 0.0)
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
    """The effects adjusted for a trend over the order, where known; those confounded with it are not important."""
    matrix = contrasts.main_effects
    fit = least_squares(contrasts, rows, blocks)
    if order is not None:
        fit = adjusted_for_trend(fit, readable.values, order, rows, blocks)
    found = _analysis(fit, values, readable, reason, rows, blocks, matrix=matrix, alpha=alpha, relevant=relevant)
    return _without_confounded(found, matrix[rows], order, blocks) if order is not None and found.effects else found


def _without_confounded(analysis: Analysis, signs: Signs, order: FloatArray, blocks: Index) -> Analysis:
    """The same analysis with effects confounded with the order of the runs marked as not important."""
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
    found = _effects(fit, values, decided, judgement, raw, rows, blocks, alpha=alpha, relevant=relevant)
    named = named_by_heredity(found, matrix)
    limit = judgement.detectable
    return Analysis(
        readable=decided,
        scale_reason=reason,
        judged_by=judgement.judged_by,
        effects=tuple(sorted(named, key=lambda effect: (-abs(effect.contrast), len(effect.term), effect.term))),
        threshold=judgement.threshold,
        detectable=None if limit is None else (decided.in_unit(limit), decided.relative(limit)),
        missing=fit.missing,
    )


def _effects(
    fit: LeastSquares,
    values: FloatArray,
    decided: Readable,
    judgement: EffectJudgement,
    raw: EffectJudgement,
    rows: Index,
    blocks: Index,
    *,
    alpha: float,
    relevant: float,
) -> list[Estimated]:
    """The reported effects; ``raw`` is the judgement of the noise in the values' own unit."""
    contrasts = effect_contrasts(fit, decided.values, judgement)
    differences = np.array([contrast.estimate for contrast in contrasts])
    estimates = fit.effects(values)
    changes = [decided.change(contrast) for contrast in contrasts]
    p_values = np.full(len(fit.reported), np.nan) if judgement.p_values is None else judgement.p_values
    ranked = half_normal(np.abs(fit.standardised(decided.values)))
    errors = raw.standard_errors(fit.variances)
    own_margins = None if errors is None else errors * raw.margin
    shares = differences**2 * (len(values) / 4.0)
    total = max(_between(decided.values, rows, blocks), float(shares.sum()))
    return [
        Estimated(
            term=fit.terms[i],
            aliases=fit.aliases[i],
            estimate=float(estimates[i]),
            interval=_around(estimates[i], own_margins, i),
            standard_error=None if errors is None else float(errors[i]),
            relative=changes[i].relative,
            relative_interval=changes[i].interval,
            contrast=float(differences[i]),
            share=float(shares[i] / total) if total > 0.0 else 0.0,
            p_value=None if judgement.p_values is None else float(p_value),
            important=bool(p_value <= alpha and abs(differences[i]) > decided.limit(relevant, contrasts[i])),
            half_normal=float(ranked[i]),
        )
        for p_value, i in zip(p_values, fit.reported, strict=True)
    ]


def explained_by(signs: Signs, terms: Sequence[Term], values: FloatArray, blocks: Index) -> float:
    """The share of the values' variance that these effects, and those of blocks, explain by least squares.

    Args:
        signs: of each run, shape (runs, options).
        terms: the effects.
        values: one per run.
        blocks: the repetition of each run.
    """
    columns = np.column_stack([block_columns(blocks), *(np.prod(signs[:, list(term)], axis=1) for term in terms)])
    residuals = values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0]
    total = float(np.sum((values - values.mean()) ** 2))
    return 1.0 - float(residuals @ residuals) / total if total > 0.0 else 0.0


def effect_contrasts(fit: LeastSquares, values: FloatArray, judgement: EffectJudgement) -> list[EffectContrast]:
    """The effects as differences from the mean where their sign is -, the other options' settings being balanced."""
    differences, errors = fit.effects(values), judgement.standard_errors(fit.variances)
    middle, along = fit.mean, fit.operator @ fit.mean
    variance = (judgement.deviation or 0.0) ** 2
    means = float(middle @ values) - differences / 2.0
    variances = variance * (float(middle @ middle) - along + fit.variances / 4.0)
    bases = map(BaseMean, means.tolist(), variances.tolist(), (variance * (along - fit.variances / 2.0)).tolist())
    if errors is None:
        return [EffectContrast(own, None, None, base) for own, base in zip(differences.tolist(), bases, strict=True)]
    both = errors.tolist(), (errors * judgement.margin).tolist()
    return [EffectContrast(*own) for own in zip(differences.tolist(), *both, bases, strict=True)]


def _around(middle: float, margins: FloatArray | None, i: int) -> tuple[float, float] | None:
    return None if margins is None else (float(middle - margins[i]), float(middle + margins[i]))


def _between(values: FloatArray, rows: Index, blocks: Index) -> float:
    """The sum of squares between configurations within blocks, weighted by their runs."""
    of_one = blocks.ndim == 1
    within = values - _group_means(values, blocks) if of_one else without_blocks(values[:, None], blocks)[:, 0]
    return float(np.sum((_group_means(within, rows) - within.mean()) ** 2))


def _group_means(values: FloatArray, groups: Index) -> FloatArray:
    """The mean of each value's group, shape (values,)."""
    _, group = np.unique(groups, return_inverse=True)
    return np.asarray((np.bincount(group, weights=values) / np.bincount(group))[group])


def rank(effects: Sequence[Estimated], names: Sequence[str]) -> tuple[str, ...]:
    """Rank options by their main effect and their important interactions; ties are broken by name.

    An option's score is the share of variance of its main effect, plus half the share of each important interaction
    that it is in. If an interaction's alias set holds several pairs, its share is divided equally among the
    likely ones.
    """
    main = {effect.term[0] for effect in effects if len(effect.term) == 1 and effect.important}
    scores = dict.fromkeys(range(len(names)), 0.0)
    for effect in effects:
        if len(effect.term) == 1:
            scores[effect.term[0]] += effect.share
        elif effect.important:
            pairs = likely_pairs(effect, main)
            for option in (option for pair in pairs for option in pair):
                scores[option] += effect.share / 2.0 / len(pairs)
    return tuple(names[option] for option in sorted(scores, key=lambda option: (-scores[option], names[option])))
