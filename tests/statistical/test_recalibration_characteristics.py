"""How often residuals are said to have shifted where nothing but the level changed, and what shifts are found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pytest
from scipy import stats

from hati.campaign import campaign
from hati.core import (
    Benchmark,
    Budget,
    Configuration,
    Metric,
    Reader,
    ReaderKind,
    Task,
    generator,
)
from hati.design.suite import leading_options, screening_suite
from hati.space import Option, Space
from hati.studies.recalibration import residual_shift
from hati.studies.screening import choose_design, screening, study_id
from hati.testing import FakeEngine, MemoryStore

pytestmark = pytest.mark.statistical

LATENCY = Metric("latency", "s")
MAIN = Benchmark("main", ("true",), Reader(ReaderKind.HATI), (LATENCY,))
TRUE = {"a": 0.3, "b": -0.2, "ab": 0.1, "c": 0.05}
LEVEL = 0.05


@dataclass(frozen=True)
class Program:
    """Options that multiply; ``lack`` is the deviation of what each configuration has of its own."""

    settings: tuple[int, ...]
    runs: int
    noise: float = 0.02
    lack: float = 0.0
    rounds: int = 5
    tail: float = math.inf

    @property
    def space(self) -> Space:
        return Space(
            tuple(
                Option(letter, tuple(range(count)), 0) for letter, count in zip("abcdefgh", self.settings, strict=False)
            )
        )

    def draw(self, rng: np.random.Generator, size: tuple[int, ...]) -> np.ndarray:
        """Noise, with tails of Student's t where that is asked for."""
        if math.isinf(self.tail):
            return rng.normal(0.0, self.noise, size)
        return np.asarray(self.noise / math.sqrt(self.tail / (self.tail - 2)) * rng.standard_t(self.tail, size))

    def log(self, configuration: Configuration, effects: Mapping[str, float], seed: int) -> float:
        own = self.lack * float(generator(seed, configuration.key).standard_normal()) if self.lack else 0.0
        coded = {
            letter: 2.0 * int(configuration[letter]) / (count - 1) - 1.0
            for letter, count in zip("abcdefgh", self.settings, strict=False)
        }
        return own + sum(size / 2 * math.prod(coded[letter] for letter in word) for word, size in effects.items())

    def p_value(self, seed: int, now: Mapping[str, float], tolerance: float, *, beside: bool) -> float:
        """That of a check after a screening, with a suite measured beside it or not."""
        rng, space = np.random.default_rng([seed, self.runs]), self.space
        study = study_id(
            subject="s", revision="1", benchmark=MAIN, space=space, budget=str(self.runs), seed=seed, machine="m"
        )
        choice = choose_design(space, self.runs, generator(seed, "design"))
        asked = screening(
            study=study, subject="s", benchmark=MAIN, metric=LATENCY, revision="1", space=space, choice=choice
        )

        def measured(task: Task) -> dict[str, list[float]]:
            value = self.log(task.configuration, TRUE, seed) + float(self.draw(rng, (1,))[0])
            return {"latency": [math.exp(value - 6.0)]}

        found = campaign(asked, FakeEngine(measured), MemoryStore(), Budget())
        options = leading_options(space, found.influential or found.ranking[:1], 16)
        cells = screening_suite(space, options, 16, generator(seed, "suite"), found.ranking).configurations
        then, later = (np.array([self.log(cell, of, seed) for cell in cells]) for of in (TRUE, now))
        before = np.exp(then - 6.0 + self.draw(rng, then.shape))
        values = np.exp(later - 5.7 + self.draw(rng, (self.rounds, len(cells))))
        known = dict(zip(cells, before.tolist(), strict=True)) if beside else {}
        shift = residual_shift(found, cells, values, known, tolerance)
        return 1.0 if shift is None else shift.p_value


PROGRAMS = {
    "fraction": Program((2,) * 6, 16),
    "repeated": Program((2,) * 6, 64),
    "more than the model": Program((2,) * 6, 32, lack=0.05),
    "mostly lack of fit": Program((2,) * 5, 32, noise=0.002, lack=0.05),
    "heavy tails": Program((2,) * 6, 32, tail=3.0),
    "one round": Program((2,) * 6, 32, rounds=1),
    "any settings": Program((3, 2, 3, 4), 36, lack=0.03),
}


def alarms(program: Program, campaigns: int, tolerance: float, *, beside: bool) -> int:
    return sum(program.p_value(seed, TRUE, tolerance, beside=beside) <= LEVEL for seed in range(campaigns))


@pytest.mark.acceptance
@pytest.mark.parametrize("beside", [True, False], ids=["suite beside", "model alone"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_false_alarms_at_the_least_tolerance(name: str, beside: bool) -> None:
    """At tolerance 0, which is the least favourable; noise without a fourth moment needs some."""
    campaigns = 200 if name == "any settings" else 500
    found = alarms(PROGRAMS[name], campaigns, 0.02 if name == "heavy tails" else 0.0, beside=beside)
    assert found <= stats.binom.ppf(0.99, campaigns, LEVEL)


@pytest.mark.acceptance
def test_shifts_at_the_tolerance_alarm_no_more_often_either() -> None:
    """An option of no effect that has one now whose root mean square is the tolerance."""
    now = {**TRUE, "d": 2.0 * math.log1p(0.05)}
    found = sum(PROGRAMS["repeated"].p_value(seed, now, 0.05, beside=True) <= LEVEL for seed in range(400))
    assert found <= stats.binom.ppf(0.99, 400, LEVEL)


@pytest.mark.parametrize(
    ("now", "tolerance", "needed"),
    [
        ({**TRUE, "d": 0.4}, 0.05, 0.9),
        ({**TRUE, "b": 0.2}, 0.05, 0.9),
        ({"a": 0.3, "b": -0.2, "ab": -0.3, "c": 0.05}, 0.05, 0.9),
        ({**TRUE, "d": 0.12}, 0.01, 0.9),
    ],
    ids=["another option", "an effect turned round", "an interaction", "a small effect at a small tolerance"],
)
def test_what_is_found(now: Mapping[str, float], tolerance: float, needed: float) -> None:
    found = [PROGRAMS["repeated"].p_value(seed, now, tolerance, beside=True) <= LEVEL for seed in range(12)]
    assert sum(found) >= needed * len(found)
