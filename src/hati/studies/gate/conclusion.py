"""The conclusion of a regression check, and the options on whose settings a change depends."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from msgspec import Struct

from hati.core import Assignment, Configuration, FloatArray, Revision, Setting, replace, setting_text
from hati.design import sum_codes
from hati.knowledge import Coverage
from hati.stats import cell_noise, f_above, holm, t_quantile
from hati.studies.comparison import ChangeVerdict, Comparison, Question

FEWEST_ROUNDS = 3


class AffectedOption(Struct, frozen=True):
    """The change of a metric at a setting of an option: a ratio with its interval.

    ``p_value`` is that of the same change at all settings of the option, corrected for all options. ``where`` holds the
    settings of options found before if the metric changed only there: the change is then the one at these settings.
    """

    benchmark: str
    metric: str
    option: str
    setting: Setting
    ratio: float
    interval: tuple[float, float]
    p_value: float
    where: tuple[tuple[str, Setting], ...] = ()

    @property
    def settings(self) -> str:
        """The settings at which the change is this one, in words."""
        return " ".join(f"{name}={setting_text(at)}" for name, at in (*self.where, (self.option, self.setting)))


class _Factor(Struct, frozen=True, eq=False):
    """An option that varies between cells; ``level``, shape (cells,), is the place of each cell's setting."""

    option: str
    settings: tuple[Setting, ...]
    level: FloatArray

    @property
    def columns(self) -> FloatArray:
        """Sum coding, shape (cells, settings - 1)."""
        return sum_codes(len(self.settings))[self.level.astype(np.intp)]


def affected_options(
    benchmark: str,
    metric: str,
    configurations: Sequence[Configuration],
    values: FloatArray,
    alpha: float,
    limit: float = 0.0,
    crossed: Collection[str] = (),
    where: tuple[tuple[str, Setting], ...] = (),
) -> tuple[AffectedOption, ...]:
    """The options on whose settings the change depends, in the order found, with the change at each setting.

    ``values``, shape (rounds, cells), holds the logarithm of each cell's ratio in each round. An option is taken if the
    F test of its main effect on the cells' means, given those taken before, is significant at alpha, corrected for all
    options (Holm); the error is the variation of cells between rounds. Options are left out if the changes at their
    settings are shown to differ by at most ``limit``, a difference of logarithms. So are options that these cells
    cannot distinguish from others; an option that is ``crossed`` by design only has to be distinguished from other
    crossed options. If a larger change is shown at one setting alone, further options are sought among its cells.
    """
    rounds = len(values)
    factors = _distinguished(_factors(configurations, crossed), crossed)
    if rounds < FEWEST_ROUNDS or not factors:
        return ()
    means = values.mean(axis=0)
    variance, df = cell_noise(values)
    found: list[AffectedOption] = []
    taken: list[_Factor] = []
    error = _Error(variance / rounds, df)
    while left := [
        factor for factor in factors if factor not in taken and not _slight(means, taken, factor, error, alpha, limit)
    ]:
        p_values = np.array([_p_value(means, taken, factor, error) for factor in left])
        best = int(np.argmin(p_values))
        corrected = float(holm(p_values)[best])
        if not corrected <= alpha:
            break
        taken.append(left[best])
        own = [
            replace(one, where=where)
            for one in _affected_settings(benchmark, metric, left[best], values, alpha, corrected)
        ]
        found += own
        only = _only_setting(own, means, left[best], error, alpha, limit)
        if only is not None:
            name, setting = left[best].option, left[best].settings[only]
            there = np.flatnonzero(left[best].level == only).tolist()
            within, around = [configurations[place] for place in there], (*where, (name, setting))
            return (
                *found,
                *affected_options(benchmark, metric, within, values[:, there], alpha, limit, crossed, around),
            )
    return tuple(found)


