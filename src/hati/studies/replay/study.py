"""The study of a replay: the order of its revisions, and what is measured of them as series."""

from __future__ import annotations

import dataclasses
import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from msgspec import Struct, field

from hati.core import (
    Assignment,
    Configuration,
    Evidence,
    FloatArray,
    InputError,
    Metric,
    Outcome,
    Plan,
    Revision,
    StudyId,
    Task,
    conversion,
    replace,
)
from hati.knowledge import Coverage
from hati.stats import FEWEST_VALUES, Bridge, Dependence, Ecdf, Pooled, group_variances, pooled_variance, satterthwaite
from hati.stats.linear_models import Index
from hati.studies.comparison import MEAN, Automatic, ChoiceBasis, Statistic, StatisticChoice, StatisticChoices
from hati.studies.gate import Cell, Group, groups
from hati.studies.regression import FEWEST_POSITIONS, Series, SeriesBridge, Tails
from hati.studies.schedule import failure_reasons, given_up, nothing_measured, tasks_without_run


class RevisionSpread(Struct, frozen=True):
    """The distribution of a metric over configurations at a revision: five weighted quantiles (RES paper, Fig. 12).

    ``quantiles`` are the smallest value, the quartiles and the largest, in the metric's unit.
    """

    revision: Revision
    quantiles: tuple[float, float, float, float, float]
    configurations: int


class Skipped(Struct, frozen=True):
    """A revision, or one configuration of a benchmark at it, that could not be measured, and ``why``."""

    revision: Revision
    why: str
    benchmark: str = ""
    configuration: Configuration | None = None


class Replayed(Struct, frozen=True):
    """The series of every benchmark, metric and stratum; the spread at each revision; and what could not be measured.

    ``spreads`` are by benchmark and metric. A revision at which a configuration could not be measured is left out of
    every series of several configurations that includes it. ``coverage`` describes the measured part of each
    benchmark's space. ``names`` and ``titles`` are those of revisions that have one, by their position.
    """

    study: str
    series: tuple[Series, ...]
    spreads: dict[tuple[str, str], tuple[RevisionSpread, ...]]
    metrics: dict[tuple[str, str], Metric]
    skipped: tuple[Skipped, ...]
    left: int
    runs: int
    failed: int
    seconds: float
    coverage: tuple[Coverage, ...] = ()
    names: dict[str, str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)


_Groups = dict[str, FloatArray]
"""The values of a cell's runs on each machine."""
_Values = dict[int, dict[int, _Groups]]
_TINY = float(np.finfo(float).tiny)
_QUARTILES = np.array([0.25, 0.5, 0.75])


