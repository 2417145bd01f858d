"""Arrays in, numbers out: the statistics that studies conclude with.

Of designs: contrasts and alias sets, effects by least squares, analysis of variance, pseudo standard errors,
models that data cannot tell apart, and what a study can detect. Of two samples: differences of run means, with
variance borrowed or without, tests, bootstrap, clusters, and what may be looked at any time. Of a series: steadiness,
autocorrelation, change points, outliers, trend. An effect is always the mean at the second setting (+) minus the mean
at the first (-); a run is the unit of every claim about noise.
"""

from hati.stats.agreement import (
    Equivalence,
    MannWhitney,
    equivalence,
    ks_distance,
    mann_whitney,
    quantile_pairs,
    range_covered,
)
from hati.stats.alternation import REGAINED, Alternation, alternation
from hati.stats.anova import Anova, AnovaRow, SumOfSquares, anova
from hati.stats.anova_kernel import AveragedModel, averaged_model, ordered_settings, unordered_settings
from hati.stats.anytime_skewed import fewest_of_a_share, skewed_e_value, skewed_e_values
from hati.stats.anytime_t import anytime_critical, anytime_e_value, anytime_e_values, fewest_signs
from hati.stats.autocorrelation import Dependence, lag_one
from hati.stats.bootstrap import bootstrap_interval
from hati.stats.box_meyer import FactorModels, box_meyer
from hati.stats.boxcox import BoxCox, box_cox
from hati.stats.cell_noise import cell_noise
from hati.stats.change_online import appended
from hati.stats.change_place import place_interval, side_means
from hati.stats.change_points import ChangePoint, change_points
from hati.stats.change_size import ChangeSize, change_size, detectable_step
from hati.stats.change_test import FEWEST_VALUES, Change, strongest_change
from hati.stats.clusters import Cluster, cluster_cuts, clusters, common_shift, matched_clusters
from hati.stats.contrasts import ALIAS_ORDER, Contrasts, Signs, Term, contrasts
from hati.stats.creep import Creep, creep, weighted_creep
from hati.stats.difference import Difference, difference
from hati.stats.dispersion import log_variances
from hati.stats.distributions import (
    chi_square_cdf,
    f_above,
    f_quantile,
    noncentrality_of_t,
    normal_quantile,
    normal_quantiles,
    normal_tails,
    t_cdf,
    t_quantile,
    t_two_sided,
)
from hati.stats.earlier import earlier_variances
from hati.stats.effect_models import EffectModels, likely_models
from hati.stats.effective import effective_size
from hati.stats.explained import explained, rank_by_explained
from hati.stats.forward import forward_selection
from hati.stats.half_normal import half_normal
from hati.stats.least_squares import (
    ALIASED,
    Index,
    LeastSquares,
    least_squares,
    pure_error,
    within_residuals,
    without_means,
)
from hati.stats.lenth import (
    LenthReference,
    adaptive_standard_error,
    correlated_reference,
    degrees_of_freedom,
    lenth_reference,
    margin_of_error,
    pseudo_standard_error,
    simultaneous_margin_of_error,
)
from hati.stats.marginal import Moments, block_columns, moments
from hati.stats.model_terms import ModelTerms, interaction_columns
from hati.stats.moderated import VariancePrior, variance_prior
from hati.stats.multiple import adaptive_benjamini_hochberg, benjamini_hochberg, critical_p_value, holm, holm_factors
from hati.stats.nested_variance import NestedVariance, nested_variance
from hati.stats.normal_scores import normal_scores
from hati.stats.options_first import Shares, options_first
from hati.stats.order_trend import beside_trend, confounded_with_order
from hati.stats.outliers import drawn_in
from hati.stats.pooled_variance import group_variances, pooled_variance, satterthwaite
from hati.stats.position_steps import (
    FEWEST_DIFFERENCES,
    Positions,
    PositionStep,
    PositionSteps,
    clipped_around_neighbours,
    detectable_position_step,
    position_steps,
    spread_between,
    spread_freedom,
)
from hati.stats.power import (
    POWER,
    detectable_by_lenth,
    detectable_by_pure_error,
    detectable_contrast,
    power_by_lenth,
    power_by_pure_error,
    power_of_contrast,
    step_critical,
)
from hati.stats.proportions import Proportion, clustered_proportion, proportion, sign_test
from hati.stats.quotients import quotient_interval
from hati.stats.rank_shift import rank_shift
from hati.stats.resolution import resolution
from hati.stats.runs_to_decide import BoundTest, PlannedTest, fewest_runs, looks_to_decide, runs_to_decide
from hati.stats.segments import Segments, segments
from hati.stats.significant_steps import EXACT, significant_model
from hati.stats.skewed_t import skewed_t_above, skewed_t_critical
from hati.stats.stability import stability
from hati.stats.step_down import PERMUTATIONS, StepDown, step_down
from hati.stats.stratified import MeanEstimate, StratumMean, assisted_mean, stratified_mean, stratum_means
from hati.stats.student import t_margin
from hati.stats.suspect_runs import FEWEST_SUSPECTED, NO_SUSPECTS, Suspects, most_suspect, suspect_runs
from hati.stats.trend import rank_trend
from hati.stats.two_kinds_t import two_kinds_t_above, two_kinds_t_critical
from hati.stats.two_sample_tests import TwoSampleTest, shapiro_wilk, two_sample_tests
from hati.stats.unit_means import unit_means
from hati.stats.weighted import Ecdf, Quantile, stratified_quantiles

