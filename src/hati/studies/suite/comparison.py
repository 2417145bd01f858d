"""A suite against a full data set or a random sample."""

from __future__ import annotations

import math

import numpy as np

from hati.core import FloatArray
from hati.stats.agreement import equivalence, ks_distance, mann_whitney, quantile_pairs, range_covered
from hati.stats.stratified import MeanEstimate, stratified_mean
from hati.stats.weighted import Ecdf
from hati.studies.suite.conclusion import Agreement, Box, SuiteScale
from hati.studies.suite.estimates import Weighted

RANDOM = "random sample"
FULL = "full data set"
PARTIAL = "partial data set"
_POINTS = 60
_BOX = np.array([0.25, 0.5, 0.75])


def agreement(given: Weighted, others: FloatArray, kind: str, scale: SuiteScale, margin: float) -> Agreement:
    """How well the suite's weighted values agree with others.

    ``margin`` is a fraction: on the log scale means are equivalent where their ratio is from 1 / (1 + margin) to
    1 + margin, otherwise where their difference is within margin times the others' mean size. The power of the
    Mann-Whitney test is for a shift of that size.
    """
    compared = np.log(others) if scale is SuiteScale.LOG else others
    allowed = math.log1p(margin) if scale is SuiteScale.LOG else margin * float(np.mean(np.abs(others)))
    spread = float(np.std(compared))
    shift = allowed / spread if spread > 0.0 else 0.0
    return Agreement(
        kind=kind,
        values=len(others),
        mean=float(np.mean(others)),
        geometric_mean=math.exp(float(np.mean(compared))) if scale is SuiteScale.LOG else None,
        ks=ks_distance(given.values, given.weights, others),
        range=range_covered(given.values, others),
        mann_whitney=mann_whitney(given.values, given.weights, others, shift),
        equivalence=equivalence(given.mean(scale), _mean(compared, kind), allowed) if allowed > 0.0 else None,
        pairs=quantile_pairs(given.values, given.weights, others, min(_POINTS, len(others))),
        boxes=(_box("suite", given.values, given.weights), _box(kind, others, np.ones(len(others)))),
    )


def _mean(values: FloatArray, kind: str) -> MeanEstimate:
    """The others' mean: of all configurations without a sampling error, of a sample with one."""
    if kind == FULL:
        return MeanEstimate(float(np.mean(values)), 0.0, math.inf)
    return stratified_mean(values, np.zeros(len(values), dtype=np.intp), np.ones(1))


def _box(name: str, values: FloatArray, weights: FloatArray) -> Box:
    lower, median, upper = Ecdf.of(values, weights).quantiles(_BOX).tolist()
    return Box(name, float(values.min()), lower, median, upper, float(values.max()))
