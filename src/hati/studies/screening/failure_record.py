"""Which configurations worked and which failed, and how often runs fail by chance."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec import Struct

from hati.core import Configuration, Evidence, Outcome, Run
from hati.studies.screening.delta_debugging import Element
from hati.studies.screening.flip_stages import is_flip

if TYPE_CHECKING:
    from hati.space import Formula

STAGE = "isolation"
_BY_CHANCE = 1e-4
"""The probability below which repeated failures of a configuration are not taken for chance."""
_FEWEST_REPEATED = 3
_FEWEST_BESIDE_OTHERS = 5
_MOST_REPEATED = 5


class RunNeeded(Exception):  # noqa: N818 - it asks for a run
    """Whether a configuration fails is not known before it has one more run."""

    def __init__(self, configuration: Configuration) -> None:
        super().__init__(str(configuration))
        self.configuration = configuration


class FailureRecord(Struct, frozen=True, dict=True):
    """What became of configurations: one works where any run of it did, and fails where several runs of it failed."""

    evidence: Evidence

    def fails(self, configuration: Configuration) -> bool:
        """Whether it fails, as far as a step on the way to the fewest settings has to know.

        One failed run for this is enough, or two others; one more where some failures are by chance.

        Raises:
            RunNeeded: where that is not known yet.
        """
        enough = 2 if self._some_by_chance else 1
        runs = self._by_configuration.get(configuration, ())
        own = sum(run.task.stage == STAGE for run in runs)
        return self._fails_often(configuration, len(runs) if own >= enough else enough + 1)

    def fails_beyond_chance(self, configuration: Configuration, formulas: Sequence[Formula]) -> bool:
        """Whether it fails so often that this is hardly by chance.

        One failure is enough where no configuration failed that also worked. Else the fraction of configurations that
        fail, among those in which all formulas hold, is taken for the probability of a failure by chance.

        Raises:
            RunNeeded: where that is not known yet.
        """
        return self._fails_often(configuration, self._beyond_chance(formulas))

    def fails_certainly(self, configuration: Configuration, formulas: Sequence[Formula]) -> bool:
        """Whether it fails so often that it can be excluded.

        That is beyond chance, and three times; five times where a configuration failed in which all formulas hold.
        These exclude what is known not to work, and what is to be excluded.

        Raises:
            RunNeeded: where that is not known yet.
        """
        unexplained = any(failed and all_hold(formulas, each) for each, failed in self._failed.items())
        fewest = _FEWEST_BESIDE_OTHERS if unexplained else _FEWEST_REPEATED
        return self._fails_often(configuration, max(fewest, self._beyond_chance(formulas)))

    def works(self, configuration: Configuration) -> bool:
        """Whether any run of it worked."""
        return any(run.outcome is Outcome.DONE for run in self._by_configuration.get(configuration, ()))

    def working_with(self, elements: Sequence[Element]) -> Configuration | None:
        """The first configuration with all these settings that worked; None where there is none."""
        wanted = frozenset(elements)
        return next((configuration for configuration, items in self._working if wanted <= items), None)

    def message(self, configuration: Configuration) -> str:
        """Why its last run failed."""
        return _message(self._by_configuration[configuration][-1])

    def unreadable(self, configuration: Configuration) -> bool:
        """Whether each of its runs ended well, with an output in which a metric was not found or is not a number."""
        return all(run.outcome is Outcome.UNREADABLE for run in self._by_configuration[configuration])

    @cached_property
    def failures(self) -> dict[Configuration, str]:
        """The configurations of which a run failed in the campaign, in order, with their first messages."""
        found: dict[Configuration, str] = {}
        for run in self.evidence.failed:
            if not (run.task.stage == STAGE or is_flip(run.task)):
                found.setdefault(run.task.configuration, _message(run))
        return found

    def _beyond_chance(self, formulas: Sequence[Formula]) -> int:
        """The number of failures in a row that are hardly by chance."""
        if not self._some_by_chance:
            return 1
        failed = [failed for configuration, failed in self._failed.items() if all_hold(formulas, configuration)]
        rate = sum(failed) / max(1, len(failed))
        return next((times for times in range(1, _MOST_REPEATED) if rate**times <= _BY_CHANCE), _MOST_REPEATED)

    def _fails_often(self, configuration: Configuration, times: int) -> bool:
        if self.works(configuration):
            return False
        if len(self._by_configuration.get(configuration, ())) < times:
            raise RunNeeded(configuration)
        return True

    @cached_property
    def _some_by_chance(self) -> bool:
        """Whether a configuration failed that also worked."""
        return any(failed and self.works(configuration) for configuration, failed in self._failed.items())

    @cached_property
    def _failed(self) -> dict[Configuration, bool]:
        """Of each configuration whether a run of it failed."""
        return {
            configuration: any(run.outcome is not Outcome.DONE for run in runs)
            for configuration, runs in self._by_configuration.items()
        }

    @cached_property
    def _by_configuration(self) -> dict[Configuration, list[Run]]:
        found: dict[Configuration, list[Run]] = {}
        for run in self.evidence.runs:
            found.setdefault(run.task.configuration, []).append(run)
        return found

    @cached_property
    def _working(self) -> tuple[tuple[Configuration, frozenset[Element]], ...]:
        done = dict.fromkeys(run.task.configuration for run in self.evidence.done)
        return tuple((configuration, frozenset(configuration.items())) for configuration in done)


def all_hold(formulas: Sequence[Formula], configuration: Configuration) -> bool:
    """Whether a configuration has nothing that the formulas exclude."""
    from hati.space.evaluation import holds

    return all(holds(formula, configuration) for formula in formulas)


def _message(run: Run) -> str:
    return run.detail.partition("\n")[0] or run.outcome.value
