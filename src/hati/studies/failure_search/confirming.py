"""Trace failures to the fewest settings, by halving differences from passing configurations, and confirm them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, InputError, Setting, generator, replace, setting_text
from hati.design import INACTIVE, Combinations, levels
from hati.stats.classification import Flags
from hati.studies.failure_search.outcomes import (
    CombinationVerdict,
    ConfigurationOutcomes,
    FailingCombination,
    NearMiss,
    passes_needed,
)
from hati.studies.screening.planning.isolation import Element, RunNeeded, all_hold, excluding

if TYPE_CHECKING:
    from numpy.random import Generator

    from hati.space import Constraint, Space

REPEATED = 3
"""The number of runs of a configuration that failed; ``REPEATED_FLAKY`` if one of them passed."""
REPEATED_FLAKY = 10
RAREST = 0.3
"""A failure in less than this fraction of repeated runs is not traced: each step would take more than ten runs."""
MOST_UNSTARTED = 3
_SAMPLED = 64
_SPLITS = 24


class UntraceableError(Exception):
    """No combination of settings can be named for a configuration that failed."""


class FailureNeighbourhood(Struct, frozen=True, dict=True):
    """Configurations that can be run around a failure: valid, without the ``named`` combinations, not decided yet."""

    space: Space
    outcomes: ConfigurationOutcomes
    named: tuple[tuple[Element, ...], ...]
    seed: int

    @cached_property
    def formulas(self) -> tuple[Constraint, ...]:
        """The formulas that exclude the named combinations."""
        return tuple(excluding(self.space, elements) for elements in self.named)

    @cached_property
    def clear(self) -> Flags:
        """Whether each configuration that ran has no named combination, shape (configurations,)."""
        return ~self.outcomes.having(self.named)

    @cached_property
    def needed(self) -> int:
        """The number of passes after which a configuration counts as passing: one if no failure was flaky."""
        own = self.clear & (self.outcomes.failed > 0) & (self.outcomes.ran >= REPEATED)
        failed, ran = self.outcomes.failed[own], self.outcomes.ran[own]
        flaky = (failed < ran) & (failed >= RAREST * ran)
        return passes_needed(float(failed[flaky].sum() / ran[flaky].sum())) if flaky.any() else 1

    def usable(self, configuration: Configuration) -> bool:
        """Whether a configuration can be run, and is not known to pass or to fail."""
        passed, failed, unstarted = self.outcomes.counts.get(configuration, (0, 0, 0))
        if failed or passed >= self.needed or unstarted >= MOST_UNSTARTED:
            return False
        return self.space.valid(configuration) and all_hold(self.formulas, configuration)

    def changed(self, base: Mapping[str, Setting], elements: Iterable[Element]) -> Configuration | None:
        """The configuration with these settings; None if not all of them remain."""
        settings = dict(elements)
        made = self.space.canonical({**base, **settings})
        return made if all(made.get(name) == setting for name, setting in settings.items()) else None

    def drawn(self, elements: tuple[Element, ...], rng: Generator) -> list[Configuration]:
        """Random valid configurations with these settings and no named combination; empty if there are none."""
        from hati.formula import Comparator
        from hati.space import sample
        from hati.space.constraint import Literal, Name, TermComparison

        wanted = tuple(TermComparison(Name(n), Comparator.EQUAL, Literal(s)) for n, s in elements)
        try:
            return sample(
                replace(self.space, constraints=(*self.space.constraints, *self.formulas, *wanted)), _SAMPLED, rng
            )
        except InputError:
            return []


class Trace(Struct, frozen=True, dict=True):
    """The search around one configuration that failed.

    Of the settings that all failures around the target share (the *core*), one is necessary if a configuration with
    all others passes. The difference between the core and the nearest passing configuration is halved until it is one
    setting: a combination of t among n settings takes about t log2(n) runs (Zhang and Zhang 2011, characterising
    failure-causing parameter interactions by adaptive testing; the halving is Zeller's and Hildebrandt's, 2002).
    """

    around: FailureNeighbourhood
    target: Configuration
    searched: frozenset[Configuration]

    def fewest(self) -> tuple[Element, ...]:
        """The fewest settings that fail.

        Raises:
            RunNeeded: with the configuration that has to be run.
            UntraceableError: if they cannot be found.
        """
        self._repeat()
        core = self._core
        kept = self._necessary(core)
        while (core & ~kept).any():
            reaching = np.flatnonzero((~kept | self._passing).all(axis=1))
            if not len(reaching):
                found = self._avoiding(core & ~kept, kept)
                if found is None:
                    break
                raise RunNeeded(found)
            missing = core & ~self._passing[reaching]
            nearest = int(np.argmin(missing.sum(axis=1)))
            if not missing[nearest].any():
                raise UntraceableError("a configuration with the same settings passed")
            between = self._between(self._bases[int(reaching[nearest])], missing[nearest], kept, core)
            if between is not None:
                raise RunNeeded(between)
            kept = kept | missing[nearest]
        return self._elements(kept)

    def _repeat(self) -> None:
        """Check that the target has enough runs to know whether it always fails.

        Raises:
            RunNeeded: if it has too few runs.
            UntraceableError: if it fails too rarely.
        """
        passed, failed, unstarted = self.around.outcomes.counts[self.target]
        ran = passed + failed
        if ran < (REPEATED_FLAKY if passed else REPEATED):
            if unstarted >= MOST_UNSTARTED:
                raise UntraceableError("further runs could not be started")
            raise RunNeeded(self.target)
        if failed < RAREST * ran:
            raise UntraceableError(f"it failed in {failed} of {ran} runs, too rarely to be traced")

    @cached_property
    def _agree(self) -> Flags:
        """Whether each configuration that ran has the target's setting, shape (configurations, options)."""
        outcomes = self.around.outcomes
        row = outcomes.configurations.index(self.target)
        return np.asarray((outcomes.rows == outcomes.rows[row]) & outcomes.active(row))

    @cached_property
    def _bases(self) -> tuple[Configuration, ...]:
        """The configurations that passed."""
        passing = self.around.outcomes.passing(self.around.needed)
        return tuple(self.around.outcomes.configurations[row] for row in np.flatnonzero(passing))

    @cached_property
    def _passing(self) -> Flags:
        """Whether these have the target's settings, shape (passing configurations, options)."""
        return self._agree[self.around.outcomes.passing(self.around.needed)]

    @cached_property
    def _core(self) -> Flags:
        """The settings that the failures around the target share, shape (options,).

        A failure is left out if a configuration with all remaining settings passed: it has another cause.
        """
        outcomes = self.around.outcomes
        core = outcomes.active(outcomes.configurations.index(self.target))
        searched = np.array([each in self.searched for each in outcomes.configurations], dtype=np.bool_)
        failing = self._agree[searched & self.around.clear & (outcomes.failed > 0)]
        for agree in failing[np.argsort(-failing.sum(axis=1), kind="stable")]:
            smaller = core & agree
            if not (~smaller | self._passing).all(axis=1).any():
                core = smaller
        return np.asarray(core)

    def _necessary(self, core: Flags) -> Flags:
        """The settings of the core without which a configuration with all others passes, shape (options,)."""
        missing = core & ~self._passing
        return np.asarray(missing[missing.sum(axis=1) == 1].any(axis=0))

    def _elements(self, options: Flags) -> tuple[Element, ...]:
        names = self.around.space.names
        return tuple((names[place], self.target[names[place]]) for place in np.flatnonzero(options))

    def _rng(self, *words: object) -> Generator:
        return generator(self.around.seed, "failures", self.target.key, *map(str, words))

    def _shared(self, configuration: Configuration) -> Flags:
        """Whether a configuration has the target's settings, shape (options,)."""
        names, target = self.around.space.names, self.target
        return np.array([name in target and configuration.get(name) == target[name] for name in names])

    def _between(self, base: Configuration, missing: Flags, kept: Flags, core: Flags) -> Configuration | None:
        """A passing configuration with about half of the settings that it lacks added; None if none is valid."""
        places = np.flatnonzero(missing)
        for chosen in _splits(len(places), self._rng("between", base.key, kept.tolist())):
            made = self.around.changed(base, self._elements(_only(places[chosen], len(missing))))
            if made is None or not self.around.usable(made):
                continue
            shared = self._shared(made)
            left = core & ~shared
            if (~kept | shared).all() and 0 < left.sum() < missing.sum() and not (left & ~missing).any():
                return made
        return None

    def _avoiding(self, rest: Flags, kept: Flags) -> Configuration | None:
        """A configuration with the kept settings and as few as possible of the rest; None if all have all of it."""
        elements, rng = self._elements(kept), self._rng("avoiding", kept.tolist(), rest.tolist())
        bases = (self.around.changed(self._avoided(base, rest, rng), elements) for base in self._bases)
        candidates = [made for made in bases if made is not None]
        candidates += self.around.drawn(elements, rng)
        best, fewest = None, int(rest.sum())
        for made in candidates:
            shared = int((self._shared(made) & rest).sum())
            if shared < fewest and self.around.usable(made):
                best, fewest = made, shared
        return best

    def _avoided(self, base: Configuration, rest: Flags, rng: Generator) -> dict[str, Setting]:
        """The settings of a configuration, with each one of the rest replaced by another setting."""
        settings = dict(base)
        for name, setting in self._elements(rest):
            others = [each for each in self.around.space.option(name).settings if each != setting]
            if settings.get(name) == setting and others:
                settings[name] = others[int(rng.integers(len(others)))]
        return settings


def _only(places: NDArray[np.intp], size: int) -> Flags:
    found = np.zeros(size, dtype=np.bool_)
    found[places] = True
    return found


def _splits(number: int, rng: Generator) -> Iterator[Flags]:
    """Random halves of ``number`` places, then single ones, then all but one; each as flags, shape (number,)."""
    half = np.arange(number) < number // 2
    for _ in range(_SPLITS):
        yield rng.permutation(half)
    for place in range(number):
        yield np.arange(number) == place
    for place in range(number):
        yield np.arange(number) != place


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
