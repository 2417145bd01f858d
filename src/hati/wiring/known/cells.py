"""Choose the configurations that represent a project's space when revisions are compared."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from msgspec import Struct

from hati.core import Assignment, Benchmark, Budget, InputError, generator, replace
from hati.design.suite import Suite, screening_suite
from hati.knowledge import (
    FEWEST_REPRESENTATIVES,
    REPRESENTATIVES,
    Coverage,
    Entry,
    ImportantOptions,
    age_text,
    representative_suite,
)
from hati.space import Space, count
from hati.store import StudyRecord
from hati.studies.gate import Cell
from hati.wiring.campaigns import run_cost
from hati.wiring.known.screenings import important_options, working_space
from hati.wiring.workplace import Workplace


class Representatives(Struct, frozen=True):
    """The cells of benchmarks, and the coverage of each benchmark."""

    cells: tuple[Cell, ...]
    coverage: tuple[Coverage, ...]


def representatives(
    place: Workplace, benchmark: str | None, most: float = math.inf, now: datetime | None = None
) -> Representatives:
    """The configurations that represent the space, for one benchmark or for all.

    For each benchmark these are the first available of: its newest measured suite, unless that has more than ``most``
    configurations or a later screening found other options important; a suite of the important options of its
    screenings, with at most ``most`` and at most ``REPRESENTATIVES`` configurations; the default configuration and
    those listed in ``[check]``, each a stratum.
    """
    found = [_of(place, each, most, now or datetime.now(UTC)) for each in _benchmarks(place, benchmark)]
    return Representatives(
        tuple(cell for cells, _ in found for cell in cells), tuple(coverage for _, coverage in found)
    )


def affordable(place: Workplace, benchmark: str | None, budget: Budget, rounds: int) -> float:
    """The number of configurations per benchmark that a budget can run ``rounds`` times; infinite without a limit."""
    benchmarks = _benchmarks(place, benchmark)
    most = budget.runs // (rounds * len(benchmarks))
    if math.isfinite(budget.seconds):
        costs = sum(known.value for each in benchmarks if (known := run_cost(place, each)))
        most = min(most, budget.seconds // (rounds * costs) if costs > 0.0 else math.inf)
    return most


def questions(place: Workplace, benchmark: str | None) -> int:
    """The largest possible number of comparisons: each metric in each stratum, and over all strata."""
    return sum(len(each.metrics) for each in _benchmarks(place, benchmark)) * (1 + REPRESENTATIVES // 2)


def _benchmarks(place: Workplace, name: str | None) -> tuple[Benchmark, ...]:
    project = place.project
    if name is None and project.benchmarks:
        return project.benchmarks
    return (project.benchmark(name),)


_Found = tuple[list[Cell], Coverage]
_BUDGET = "A larger `--budget` covers all of the space."
_SCREEN = "`hati screen` finds which options matter; then all of the space is covered."


def _of(place: Workplace, benchmark: Benchmark, most: float, now: datetime) -> _Found:
    """The cells of a benchmark, without settings that are known to fail."""
    space, left_out = working_space(place, benchmark, now)
    known = _important(place, space, benchmark, now)
    cells, coverage = _known(place, space, benchmark, known, most, now) or _listed(place, space, benchmark, known, most)
    return cells, replace(coverage, source=f"{coverage.source}; {left_out}") if left_out else coverage


def _important(place: Workplace, space: Space, benchmark: Benchmark, now: datetime) -> list[Entry[ImportantOptions]]:
    found = [one for metric in benchmark.metrics if (one := important_options(place, benchmark, metric, now))]
    return [replace(one, value=one.value.among(space.names)) for one in found]


def _listed(
    place: Workplace, space: Space, benchmark: Benchmark, known: list[Entry[ImportantOptions]], most: float
) -> _Found:
    listed = [each for each in place.project.check.configurations if space.valid(each)]
    chosen = tuple(dict.fromkeys((space.default, *listed)))
    varied = [name for name in space.names if len({each.get(name) for each in chosen}) > 1]
    cells = [
        Cell(benchmark, each, Assignment({name: each[name] for name in varied if name in each})) for each in chosen
    ]
    source = "the default configuration" + (" and those of [check]" if len(chosen) > 1 else "")
    why, remedy = f"{benchmark.name} is not screened", _SCREEN
    if known and most < FEWEST_REPRESENTATIVES:
        why, remedy = f"the budget has no runs for a suite of the {_sources(known)}", _BUDGET
    elif known:
        why, remedy = f"the constraints leave no suite of the {_sources(known)}", ""
    return cells, Coverage(benchmark.name, len(cells), _size(space), (), f"{source}: {why}", remedy)


def _size(space: Space) -> int | None:
    try:
        return count(space)
    except InputError:  # constraints too entangled to count
        return None


def _known(
    place: Workplace,
    space: Space,
    benchmark: Benchmark,
    known: list[Entry[ImportantOptions]],
    most: float,
    now: datetime,
) -> _Found | None:
    measured = _measured_suite(place, space, benchmark, known, now)
    if measured is not None and len(measured[0].configurations) <= most:
        suite, source = measured
    else:
        derived = _derived_suite(space, known, int(min(REPRESENTATIVES, most)))
        if derived is None:
            return None
        suite, source = derived, _sources(known) + _within(known, derived.options)
    cells = [
        Cell(benchmark, configuration, suite.strata[owner].setting, float(weight))
        for configuration, owner, weight in zip(suite.configurations, suite.owners, suite.weights, strict=True)
    ]
    return cells, Coverage(benchmark.name, len(cells), _size(space), suite.options, source)


def _sources(known: list[Entry[ImportantOptions]]) -> str:
    studies = dict.fromkeys(one.source for one in known)
    which = "important options" if any(one.value.options for one in known) else "the leading option, not important,"
    metrics = f" for {', '.join(one.value.metric for one in known)}" if len(known) > 1 else ""
    return f"{which}{metrics} from {'; '.join(studies)}"


def _within(known: list[Entry[ImportantOptions]], options: tuple[str, ...]) -> str:
    """A text that names the important options that are not strata, for lack of configurations."""
    others = dict.fromkeys(name for one in known for name in one.value.options if name not in options)
    verb = "varies" if len(others) == 1 else "vary"
    return f"; {', '.join(others)} {verb} within these" if others else ""


def _derived_suite(space: Space, known: list[Entry[ImportantOptions]], most: int) -> Suite | None:
    """A suite of the important options, which depends on the evidence alone, not on the revision or seed of a check."""
    if not known:
        return None
    rng = generator(0, "representatives", *(one.provenance.study for one in known))
    try:
        return representative_suite(space, [one.value for one in known], most, rng)
    except InputError:  # constraints too entangled to count
        return None


def _measured_suite(
    place: Workplace, space: Space, benchmark: Benchmark, known: list[Entry[ImportantOptions]], now: datetime
) -> tuple[Suite, str] | None:
    """The newest measured suite, unless a later screening found an important option that the suite lacks."""
    spans = place.store.spans()
    for record in reversed(tuple(_suites(place, space, benchmark))):
        if record.id.key not in spans:
            continue
        parameters, last = json.loads(record.id.parameters), spans[record.id.key].last
        later = [one for one in known if one.provenance.measured > last]
        if any(not set(one.value.options) <= set(parameters["options"]) for one in later):
            return None
        rng = generator(record.id.seed, "suite")
        named = tuple(parameters["options"]), parameters["size"], rng, tuple(parameters["ranking"])
        try:
            suite = screening_suite(space, *named)
        except InputError:
            continue
        runs = spans[record.id.key].runs
        return suite, f"the suite of {record.id.key}: {runs:,} runs, {age_text(now - last)}"
    return None


def _suites(place: Workplace, space: Space, benchmark: Benchmark) -> Iterator[StudyRecord]:
    """The stored suites of a benchmark over the same space."""
    own = (benchmark.name, space.digest, list(space.names))
    for record in place.store.studies():
        if record.id.kind == "suite":
            then = json.loads(record.id.parameters)
            if (then["benchmark"], then["space"], then["names"]) == own:
                yield record


def benchmarks_of(cells: Sequence[Cell]) -> tuple[Benchmark, ...]:
    """The distinct benchmarks of the cells, in order."""
    return tuple({cell.benchmark.name: cell.benchmark for cell in cells}.values())


def coverage_of(space: Space, cells: Sequence[Cell], source: str) -> tuple[Coverage, ...]:
    """The coverage of each benchmark: all of the space if a cell has a weight above 1."""
    size = _size(space)
    found = []
    for benchmark in benchmarks_of(cells):
        own = [cell for cell in cells if cell.benchmark == benchmark]
        whole = any(cell.weight > 1.0 for cell in own)
        strata = tuple(dict.fromkeys(name for cell in own for name in cell.stratum)) if whole else ()
        known = size if size is not None and size >= len(own) else None
        found.append(Coverage(benchmark.name, len(own), known, strata, source))
    return tuple(found)
