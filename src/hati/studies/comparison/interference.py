"""What is said of runs that something else on the machine has disturbed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hati.core import Sample
from hati.core.wording import listed
from hati.harness import disturbances
from hati.studies.comparison.matching import Pair

_NAMED = 3


def interference_warnings(found: Sequence[Pair]) -> tuple[str, ...]:
    """A sentence for each side that has disturbed runs: how many, of which benchmarks, and one of the reasons."""
    sides = (("before", [pair.before for pair in found]), ("after", [pair.after for pair in found]))
    return tuple(text for name, samples in sides if (text := _sentence(name, samples)))


def _sentence(side: str, samples: Iterable[Sample]) -> str:
    judged = [(sample, disturbances([run.usage for run in sample.runs])) for sample in samples]
    marked = [(sample, list(filter(None, reasons))) for sample, reasons in judged if any(reasons)]
    if not marked:
        return ""
    number, runs = sum(len(reasons) for _, reasons in marked), sum(len(reasons) for _, reasons in judged)
    names = list(dict.fromkeys(sample.benchmark for sample, _ in marked))
    return (
        f"{side}: {number} of {runs} runs {'was' if number == 1 else 'were'} disturbed ({listed(names, _NAMED)}"
        f"; the first: {marked[0][1][0]}); {'it is' if number == 1 else 'they are'} counted nevertheless,"
        " and repeating them may decide more"
    )
