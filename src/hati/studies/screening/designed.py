"""What a screening of either kind consists of: a benchmark and its metric, a space, and the chosen design."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Generic, TypeVar

from msgspec import Struct

from hati.core import Benchmark, Configuration, Evidence, InputError, Metric, StudyId, Task, replace
from hati.design import from_levels
from hati.studies.screening.changes import Readable
from hati.studies.screening.conclusion import RunCounts, ScreeningConclusion
from hati.studies.screening.follow_up import FollowedDesign
from hati.studies.screening.planning.fractions import Choice
from hati.studies.screening.planning.models import ALPHA, RELEVANT, ModelChoice
from hati.studies.screening.planning.tasks import design_tasks
from hati.studies.screening.population import ValidPopulation
from hati.studies.screening.reruns import Reruns, Unsettled, blocks_of_tasks, design_reruns, purposes, with_suspects
from hati.studies.screening.runs import Units
from hati.studies.screening.screening_model import ShownEffects, conditional_effects, dominating_option
from hati.studies.screening.warnings import OF_PROGRAMS, Remedies

if TYPE_CHECKING:
    from hati.space import Space
    from hati.stats import Term

C = TypeVar("C", bound=Choice | ModelChoice)


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
