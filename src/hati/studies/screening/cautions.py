"""What is wrong with a screening study, and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from hati.core import Configuration, FloatArray, Run, setting_text
from hati.stats import Signs, rank_trend
from hati.studies.screening.analysis import Analysis
from hati.studies.screening.conclusion import DesignSummary, Noise
from hati.studies.screening.heredity import likely_pairs
from hati.studies.screening.measured import Measured

DRIFT = 0.01
"""Drift is told of below this p-value."""

COARSE = 5.0
"""A study is coarse if it misses effects of so many times the relevant size, and of ``NOTABLE``."""

NOTABLE = 0.05

_MOST_NAMED = 6


@dataclass(frozen=True, eq=False)
class Situation:
    """All that warnings are made from."""

    names: tuple[str, ...]
    matrix: Signs
    design: DesignSummary
    measured: Measured
    analysis: Analysis
    relevant: float


def warnings(situation: Situation) -> tuple[str, ...]:
    """Every warning that holds, the gravest first."""
    kinds = (_missing_runs, _failed_settings, _lost_effects, _weak, _noise, _drift, _coarse, _ambiguous, _mixed_signs)
    return tuple(text for kind in kinds for text in kind(situation))


def _missing_runs(s: Situation) -> Iterator[str]:
    done, failed = len(s.measured.values), len(s.measured.failed)
    if failed:
        yield (
            f"{failed} of {done + failed} runs failed, most often because: {s.measured.reasons[0]}; "
            f"effects are estimated from the others, and more of them are aliased; see `hati runs`"
        )
    unmade = s.design.runs - done - failed
    if unmade > 0:
        yield f"{unmade} of {s.design.runs} planned runs are not made yet; run the same command again to go on"


def _failed_settings(s: Situation) -> Iterator[str]:
    shared = common_settings(s.measured.failed, s.measured.runs)
    if shared:
        yield (
            f"all {len(s.measured.failed)} failed runs have {_listed(shared)}; "
            "mend or drop that setting, then start afresh with --fresh"
        )


def common_settings(failed: Sequence[Run], done: Sequence[Run]) -> list[str]:
    """The settings that all failed runs have, and at most half of the others; none for a single configuration."""
    configurations = {run.task.configuration for run in failed}
    if len(configurations) < 2:
        return []
    first = next(iter(configurations))
    return [
        f"{name}={setting_text(setting)}"
        for name, setting in first.items()
        if all(_has(other, name, setting) for other in configurations)
        and 2 * sum(_has(run.task.configuration, name, setting) for run in done) <= len(done)
    ]


def _has(configuration: Configuration, name: str, setting: object) -> bool:
    found = configuration.get(name)
    return type(found) is type(setting) and found == setting


def _lost_effects(s: Situation) -> Iterator[str]:
    if s.analysis.missing:
        lost = [":".join(s.names[option] for option in term) for term in s.analysis.missing]
        yield f"the runs that there are cannot estimate {_listed(lost)}; more of the planned runs are needed"


def _weak(s: Situation) -> Iterator[str]:
    if s.design.resolution is not None and s.design.resolution < 4:
        yield (
            "the design has resolution III: each main effect is aliased with two-factor interactions; "
            "a larger budget gives resolution IV"
        )


def _noise(s: Situation) -> Iterator[str]:
    twice = f"a budget of {2 * s.design.configurations} runs and more repeats every configuration"
    if s.analysis.judged_by is Noise.NONE:
        yield f"too few runs to tell effects from noise, so none is called important; {twice}"
    elif s.analysis.judged_by is Noise.LENTH and s.design.repetitions == 1:
        yield f"no repetitions: noise is judged by the smaller effects, supposing that most do nothing; {twice}"
    elif s.analysis.judged_by is Noise.LENTH:
        yield "too few repetitions were made to judge noise by them; run the same command again to make the others"


def _drift(s: Situation) -> Iterator[str]:
    correlation, p_value = rank_trend(_residuals(s), s.measured.order.astype(np.float64))
    if p_value < DRIFT:
        way = "rise" if correlation > 0 else "fall"
        yield (
            f"values {way} over the order of runs (rank correlation {correlation:.2f}, p = {p_value:.2g}); "
            "let the machine come to rest, or do less besides"
        )


def _residuals(s: Situation) -> FloatArray:
    """The values on the deciding scale without configurations' means; without large effects where runs are single."""
    values = s.analysis.decided
    _, row = np.unique(s.measured.rows, return_inverse=True)
    counts = np.bincount(row)
    if len(values) >= 2 * len(counts):
        return np.asarray(values - (np.bincount(row, weights=values) / counts)[row])
    limit = np.inf if s.analysis.threshold is None else s.analysis.threshold / 2.0
    residuals = values.copy()
    for effect in s.analysis.effects:
        if abs(effect.contrast) > limit:
            signs = s.matrix[s.measured.rows][:, list(effect.term)].prod(axis=1)
            residuals -= effect.contrast / 2.0 * signs
    return residuals


def _coarse(s: Situation) -> Iterator[str]:
    found = s.analysis.detectable
    if found is not None and found[1] > max(COARSE * s.relevant, NOTABLE):
        yield (
            f"the noise hides effects below {100 * found[1]:.2g} %, the smallest that is found with 80 % power; "
            "four times as many runs, or longer ones, halve that"
        )


def _ambiguous(s: Situation) -> Iterator[str]:
    main = {e.term[0] for e in s.analysis.effects if len(e.term) == 1 and e.important}
    for effect in s.analysis.effects:
        pairs = [term for term in (effect.term, *effect.aliases) if len(term) == 2]
        if effect.important and len(effect.term) == 2 and len(pairs) > 1:
            likely = likely_pairs(effect, main)
            named = [":".join(s.names[option] for option in pair) for pair in pairs]
            hint = ":".join(s.names[option] for option in likely[0])
            guess = f", most likely {hint}" if len(likely) == 1 else ""
            yield (
                f"an important interaction is one of {_listed(named)}{guess}; "
                "the design cannot tell which: a larger budget can"
            )


def _mixed_signs(s: Situation) -> Iterator[str]:
    values = s.measured.values
    if np.min(values) < 0.0 < np.max(values):
        yield "values are below and above zero: fractions are of their mean size, and say little; look at the unit"


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
