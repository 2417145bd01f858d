"""What stored screenings and suites know of a subject, benchmark and metric, as entries of ``hati.knowledge``.

Also the configurations that represent a project's space when revisions are compared.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TypeVar

import numpy as np
from msgspec import Struct

from hati.core import (
    Assignment,
    Benchmark,
    Budget,
    HatiError,
    InputError,
    Metric,
    StudyId,
    generator,
    replace,
    setting_text,
)
from hati.core.wording import runs_of_study
from hati.design.suite import Suite, screening_suite
from hati.knowledge import (
    FEWEST_LEFT,
    FEWEST_REPRESENTATIVES,
    REPRESENTATIVES,
    Coverage,
    Entry,
    ImportantOptions,
    KnownEffect,
    MeasuredScreening,
    Provenance,
    Variation,
    WithinStrata,
    age_text,
    by_information,
    representative_suite,
    variation,
)
from hati.space import Space, count
from hati.store import StudyRecord
from hati.studies.gate import Cell
from hati.studies.screening import (
    NOTHING_ISOLATED,
    RELEVANT,
    AnyScreening,
    Isolated,
    ScreeningConclusion,
    isolated_of,
    read_choice,
)
from hati.studies.screening.planning.tasks import STAGE
from hati.wiring.campaigns import run_cost
from hati.wiring.screening.concluding import findings
from hati.wiring.screening.stored import study_over
from hati.wiring.workplace import Workplace

T = TypeVar("T")


def important_options(
    place: Workplace, benchmark: Benchmark, metric: Metric, now: datetime | None = None
) -> Entry[ImportantOptions] | None:
    """The important options from the most informative screening of the same space; None where there is none.

    If ``--set`` narrowed the space and the narrowed space was not screened, those of the whole space that are left.
    ``now`` is the time at which ages are computed [default: the clock's].
    """
    known = _most_informative(place, benchmark, metric, now, None, partial(_influence, place, metric))
    if known is not None:
        (important, part), entry = known
        return Entry(important, replace(entry.provenance, space=part), entry.age, entry.preferred)
    if place.whole is None:
        return None
    whole = replace(place, project=replace(place.project, space=place.whole), whole=None)
    of_all = important_options(whole, benchmark, metric, now)
    if of_all is None:
        return None
    part = of_all.provenance.space
    provenance = replace(of_all.provenance, space=f"{part} of the whole space" if part else "the whole space")
    return replace(of_all, value=of_all.value.among(place.project.space.names), provenance=provenance)


def screened(
    place: Workplace,
    benchmark: Benchmark,
    metric: Metric,
    now: datetime | None = None,
    *,
    revision: str | None = None,
    relevant: float = RELEVANT,
) -> tuple[AnyScreening, ScreeningConclusion, Entry[str]] | None:
    """The most informative screening that can be concluded, its conclusion without warnings, and an entry with its key.

    Only screenings of ``revision`` count if it is given; effects below ``relevant`` are not important.
    """

    def concluded(record: StudyRecord) -> tuple[AnyScreening, ScreeningConclusion]:
        study = study_over(place, record, place.project.space, metric.name, relevant)
        return study, findings(place, study, place.store.evidence(study.id), f"analysing {record.id.key}:")

    known = _most_informative(place, benchmark, metric, now, revision, concluded)
    if known is None:
        return None
    (study, found), entry = known
    return study, found, replace(entry, provenance=replace(entry.provenance, space=_part(found)))


def _most_informative(
    place: Workplace,
    benchmark: Benchmark,
    metric: Metric,
    now: datetime | None,
    revision: str | None,
    concluded: Callable[[StudyRecord], T],
) -> tuple[T, Entry[str]] | None:
    """What the most informative screening that can be concluded shows, and an entry with its key."""
    records = {record.id.key: record for record in _compatible(place, benchmark, metric, revision)}
    measured = _all_measured(place, benchmark, metric, revision)
    for one, reason in by_information(measured, benchmark.definition):
        provenance = one.provenance
        try:
            found = concluded(records[provenance.study])
        except HatiError:  # its choice or its runs can no longer be read
            continue
        age = (now or datetime.now(UTC)) - provenance.measured
        return found, Entry(provenance.study, provenance, age, reason)
    return None


def _influence(place: Workplace, metric: Metric, record: StudyRecord) -> tuple[ImportantOptions, str]:
    """The important options of a screening, and the part of the space that they are of.

    Raises:
        HatiError: where its choice or its runs can no longer be read.
    """
    study = study_over(place, record, place.project.space, metric.name)
    doing = f"finding the important options for {metric.name} of {record.id.key} in"
    found = findings(place, study, place.store.evidence(record.id), doing)
    return _important(found), _part(found)


def _part(found: ScreeningConclusion) -> str:
    """The configurations of which a screening has effects, in words; empty if these are all."""
    of = found.dominating
    if of is None or of.narrowed is None:
        return ""
    return f"the configurations with {of.name}={setting_text(of.narrowed.setting)}"


def known_variation(
    place: Workplace, benchmark: Benchmark, metric: Metric, now: datetime | None = None
) -> Entry[Variation] | None:
    """The variation of a metric, from the most informative screening with enough degrees of freedom left."""
    measured = _all_measured(place, benchmark, metric, None)
    for one, reason in by_information(measured, benchmark.definition):
        found = variation(one.sums, FEWEST_LEFT)
        if found is not None:
            return Entry(found, one.provenance, (now or datetime.now(UTC)) - one.provenance.measured, reason)
    return None


def failing_settings(place: Workplace, benchmark: Benchmark, now: datetime | None = None) -> Entry[Isolated] | None:
    """The failing settings found by the newest screening of the same space on this machine; None without any."""
    spans = place.store.spans()
    records = [record for record in _screenings(place, benchmark) if record.id.key in spans]
    own = [record for record in records if record.id.machine in place.measured_on.fingerprints]
    isolated = isolated_of(own[-1].choice) if own else NOTHING_ISOLATED
    if not isolated.formulas:
        return None
    key, span = own[-1].id.key, spans[own[-1].id.key]
    age = (now or datetime.now(UTC)) - span.last
    revision = _other(json.loads(own[-1].id.parameters)["revision"], place.revision)
    origin = Provenance(key, span.runs, span.last, revision)
    return Entry(isolated, origin, age, "the newest screening of this space on this machine")


def working_space(place: Workplace, benchmark: Benchmark, now: datetime | None = None) -> tuple[Space, str]:
    """The project's space without settings that are known to fail, and a text that names these settings."""
    from hati.space import narrowed

    known = failing_settings(place, benchmark, now)
    if known is None:
        return place.project.space, ""
    listed = ", ".join(known.value.described)
    space = narrowed(place.project.space, known.value.formulas)
    return space, f"left out because it does not work: {listed} (by {known.source})"


def _compatible(place: Workplace, benchmark: Benchmark, metric: Metric, revision: str | None) -> Iterator[StudyRecord]:
    """The screenings of a benchmark over the same options and constraints in which the metric was measured."""
    for record in _screenings(place, benchmark):
        same = revision in {None, json.loads(record.id.parameters)["revision"]}
        if same and any(known.name == metric.name for known in record.metrics):
            yield record


def _screenings(place: Workplace, benchmark: Benchmark) -> Iterator[StudyRecord]:
    """The screenings of a benchmark over the same options and constraints that have a design."""
    project = place.project
    own = (project.name, benchmark.name, project.space.digest, list(project.space.names))
    for record in place.store.studies():
        if record.id.kind == "screening" and record.choice:
            then = json.loads(record.id.parameters)
            if (then["subject"], then["benchmark"], then["space"], then["options"]) == own:
                yield record


def _all_measured(
    place: Workplace, benchmark: Benchmark, metric: Metric, revision: str | None
) -> list[MeasuredScreening]:
    """The compatible screenings with values of the metric, the newest first."""
    records = reversed(tuple(_compatible(place, benchmark, metric, revision)))
    return [one for record in records if (one := _measured(place, record, metric)) is not None]


def _measured(place: Workplace, record: StudyRecord, metric: Metric) -> MeasuredScreening | None:
    """A screening's design runs that have a value of the metric; None without any."""
    parameters = json.loads(record.id.parameters)
    evidence = place.store.evidence(record.id)
    try:
        values = [(run, value) for run in evidence.stage(STAGE).runs if (value := run.value(metric)) is not None]
        planned = read_choice(record.choice or "").runs
    except InputError:  # the metric had another dimension then, or the choice is not readable
        return None
    if not values:
        return None
    return MeasuredScreening(
        provenance=Provenance(
            record.id.key,
            len(values),
            max(run.started for run, _ in values),
            _other(parameters["revision"], place.revision),
            "" if record.id.machine in place.measured_on.fingerprints else record.id.machine,
            made=len(evidence.runs),
        ),
        definition=parameters["definition"],
        configurations=tuple(run.task.configuration for run, _ in values),
        values=np.array([value for _, value in values], dtype=np.float64),
        complete=len(values) / planned,
        recalibrates=parameters.get("recalibrates"),
        machines=tuple(run.machine for run, _ in values),
    )


def _other(then: str, now: str) -> str:
    return then if then != now else ""


def _important(found: ScreeningConclusion) -> ImportantOptions:
    return ImportantOptions(
        metric=found.metric.name,
        options=found.influential,
        ranking=found.ranking,
        effects=tuple(
            KnownEffect(effect.options, effect.relative, effect.relative_interval, effect.aliases)
            for effect in found.effects
            if effect.shown
        ),
    )


class Representatives(Struct, frozen=True):
    """The cells of benchmarks, and the coverage of each benchmark."""

    cells: tuple[Cell, ...]
    coverage: tuple[Coverage, ...]


def representatives(
    place: Workplace,
    benchmark: str | None,
    most: float = math.inf,
    within: WithinStrata = WithinStrata.LEFT_OUT,
) -> Representatives:
    """The configurations that represent the space, for one benchmark or for all.

    For each benchmark these are the first available of: its newest measured suite, unless that has more than ``most``
    configurations or a later screening found other options important; a suite of the important options of its
    screenings, with at most ``most`` and at most ``REPRESENTATIVES`` configurations; the default configuration and
    those listed in ``[check]``, each a stratum.
    """
    found = [_of(place, each, most, within, datetime.now(UTC)) for each in _benchmarks(place, benchmark)]
    return Representatives(
        tuple(cell for cells, _ in found for cell in cells), tuple(coverage for _, coverage in found)
    )


def affordable(place: Workplace, benchmark: str | None, budget: Budget, rounds: int) -> float:
    """The number of configurations per benchmark that a budget can run ``rounds`` times; infinite without a limit."""
    benchmarks = _benchmarks(place, benchmark)
    most = budget.runs // (rounds * len(benchmarks)) if math.isfinite(budget.runs) else math.inf
    if math.isfinite(budget.seconds):
        costs = sum(known.value for each in benchmarks if (known := run_cost(place, each)))
        most = min(most, budget.seconds // (rounds * costs) if costs > 0.0 else math.inf)
    return most


def begun(place: Workplace, study: StudyId) -> tuple[StudyId, ...]:
    """The campaigns of a study that have runs, also with other configurations, the newest first."""
    spans, wanted = place.store.spans(), _apart_from_cells(study)
    machines = {study.machine, *place.measured_on.fingerprints}
    return tuple(
        each.id
        for each in reversed(place.store.studies())
        if (each.id.kind, each.id.seed) == (study.kind, study.seed) and each.id.machine in machines
        if each.id.key in spans and _apart_from_cells(each.id) == wanted
    )


def begun_since_chosen(place: Workplace, study: StudyId) -> tuple[StudyId, ...]:
    """The campaigns of a study that were begun, also with other configurations, the newest first.

    A campaign without runs since the last screening or measured suite does not count: its suite is out of date.
    """
    spans, records = place.store.spans(), place.store.studies()
    known = [spans[each.id.key].last for each in records if each.id.kind in _CHOOSING and each.id.key in spans]
    since = max(known, default=datetime.min.replace(tzinfo=UTC))
    return tuple(each for each in begun(place, study) if spans[each.key].last > since)


_CHOOSING = frozenset({"screening", "suite"})
"""The kinds of studies from which configurations are chosen."""


def _apart_from_cells(study: StudyId) -> dict[str, object]:
    """The parameters of a study, with the benchmarks of its cells in place of these."""
    parameters = json.loads(study.parameters)
    return {**parameters, "cells": {(name, definition) for name, definition, *_ in parameters["cells"]}}


def size_of_suite(study: StudyId) -> int:
    """The largest number of cells of a benchmark."""
    return max(Counter(name for name, *_ in _cells(study)).values())


def has_cells(study: StudyId, of: StudyId) -> bool:
    """Whether two studies have the same cells in the same order."""
    return _cells(study) == _cells(of)


def _cells(study: StudyId) -> list[list[object]]:
    cells: list[list[object]] = json.loads(study.parameters)["cells"]
    return cells


def as_begun(found: Representatives) -> Representatives:
    """The configurations of a campaign that a larger budget continues: it is the first one that chose them."""
    said = [
        replace(each, source=each.source.replace(_NO_RUNS, _HAD_NO_RUNS), remedy=_AFRESH)
        if each.remedy == _BUDGET
        else each
        for each in found.coverage
    ]
    return replace(found, coverage=tuple(said))


def questions(place: Workplace, benchmark: str | None) -> int:
    """The largest possible number of comparisons: each metric in each stratum, and over all strata."""
    return sum(len(each.metrics) for each in _benchmarks(place, benchmark)) * (1 + REPRESENTATIVES // 2)


def _benchmarks(place: Workplace, name: str | None) -> tuple[Benchmark, ...]:
    project = place.project
    if name is None and project.benchmarks:
        return project.benchmarks
    return (project.benchmark(name),)


_Found = tuple[list[Cell], Coverage]
_NO_RUNS = "the budget has no runs for a suite of the"
_HAD_NO_RUNS = "the budget with which it began had no runs for a suite of the"
_AFRESH = "`--fresh` with a larger `--budget` covers all of the space."
_BUDGET = "A larger `--budget` covers all of the space."
_SCREEN = "`hati screen` finds which options matter; then all of the space is covered."


def _of(place: Workplace, benchmark: Benchmark, most: float, within: WithinStrata, now: datetime) -> _Found:
    """The cells of a benchmark, without settings that are known to fail."""
    space, left_out = working_space(place, benchmark, now)
    known = _all_important(place, space, benchmark, now)
    suite = _measured_suite(place, space, benchmark, known, now)
    if suite is None or len(suite[0].configurations) > most:
        suite = _derived_suite(space, known, int(min(REPRESENTATIVES, most)), within)
    cells, coverage = (
        _listed(place, space, benchmark, known, most) if suite is None else _cells_of(space, benchmark, *suite)
    )
    return cells, replace(coverage, source=f"{coverage.source}; {left_out}") if left_out else coverage


def _all_important(
    place: Workplace, space: Space, benchmark: Benchmark, now: datetime
) -> list[Entry[ImportantOptions]]:
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
        why, remedy = f"{_NO_RUNS} {_sources(known)}", _BUDGET
    elif known:
        why, remedy = f"the constraints leave no suite of the {_sources(known)}", ""
    (coverage,) = coverage_of(space, cells, f"{source}: {why}")
    return cells, replace(coverage, remedy=remedy)


def _size(space: Space) -> int | None:
    try:
        return count(space)
    except InputError:  # constraints too entangled to count
        return None


def _cells_of(space: Space, benchmark: Benchmark, suite: Suite, source: str) -> _Found:
    cells = [
        Cell(benchmark, configuration, suite.strata[owner].setting, float(weight))
        for configuration, owner, weight in zip(suite.configurations, suite.owners, suite.weights, strict=True)
    ]
    return cells, Coverage(benchmark.name, len(cells), _size(space), suite.options, source)


def _sources(known: list[Entry[ImportantOptions]]) -> str:
    shown = [one for one in known if one.value.options]
    which = "important options" if shown else "the leading option, not important,"
    used = shown or known
    studies = dict.fromkeys(one.source for one in used)
    metrics = f" for {', '.join(one.value.metric for one in used)}" if len(known) > 1 else ""
    return f"{which}{metrics} from {'; '.join(studies)}"


def _within(known: list[Entry[ImportantOptions]], options: tuple[str, ...]) -> str:
    """A text that names the important options that are not strata, for lack of configurations."""
    others = dict.fromkeys(name for one in known for name in one.value.options if name not in options)
    verb = "varies" if len(others) == 1 else "vary"
    return f"; {', '.join(others)} {verb} within these" if others else ""


def _derived_suite(
    space: Space, known: list[Entry[ImportantOptions]], most: int, within: WithinStrata
) -> tuple[Suite, str] | None:
    """A suite of the important options, which depends on the evidence alone, not on the revision or seed of a check."""
    if not known:
        return None
    rng = generator(0, "representatives", *(one.provenance.study for one in known))
    try:
        suite = representative_suite(space, [one.value for one in known], most, rng, within)
    except InputError:  # constraints too entangled to count
        return None
    return None if suite is None else (suite, _sources(known) + _within(known, suite.options))


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
            suite = screening_suite(space, *named, tuple(parameters.get("left_out", ())))
        except InputError:
            continue
        return suite, f"the suite of {runs_of_study(record.id.key, spans[record.id.key].runs)}, {age_text(now - last)}"
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
    """The coverage of each benchmark: all of the space if a cell has a weight above 1, or there is no other one."""
    size = _size(space)
    found = []
    for benchmark in benchmarks_of(cells):
        own = [cell for cell in cells if cell.benchmark == benchmark]
        whole = any(cell.weight > 1.0 for cell in own) or len(own) == size
        strata = tuple(dict.fromkeys(name for cell in own for name in cell.stratum)) if whole else ()
        known = size if size is not None and size >= len(own) else None
        found.append(Coverage(benchmark.name, len(own), known, strata, source))
    return tuple(found)
