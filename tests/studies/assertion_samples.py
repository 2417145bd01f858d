"""Samples by which formulas are judged in tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from hati.core import Metric, Observations, Sample, SampledRun, Usage
from hati.logic.interpret import FormulaVerdict
from hati.studies.assertion import Answer, Atom, SampleCollector, Standard, answer
from hati.testing.assertions import requirement

SECONDS = Metric("time", "s")
FIXED = Standard()


def sample(name: str, runs: Sequence[Sequence[float]], metric: Metric = SECONDS, usage: Sequence[Usage] = ()) -> Sample:
    """Of runs as they were observed."""
    used = usage or [Usage()] * len(runs)
    observed = (Observations(metric.name, metric.unit, np.array(run, dtype=np.float64), 0) for run in runs)
    return Sample(name, metric, tuple(SampledRun(each, usage=use) for each, use in zip(observed, used, strict=True)))


def levels(mean: float, runs: int = 10, spread: float = 0.002) -> list[list[float]]:
    """Runs whose means are evenly spread about a mean, two observations each."""
    offsets = np.linspace(-1.0, 1.0, runs) * spread
    return [[mean * (1.0 + offset - 0.001), mean * (1.0 + offset + 0.001)] for offset in offsets.tolist()]


def of_means(**means: float) -> SampleCollector:
    """Sixteen runs of each: as many as a limit takes to be told on either side."""
    return SampleCollector({name: (sample(name, levels(mean, 16)),) for name, mean in means.items()})


def book_of(**runs: Sequence[Sequence[float]]) -> SampleCollector:
    """Of runs by the names of methods."""
    return SampleCollector({name: (sample(name, each),) for name, each in runs.items()})


def answers(book: SampleCollector, *formulas: str, standard: Standard = FIXED) -> tuple[Answer, ...]:
    """Formulas judged together."""
    return answer([requirement(text) for text in formulas], book, standard)


def atom(book: SampleCollector, text: str, standard: Standard = FIXED) -> Atom:
    """The only relation of a formula."""
    (found,) = answers(book, text, standard=standard)
    (only,) = found.atoms
    return only


def verdicts(
    book: SampleCollector, formulas: Mapping[str, str], standard: Standard = FIXED
) -> dict[str, FormulaVerdict]:
    """Of each formula by itself."""
    return {text: answers(book, text, standard=standard)[0].verdict for text in formulas}
