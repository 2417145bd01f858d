"""The golden numbers of test_stats_joining, from statsmodels and scipy alone."""

import math

import numpy as np
import statsmodels.api as sm
from scipy import optimize, stats

BRIDGES = (
    ((1.02, 1.00, 0.99, 1.01), (1.31, 1.29, 1.33, 1.30)),
    ((0.80, 0.82, 0.81), (1.06, 1.04, 1.05, 1.07)),
    ((1.50, 1.49, 1.52, 1.48), (1.93, 1.96, 1.94)),
)
BEFORE = (1.00, 1.01)
AFTER = (1.41, 1.43)
ALPHA = 0.05

logs = np.array([np.mean(np.log(second)) - np.mean(np.log(first)) for first, second in BRIDGES])
fitted = sm.OLS(logs, np.ones(len(logs))).fit()
another = fitted.get_prediction([[1.0]]).summary_frame(alpha=ALPHA)
print("ratio", fitted.params[0], "mean", another["mean_ci_upper"][0] - another["mean"][0])
print("another revision", another["obs_ci_upper"][0] - another["mean"][0])

before, after = np.log(BEFORE), np.log(AFTER)
held = [min(1.0, len(BEFORE) / len(first), len(AFTER) / len(second)) for first, second in BRIDGES]
own = (np.var(before, ddof=1) / len(before) + np.var(after, ddof=1) / len(after)) * (1.0 - np.mean(held))
between = fitted.mse_resid * (1.0 + 1.0 / len(logs))
estimate = after.mean() - before.mean() - fitted.params[0]


def half_width(alpha, rest):
    wide = stats.t.ppf(1.0 - alpha / 2.0, len(logs) - 1) ** 2 * between
    return math.sqrt(wide + stats.t.ppf(1.0 - alpha / 2.0, len(BEFORE) + len(AFTER) - 2) ** 2 * rest)


print("estimate", estimate, "half-width", half_width(ALPHA, own))
print("p", optimize.brentq(lambda alpha: half_width(alpha, own) - estimate, 1e-9, 0.999999))
