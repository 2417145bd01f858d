"""From a design's rows to configurations of a space."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from hati.core import Configuration, InputError
from hati.core.wording import listed
from hati.design.matrix import Design
from hati.design.names import letters

if TYPE_CHECKING:  # a space is only looked at here; its solver need not be loaded
    from hati.space import Option, Space

_WHAT_SERVES = "use an optimal design, as of `hati design PATH --runs N --optimal bayes`"


def configurations(design: Design, space: Space) -> tuple[Configuration, ...]:
    """One configuration per row: -1 is an option's first setting, +1 its second.

    Factors are options by name; where they are the letters A, B, ... instead, by position.

    Raises:
        InputError: where factors and options do not correspond, or the space has constraints, options that
            are active under a condition, or options with other than two settings.
    """
    check_two_level(space)
    columns = _options(design, space)
    return tuple(
        space.complete({option.name: option.settings[entry > 0] for option, entry in zip(columns, row, strict=True)})
        for row in design.matrix.tolist()
    )


def check_two_level(space: Space) -> None:
    """A two-level design fits the space: two settings each, all combinations valid, none without influence.

    Raises:
        InputError: where it does not, naming all that is in the way and what will serve.
    """
    obstacles = tuple(_obstacles(space))
    if obstacles:
        raise InputError(
            f"{listed(obstacles, separator='; ')}: "
            "a two-level design needs two settings of every option, and all combinations valid",
            fix=f"leave that out of the space, or {_WHAT_SERVES}",
        )


def _obstacles(space: Space) -> Iterator[str]:
    for option in space.options:
        if len(option.settings) != 2:
            number = len(option.settings)
            yield f"option {option.name!r} has {number} setting{'' if number == 1 else 's'}"
    for option in space.options:
        if option.active_if is not None:
            yield f"option {option.name!r} has no influence in some configurations"
    if space.constraints:
        yield "the space has constraints"


def _options(design: Design, space: Space) -> list[Option]:
    """The option of every column."""
    named = {option.name: option for option in space.options}
    if named.keys() == set(design.factors):
        return [named[factor] for factor in design.factors]
    count = len(design.factors)
    if count == len(named) and count <= len(letters(52)) and design.factors == letters(count):
        return list(space.options)
    strangers = sorted(named.keys() ^ set(design.factors))
    raise InputError(
        f"the design's factors are not the space's options: {', '.join(strangers[:10])}",
        fix=f"name the factors as the options: {','.join(named)}",
    )
