"""Screening of any space: options with several settings, constraints, options active under a condition."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property

import numpy as np

from hati.core import Configuration, Evidence, Outcome, Plan, Run, Task, generator, replace
from hati.design import balanced_blocks, levels
from hati.stats.threads import on_one_thread
from hati.studies.screening.conclusion import FollowUpSummary, ScreeningConclusion
from hati.studies.screening.designed import DesignedScreening
from hati.studies.screening.dominance import (
    InterimLook,
    PlannedDesigns,
    Rest,
    dominating_effect,
    runs_until,
    with_dominating,
)
from hati.studies.screening.follow_up import FollowUp, with_flips
from hati.studies.screening.model import ModelAnalysis
from hati.studies.screening.model_conclusion import JudgedDesign, ModelFindings, ModelJudgement, follow_up_warnings
from hati.studies.screening.planning.models import ModelChoice, parameters_of
from hati.studies.screening.planning.tasks import STAGE, effect_columns, own_tasks, tasks_left, with_usable
from hati.studies.screening.reruns import RERUN_STAGE, design_reruns, is_flip
from hati.studies.screening.runs import MeasuredDesign
from hati.studies.screening.screening_model import ScreeningModel
from hati.studies.screening.warnings import partial_warnings

_MOST_COLUMNS = 10_000
_PAIR_WEIGHT = 0.01
"""The weight of a two-factor interaction in the choice of blocks; a main effect has weight 1."""


class ModelScreening(DesignedScreening[ModelChoice], frozen=True, dict=True):
    """Measures an optimal design's configurations and concludes which options matter, on any space.

    ``designs`` are those that an interim look planned before, by their keys.
    """

    designs: PlannedDesigns = ()

    @on_one_thread
    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left: those of the design, then those that may refute what it shows.

        After the interim look they are those at the better setting of an option that dominates, if there is one, and as
        many as the time that is left buys.
        """
        own = self._decided_by(evidence) or self.as_run(evidence)
        if own is not self:
            return own.plan(evidence)
        left = tasks_left(self._first, evidence)
        if left or not evidence.stage(STAGE).done:
            return left if self.looked(evidence) else self._left_before_look(left)
        if any(is_flip(run.task) for run in evidence.runs):
            return self._flips_left(evidence)
        again = self.reruns.plan(evidence, self.metric, self._suspects, self._spare(evidence))
        return again or tasks_left(self._last(evidence), evidence) or self._flips_left(evidence)

    def _left_before_look(self, left: Plan) -> Plan:
        wanted = tuple(task for task in left.tasks if task.id in self._early)
        return Plan.of(wanted, left.expected_total) if self._early else left

    def looked(self, evidence: Evidence) -> bool:
        """Whether the runs before the interim look are complete."""
        return self._looked(evidence) is not None

    @cached_property
    def _before_look(self) -> tuple[frozenset[str], ...]:
        """The ids of the tasks before the look; for several machines those of each."""
        look, machines = self.choice.look, max(1, self.choice.machines)
        shares = [own_tasks(self, self.tasks, member, machines) for member in range(machines)] if look else []
        return tuple(frozenset(task.id for task in own[:look]) for own in shares if len(own) >= look)

    @cached_property
    def _early(self) -> frozenset[str]:
        """The ids of the tasks before the look, of all machines: these may be run after it, at any setting."""
        return frozenset().union(*self._before_look)

    def _row_blocks(self, blocks: int) -> dict[Configuration, int]:
        columns = effect_columns(self.configurations, self.space, _MOST_COLUMNS)
        weights = np.repeat([1.0, _PAIR_WEIGHT], [each.shape[1] for each in columns])
        found = balanced_blocks(np.hstack(columns), weights.tolist(), blocks, generator(self.id.seed, "blocks"))
        return dict(zip(self.configurations, found.tolist(), strict=True))

    @on_one_thread
    def conclude(self, evidence: Evidence) -> ScreeningConclusion:
        """The conclusion from the runs so far, complete or not.

        Raises:
            MeasurementError: if no run yielded a value, with the reason of the failures.
        """
        own = self.as_run(evidence)
        found = own._concluded(evidence)
        aside = max(self.choice.follow_up, own.choice.follow_up)
        choice = replace(own.choice, follow_up=aside)
        more = follow_up_warnings(found, choice, parameters_of(self.space), self.remedies)
        return self._with_dominating(replace(found, warnings=(*found.warnings, *more)), evidence)

    def _concluded(self, evidence: Evidence) -> ScreeningConclusion:
        """The conclusion of the runs that belong to this study, with all warnings but those of the follow-up."""
        judged = self.judged(evidence)
        given_up = len(self.tasks) - len(self.due(evidence))
        findings = ModelFindings(self, self._model).of(judged.found, judged.analysis, given_up)
        rows = self.concluded(judged.found, judged.analysis, findings, evidence.seconds)
        conclusion = self.with_suspects(
            with_flips(rows, judged.flips),
            evidence,
            self._judgement.unsettled(evidence, judged),
            lambda left: self._judgement.important_without(left, evidence, judged),
        )
        analysis, warnings = judged.analysis, (*partial_warnings(self.choice), *conclusion.warnings)
        followed = replace(conclusion, follow_up=self._followed(evidence), warnings=warnings)
        terms = tuple(analysis.judged.places)
        return self.with_shown(followed, evidence, self._model.valid, analysis.units, analysis.readable, terms)

    def important(self, judged: JudgedDesign) -> tuple[str, ...]:
        """The options whose main effect is important and not refuted, the largest first."""
        return self._judgement.important(judged)

    @on_one_thread
    def judged(self, evidence: Evidence) -> JudgedDesign:
        """The analysis of all rows, those of flips included, and the flips' evidence on the design's rows.

        Raises:
            MeasurementError: where not one run of the design yielded a value.
        """
        return self._judgement.judged(evidence)

    def measured(self, evidence: Evidence) -> MeasuredDesign:
        """The runs of the design and its follow-up that yielded a value; median runs replace those repeated.

        Raises:
            MeasurementError: where there is none of the design.
        """
        return self._with_later(evidence)._rows.measured_with_flips(evidence)

    def narrowed(self, evidence: Evidence) -> ModelScreening | None:
        """The screening of the other options at the better setting of one that dominates at the interim look.

        None if no option dominates, or if later runs of the design have other settings: they were planned for another
        metric.
        """
        rest = self.rest(evidence)
        return None if rest is None or rest.dominance is None else self._of_rest(rest, evidence)

    def rest(self, evidence: Evidence) -> Rest | None:
        """The rest, if the interim look planned it again; None if later runs do not fit it."""
        looked = self._looked(evidence)
        if looked is None:
            return None
        rest = self._look.rest(looked[0])
        later = tuple(run for run in looked[1] if run.task.id not in self._early)
        return rest if rest is not None and rest.holds(later) else None

    def planned_designs(self, evidence: Evidence) -> PlannedDesigns:
        """All ``designs`` with that which the interim look planned for these runs."""
        looked = self._looked(evidence)
        rest = None if looked is None else self._look.rest(looked[0])
        return self.designs if rest is None else tuple({**dict(self.designs), rest.key: rest.choice}.items())

    def _decided_by(self, evidence: Evidence) -> ModelScreening | None:
        """The study of another metric, if the runs after the interim look were planned for it.

        A campaign serves all metrics of its benchmark, and what its look decided stays. None if the runs fit this
        metric.
        """
        looked = self._looked(evidence)
        if looked is None or self.rest(evidence) is not None:
            return None
        known = {task.id for task in self.tasks}
        if all(run.task.id in known for run in looked[1]):
            return None
        others = (replace(self, metric=each) for each in self.benchmark.metrics if each.name != self.metric.name)
        return next((other for other in others if other.rest(evidence) is not None), None)

    def _of_rest(self, rest: Rest, evidence: Evidence) -> ModelScreening:
        """The study of the rest, with other configurations that were run since, which take the place of flips."""
        looked, early = self._looked(evidence), self._early
        later = looked[1] if looked else ()
        choice = with_usable(rest.choice, _worked(later, rest.valid), rest.space)
        assert isinstance(choice, ModelChoice)
        flips = max(0, choice.follow_up - sum(run.task.id in early for run in later))
        held_back = min(choice.flips_held_back, flips)
        return replace(self, space=rest.space, choice=replace(choice, follow_up=flips, flips_held_back=held_back))

    def _looked(self, evidence: Evidence) -> tuple[Evidence, tuple[Run, ...]] | None:
        return runs_until(self._before_look, evidence)

    @property
    def _look(self) -> InterimLook:
        return InterimLook(self.benchmark, self.metric, self.space, self.choice, self._rows, self.id.seed, self.designs)

    def as_run(self, evidence: Evidence) -> ModelScreening:
        """The study that the runs so far belong to: as planned at the interim look, or with further rows."""
        rest = self.rest(evidence)
        return self._with_later(evidence) if rest is None else self._of_rest(rest, evidence)

    def _with_later(self, evidence: Evidence) -> ModelScreening:
        """The study with the configurations that were run after the interim look, if there are further ones.

        If another metric decided what follows the look, it has none of the design's other configurations.
        """
        looked = self._looked(evidence)
        if looked is None:
            return self
        other = self._decided_by(evidence)
        planned = self.choice if other is None else self._as_made_for(other, evidence)
        choice = with_usable(planned, _worked(looked[1], self._valid), self.space)
        assert isinstance(choice, ModelChoice)
        return self if choice is self.choice else replace(self, choice=replace(choice, look=0))

    def _as_made_for(self, other: ModelScreening, evidence: Evidence) -> ModelChoice:
        """The configurations of the look and of the rest that was planned for another metric, as one design."""
        rest, early = other.as_run(evidence), self._early & evidence.known
        looked = (task.configuration for task in self.tasks if task.id in early)
        rows = levels(tuple(dict.fromkeys((*rest.configurations, *looked))), self.space).tolist()
        again = min(len(rows), rest.choice.runs - rest.choice.configurations)
        return replace(
            self.choice,
            rows=tuple(map(tuple, rows)),
            repetitions=1,
            replicated=again,
            follow_up=rest.choice.follow_up,
            again=rest.choice.again,
            held_back=rest.choice.held_back,
            flips_held_back=rest.choice.flips_held_back,
            look=0,
        )

    def _with_dominating(self, conclusion: ScreeningConclusion, evidence: Evidence) -> ScreeningConclusion:
        """The conclusion of the narrowed space with the dominating option; else the conclusion as it is."""
        looked, rest = self._looked(evidence), self.rest(evidence)
        if looked is None or rest is None or rest.dominance is None:
            return conclusion
        rows = self._with_later(evidence)._rows.measured(evidence)
        effect = dominating_effect(rest.dominance, self.space, rows, conclusion)
        first = self._rows.measured(looked[0])
        return with_dominating(conclusion, effect, rest.dominance, self.space, first, self.measured(evidence))

    def analysis(self, found: MeasuredDesign) -> ModelAnalysis:
        """The analysis of the runs."""
        return self._model.analysis(found)

    def due(self, evidence: Evidence) -> tuple[Task, ...]:
        """The design's runs, without those replaced by repeats of suspect runs."""
        rest = self.rest(evidence)
        if rest is not None:
            made = self._of_rest(rest, evidence).due(evidence)
            early = self._early & evidence.known
            return tuple(dict.fromkeys((*(task for task in self.tasks if task.id in early), *made)))
        other = self._decided_by(evidence)
        return other.due(evidence) if other is not None else (*self._first, *self._last(evidence))

    def complete(self, evidence: Evidence) -> bool:
        """Whether all runs of the design are made, and all flips yielded a value."""
        own = self.as_run(evidence)
        return not tasks_left(self.due(evidence), evidence) and own._flips_done(evidence) >= own.choice.follow_up

    @cached_property
    def _first(self) -> tuple[Task, ...]:
        """The design's runs that are made in any case."""
        return self.tasks[: len(self.tasks) - self.choice.held_back]

    def _last(self, evidence: Evidence) -> tuple[Task, ...]:
        """The design's other runs, without those replaced by repeats of suspect runs."""
        taken = min(self.choice.held_back, design_reruns(evidence))
        return self.tasks[len(self._first) : len(self.tasks) - taken]

    @cached_property
    def _valid(self) -> Callable[[Configuration], bool]:
        """Whether a configuration is valid in the space, kept since each look asks it of all runs."""
        return cache(self.space.valid)

    @cached_property
    def _model(self) -> ScreeningModel:
        return ScreeningModel(self.space, self.choice.order, self.id.seed, self.alpha, self.relevant)

    @cached_property
    def _judgement(self) -> ModelJudgement:
        return ModelJudgement(self._rows, self._model)

    def _suspects(self, evidence: Evidence) -> tuple[Run, ...]:
        """The suspect runs, judged only by the runs that are made in any case, whatever other runs exist."""
        first = {task.id for task in self._first}
        known = tuple(run for run in evidence.runs if run.task.id in first or run.task.stage == RERUN_STAGE)
        return self._judgement.suspect_runs(Evidence(known))

    def _suspect_flips(self, evidence: Evidence) -> tuple[Run, ...]:
        """The suspect runs among the first flips, judged by these and the design's rows."""
        first = self._follow_up(evidence).looked_at(evidence, self._judgement.claims)
        known = tuple(run for run in evidence.runs if run.task.id in first or not is_flip(run.task))
        return self._judgement.suspect_flips(Evidence(known))

    def _follow_up(self, evidence: Evidence) -> FollowUp:
        runs = max(0, self.choice.follow_up - design_reruns(evidence))
        held_back = min(runs, self.choice.flips_held_back)
        return FollowUp(self.id, self.benchmark, self.metric, self.revision, self.space, runs, held_back)

    def _flips_left(self, evidence: Evidence) -> Plan:
        """The first flips, then repeats of suspect ones, then the other flips that these repeats did not replace."""
        made = self._follow_up(evidence)
        first = made.first(evidence, self._judgement.claims)
        if first or not any(is_flip(run.task) for run in evidence.runs):
            return first
        again = self.reruns.plan(evidence, self.metric, self._suspect_flips, made.held_back - made.reruns(evidence))
        return again or made.rest(evidence, self._judgement.claims)

    def _followed(self, evidence: Evidence) -> FollowUpSummary | None:
        if not self.choice.follow_up:
            return None
        given_up = self._follow_up(evidence).given_up(evidence, self._judgement.claims)
        return FollowUpSummary(self.choice.follow_up, self._flips_done(evidence), given_up)

    def _flips_done(self, evidence: Evidence) -> int:
        return sum(is_flip(run.task) and run.of(self.metric.name) is not None for run in evidence.runs)


def _worked(runs: Sequence[Run], valid: Callable[[Configuration], bool]) -> tuple[Configuration, ...]:
    """The configurations of successful runs that are valid."""
    done = dict.fromkeys(run.task.configuration for run in runs if run.outcome is Outcome.DONE)
    return tuple(filter(valid, done))
