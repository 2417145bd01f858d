"""The valid configurations of a space: how many there are, which, some of them drawn uniformly, the nearest; which
settings occur, and which constraints contradict.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from math import prod

import numpy as np

from hati.core import Configuration, InputError, Setting
from hati.space.constraint import Constraint, mentioned
from hati.space.diagram import Diagram, blocks, build, compact, contradicting
from hati.space.evaluation import holds
from hati.space.option import Option
from hati.space.space import Space

_WORD = 32


def count(space: Space) -> int:
    """How many valid configurations there are, exactly.

    Raises:
        InputError: where the constraints are too entangled to count.
    """
    constant = all(holds(constraint, {}) for constraint in space.constraints if not mentioned(constraint))
    return prod(diagram.count for diagram in diagrams(space)) if constant else 0


def sample(space: Space, number: int, rng: np.random.Generator) -> list[Configuration]:
    """Draw ``number`` valid configurations uniformly and independently.

    Drawn with replacement: a configuration can occur twice.

    Raises:
        InputError: where no configuration is valid, or the constraints are too entangled.
    """
    if number < 0:
        raise InputError(f"cannot draw {number} configurations", fix="ask for 0 or more")
    total = count(space)
    if number and not total:
        raise InputError("the space has no valid configuration", fix="see what contradicts with: hati space check")
    parts = diagrams(space)
    return [space.complete(_settings(parts, _below(rng, total))) for _ in range(number)]


def enumerate_configurations(space: Space) -> Iterator[Configuration]:
    """All valid configurations, each once, in an order that is the same every time.

    The first option that stands alone changes slowest; options tied by constraints move together.

    Raises:
        InputError: where the constraints are too entangled.
    """
    parts = diagrams(space)
    return (space.complete(_settings(parts, number)) for number in range(count(space)))


@lru_cache(maxsize=16)
def diagrams(space: Space) -> tuple[Diagram, ...]:
    """One diagram for every set of options that depend on each other."""
    ties = [mentioned(constraint) for constraint in space.constraints]
    ties += [(option.name, *mentioned(option.active_if)) for option in space.options if option.active_if is not None]
    found = []
    for names in blocks(space.names, [tie for tie in ties if tie]):
        members = set(names)
        options = [space.by_name[name] for name in compact(names, [tie for tie in ties if members & set(tie)])]
        constraints = [constraint for constraint in space.constraints if members & set(mentioned(constraint))]
        found.append(build(options, constraints))
    return tuple(found)


def _settings(parts: Sequence[Diagram], number: int) -> dict[str, Setting]:
    """The settings of the valid configuration of that number.

    Its digits are numbers in the diagrams, the last one fastest.
    """
    settings: dict[str, Setting] = {}
    for diagram in reversed(parts):
        number, digit = divmod(number, diagram.count)
        settings.update(diagram.configuration(digit))
    return settings


def _below(rng: np.random.Generator, bound: int) -> int:
    """A uniform integer from 0 to ``bound`` - 1, of any size: bits are drawn until they are below."""
    bits = (bound - 1).bit_length()
    while True:
        drawn = 0
        for _ in range(-(-bits // _WORD)):
            drawn = drawn << _WORD | int(rng.integers(1 << _WORD))
        drawn &= (1 << bits) - 1
        if drawn < bound:
            return drawn


def occurring(space: Space) -> set[tuple[str, int]]:
    """The settings that some valid configuration has, as options and positions; of a space that has any.

    Raises:
        TooEntangledError: where the constraints are too entangled.
    """
    return {item for diagram in diagrams(space) for item in diagram.occurring}


def contradiction(space: Space) -> tuple[Constraint, ...]:
    """Constraints that cannot hold together, none of which can be spared; none where there is a valid configuration.

    Raises:
        TooEntangledError: where the constraints are too entangled.
    """
    for constraint in space.constraints:
        if not mentioned(constraint) and not holds(constraint, {}):
            return (constraint,)
    for diagram in diagrams(space):
        if not diagram.count:
            members = {option.name for option in diagram.options}
            tied = [constraint for constraint in space.constraints if members & set(mentioned(constraint))]
            return tuple(tied[number] for number in contradicting(diagram.options, tied))
    return ()


def nearest(space: Space, distance: Callable[[Option, Setting], int]) -> Configuration | None:
    """The valid configuration with the fewest settings at a distance, or None where none is valid.

    Of those the one with the smallest sum of distances, then the one whose settings come first.

    Raises:
        TooEntangledError: where the constraints are too entangled.
    """
    if contradiction(space):
        return None
    most = 1 + sum(distance(option, setting) for option in space.options for setting in option.settings)

    def cost(option: Option, setting: Setting) -> int:
        apart = distance(option, setting)
        return most + apart if apart else 0

    settings: dict[str, Setting] = {}
    for diagram in diagrams(space):
        settings.update(diagram.cheapest(cost))
    return space.complete(settings)