def _only_setting(
    own: Sequence[AffectedOption], means: FloatArray, factor: _Factor, error: _Error, alpha: float, limit: float
) -> int | None:
    """The place of the only setting at which a change beyond the limit is shown, of the mean or of any cell."""
    changed = [
        place
        for place, (low, high) in enumerate(one.interval for one in own)
        if math.log(low) > limit or math.log(high) < -limit
    ]
    width = t_quantile(1.0 - alpha / (2.0 * len(means)), error.df) * math.sqrt(error.variance)
    beyond = set(factor.level[np.abs(means) - width > limit].tolist())
    return changed[0] if len(changed) == 1 and beyond <= {changed[0]} else None


def _distinguished(factors: Sequence[_Factor], crossed: Collection[str]) -> list[_Factor]:
    """The factors that the cells can distinguish from all others; crossed factors only from other crossed ones."""

    def alike(one: _Factor, other: _Factor) -> bool:
        both = np.linalg.matrix_rank(np.column_stack([one.columns, other.columns]))
        return bool(both == one.columns.shape[1] == other.columns.shape[1])

    by_design = [one for one in factors if one.option in crossed]
    rivals = {one.option: by_design if one.option in crossed else factors for one in factors}
    return [one for one in factors if not any(alike(one, rival) for rival in rivals[one.option] if rival is not one)]


def _factors(configurations: Sequence[Configuration], crossed: Collection[str]) -> list[_Factor]:
    """The options that are set in every cell, and not to the same setting everywhere; crossed options first."""
    names = set(configurations[0]).intersection(*configurations[1:]) if configurations else set()
    found = []
    for name in sorted(names, key=lambda each: (each not in crossed, each)):
        settings = tuple(dict.fromkeys(configuration[name] for configuration in configurations))
        if len(settings) > 1:
            level = np.array(
                [settings.index(configuration[name]) for configuration in configurations], dtype=np.float64
            )
            found.append(_Factor(name, settings, level))
    return found


class _Error(NamedTuple):
    """The variance of a cell's mean, and its degrees of freedom."""

    variance: float
    df: float


def _slight(
    means: FloatArray, taken: Sequence[_Factor], factor: _Factor, error: _Error, alpha: float, limit: float
) -> bool:
    """Whether all pairs of settings are shown to differ by at most the limit, given the factors that are taken."""
    columns = np.column_stack([np.ones(len(means)), *(one.columns for one in taken), factor.columns])
    free = len(factor.settings) - 1
    coded = np.vstack([np.eye(free), -np.ones(free)])
    weights = np.linalg.pinv(columns)[-free:]
    differences = np.array([(one - other) @ weights for one, other in combinations(coded, 2)])
    widths = t_quantile(1.0 - alpha, error.df) * np.sqrt(error.variance) * np.linalg.norm(differences, axis=1)
    return bool(np.all(np.abs(differences @ means) + widths <= limit))


def _p_value(means: FloatArray, taken: Sequence[_Factor], factor: _Factor, error: _Error) -> float:
    """The p-value of the F test of a factor given those that are taken; 1 if it explains nothing of its own."""
    base = np.column_stack([np.ones(len(means)), *(one.columns for one in taken)])
    more = np.column_stack([base, factor.columns])
    own = int(np.linalg.matrix_rank(more) - np.linalg.matrix_rank(base))
    if own == 0:
        return 1.0
    explained = _left(means, base) - _left(means, more)
    if error.variance == 0.0:
        return 0.0 if explained > 0.0 else 1.0
    return float(f_above(np.array([max(0.0, explained) / own / error.variance]), own, error.df)[0])


def _left(means: FloatArray, columns: FloatArray) -> float:
    """The residual sum of squares of a model."""
    solved = np.linalg.lstsq(columns, means, rcond=None)[0]
    return float(((means - columns @ solved) ** 2).sum())


