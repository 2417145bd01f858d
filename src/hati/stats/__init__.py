"""Arrays in, numbers out: the statistics that studies conclude with.

Contrasts of a two-level design and their alias sets; effects by least squares on the runs there are; Lenth's pseudo
standard error with its simulated reference distribution; pure error; Holm's correction; half-normal
coordinates; the Box-Cox likelihood; ln s^2; rank trend; and the effect that a study can detect. An effect is always
the mean at the second setting (+) minus the mean at the first (-).
"""

from hati.stats.boxcox import BoxCox, box_cox
from hati.stats.contrasts import ALIAS_ORDER, Contrasts, Signs, Term, contrasts
from hati.stats.dispersion import log_variances
from hati.stats.distributions import t_quantile, t_two_sided
from hati.stats.half_normal import half_normal
from hati.stats.least_squares import ALIASED, Index, LeastSquares, least_squares, pure_error, without_means
from hati.stats.lenth import (
    LenthReference,
    correlated_reference,
    degrees_of_freedom,
    lenth_reference,
    margin_of_error,
    pseudo_standard_error,
    simultaneous_margin_of_error,
)
from hati.stats.multiple import holm
from hati.stats.power import POWER, detectable_by_lenth, detectable_by_pure_error, step_critical
from hati.stats.student import t_margin
from hati.stats.trend import rank_trend

__all__ = [
    "ALIASED",
    "ALIAS_ORDER",
    "POWER",
    "BoxCox",
    "Contrasts",
    "Index",
    "LeastSquares",
    "LenthReference",
    "Signs",
    "Term",
    "box_cox",
    "contrasts",
    "correlated_reference",
    "degrees_of_freedom",
    "detectable_by_lenth",
    "detectable_by_pure_error",
    "half_normal",
    "holm",
    "least_squares",
    "lenth_reference",
    "log_variances",
    "margin_of_error",
    "pseudo_standard_error",
    "pure_error",
    "rank_trend",
    "simultaneous_margin_of_error",
    "step_critical",
    "t_margin",
    "t_quantile",
    "t_two_sided",
    "without_means",
]
