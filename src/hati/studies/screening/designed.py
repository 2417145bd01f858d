"""What a screening of either kind consists of: a benchmark and its metric, a space, and the chosen design."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from hati.core import Benchmark, Configuration, Evidence, InputError, Metric, StudyId, Task, replace
from hati.design import from_levels
from hati.studies.screening.changes import EffectAnalysis, Readable
from hati.studies.screening.conclusion import (
    DesignSummary,
    DetectableEffect,
    Dispersion,
    Effect,
    LackOfFit,
    MachineBlocks,
    ModelSummary,
    Options,
    RunCounts,
    ScreeningConclusion,
    important_options,
    option_summaries,
)
from hati.studies.screening.follow_up import FollowedDesign
from hati.studies.screening.planning.fractions import Choice
from hati.studies.screening.planning.models import ALPHA, RELEVANT, ModelChoice
from hati.studies.screening.planning.tasks import design_tasks
from hati.studies.screening.population import ValidPopulation
from hati.studies.screening.reruns import Reruns, Unsettled, blocks_of_tasks, design_reruns, purposes, with_suspects
from hati.studies.screening.runs import MeasuredDesign, Units
from hati.studies.screening.screening_model import ShownEffects, conditional_effects, dominating_option
from hati.studies.screening.warnings import OF_PROGRAMS, Remedies, machine_warnings

if TYPE_CHECKING:
    from hati.space import Space
    from hati.stats import Term

C = TypeVar("C", bound=Choice | ModelChoice)


class ScreeningFindings(Struct, frozen=True, eq=False):
    """The parts of a conclusion that contrasts and a model find each in their own way.

    ``warnings`` are all but those of machines.
    """

    design: DesignSummary
    effects: tuple[Effect, ...]
    ranking: Options
    dispersion: Dispersion | None
    model: ModelSummary
    machine_blocks: MachineBlocks | None
    warnings: tuple[str, ...]
    lack_of_fit: LackOfFit | None = None
    fewest_runs: int | None = None


class DesignedScreening(Struct, Generic[C], frozen=True, dict=True):
    """A screening by the design ``choice``.

    ``alpha`` is the study-wise error and ``relevant`` the fraction that matters; ``remedies`` holds the advice of
    warnings.

    Raises:
        InputError: for an alpha or a relevant effect out of range.
    """

    id: StudyId
    subject: str
    benchmark: Benchmark
    metric: Metric
    revision: str
    space: Space
    choice: C
    alpha: float = ALPHA
    relevant: float = RELEVANT
    remedies: Remedies = OF_PROGRAMS

    def __post_init__(self) -> None:
        if not 0.0 < self.alpha < 1.0:
            raise InputError(f"alpha is a probability between 0 and 1, not {self.alpha}")
        if not 0.0 <= self.relevant < float("inf"):
            raise InputError(f"the relevant effect is a fraction, not {self.relevant}", fix="write 0.01 for 1 %")

    @cached_property
    def configurations(self) -> tuple[Configuration, ...]:
        """The configurations to measure, one per row of the design."""
        return from_levels(self.choice.levels, self.space)

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All runs of the study in order."""
        return design_tasks(self.id, self.benchmark, self.revision, self.space, self.configurations, self.choice)

    def blocks_of(self, tasks: Sequence[Task], blocks: int) -> list[int | None]:
        """The block of each task: that of its row in the design; each repetition of a row is in the next block."""
        return blocks_of_tasks(tasks, blocks, self._row_blocks)

    def _row_blocks(self, _: int) -> Mapping[Configuration, int]:
        """The block of each row; all rows that are left out are in the first."""
        return {}

    @property
    def reruns(self) -> Reruns:
        """The repeats of suspect runs."""
        return Reruns(self.id, self.benchmark, self.revision)

    @cached_property
    def _rows(self) -> FollowedDesign:
        return FollowedDesign(self.metric, self.space, self.configurations, self.choice.repetitions)

    def _spare(self, evidence: Evidence) -> int:
        """The number of runs that are left to repeat suspect ones of the design."""
        return self.choice.again - design_reruns(evidence)

    def named(self, term: Term) -> Options:
        """The options of a term."""
        return tuple(self.space.names[option] for option in term)

    def concluded(
        self, measured: MeasuredDesign, analysis: EffectAnalysis, found: ScreeningFindings, seconds: float
    ) -> ScreeningConclusion:
        """The conclusion from the runs alone, which took that time."""
        from hati.space import count

        return ScreeningConclusion(
            study=self.id.key,
            subject=self.subject,
            benchmark=self.benchmark.name,
            revision=self.revision,
            metric=self.metric,
            scale=analysis.readable.scale,
            scale_reason=analysis.scale_reason,
            relative_to=analysis.readable.relative_to,
            judged_by=analysis.judged_by,
            alpha=self.alpha,
            relevant=self.relevant,
            options=option_summaries(self.space),
            configurations=count(self.space),
            design=found.design,
            effects=found.effects,
            ranking=found.ranking,
            important=important_options(found.effects),
            threshold=analysis.threshold,
            detectable=None if analysis.detectable is None else DetectableEffect(*analysis.detectable),
            missing=tuple(map(self.named, analysis.missing)),
            dispersion=found.dispersion,
            points=measured.points,
            done=len(measured.values),
            failed=len(measured.failed),
            failures=measured.reasons,
            seconds=seconds,
            warnings=(*machine_warnings(found.machine_blocks), *found.warnings),
            model=found.model,
            lack_of_fit=found.lack_of_fit,
            machine_blocks=found.machine_blocks,
            template=tuple(map(str, self.space.template)),
            fewest_runs=found.fewest_runs,
        )

    def with_suspects(
        self,
        conclusion: ScreeningConclusion,
        evidence: Evidence,
        left: Unsettled,
        shown: Callable[[Unsettled], tuple[str, ...]],
    ) -> ScreeningConclusion:
        """The conclusion with the repeated runs and the suspect runs ``left``, as by ``reruns.with_suspects``."""
        again, spare = self._rows.repeated_runs(evidence), self._spare(evidence)
        return with_suspects(conclusion, again, left, shown, spare, self.remedies)

    def with_shown(
        self,
        conclusion: ScreeningConclusion,
        evidence: Evidence,
        population: ValidPopulation,
        units: Units,
        readable: Readable,
        judged: tuple[Term, ...] = (),
    ) -> ScreeningConclusion:
        """The conclusion with the number of runs, effects at settings of others, and the option that dominates."""
        effects, ranking = conclusion.effects, conclusion.ranking
        shown = ShownEffects(self.space, population, units, readable, self.relevant, effects, ranking, judged)
        return replace(
            conclusion,
            campaign=replace(RunCounts.of(evidence, self.metric), purposes=purposes(evidence)),
            conditional_effects=conditional_effects(shown),
            dominating=dominating_option(shown),
        )
