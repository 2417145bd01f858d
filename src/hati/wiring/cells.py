"""Which configurations stand for a project's space."""

from __future__ import annotations

import json
from collections.abc import Iterator

from hati.core import Assignment, Benchmark, InputError, generator
from hati.design.suite import Suite, screening_suite
from hati.studies.gate import Cell
from hati.wiring.workplace import Workplace


def cells_of(place: Workplace, benchmark: str | None) -> Iterator[Cell]:
    """Of each benchmark its newest screening suite; else the default configuration and those listed, each a stratum."""
    project = place.project
    chosen = [project.benchmark(benchmark)] if benchmark is not None else list(project.benchmarks)
    if not chosen:
        project.benchmark()  # tells that there is none
    listed = tuple(dict.fromkeys((project.space.default, *project.check.configurations)))
    varied = [name for name in project.space.names if len({each.get(name) for each in listed}) > 1]
    for each in chosen:
        suite = _suite(place, each)
        if suite is None:
            for configuration in listed:
                stratum = Assignment({name: configuration[name] for name in varied if name in configuration})
                yield Cell(each, configuration, stratum)
        else:
            for configuration, owner, weight in zip(suite.configurations, suite.owners, suite.weights, strict=True):
                yield Cell(each, configuration, suite.strata[owner].setting, float(weight))


def _suite(place: Workplace, benchmark: Benchmark) -> Suite | None:
    """The suite of the newest suite study of a benchmark over the same space."""
    space = place.project.space
    for record in reversed(place.store.studies()):
        if record.id.kind != "suite":
            continue
        known = json.loads(record.id.parameters)
        if (known["benchmark"], known["space"], known["names"]) != (benchmark.name, space.digest, list(space.names)):
            continue
        rng = generator(record.id.seed, "suite")
        try:
            return screening_suite(space, tuple(known["options"]), known["size"], rng, tuple(known["ranking"]))
        except InputError:
            continue
    return None