class MeasuredRevisions(Struct, frozen=True, eq=False, dict=True):
    """The runs of a replay, by revision and cell."""

    evidence: Evidence
    revisions: tuple[Revision, ...]
    cells: tuple[Cell, ...]
    statistic: Statistic | Automatic
    dependence: Dependence
    choices: StatisticChoices = field(default_factory=StatisticChoices)

    def choice(self, group: Group) -> StatisticChoice:
        """The statistic of a run of a group's metric."""
        if isinstance(self.statistic, Statistic):
            return StatisticChoice(self.statistic, ChoiceBasis.ASKED)
        return self.choices.of(group.benchmark.name, group.metric.name)

    def values(self, group: Group) -> _Values:
        """The values of runs by place of the revision, cell and machine, for places with all cells."""
        return self._counted(group, self.choice(group).statistic.of)

    def _counted(self, group: Group, count: Callable[[FloatArray], float]) -> _Values:
        found: dict[int, dict[int, dict[str, list[float]]]] = defaultdict(
            lambda: defaultdict(lambda: defaultdict(list))
        )
        for run in self.evidence.done:
            observed = run.of(group.metric.name)
            position = self._positions.get((run.task.benchmark, run.task.configuration.key))
            if observed is None or position not in group.cells:
                continue
            assert position is not None
            value = count(observed.steady * conversion(observed.unit, group.metric.unit))
            found[self._places[run.task.revision]][position][run.machine].append(value)
        working = {position for cells in found.values() for position in cells}
        return {
            place: {
                position: {machine: np.array(values) for machine, values in sorted(groups.items())}
                for position, groups in sorted(cells.items())
            }
            for place, cells in sorted(found.items())
            if set(cells) == working
        }

    def series(self, group: Group) -> Series | None:
        """The weighted geometric mean over the cells at each revision; arithmetic if a value is not above zero.

        Revisions at which the same cells ran on the same machines, or states of a machine, share a level. The standard
        errors are those of the cells' means; the variance of a cell's runs is pooled over all revisions. None for fewer
        than two revisions, or fewer than eight of single runs.
        """
        choice = self.choice(group)
        values = self.values(group)
        found = self._series(group, values)
        if found is None:
            return None
        tails = self._tails(group, choice.statistic) if choice.keeps_mean and _positive(values) else None
        return replace(found, choice=choice, tails=tails)

    def _tails(self, group: Group, statistic: Statistic) -> Tails | None:
        """The series of means, and of means relative to the statistic; None if runs have a single value."""
        values = self._counted(group, statistic.tail_of)
        if all(bool((runs == 1.0).all()) for runs in _all_runs(values)):
            return None
        mean, relative = self._series(group, self._counted(group, MEAN.of)), self._series(group, values)
        if mean is None or relative is None:
            return None
        return Tails(mean, replace(relative, bridges=()))  # handovers are joined by the statistic alone

    def _series(self, group: Group, values: _Values) -> Series | None:
        errors, freedom = self._errors(values)
        if len(values) < (FEWEST_POSITIONS if freedom else FEWEST_VALUES):
            return None
        means, weights = self._means(values)
        positive = _positive(values)
        levels = np.exp(np.log(means) @ weights) if positive else means @ weights
        machines, codes = _machines(values)
        name = " ".join(filter(None, (group.benchmark.name, str(group.stratum or ""))))
        return Series(
            name=f"{name} {group.metric.name}",
            metric=group.metric,
            positions=tuple(self.revisions[place].short for place in values),
            values=np.asarray(levels, dtype=np.float64),
            machines=codes,
            runs=np.array([sum(map(len, _runs_of(cells))) for cells in values.values()], dtype=np.intp),
            dependence=self.dependence,
            errors=errors * levels if freedom and positive else errors,
            freedom=freedom,
            stratum=group.stratum or Assignment(),
            benchmark=group.benchmark.name,
            machine_names=machines,
            bridges=self._bridges(values, weights) if positive else (),
        )

    def _bridges(self, values: _Values, weights: FloatArray) -> tuple[SeriesBridge, ...]:
        """The bridges: revisions of which two machines ran all cells."""
        return tuple(
            SeriesBridge(index, (first, second), _bridge(list(cells.values()), (first, second), weights))
            for index, cells in enumerate(values.values())
            for first, second in combinations(sorted(set.intersection(*(set(own) for own in cells.values()))), 2)
        )

    def _means(self, values: _Values) -> tuple[FloatArray, FloatArray]:
        """The mean of each cell at each place, shape (places, cells), and the cells' weights, which sum up to one."""
        kept = sorted(next(iter(values.values())))
        weights = np.array([self.cells[position].weight for position in kept])
        means = np.array([[_mean(cells[position]) for position in kept] for cells in values.values()])
        return means, weights / sum(weights)

    def _errors(self, values: _Values) -> tuple[FloatArray, float]:
        """The standard error at each place, on the scale of ``series``, and its degrees of freedom; none of one run.

        The variance of a cell without several runs is assumed to be the largest of the other cells'.
        """
        if not values:
            return np.zeros(0), 0.0
        weights = self._means(values)[1]
        cells = [[own[position] for own in values.values()] for position in sorted(next(iter(values.values())))]
        positive = _positive(values)
        places = [np.repeat(np.arange(len(own)), list(map(len, own))) for own in cells]
        groups = [[np.log(runs) if positive else runs for each in own for runs in each.values()] for own in cells]
        found = [pooled_variance(runs) for runs in groups]
        variances, freedoms = np.array(found).T
        if not freedoms.any():
            return np.zeros(0), 0.0
        sources = np.where(freedoms > 0.0, np.arange(len(found)), int(np.argmax(variances)))
        known = [found[source] for source in sources]
        own = np.array([_of_means(*each, len(values)) for each in zip(groups, known, places, strict=True)]).T
        parts = (np.square(weights) * own) @ (sources[:, None] == np.flatnonzero(freedoms))
        return np.sqrt(parts.sum(axis=1)), satterthwaite(parts, freedoms[freedoms > 0.0])

    def spreads(self, group: Group) -> tuple[RevisionSpread, ...]:
        """The distribution of the values of a group's cells at each revision."""
        spreads = []
        for place, cells in self.values(group).items():
            means = np.array([_mean(own) for own in cells.values()])
            weights = np.array([self.cells[position].weight for position in cells])
            low, middle, high = Ecdf.of(means, weights).quantiles(_QUARTILES).tolist()
            whole = (float(means.min()), low, middle, high, float(means.max()))
            spreads.append(RevisionSpread(self.revisions[place], whole, len(means)))
        return tuple(spreads)

    def levels(self, group: Group) -> tuple[dict[int, float], list[float]]:
        """The logarithm of a group's level at each place, and the standard errors of these."""
        levels, noises = {}, []
        for place, cells in self.values(group).items():
            logs = [np.log(np.maximum(np.concatenate([*own.values()]), _TINY)) for own in cells.values()]
            levels[place] = float(np.mean([each.mean() for each in logs]))
            errors = [float(np.var(each, ddof=1)) / len(each) for each in logs if len(each) > 1]
            if len(errors) == len(logs):
                noises.append(math.sqrt(sum(errors)) / len(logs))
        return levels, noises

    @cached_property
    def _places(self) -> dict[str, int]:
        return {revision.id: place for place, revision in enumerate(self.revisions)}

    @cached_property
    def _positions(self) -> dict[tuple[str, str], int]:
        return {cell.key: position for position, cell in enumerate(self.cells)}


