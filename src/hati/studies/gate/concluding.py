"""From a judgement to what a gate says."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from hati.core import Configuration, MeasurementError, Revision, Run, usage
from hati.harness import disturbances
from hati.studies.comparison import Change, ChangeVerdict, Comparison, Side, ratio_of
from hati.studies.failures import nothing_measured
from hati.studies.gate.affected_options import AffectedOption, affected_options
from hati.studies.gate.conclusion import Broken, GateConclusion, StratumChange
from hati.studies.gate.judging import GateJudgement
from hati.studies.gate.rounds import Cell, Group, Stage, hopeless, pairs_of
from hati.studies.paired.judging import AnyJudged, JudgedWithMean

POWER = 0.8


def conclude(found: GateJudgement, study: str, reference: Revision, revision: Revision) -> GateConclusion:
    """The report on two revisions.

    Raises:
        MeasurementError: where no configuration could be measured at both, and none at the reference alone.
    """
    evidence = found.evidence
    broken = tuple(_broken(found, reference, revision))
    changes = [(group, row) for group in found.groups if (row := _row(found, group, reference, revision)) is not None]
    if not changes and not any(each.alone and each.revision == revision for each in broken):
        raise _nothing_to_compare(broken, reference)
    suspected = [(group, row) for group, row in changes if group in found.suspected]
    return GateConclusion(
        study=study,
        reference=reference,
        revision=revision,
        question=found.question,
        rows=tuple(row for group, row in changes if group.stratum is None),
        strata=tuple(StratumChange(group.stratum, row) for group, row in changes if group.stratum is not None),
        affected_options=tuple(_affected_options(found, [group for group, row in changes if row.change.changed])),
        broken=broken,
        explored=_rounds(found, Stage.EXPLORING),
        confirmed=_rounds(found, Stage.CONFIRMING),
        unconfirmed=tuple(_name(group) for group, row in suspected if row.change.verdict is ChangeVerdict.SAME),
        suspected=tuple(_name(group) for group, row in suspected if row.change.verdict is ChangeVerdict.INCONCLUSIVE),
        done=len(evidence.done),
        failed=len(evidence.failed),
        seconds=evidence.seconds,
        warnings=(),
    )


def _nothing_to_compare(broken: Sequence[Broken], reference: Revision) -> MeasurementError:
    alone = [each for each in broken if each.alone and each.revision == reference]
    if alone:
        return MeasurementError(
            f"the reference {reference} could not be measured, so that nothing can be compared: {alone[0].why}",
            fix="name one that works by --reference",
        )
    return nothing_measured(tuple(dict.fromkeys(f"{each.revision}: {each.why}" for each in broken)))


def _row(found: GateJudgement, group: Group, reference: Revision, revision: Revision) -> Comparison | None:
    """None where no round has both runs."""
    judged = found.whole(group)
    if judged is None:
        return None
    raw = found.differences(group, Stage.EXPLORING).raw
    scale = 1.0 if raw else None
    low, high = (ratio_of(judged.estimate + sign * judged.half_width, scale) for sign in (-1.0, 1.0))
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
        of_tail=isinstance(judged, JudgedWithMean) and judged.of_tail,
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
    """The p-values of no change, alone and corrected for all groups: of exploring, or of both stages where suspected.

    None of a suspicion without fresh rounds: exploring alone decides nothing.
    """
    [first] = [asked for asked in found.explored if asked.group == group]
    p_value = first.judged.p_value if first.judged else None
    if group not in found.suspected or p_value is None:
        return p_value, first.q_value
    [again] = [asked for asked in found.confirming if asked.group == group]
    fresh = again.judged.p_value if again.judged else None
    if fresh is None or first.q_value is None or again.q_value is None:
        return None, None
    # Both are tested at the square root of alpha: the larger of the two, squared, is the level at which they would be.
    return max(p_value, fresh) ** 2, max(first.q_value, again.q_value) ** 2


def _side(found: GateJudgement, group: Group, judged: AnyJudged, side: int, revision: Revision) -> Side:
    runs = list(_runs(found, group, side))
    means = [
        found.differences(group, stage).means(group, found.cells)[side] for stage in Stage if _has(found, group, stage)
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


def _affected_options(found: GateJudgement, changes: list[Group]) -> Iterator[AffectedOption]:
    """For each benchmark and metric that changed anywhere, from the rounds in which all of its cells were measured."""
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
        configurations = [cell.configuration for cell in cells]
        crossed = {name for cell in cells for name in cell.stratum}
        alpha, limit = found.question.alpha, found.limit(group)
        yield from affected_options(benchmark, metric, configurations, whole, alpha, limit, crossed)


def _broken(found: GateJudgement, reference: Revision, revision: Revision) -> Iterator[Broken]:
    given_up = hopeless(found.evidence, found.cells)
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


def _rounds(found: GateJudgement, stage: Stage) -> int:
    """Those of which all configurations of a benchmark were measured."""
    return max((len(found.series(group, stage)) for group in found.groups if group.stratum is None), default=0)


def _name(group: Group) -> str:
    stratum = f" where {group.stratum}" if group.stratum else ""
    return f"{group.metric.name} of {group.benchmark.name}{stratum}"
