"""Confirm that settings fail together, by more runs with all of them and with all but one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, generator, setting_text
from hati.design import INACTIVE, Combinations, levels
from hati.studies.failure_search.conclusion import CombinationVerdict, FailingCombination, NearMiss
from hati.studies.failure_search.outcomes import ConfigurationOutcomes, Flags
from hati.studies.failure_search.tracing import MOST_UNSTARTED, FailureNeighbourhood
from hati.studies.screening.planning.isolation import Element, RunNeeded

CONFIRMED = 6
"""The number of runs with all settings, in as many configurations, and of runs without one of them, if all of the first
fail and none of the others."""
CONFIRMED_FLAKY = 24
"""The same numbers otherwise, such as if some of the first pass."""
ALPHA = 0.005
"""The level of Fisher's exact test after either number of runs: 1 % in all, by Bonferroni."""
_OTHER_SETTINGS = 3


class Confirmation(Struct, frozen=True):
    """The runs for and against settings that seem to fail together; ``around`` excludes the other combinations."""

    around: FailureNeighbourhood
    elements: tuple[Element, ...]

    @property
    def outcomes(self) -> ConfigurationOutcomes:
        """The outcomes of all runs."""
        return self.around.outcomes

    @property
    def having(self) -> Flags:
        """The configurations with all settings, shape (configurations,)."""
        return np.asarray(self.outcomes.matching(self.elements).all(axis=1) & self.around.clear)

    @property
    def near(self) -> Flags:
        """The configurations with all settings but one, shape (configurations,)."""
        matching = self.outcomes.matching(self.elements)
        return np.asarray((matching.sum(axis=1) == len(self.elements) - 1) & self.around.clear)

    def check(self) -> None:
        """Check that there are enough runs.

        Raises:
            RunNeeded: with a configuration that has to be run.
        """
        failed, ran = self.outcomes.failed, self.outcomes.ran
        having, near = self.having, self.near
        certain = failed[having].sum() == ran[having].sum() and not failed[near].any()
        wanted = CONFIRMED if certain else CONFIRMED_FLAKY
        self._vary(having & (ran > 0))
        self._repeat(having, wanted)
        self._neighbours()
        self._repeat(self.near, wanted)

    def _vary(self, having: Flags) -> None:
        """Check that several configurations have the settings and differ in pairs of settings of the other options.

        Raises:
            RunNeeded: with a further one.
        """
        if having.sum() >= CONFIRMED:
            return
        space, words = self.around.space, [name for name, _ in self.elements]
        drawn = self.around.drawn(self.elements, generator(self.around.seed, "confirming", *words))
        pairs = Combinations.of(space, 2)
        unseen = ~pairs.covered(self.outcomes.rows[having])
        gains = unseen[pairs.of_rows(levels(drawn, space))].sum(axis=1)
        for place in np.argsort(-gains, kind="stable").tolist():
            if drawn[place] not in self.outcomes.counts:
                raise RunNeeded(drawn[place])

    def _repeat(self, configurations: Flags, wanted: int) -> None:
        ran = self.outcomes.ran
        if ran[configurations].sum() >= wanted:
            return
        places = np.flatnonzero(configurations & (ran > 0) & (self.outcomes.unstarted < MOST_UNSTARTED))
        if len(places):
            raise RunNeeded(self.outcomes.configurations[int(places[np.argmin(ran[places])])])

    def _neighbours(self) -> None:
        """Check that each setting was replaced by others; new configurations differ by one setting from a failed one.

        Raises:
            RunNeeded: with a configuration without one of the settings.
        """
        near = self.outcomes.rows[self.near & (self.outcomes.ran > 0)]
        failing = [
            self.outcomes.configurations[row] for row in np.flatnonzero(self.having & (self.outcomes.failed > 0))
        ]
        for name, setting in self.elements:
            option = self.around.space.option(name)
            column, own = self.around.space.names.index(name), option.position(setting)
            seen = {int(place) for place in near[:, column]} - {own}
            others = [each for place, each in enumerate(option.settings) if place != own and place not in seen]
            for other in others[: max(0, _OTHER_SETTINGS - len(seen))]:
                if made := next(self._changed(failing, (name, other)), None):
                    raise RunNeeded(made)

    def _changed(self, failing: list[Configuration], element: Element) -> Iterator[Configuration]:
        """Yield configurations that failed, with one setting replaced."""
        kept = tuple(each for each in self.elements if each[0] != element[0])
        for configuration in failing:
            made = self.around.changed(configuration, (*kept, element))
            if made is not None and self.around.usable(made) and made not in self.outcomes.counts:
                yield made

    def judged(self) -> FailingCombination:
        """The verdict on the settings from the runs so far."""
        from scipy.stats import fisher_exact

        counted = self.outcomes.ran > 0
        having, misses = self.having & counted, self._near_misses(self.near & counted)
        with_all, without = self._sums(having), (sum(m.failed for m in misses), sum(m.runs for m in misses))
        table = np.array([[failed, ran - failed] for failed, ran in (with_all, without)])
        p_value = float(fisher_exact(table, alternative="greater").pvalue) if with_all[1] and without[1] else 1.0
        confirmed = p_value <= ALPHA and min(with_all[1], without[1]) >= CONFIRMED
        if not confirmed:
            verdict = CombinationVerdict.UNCONFIRMED
        else:
            verdict = CombinationVerdict.CERTAIN if with_all[0] == with_all[1] else CombinationVerdict.FLAKY
        first = next(self.outcomes.configurations[row] for row in np.flatnonzero(having & (self.outcomes.failed > 0)))
        return FailingCombination(
            self.elements,
            verdict,
            *with_all,
            int(having.sum()),
            misses,
            p_value,
            self.outcomes.first_failure(first),
        )

    def _sums(self, rows: Flags) -> tuple[int, int]:
        """The number of failed runs, and of all runs, of these configurations."""
        return int(self.outcomes.failed[rows].sum()), int(self.outcomes.ran[rows].sum())

    def _near_misses(self, near: Flags) -> tuple[NearMiss, ...]:
        """The near misses by option and the setting that it has instead."""
        matching: NDArray[np.bool_] = self.outcomes.matching(self.elements)
        found: list[NearMiss] = []
        for place, (name, _) in enumerate(self.elements):
            option, column = self.around.space.option(name), self.around.space.names.index(name)
            own = near & ~matching[:, place]
            for position in np.unique(self.outcomes.rows[own, column]).tolist():
                rows = own & (self.outcomes.rows[:, column] == position)
                other = None if position == INACTIVE else setting_text(option.settings[position])
                found.append(NearMiss(name, other, *self._sums(rows)))
        return tuple(found)
