"""The study: rounds of pairs until every group is decided or the budget is spent, and the conclusion from them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from hati.core import (
    Budget,
    Configuration,
    Evidence,
    InputError,
    MeasurementError,
    Plan,
    Revision,
    Run,
    StudyId,
    Task,
    batches,
    replace,
    usage,
)
from hati.core.wording import counted
from hati.document.document import percent
from hati.harness import disturbances
from hati.knowledge import Coverage
from hati.stats import least_ratio
from hati.studies.comparison import Change, ChangeVerdict, Comparison, Question, Side, StatisticChoices, ratio_of
from hati.studies.gate.attribution import Attribution, AttributionSearch
from hati.studies.gate.conclusion import Broken, GateConclusion, StratumChange, WarmUpCut
from hati.studies.gate.rounds import (
    Cell,
    GateJudgement,
    GateRule,
    Group,
    Stage,
    groups,
    pairs_of,
    split_pairs,
    unmeasurable,
)
from hati.studies.paired.judging import AnyJudged
from hati.studies.schedule import nothing_paired, paired_round, rounds_begun, tasks_without_run

POWER = 0.8


def conclude(found: GateJudgement, study: str, reference: Revision, revision: Revision) -> GateConclusion:
    """The report on two revisions.

    Raises:
        MeasurementError: if no configuration could be measured at both, and none at the reference alone.
    """
    evidence = found.evidence
    broken = tuple(_broken(found, reference, revision))
    changes = [(group, row) for group in found.groups if (row := _row(found, group, reference, revision)) is not None]
    if not changes and not any(each.alone and each.revision == revision for each in broken):
        raise _nothing_to_compare(broken, reference, evidence)
    suspected = [(group, row) for group, row in changes if group in found.suspected]
    attributed = list(_attributions(found, [group for group, row in changes if row.change.changed]))
    return GateConclusion(
        study=study,
        reference=reference,
        revision=revision,
        question=found.question,
        rows=tuple(row for group, row in changes if group.stratum is None),
        strata=tuple(StratumChange(group.stratum, row) for group, row in changes if group.stratum is not None),
        affected_options=tuple(option for each in attributed for option in each.options),
        rival_causes=tuple(rivals for each in attributed for rivals in each.rivals),
        broken=broken,
        explored=_whole_rounds(found, Stage.EXPLORING),
        confirmed=_whole_rounds(found, Stage.CONFIRMING),
        unconfirmed=tuple(_name(group) for group, row in suspected if row.change.verdict is ChangeVerdict.SAME),
        suspected=tuple(_name(group) for group, row in suspected if row.change.verdict is ChangeVerdict.INCONCLUSIVE),
        done=len(evidence.done),
        failed=len(evidence.failed),
        seconds=evidence.seconds,
        warnings=tuple(_of_two_machines(split_pairs(evidence, found.cells))),
        stages=2 if found.rule is GateRule.TWO_STAGES else 1,
    )


def _of_two_machines(split: int) -> Iterator[str]:
    if split:
        are, do = ("is", "does") if split == 1 else ("are", "do")
        yield (
            f"{counted(split, 'pair')} of runs {are} of two machines, or of two states of one, and {do} not count: "
            "what these differ by cannot be distinguished from a change of the program"
        )


def _nothing_to_compare(broken: Sequence[Broken], reference: Revision, evidence: Evidence) -> MeasurementError:
    alone = [each for each in broken if each.alone and each.revision == reference]
    if alone:
        return MeasurementError(
            f"the reference {reference} could not be measured, so that nothing can be compared: {alone[0].why}",
            fix="name one that works by --reference",
        )
    return nothing_paired(tuple(dict.fromkeys(f"{each.revision}: {each.why}" for each in broken)), evidence)


def _row(found: GateJudgement, group: Group, reference: Revision, revision: Revision) -> Comparison | None:
    """The comparison of a group; None if no round has both runs."""
    judged = found.whole(group)
    if judged is None:
        return None
    differences = found.differences(group, Stage.EXPLORING)
    scale = 1.0 if differences.raw else None
    low, high = (ratio_of(end, scale) for end in judged.interval)
    low = max(low, least_ratio(differences.before, differences.after))
    detectable = judged.detectable(POWER)
    p_value, q_value = _p_values(found, group)
    change = Change(
        verdict=found.verdict(group),
        ratio=ratio_of(judged.estimate, scale),
        interval=(low, high) if math.isfinite(high) else None,
        p_value=p_value,
        q_value=q_value,
        detectable=None if detectable is None else ratio_of(detectable, scale) - 1.0,
        runs_needed=found.rounds_needed(group),
        of_tail=judged.of_tail,
    )
    before, after = (_side(found, group, judged, side, which) for side, which in enumerate((reference, revision)))
    stratum = Configuration(group.stratum or {})
    return Comparison(
        group.benchmark.name,
        stratum,
        group.benchmark.workload,
        group.metric,
        change,
        before,
        after,
        choice=found.choice(group),
    )


def _p_values(found: GateJudgement, group: Group) -> tuple[float | None, float | None]:
    """The p-values of no change, alone and corrected for all groups: of exploring, or of both stages if suspected.

    None for a suspicion without fresh rounds: exploring alone does not decide it.
    """
    [first] = [asked for asked in found.explored if asked.group == group]
    p_value = first.judged.p_value if first.judged else None
    if group not in found.suspected or p_value is None:
        return p_value, first.q_value
    [again] = [asked for asked in found.confirming if asked.group == group]
    fresh = again.judged.p_value if again.judged else None
    if fresh is None or first.q_value is None or again.q_value is None:
        return None, None
    # Both are tested at the square root of alpha: the larger of the two, squared, is the alpha at which both reject.
    return max(p_value, fresh) ** 2, max(first.q_value, again.q_value) ** 2


def _side(found: GateJudgement, group: Group, judged: AnyJudged, side: int, revision: Revision) -> Side:
    runs = list(_runs(found, group, side))
    means = [
        found.differences(group, stage).means(group, found.cells)[side]
        for stage in found.stages(group)
        if _has(found, group, stage)
    ]
    disturbed = sum(map(bool, disturbances([usage(run) for run in runs])))
    machine = runs[0].machine if runs else ""
    seconds = sum(run.seconds for run in runs)
    return Side(float(np.mean(means)), None, judged.pairs, revision.id, machine, disturbed, seconds=seconds)


def _has(found: GateJudgement, group: Group, stage: Stage) -> bool:
    return bool(len(found.series(group, stage)))


def _runs(found: GateJudgement, group: Group, side: int) -> Iterator[Run]:
    for stage in Stage:
        for (_, position), pair in pairs_of(found.evidence, found.cells, stage).items():
            run = pair[side]
            if position in group.cells and run is not None:
                yield run


def _attributions(found: GateJudgement, changes: list[Group]) -> Iterator[Attribution]:
    """What the change of each benchmark and metric depends on, by rounds that measured all of its cells."""
    for benchmark, metric in dict.fromkeys((group.benchmark.name, group.metric.name) for group in changes):
        group = next(
            g for g in found.groups if (g.benchmark.name, g.metric.name, g.stratum) == (benchmark, metric, None)
        )
        known = found.differences(group, Stage.EXPLORING)
        if known.raw:
            continue
        own = known.values[:, list(group.cells)]
        there = np.asarray(~np.isnan(own).all(axis=0), dtype=np.bool_)
        whole = own[:, there]
        whole = whole[~np.isnan(whole).any(axis=1)]
        cells = [found.cells[place] for place, is_there in zip(group.cells, there, strict=True) if is_there]
        crossed = frozenset(name for cell in cells for name in cell.stratum)
        search = AttributionSearch(benchmark, metric, found.question.alpha, found.limit(group), crossed)
        yield search.attribution([cell.configuration for cell in cells], whole)


def _broken(found: GateJudgement, reference: Revision, revision: Revision) -> Iterator[Broken]:
    given_up = unmeasurable(found.evidence, found.cells)
    for position in sorted(given_up):
        cell = found.cells[position]
        for side, which in enumerate((reference, revision)):
            runs = _made(found, cell, which)
            if runs and not any(run.observations for run in runs):
                other = (revision, reference)[side]
                works = any(run.observations for run in _made(found, cell, other))
                yield Broken(cell.benchmark.name, cell.configuration, which, runs[0].detail, works)


def _made(found: GateJudgement, cell: Cell, revision: Revision) -> list[Run]:
    return [run for run in found.evidence.runs if cell.has(run.task) and run.task.revision == revision.id]


def _whole_rounds(found: GateJudgement, stage: Stage) -> int:
    """The number of rounds in which all configurations of a benchmark were measured."""
    return max((len(found.series(group, stage)) for group in found.groups if group.stratum is None), default=0)


def _name(group: Group) -> str:
    stratum = f" where {group.stratum}" if group.stratum else ""
    return f"{group.metric.name} of {group.benchmark.name}{stratum}"


BATCH = 16
"""The number of rounds that is assumed if the budget is a time."""
_SIDES = 2


def gate_id(
    cells: Sequence[Cell],
    reference: Revision,
    revision: Revision,
    question: Question,
    seed: int,
    machine: str,
    rule: GateRule = GateRule.SIGNS,
) -> StudyId:
    """The identity of a regression check, with all that determines its tasks; a larger budget continues it.

    With an automatic statistic it is that of the mean, so that campaigns from before automatic choices continue. That
    of two stages names no rule.
    """
    parameters: dict[str, object] = {
        "cells": [
            [cell.benchmark.name, cell.benchmark.definition, dict(cell.configuration), dict(cell.stratum), cell.weight]
            for cell in cells
        ],
        "revisions": [reference.id, revision.id],
        "question": [question.alpha, question.margin, str(question.fixed)],
        **({} if rule is GateRule.TWO_STAGES else {"rule": rule.value}),
    }
    return StudyId.of("gate", parameters, seed, machine)


def runs_to_decide(question: Question, questions: int) -> int:
    """The fewest runs of a configuration that find a change among ``questions`` groups."""
    return _SIDES * GateRule.SIGNS.test.fewest(question.alpha / questions)


@dataclass(frozen=True)
class Gate:
    """Measures both revisions at every cell, in rounds, until every group is decided or the budget is spent.

    In a round the cells are in random order, and the two runs of each follow each other, in random order too. With two
    stages, exploring ends when every group looks changed or is decided, or when the rest of the budget is needed to
    confirm what looks changed. ``rule`` has to be that of the identity. ``coverage``
    describes what the cells of each benchmark represent, ``choices`` holds the statistics of runs if the question
    leaves them open, ``warm_ups`` the observations of a run that do not count.

    Raises:
        InputError: for cells that are alike, one revision twice, or a budget in runs with fewer rounds than can decide.
    """

    id: StudyId
    reference: Revision
    revision: Revision
    cells: tuple[Cell, ...]
    question: Question
    budget: Budget
    coverage: tuple[Coverage, ...] = field(default=(), compare=False)
    choices: StatisticChoices = field(default_factory=StatisticChoices)
    warm_ups: tuple[WarmUpCut, ...] = ()
    rule: GateRule = GateRule.SIGNS

    def __post_init__(self) -> None:
        if len({cell.key for cell in self.cells}) != len(self.cells) or not self.cells:
            raise InputError("a gate needs configurations, each once")
        if self.reference.id == self.revision.id:
            raise InputError(f"{self.revision} is the reference itself", fix="name another by --reference")
        each = len(self.cells) * _SIDES
        if self.budget.runs < self._fewest * each:
            fewer = ", or measure fewer configurations" if len(self.cells) > 1 else ""
            raise InputError(
                f"{self.budget.runs:g} runs are {counted(int(self.budget.runs // each), 'round')} of "
                f"{counted(len(self.cells), 'configuration')} at two revisions, and {self._fewest} are the fewest that "
                f"can decide at {percent(self.question.alpha)}",
                fix=f"give --budget {self._fewest * each + self._reserve(len(self.cells))} or more{fewer}",
            )

    @cached_property
    def groups(self) -> tuple[Group, ...]:
        """The groups that are compared."""
        return groups(self.cells)

    def judgement(self, evidence: Evidence) -> GateJudgement:
        """The judgement of the evidence."""
        return self.rule.judgement(self.cells, self.groups, self.question, evidence, self.choices, self.warm_ups)

    def plan(self, evidence: Evidence) -> Plan:
        """The tasks of the next round, or those left of one that was begun; none if all groups are decided."""
        found = self.judgement(evidence)
        given_up = unmeasurable(evidence, self.cells)
        alive = [position for position in range(len(self.cells)) if position not in given_up]
        tasks = list(self._unfinished(found, evidence, alive)) or self._next(found, evidence, alive)
        pairs = batches(tasks, lambda task: (task.benchmark, task.configuration))
        return Plan(pairs).within(self.budget.left(evidence))

    def conclude(self, evidence: Evidence) -> GateConclusion:
        """Conclude from the evidence, at any time.

        Raises:
            MeasurementError: if no cell has a pair.
        """
        found = conclude(self.judgement(evidence), self.id.key, self.reference, self.revision)
        return replace(found, coverage=self.coverage, warm_ups=self.warm_ups)

    def dry_run_tasks(self) -> tuple[Task, ...]:
        """The tasks of all possible rounds of exploring; with a budget in time, of the first rounds."""
        rounds = self.budget.runs // (_SIDES * len(self.cells)) if math.isfinite(self.budget.runs) else BATCH
        everything = range(len(self.cells))
        return tuple(task for number in range(int(rounds)) for task in self._round(Stage.EXPLORING, number, everything))

    @property
    def _fewest(self) -> int:
        """The fewest rounds after which a stage can decide."""
        return self.rule.test.fewest(self.rule.level(self.question.alpha))

    def _reserve(self, cells: int) -> int:
        """The fewest runs that confirm a change of ``cells`` cells."""
        return 0 if self.rule is GateRule.SIGNS else self._fewest * cells * _SIDES

    def _next(self, found: GateJudgement, evidence: Evidence, alive: Sequence[int]) -> list[Task]:
        groups = [group for group in self.groups if not set(alive).isdisjoint(group.cells)]
        explored, confirmed = (_rounds(evidence, stage) for stage in Stage)
        undecided = [group for group in groups if found.watched(group)]
        if not confirmed and alive and undecided and self._affords_exploring(found, evidence, alive):
            return list(self._round(Stage.EXPLORING, explored, alive))
        if all(map(found.settled, found.suspected)):
            return []
        return list(self._round(Stage.CONFIRMING, confirmed, self._suspected_cells(found, alive)))

    def _affords_exploring(self, found: GateJudgement, evidence: Evidence, alive: Sequence[int]) -> bool:
        """Whether enough runs are left to confirm after another round: confirming takes as many as suspecting did.

        If nothing looks changed yet, no runs are kept.
        """
        suspected = self._suspected_cells(found, alive)
        rounds = _rounds(evidence, Stage.EXPLORING) + 1
        runs = _SIDES * (len(alive) + max(self._fewest, rounds) * len(suspected))
        left = self.budget.left(evidence)
        return runs <= left.runs and (not suspected or runs * evidence.seconds_per_run <= left.seconds)

    def _unfinished(self, found: GateJudgement, evidence: Evidence, alive: Sequence[int]) -> Iterator[Task]:
        """The rest of the last round of each stage: a campaign may have been killed in it."""
        wanted = {Stage.EXPLORING: alive, Stage.CONFIRMING: self._suspected_cells(found, alive)}
        for stage, positions in wanted.items():
            begun = _rounds(evidence, stage)
            if begun:
                yield from tasks_without_run(self._round(stage, begun - 1, positions), evidence)

    @staticmethod
    def _suspected_cells(found: GateJudgement, alive: Sequence[int]) -> list[int]:
        """The cells of all groups that look changed, which exploring alone determines."""
        return sorted({place for group in found.suspected for place in group.cells}.intersection(alive))

    def _round(self, stage: Stage, number: int, positions: Sequence[int]) -> Iterator[Task]:
        rng = self.id.order(stage.value, str(number))
        for place, side in paired_round(len(self.cells), rng):
            if place in positions:
                yield self._task(stage, number, self.cells[place], side)

    def _task(self, stage: Stage, number: int, cell: Cell, side: int) -> Task:
        return cell.benchmark.task(
            self.id, stage.side(side), cell.configuration, (self.reference, self.revision)[side].id, number
        )


def _rounds(evidence: Evidence, stage: Stage) -> int:
    """The number of rounds of a stage that were begun."""
    sides = {stage.side(0), stage.side(1)}
    return rounds_begun(run for run in evidence.runs if run.task.stage in sides)
