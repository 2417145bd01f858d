"""What is measured of a method."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from msgspec import Struct

from hati.core import Benchmark, Configuration, Metric, Revision, Run, Sample, sampled

STAGE = "assert"


class Made(Struct, frozen=True):
    """Runs in the order of their rounds, by their benchmark and revision."""

    runs: Mapping[tuple[str, str], tuple[Run, ...]]

    @classmethod
    def of(cls, runs: Sequence[Run]) -> Made:
        """Of runs in any order."""
        found: dict[tuple[str, str], list[Run]] = defaultdict(list)
        for run in sorted(runs, key=lambda run: run.task.repetition):
            found[run.task.benchmark, run.task.revision].append(run)
        return cls({key: tuple(each) for key, each in found.items()})


class Point(Struct, frozen=True):
    """A method that formulas write as ``method``: a benchmark of a revision, of the default configuration.

    ``own`` is the metric that is meant where a formula names none; empty where the benchmark has but one.
    """

    method: str
    benchmark: Benchmark
    revision: Revision
    configuration: Configuration
    own: str = ""

    @property
    def identity(self) -> list[object]:
        """All that determines what its runs do."""
        return [self.method, self.benchmark.definition, self.revision.id, dict(self.configuration)]

    def unit(self, metric: str) -> str | None:
        """The unit of a metric for a call, by default of its own; None of one that its benchmark does not tell."""
        units = {each.name: each.unit.removesuffix("/op") for each in self.benchmark.metrics}
        return units.get(metric or self.own)

    @property
    def key(self) -> tuple[str, str]:
        """What is run: methods of which that is the same have the same runs."""
        return self.benchmark.name, self.revision.id

    def runs(self, made: Made) -> tuple[Run, ...]:
        """Its runs, whatever became of them."""
        return made.runs.get(self.key, ())

    def samples(self, made: Made) -> tuple[Sample, ...]:
        """One of each metric that a run has, runs in the order of their rounds.

        Raises:
            InputError: where runs are of unlike units.
        """
        runs = self.runs(made)
        return tuple(sample for metric in self.benchmark.metrics if (sample := self._sample(metric, runs)))

    def _sample(self, metric: Metric, runs: Sequence[Run]) -> Sample | None:
        """None where no run has the metric."""
        observed = ((run, run.of(metric.name)) for run in runs)
        found = tuple(sampled(run, values) for run, values in observed if values is not None)
        if not found:
            return None
        benchmark = self.benchmark
        return Sample(benchmark.name, metric, found, self.configuration, self.revision.id, benchmark.workload)