def _positive(values: _Values) -> bool:
    return all(float(runs.min()) > 0.0 for runs in _all_runs(values))


def _all_runs(values: _Values) -> Iterator[FloatArray]:
    return (runs for cells in values.values() for runs in _runs_of(cells))


def _runs_of(cells: Mapping[int, _Groups]) -> list[FloatArray]:
    return [runs for groups in cells.values() for runs in groups.values()]


def _mean(groups: _Groups) -> float:
    """The mean of the machines' means."""
    return float(np.mean([runs.mean() for runs in groups.values()]))


def _of_means(groups: Sequence[FloatArray], pooled: Pooled, places: Index, number: int) -> FloatArray:
    """The variance of the mean of each place's groups, shape (number,)."""
    variances = group_variances(groups, pooled) / np.array(list(map(len, groups)))
    return np.asarray(np.bincount(places, variances, number) / np.square(np.bincount(places, minlength=number)))


def _machines(values: _Values) -> tuple[tuple[tuple[str, ...], ...], Index]:
    """The machines of each combination of cells and machines, and the combination of each place, counted from 0."""
    codes: dict[tuple[tuple[str, ...], ...], int] = {}
    numbers = [codes.setdefault(_combination(cells), len(codes)) for cells in values.values()]
    return tuple(tuple(sorted({name for own in each for name in own})) for each in codes), np.array(numbers, np.intp)


def _combination(cells: Mapping[int, _Groups]) -> tuple[tuple[str, ...], ...]:
    """The machines of each cell; only once if all cells have the same."""
    own = tuple(tuple(groups) for groups in cells.values())
    return own[:1] if len(set(own)) == 1 else own


def _bridge(cells: Sequence[_Groups], machines: tuple[str, str], weights: FloatArray) -> Bridge:
    """The weighted mean of the cells' bridges, with the weights of the level."""
    own = [Bridge.of(groups[machines[0]], groups[machines[1]]) for groups in cells]
    parts = np.square(weights) * np.array([each.variance for each in own])
    freedoms = np.array([each.freedom for each in own])
    return Bridge(
        difference=float(weights @ np.array([each.difference for each in own])),
        variance=float(parts.sum()),
        freedom=float(satterthwaite(parts[None, :], freedoms))
        if parts.any() and freedoms.all()
        else float(freedoms.min()),
        runs=(sum(len(groups[machines[0]]) for groups in cells), sum(len(groups[machines[1]]) for groups in cells)),
    )


class ReplayOrder(StrEnum):
    """The order in which a line of revisions is measured."""

    INTERLEAVED = "interleaved"
    NEWEST = "newest"
    REFINING = "refining"


class KnownLevels(NamedTuple):
    """The measurements of a series: logarithms of its ``levels`` by place, and the ``noise`` of a difference."""

    levels: Mapping[int, float]
    noise: float

    def change(self, first: int, last: int) -> float:
        """The size of the change of level between two places; 0 within the noise."""
        change = abs(self.levels[last] - self.levels[first])
        return change if change > self.noise else 0.0


