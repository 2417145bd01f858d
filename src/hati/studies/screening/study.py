"""Screening: which options matter."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hati.core import Benchmark, Configuration, Evidence, FloatArray, Plan, Run, StudyId, Task, generator
from hati.design import Design, blocks_of, check_two_level, levels
from hati.stats import Contrasts, Index, ModelTerms, contrasts
from hati.stats.threads import on_one_thread
from hati.studies.screening.conclusion import (
    Dispersion,
    Effect,
    EffectSize,
    MachineBlocks,
    ModelSummary,
    ScreeningConclusion,
    important_options,
)
from hati.studies.screening.contrasts import Analysis, Estimated, analyse, explained_by, rank
from hati.studies.screening.designed import DesignedScreening, ScreeningFindings
from hati.studies.screening.dominance import PlannedDesigns
from hati.studies.screening.model import always_there
from hati.studies.screening.planning.fractions import Choice, FractionRequest, design_summary
from hati.studies.screening.planning.models import ALPHA
from hati.studies.screening.planning.tasks import STAGE, tasks_left
from hati.studies.screening.population import ValidPopulation
from hati.studies.screening.reruns import repeated, suspected, unsettled
from hati.studies.screening.runs import MeasuredDesign, choose_scale, configuration_units
from hati.studies.screening.spread import Spread, analyse_spread, compare_machines
from hati.studies.screening.warnings import Situation, warnings

if TYPE_CHECKING:
    from hati.space import Space


def study_id(
    *,
    subject: str,
    revision: str,
    benchmark: Benchmark,
    space: Space,
    budget: str,
    seed: int,
    machine: str,
    planned_for: Mapping[str, object] | None = None,
    recalibrates: str | None = None,
    fraction: FractionRequest | None = None,
    alpha: float = ALPHA,
) -> StudyId:
    """The identity of a screening study, with all that decides its tasks; ``budget`` as it was written.

    The metric is not part of it: the same runs measure all metrics of the benchmark. ``planned_for`` is the effect to
    be found if the design was planned for one; ``recalibrates`` is the key of the screening that is repeated;
    ``fraction`` is the requested regular fraction; ``alpha`` is the study-wise error.
    """
    parameters = {
        "subject": subject,
        "revision": revision,
        "benchmark": benchmark.name,
        "definition": benchmark.definition,
        "space": space.digest,
        "options": [option.name for option in space.options],  # their order assigns them to factors
        "budget": budget,
        **({"template": list(map(str, space.template))} if space.template else {}),
        **({} if planned_for is None else {"planned_for": dict(planned_for)}),
        **({} if recalibrates is None else {"recalibrates": recalibrates}),
        **({} if fraction is None else {"fraction": fraction.parameters}),
        **({} if alpha == ALPHA else {"alpha": alpha}),
    }
    return StudyId.of("screening", parameters, seed, machine)


_PAIR = 2
"""The order of the interactions that are estimated."""


class Screening(DesignedScreening[Choice], frozen=True, dict=True):
    """Measures a design's configurations and concludes which options matter.

    Raises:
        InputError: if the space is not suited to two-level designs, with what is.
    """

    def __post_init__(self) -> None:
        super().__post_init__()
        _ = self.design
        check_two_level(self.space)

    @cached_property
    def design(self) -> Design:
        """The design, its factors named as the options."""
        return self.choice.design(self.space.names)

    def _row_blocks(self, blocks: int) -> dict[Configuration, int]:
        """The block of each row; all in the first if each block gets equally many repetitions."""
        if self.choice.repetitions % blocks == 0:
            return {}
        found = blocks_of(self.design, blocks, generator(self.id.seed, "blocks")).of_runs
        return {configuration: block - 1 for configuration, block in zip(self.configurations, found, strict=True)}

    def due(self, _: Evidence) -> tuple[Task, ...]:
        """The design's runs; repeats of suspect runs replace none of them."""
        return self.tasks

    def complete(self, evidence: Evidence) -> bool:
        """Whether all runs of the design are made."""
        return not tasks_left(self.tasks, evidence)

    def as_run(self, _: Evidence) -> Screening:
        """The study itself: nothing changes its design."""
        return self

    def looked(self, _: Evidence) -> bool:
        """Never: it has no interim look."""
        return False

    def narrowed(self, _: Evidence) -> None:
        """None: a fraction is measured as a whole."""

    def planned_designs(self, _: Evidence) -> PlannedDesigns:
        """None: a fraction is measured as a whole."""
        return ()

    @on_one_thread
    def plan(self, evidence: Evidence) -> Plan:
        """The tasks that are left: those of the design, then those that repeat suspect runs."""
        left = tasks_left(self.tasks, evidence)
        if left or not evidence.stage(STAGE).done:
            return left
        return self.reruns.plan(evidence, self.metric, self._suspects, self._spare(evidence))

    @on_one_thread
    def conclude(self, evidence: Evidence) -> ScreeningConclusion:
        """The conclusion from the runs so far, complete or not.

        Raises:
            MeasurementError: if no run yielded a value, with the reason of the failures.
        """
        found = self.measured(evidence)
        analysis = self._analysis(found)
        of_rows = self.concluded(found, analysis, self._findings(found, analysis), evidence.seconds)
        population = ValidPopulation.unconstrained([len(option.settings) for option in self.space.options])
        rows = levels([run.task.configuration for run in found.runs], self.space)
        # With configurations as units, what a model of few terms omits belongs to these.
        units = configuration_units(rows, found.blocks, found.machines, found.in_time)
        conclusion = self.with_shown(of_rows, evidence, population, units, analysis.readable)
        left = unsettled(found, self._suspected(found), repeated(evidence, self.metric))
        return self.with_suspects(conclusion, evidence, left, lambda some: self._shown(some.without(found)))

    def _shown(self, found: MeasuredDesign) -> tuple[str, ...]:
        """The options whose main effect is important, or important or aliased, the largest first."""
        effects = self._analysis(found).effects
        return tuple(
            self.space.names[effect.term[0]] for effect in effects if effect.important and len(effect.term) == 1
        )

    def measured(self, evidence: Evidence) -> MeasuredDesign:
        """The design's runs that yielded a value; median runs replace those that were repeated.

        Raises:
            MeasurementError: where there is none.
        """
        return self._rows.measured(evidence)

    def _analysis(self, found: MeasuredDesign) -> Analysis:
        return analyse(
            self._contrasts,
            found.values,
            found.rows,
            found.blocks,
            alpha=self.alpha,
            relevant=self.relevant,
            order=found.in_time,
        )

    def _suspects(self, evidence: Evidence) -> tuple[Run, ...]:
        found = self.measured(evidence)
        return tuple(found.runs[place] for place in self._suspected(found)[0])

    def _suspected(self, found: MeasuredDesign) -> tuple[Index, FloatArray]:
        """The suspect runs. Any contrast may be active: an alias set has one column, whichever of its effects it is."""
        columns = self._contrasts.columns[found.rows].astype(np.float64)
        terms = ModelTerms(
            always_there(found.blocks, found.in_time), {(i,): column[:, None] for i, column in enumerate(columns.T)}
        )
        scale, _ = choose_scale(found.values, self.design.matrix[found.rows].astype(np.float64), found.blocks)
        return suspected(terms, found, scale)

    def _findings(self, found: MeasuredDesign, analysis: Analysis) -> ScreeningFindings:
        summary, machines = design_summary(self.choice, self.design), self._machine_blocks(found, analysis)
        scale, names, matrix = analysis.readable.scale, self.space.names, self.design.matrix
        spread = analyse_spread(self._contrasts, found, scale, alpha=self.alpha, relevant=self.relevant)
        situation = Situation(names, matrix, summary, found, analysis, spread, self.relevant, self.remedies, machines)
        return ScreeningFindings(
            design=summary,
            effects=tuple(map(self._effect, analysis.effects)),
            ranking=rank(analysis.effects, names),
            dispersion=None if spread is None else self._dispersion(spread),
            model=self._model(found, analysis),
            machine_blocks=machines,
            warnings=warnings(situation),
        )

    def _machine_blocks(self, found: MeasuredDesign, analysis: Analysis) -> MachineBlocks | None:
        signs = self.design.matrix[found.rows].astype(np.float64)
        known = self._contrasts
        shown = known.columns[:, [len(term) <= _PAIR for term in known.terms]][found.rows].astype(np.float64)
        mains = dict(zip(self.space.names, np.split(signs, signs.shape[1], axis=1), strict=True))
        pairs = [self.named(term) for term in known.terms if len(term) == _PAIR]
        return compare_machines(found, analysis.readable, mains, [shown], alpha=self.alpha, pairs=pairs)

    def _model(self, found: MeasuredDesign, analysis: Analysis) -> ModelSummary:
        terms = tuple(effect.term for effect in analysis.effects if effect.important)
        return ModelSummary(
            tuple(map(self.named, terms)),
            explained_by(self.design.matrix[found.rows], terms, analysis.readable.values, found.blocks),
        )

    def _dispersion(self, spread: Spread) -> Dispersion:
        effects = tuple(map(self._effect, spread.analysis.effects))
        return Dispersion(spread.of, effects, important_options(effects))

    def _effect(self, found: Estimated) -> Effect:
        size = {name: getattr(found, name) for name in EffectSize.__struct_fields__}
        return Effect(
            options=self.named(found.term),
            aliases=tuple(self.named(term) for term in found.aliases),
            aliased=found.important and bool(found.aliases),
            **size | {"important": found.important and not found.aliases},
        )

    @cached_property
    def _contrasts(self) -> Contrasts:
        return contrasts(self.design.matrix)
