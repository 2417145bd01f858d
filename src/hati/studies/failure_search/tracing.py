"""Trace a failing configuration to the fewest settings that fail, by halving its difference from passing ones."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import Configuration, InputError, Setting, generator, replace
from hati.studies.failure_search.outcomes import ConfigurationOutcomes, Flags, passes_needed
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