def refined(number: int, series: Sequence[KnownLevels]) -> int | None:
    """The next of ``number`` places, from 0: the ends, then the middle of the interval with the largest change.

    The change is that of any series; all ``series`` have the same places, those that were measured. If all changes are
    within the noise, the widest interval is taken, so that a change that is undone later is found, too. None if all
    places are measured.
    """
    known = sorted(series[0].levels)
    for end in (number - 1, 0):
        if end not in known:
            return end
    gaps = [(first, last) for first, last in pairwise(known) if last - first > 1]
    if not gaps:
        return None

    def urgency(gap: tuple[int, int]) -> tuple[float, int]:
        return max(one.change(*gap) for one in series), gap[1] - gap[0]

    first, last = max(gaps, key=urgency)
    return (first + last) // 2


def typical_noise(deviations: Sequence[float]) -> float:
    """The difference of two levels without a change: three times the median error of a difference."""
    return 3.0 * float(np.median(deviations)) * 2.0**0.5 if len(deviations) else 0.0


STAGE = "replay"


def replay_id(
    cells: Sequence[Cell], revisions: Sequence[Revision], repetitions: int, order: ReplayOrder, seed: int, machine: str
) -> StudyId:
    """The identity of a replay, with all that determines its tasks."""
    parameters: dict[str, object] = {
        "cells": [
            [cell.benchmark.name, cell.benchmark.definition, dict(cell.configuration), dict(cell.stratum), cell.weight]
            for cell in cells
        ],
        "revisions": [revision.id for revision in revisions],
        "repetitions": repetitions,
        "order": order.value,
    }
    return StudyId.of("replay", parameters, seed, machine)


