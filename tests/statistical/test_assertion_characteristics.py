"""How often formulas are decided falsely when they are looked at after every round."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from hati.core import Metric, Observations, Origin, Sample, SampledRun, Stopping
from hati.logic.interpret import Verdict
from hati.logic.syntax import Source, parse_formula
from hati.studies.assertion import Book, Requirement, Standard, answer

TIME = Metric("time", "s")
CAMPAIGNS = 300
ROUNDS = 25
ALPHA = 0.05


def _sample(name: str, values: list[float]) -> Sample:
    runs = (
        SampledRun(Observations("time", "s", np.array([value]), 0), origin=Origin(repetition=number))
        for number, value in enumerate(values)
    )
    return Sample(name, TIME, tuple(runs))


@pytest.mark.statistical
@pytest.mark.acceptance
def test_verdicts_at_the_margin_are_false_at_most_at_the_level_whenever_one_stops() -> None:
    """Three formulas share the level; the truth of each is its bound, and any verdict of any of them is false."""
    texts = ["a <= c", "b <= c", "a >= 0.98 * d"]
    asked = [Requirement(parse_formula(text), Source(text, "formula")) for text in texts]
    standard = Standard(alpha=ALPHA / len(texts), stopping=Stopping.ANYTIME)
    false = {Verdict.HOLDS: 0, Verdict.VIOLATED: 0}
    rng = np.random.default_rng(20)
    for _ in range(CAMPAIGNS):
        means = {"a": 1.02, "b": 1.02, "c": 1.0, "d": 1.02 / 0.98 * 1.02}
        noise = {name: (1.0 + 0.01 * rng.standard_normal(ROUNDS)) * mean for name, mean in means.items()}
        book = Book({name: (_sample(name, values.tolist()),) for name, values in noise.items()})
        found = {each.verdict for each in answer(asked, book, standard)}
        for verdict in false:
            false[verdict] += verdict in found
    most = stats.binom.ppf(0.99, CAMPAIGNS, ALPHA)
    assert max(false.values()) <= most, false
