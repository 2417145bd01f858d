"""Error rates and power of screening, by simulation of whole studies.

``python -m benchmarks.operating_characteristics`` prints the tables of docs/explanation/operating-characteristics.md
in about ten minutes. Simulated values are analysed by ``hati.studies.screening.contrasts.analyse``, as in every study.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from scipy import stats

from benchmarks.markdown import table
from hati.core import FloatArray, generator
from hati.stats import Signs, Term, contrasts
from hati.studies.screening import Choice, choose, expected_detectable_deviations
from hati.studies.screening.contrasts import analyse
from hati.studies.screening.spread import drift, shown_effects
from hati.studies.screening.warnings import DRIFT

ALPHA = 0.05
STUDIES = 2000


class Noise(StrEnum):
    """The noise between runs: added to values around 10, or multiplying them."""

    NORMAL = "normal"
    LOG_NORMAL = "log-normal"


DEVIATION = {Noise.NORMAL: 0.05, Noise.LOG_NORMAL: 0.3}
"""The standard deviation of a run, as a fraction of the mean or of the logarithm."""


@dataclass(frozen=True)
class Characteristics:
    """Fractions of simulated studies.

    ``false_alarms``: with any false alarm. ``power``: that found an active effect, averaged over these effects.
    ``coverage``: whose 95 % interval of the first option's relative effect covers the truth. ``unit_coverage``: whose
    interval in the unit, for the difference of arithmetic means, does.
    """

    studies: int
    false_alarms: float
    power: float
    coverage: float
    unit_coverage: float

    @property
    def credible(self) -> bool:
        """Whether false alarms are compatible with 5 % or fewer, by the 99 % binomial bound."""
        return self.false_alarms * self.studies <= stats.binom.ppf(0.99, self.studies, ALPHA)


def simulate(
    choice: Choice,
    noise: Noise,
    active: Mapping[Term, float] | None = None,
    *,
    studies: int = STUDIES,
    relevant: float = 0.0,
    lost: int = 0,
) -> Characteristics:
    """Simulate studies of a design in which the active effects have sizes in standard deviations of a run.

    ``relevant`` is zero, so that nothing but significance keeps an effect from being important. ``lost`` runs fail.
    """
    active = active or {}
    design = contrasts(choice.design([f"x{i}" for i in range(choice.factors)]).matrix)
    rng = generator(2026, "operating", str(choice.runs), noise, str(sorted(active.items())), str(lost))
    mean = sum((size / 2 * design.columns[:, design.terms.index(t)] for t, size in active.items()), start=0.0)
    truth = _unit_effect(
        noise, np.broadcast_to(mean, choice.configurations), design.columns[:, design.terms.index((0,))]
    )
    alarms = found = covered = unit_covered = 0
    for _ in range(studies):
        rows = np.concatenate([rng.permutation(choice.configurations) for _ in range(choice.repetitions)])
        blocks = np.repeat(np.arange(choice.repetitions), choice.configurations)
        kept = np.sort(rng.permutation(len(rows))[lost:])
        rows, blocks = rows[kept], blocks[kept]
        values = _values(noise, np.broadcast_to(mean, choice.configurations)[rows] + rng.standard_normal(len(rows)))
        effects = analyse(design, values, rows, blocks, alpha=ALPHA, relevant=relevant).effects
        alarms += any(effect.important for effect in effects if effect.term not in active)
        found += sum(effect.important for effect in effects if effect.term in active)
        first = next(effect for effect in effects if effect.term == (0,))
        covered += _covers(first.relative_interval, noise, active.get((0,), 0.0))
        unit_covered += first.interval is not None and first.interval[0] <= truth <= first.interval[1]
    power = found / studies / max(1, len(active))
    return Characteristics(studies, alarms / studies, power, covered / studies, unit_covered / studies)


def simulate_drift(choice: Choice, *, studies: int = STUDIES, active: Mapping[Term, float] | None = None) -> float:
    """The fraction of studies without drift that get a warning of drift."""
    active = active or {}
    matrix = choice.design([f"x{i}" for i in range(choice.factors)]).matrix
    design = contrasts(matrix)
    rng = generator(2026, "drift", str(choice.runs), str(sorted(active.items())))
    mean = sum((size / 2 * design.columns[:, design.terms.index(t)] for t, size in active.items()), start=0.0)
    blocks = np.repeat(np.arange(choice.repetitions), choice.configurations)
    warned = 0
    for _ in range(studies):
        rows = np.concatenate([rng.permutation(choice.configurations) for _ in range(choice.repetitions)])
        deviations = np.broadcast_to(mean, choice.configurations)[rows] + rng.standard_normal(len(rows))
        found = analyse(design, _values(Noise.LOG_NORMAL, deviations), rows, blocks, alpha=ALPHA, relevant=0.0)
        effects = shown_effects(found, matrix[rows])
        warned += drift(found.readable.values, rows, np.arange(len(rows)), np.empty((len(rows), 0)), effects)[1] < DRIFT
    return warned / studies


def _unit_effect(noise: Noise, means: FloatArray, signs: Signs) -> float:
    """The true difference of arithmetic means; that of a log-normal value is exp(mean + variance / 2)."""
    size = DEVIATION[noise]
    expected = 10.0 * (1.0 + size * means) if noise is Noise.NORMAL else 10.0 * np.exp(size * means + size**2 / 2.0)
    return float(expected[signs > 0].mean() - expected[signs < 0].mean())


def _values(noise: Noise, deviations: FloatArray) -> FloatArray:
    if noise is Noise.NORMAL:
        return 10.0 * (1.0 + DEVIATION[noise] * deviations)
    return np.asarray(10.0 * np.exp(DEVIATION[noise] * deviations))


def _covers(interval: tuple[float, float] | None, noise: Noise, size: float) -> bool:
    true = DEVIATION[noise] * size
    if noise is Noise.LOG_NORMAL:
        true = float(np.expm1(true))
    return interval is not None and interval[0] <= true <= interval[1]


def false_alarm_table(studies: int = 5 * STUDIES) -> str:
    rows = []
    for runs in (16, 32, 64, 96, 128):
        choice = choose(14, runs)
        for noise in Noise:
            result = simulate(choice, noise, studies=studies)
            cells = [f"{100 * rate:.1f} %" for rate in (result.false_alarms, result.coverage)]
            rows.append([_design(choice), noise.value, *cells, "yes" if result.credible else "NO"])
    for runs, lost in ((32, 3), (96, 12)):
        choice = choose(14, runs)
        result = simulate(choice, Noise.LOG_NORMAL, studies=studies // 5, lost=lost)
        cells = [f"{100 * rate:.1f} %" for rate in (result.false_alarms, result.coverage)]
        held = "yes" if result.credible else "NO"
        rows.append([f"{_design(choice)}, {lost} runs failed", Noise.LOG_NORMAL.value, *cells, held])
    header = ["design", "noise", "studies with a false alarm", "95 % intervals that hold the truth", "5 % or fewer?"]
    return table("False alarms", header, rows)


def power_table(studies: int = STUDIES // 2) -> str:
    sizes = (0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 2.5, 3.0)
    rows = []
    for runs in (32, 64, 96, 128):
        choice = choose(14, runs)
        for noise in Noise:
            curve = [simulate(choice, noise, {(0,): size}, studies=studies).power for size in sizes]
            said = expected_detectable_deviations(choice)
            rows.append([_design(choice), noise.value, *(f"{100 * power:.0f} %" for power in curve), f"{said:.2f}"])
    header = ["design", "noise", *(f"{size:g}" for size in sizes), "said to be found in 80 %"]
    return table("Power for one main effect, by its size in standard deviations of a run", header, rows)


def drift_table(studies: int = STUDIES) -> str:
    choices = [choose(14, runs) for runs in (32, 64, 96)]
    active = {(0,): 8.0, (1,): 4.0, (0, 1): 3.0}
    rows = [
        [_design(choice), *(f"{100 * simulate_drift(choice, studies=studies, active=a):.1f} %" for a in ({}, active))]
        for choice in choices
    ]
    return table("Warnings of drift where there is none", ["design", "nothing active", "three large effects"], rows)


def crowd_table(studies: int = STUDIES // 2) -> str:
    sizes = (1.0, 1.5, 2.0, 3.0)
    rows = []
    for runs in (32, 96):
        choice = choose(14, runs)
        for count in (1, 3, 6, 10):
            results = [
                simulate(choice, Noise.NORMAL, {(i,): size for i in range(count)}, studies=studies) for size in sizes
            ]
            alarms = float(np.mean([result.false_alarms for result in results]))
            cells = [f"{100 * result.power:.0f} %" for result in results]
            rows.append([_design(choice), count, *cells, f"{100 * alarms:.1f} %"])
    header = ["design", "active main effects", *(f"{size:g}" for size in sizes), "studies with a false alarm"]
    return table("Power for each of several equal main effects, normal noise", header, rows)


def _design(choice: Choice) -> str:
    return f"{choice.configurations} x {choice.repetitions}"


def main() -> int:
    for make in (false_alarm_table, power_table, crowd_table, drift_table):
        print(make(), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
