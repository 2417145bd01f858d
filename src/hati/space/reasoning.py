"""What decision diagrams show of a space: which settings occur, which constraints contradict, which configuration is
nearest.
"""

from __future__ import annotations

from collections.abc import Callable

from hati.core import Configuration, Setting
from hati.space.constraint import Constraint, mentioned
from hati.space.diagram import contradicting
from hati.space.evaluation import holds
from hati.space.option import Option
from hati.space.sampling import diagrams
from hati.space.space import Space


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