def _affected_settings(
    benchmark: str, metric: str, factor: _Factor, values: FloatArray, alpha: float, p_value: float
) -> list[AffectedOption]:
    """The mean change over the cells of each setting, with its interval by rounds."""
    found = []
    for place, setting in enumerate(factor.settings):
        series = values[:, factor.level == place].mean(axis=1)
        width = t_quantile(1.0 - alpha / 2.0, len(series) - 1) * float(np.std(series, ddof=1)) / len(series) ** 0.5
        mean = float(series.mean())
        interval = (float(np.exp(mean - width)), float(np.exp(mean + width)))
        found.append(AffectedOption(benchmark, metric, factor.option, setting, float(np.exp(mean)), interval, p_value))
    return found


class Broken(Struct, frozen=True):
    """A configuration that could not be measured at a revision, and why; ``alone`` if the other revision could be."""

    benchmark: str
    configuration: Configuration
    revision: Revision
    why: str
    alone: bool


class StratumChange(Struct, frozen=True):
    """A comparison over one stratum."""

    stratum: Assignment
    comparison: Comparison


class WarmUpCut(Struct, frozen=True):
    """The number of first ``observations`` of each run left out for a benchmark and metric, and the reason in words."""

    benchmark: str
    metric: str
    observations: int
    reason: str


class GateConclusion(Struct, frozen=True):
    """The comparison of each benchmark and metric over all configurations, and over each stratum if there are several.

    ``affected_options`` are the options on whose settings changes depend; ``explored`` and ``confirmed`` count rounds;
    ``unconfirmed`` names suspected changes that fresh runs did not confirm, ``suspected`` those that are not decided
    yet. ``coverage`` describes the measured part of each benchmark's space, ``warm_ups`` the observations left out of
    runs whose benchmark states no warm-up. Campaigns of earlier versions have two ``stages``.
    """

    study: str
    reference: Revision
    revision: Revision
    question: Question
    rows: tuple[Comparison, ...]
    strata: tuple[StratumChange, ...]
    affected_options: tuple[AffectedOption, ...]
    broken: tuple[Broken, ...]
    explored: int
    confirmed: int
    unconfirmed: tuple[str, ...]
    done: int
    failed: int
    seconds: float
    warnings: tuple[str, ...]
    coverage: tuple[Coverage, ...] = ()
    suspected: tuple[str, ...] = ()
    warm_ups: tuple[WarmUpCut, ...] = ()
    stages: int = 1

    @property
    def verdict(self) -> ChangeVerdict:
        """The worst verdict: slower anywhere, else inconclusive for a whole benchmark, else faster anywhere, else same.

        It is inconclusive if nothing could be compared.
        """
        in_strata = [each.comparison.change.verdict for each in self.strata]
        return worst_verdict([row.change.verdict for row in self.rows], in_strata)

    def most_affected(self, row: Comparison) -> AffectedOption | None:
        """The settings with the largest change in the row's direction; None if it depends on none.

        For a stratum, an option that is one of its own does not count, nor one found within settings of another.
        """
        ratio, own = row.change.ratio, (row.benchmark, row.metric.name)
        found = [one for one in self.affected_options if (one.benchmark, one.metric) == own]
        if row.configuration:
            found = [one for one in found if not one.where and one.option not in row.configuration]
        if not found or ratio is None:
            return None
        return max(found, key=lambda one: one.ratio if ratio > 1.0 else -one.ratio)


def worst_verdict(everywhere: Collection[ChangeVerdict], in_strata: Collection[ChangeVerdict]) -> ChangeVerdict:
    """The verdict of a check whose whole benchmarks and strata have those verdicts; see ``GateConclusion.verdict``."""
    anywhere = {*everywhere, *in_strata}
    if ChangeVerdict.SLOWER in anywhere:
        return ChangeVerdict.SLOWER
    if ChangeVerdict.INCONCLUSIVE in everywhere or not everywhere:
        return ChangeVerdict.INCONCLUSIVE
    return ChangeVerdict.FASTER if ChangeVerdict.FASTER in anywhere else ChangeVerdict.SAME
