"""The two things that are compared, and what a comparison of their pairs says."""

from __future__ import annotations

from msgspec import Struct

from hati.core import Benchmark, Configuration, InputError, Metric, Pairing, Stopping, conversion
from hati.studies.comparison import ChangeVerdict, Comparisons


class Variant(Struct, frozen=True):
    """A benchmark at a configuration."""

    benchmark: Benchmark
    configuration: Configuration

    def __str__(self) -> str:
        return " ".join(filter(None, (self.benchmark.name, str(self.configuration))))


def shared_metrics(before: Variant, after: Variant, name: str | None = None) -> tuple[Metric, ...]:
    """The metrics that both have, as the first has them; or the one of that name.

    Raises:
        InputError: where there is none, units cannot be converted, or one should be low in one and high in the other.
    """
    known = {metric.name: metric for metric in after.benchmark.metrics}
    shared = tuple(metric for metric in before.benchmark.metrics if metric.name in known)
    chosen = tuple(metric for metric in shared if name in {None, metric.name})
    names = f"{before.benchmark.name!r} and {after.benchmark.name!r}"
    if not chosen:
        has = ", ".join(metric.name for metric in shared)
        what = "no metric" if name is None else f"no metric {name!r}"
        raise InputError(f"{names} have {what} in common", fix=f"they share {has}" if has else "give them one")
    for metric in chosen:
        conversion(known[metric.name].unit, metric.unit)
        if known[metric.name].better is not metric.better:
            raise InputError(f"of {names} one has a {metric.name} that should be low, the other high")
    return chosen


class Weighed(Struct, frozen=True):
    """What the verdict of a metric rests on: complete ``pairs``, how often they were looked at, and the evidence.

    ``e_value`` is that of a difference after the last pair; None where the rule has none, or no pair exists.
    """

    pairs: int
    looks: int
    e_value: float | None


class PairedConclusion(Struct, frozen=True):
    """The comparison of each metric, what it rests on, in the same order, and what became of the runs.

    ``seed`` is that of the order of each pair.
    """

    study: str
    before: Variant
    after: Variant
    stopping: Stopping
    pairing: Pairing
    seed: int
    comparisons: Comparisons
    weighed: tuple[Weighed, ...]
    done: int
    failed: int
    failures: tuple[str, ...]
    seconds: float

    @property
    def decided(self) -> bool:
        """Whether every metric has a verdict."""
        return not self.comparisons.count(ChangeVerdict.INCONCLUSIVE)