@dataclasses.dataclass(frozen=True)
class Replay:
    """Measures ``revisions``, oldest first, each cell ``repetitions`` times.

    Interleaved, all revisions are in random order within a repetition, so that a machine's drift is not a trend; newest
    first, and refining, whole revisions follow each other. ``statistic`` is that of a run; if it is automatic,
    ``choices`` holds the chosen ones. ``coverage`` describes the part of the space that each benchmark's cells
    represent.

    Raises:
        InputError: for too few revisions, or nothing to measure.
    """

    id: StudyId
    revisions: tuple[Revision, ...]
    cells: tuple[Cell, ...]
    repetitions: int
    order: ReplayOrder
    statistic: Statistic | Automatic = MEAN
    choices: StatisticChoices = dataclasses.field(default_factory=StatisticChoices, compare=False)
    coverage: tuple[Coverage, ...] = dataclasses.field(default=(), compare=False)

    def __post_init__(self) -> None:
        fewest = FEWEST_POSITIONS if self.repetitions > 1 else FEWEST_VALUES
        if len(self.revisions) < fewest:
            runs = (
                "of several runs each" if self.repetitions > 1 else f"of a single run each; {FEWEST_POSITIONS} of two"
            )
            raise InputError(
                f"a change can be found among {fewest} revisions or more {runs}, not {len(self.revisions)}",
                fix="name an earlier one, a smaller --every, or more --runs",
            )
        if self.repetitions < 1 or not self.cells:
            raise InputError("a replay needs a configuration and a run of it")

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left, in order; for a refining replay, those of the next revision."""
        tasks = tasks_without_run(self._wanted(evidence), evidence)
        total = len(self.revisions) * len(self.cells) * self.repetitions - len(evidence.runs)
        return Plan.of(tasks, total if tasks else 0)

    def conclude(self, evidence: Evidence) -> Replayed:
        """The series from the runs so far.

        Raises:
            MeasurementError: if too few revisions could be measured.
        """
        measured = self._measured(evidence)
        found = {group: series for group in groups(self.cells) if (series := measured.series(group)) is not None}
        if not found:
            metric = self.cells[0].benchmark.metrics[0]
            raise nothing_measured(failure_reasons(evidence.runs, metric))
        whole = [group for group in found if group.stratum is None]
        return Replayed(
            study=self.id.key,
            series=tuple(found.values()),
            spreads={(group.benchmark.name, group.metric.name): measured.spreads(group) for group in whole},
            metrics={(group.benchmark.name, group.metric.name): group.metric for group in whole},
            skipped=tuple(self._skipped(evidence)),
            left=len(self.plan(evidence)),
            runs=len(evidence.runs),
            failed=len(evidence.failed),
            seconds=evidence.seconds,
            coverage=self.coverage,
            names={each.short: str(each) for each in self.revisions if str(each) != each.short},
            titles={each.short: each.title for each in self.revisions if each.title},
        )

    def tasks_of(self, place: int) -> list[Task]:
        """All tasks of one revision, in random order."""
        made = [self._task(place, cell, number) for number in range(self.repetitions) for cell in self.cells]
        rng = self.id.order(self.revisions[place].id)
        return [made[row] for row in rng.permutation(len(made)).tolist()]

    def _measured(self, evidence: Evidence) -> MeasuredRevisions:
        """The measured revisions; interleaved, the noise of a revision is independent of the next one's."""
        known = self.order is ReplayOrder.INTERLEAVED
        dependence = Dependence.INDEPENDENT if known else Dependence.ESTIMATED
        return MeasuredRevisions(evidence, self.revisions, self.cells, self.statistic, dependence, self.choices)

    def _wanted(self, evidence: Evidence) -> Iterator[Task]:
        given_up = self._given_up(evidence)
        if self.order is ReplayOrder.INTERLEAVED:
            yield from self._interleaved(evidence, given_up)
        elif self.order is ReplayOrder.NEWEST:
            for place in range(len(self.revisions) - 1, -1, -1):
                if place not in given_up:
                    yield from self.tasks_of(place)
        else:
            yield from self._refining(evidence, given_up)

    def _interleaved(self, evidence: Evidence, given_up: frozenset[int]) -> Sequence[Task]:
        """The rest of the first incomplete repetition, after which failing revisions are known."""
        pairs = [(place, cell) for place in range(len(self.revisions)) for cell in self.cells]
        for number in range(self.repetitions):
            rng = self.id.order(str(number))
            ordered = (pairs[row] for row in rng.permutation(len(pairs)).tolist())
            tasks = [self._task(place, cell, number) for place, cell in ordered if place not in given_up]
            if left := tasks_without_run(tasks, evidence):
                return left
        return ()

    def _refining(self, evidence: Evidence, given_up: frozenset[int]) -> Sequence[Task]:
        """The rest of revisions that were begun, else the next one."""
        begun = {run.task.revision for run in evidence.runs}
        places = [place for place, revision in enumerate(self.revisions) if revision.id in begun]
        begun_tasks = (task for place in places if place not in given_up for task in self.tasks_of(place))
        if left := tasks_without_run(begun_tasks, evidence):
            return left
        measured = self._measured(evidence)
        following = refined(len(self.revisions), [_known(measured, group, places) for group in groups(self.cells)])
        return [] if following is None else self.tasks_of(following)

    def _given_up(self, evidence: Evidence) -> frozenset[int]:
        """The places of revisions that cannot be built, or with three failed runs and none that worked."""
        bad = given_up(evidence.runs, lambda run: run.task.revision)
        return frozenset(place for place, revision in enumerate(self.revisions) if revision.id in bad)

    def _skipped(self, evidence: Evidence) -> Iterator[Skipped]:
        """Yield revisions that do not work at all, and cells that do not work at a revision."""
        given_up = self._given_up(evidence)
        for place, revision in enumerate(self.revisions):
            runs = [run for run in evidence.runs if run.task.revision == revision.id]
            if place in given_up:
                yield Skipped(revision, runs[0].detail)
                continue
            for cell in self.cells:
                own = [run for run in runs if (run.task.benchmark, run.task.configuration.key) == cell.key]
                if own and all(run.outcome is not Outcome.DONE for run in own):
                    yield Skipped(revision, own[0].detail, cell.benchmark.name, cell.configuration)

    def _task(self, place: int, cell: Cell, number: int) -> Task:
        return cell.benchmark.task(self.id, STAGE, cell.configuration, self.revisions[place].id, number)


def _known(measured: MeasuredRevisions, group: Group, places: Sequence[int]) -> KnownLevels:
    """The levels of a group at all places that were begun.

    A place that does not work gets the level of the nearest place, so that no change is sought next to it.
    """
    values, noises = measured.levels(group)
    levels = {place: values[min(values, key=lambda known: abs(known - place))] if values else 0.0 for place in places}
    return KnownLevels(levels, typical_noise(noises))