__all__ = [
    "ALIASED",
    "ALIAS_ORDER",
    "EXACT",
    "FEWEST_DIFFERENCES",
    "FEWEST_SUSPECTED",
    "FEWEST_VALUES",
    "NO_SUSPECTS",
    "PERMUTATIONS",
    "POWER",
    "REGAINED",
    "Alternation",
    "Anova",
    "AnovaRow",
    "AveragedModel",
    "BoundTest",
    "BoxCox",
    "Change",
    "ChangePoint",
    "ChangeSize",
    "Cluster",
    "Contrasts",
    "Creep",
    "Dependence",
    "Difference",
    "Ecdf",
    "EffectModels",
    "Equivalence",
    "FactorModels",
    "Index",
    "LeastSquares",
    "LenthReference",
    "MannWhitney",
    "MeanEstimate",
    "ModelTerms",
    "Moments",
    "NestedVariance",
    "PlannedTest",
    "PositionStep",
    "PositionSteps",
    "Positions",
    "Proportion",
    "Quantile",
    "Segments",
    "Shares",
    "Signs",
    "StepDown",
    "StratumMean",
    "SumOfSquares",
    "Suspects",
    "Term",
    "TwoSampleTest",
    "VariancePrior",
    "adaptive_benjamini_hochberg",
    "adaptive_standard_error",
    "alternation",
    "anova",
    "anytime_critical",
    "anytime_e_value",
    "anytime_e_values",
    "appended",
    "assisted_mean",
    "averaged_model",
    "benjamini_hochberg",
    "beside_trend",
    "block_columns",
    "bootstrap_interval",
    "box_cox",
    "box_meyer",
    "cell_noise",
    "change_points",
    "change_size",
    "chi_square_cdf",
    "clipped_around_neighbours",
    "cluster_cuts",
    "clustered_proportion",
    "clusters",
    "common_shift",
    "confounded_with_order",
    "contrasts",
    "correlated_reference",
    "creep",
    "critical_p_value",
    "degrees_of_freedom",
    "detectable_by_lenth",
    "detectable_by_pure_error",
    "detectable_contrast",
    "detectable_position_step",
    "detectable_step",
    "difference",
    "drawn_in",
    "earlier_variances",
    "effective_size",
    "equivalence",
    "explained",
    "f_above",
    "f_quantile",
    "fewest_of_a_share",
    "fewest_runs",
    "fewest_signs",
    "forward_selection",
    "group_variances",
    "half_normal",
    "holm",
    "holm_factors",
    "interaction_columns",
    "ks_distance",
    "lag_one",
    "least_squares",
    "lenth_reference",
    "likely_models",
    "log_variances",
    "looks_to_decide",
    "mann_whitney",
    "margin_of_error",
    "matched_clusters",
    "moments",
    "most_suspect",
    "nested_variance",
    "noncentrality_of_t",
    "normal_quantile",
    "normal_quantiles",
    "normal_scores",
    "normal_tails",
    "options_first",
    "ordered_settings",
    "place_interval",
    "pooled_variance",
    "position_steps",
    "power_by_lenth",
    "power_by_pure_error",
    "power_of_contrast",
    "proportion",
    "pseudo_standard_error",
    "pure_error",
    "quantile_pairs",
    "quotient_interval",
    "range_covered",
    "rank_by_explained",
    "rank_shift",
    "rank_trend",
    "resolution",
    "runs_to_decide",
    "satterthwaite",
    "segments",
    "shapiro_wilk",
    "side_means",
    "sign_test",
    "significant_model",
    "simultaneous_margin_of_error",
    "skewed_e_value",
    "skewed_e_values",
    "skewed_t_above",
    "skewed_t_critical",
    "spread_between",
    "spread_freedom",
    "stability",
    "step_critical",
    "step_down",
    "stratified_mean",
    "stratified_quantiles",
    "stratum_means",
    "strongest_change",
    "suspect_runs",
    "t_cdf",
    "t_margin",
    "t_quantile",
    "t_two_sided",
    "two_kinds_t_above",
    "two_kinds_t_critical",
    "two_sample_tests",
    "unit_means",
    "unordered_settings",
    "variance_prior",
    "weighted_creep",
    "within_residuals",
    "without_means",
]
