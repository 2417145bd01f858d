"""The space of an earlier screening by a fraction, from its runs: its options are no longer those of the project."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import TYPE_CHECKING

from hati.core import Configuration, InputError, Setting
from hati.studies.screening import Choice

if TYPE_CHECKING:
    from hati.space import Space

_MOST_GONE = 8


def bygone_space(choice: Choice, options: Sequence[str], made: Iterable[Configuration], today: Space) -> Space | None:
    """The two-setting options of which ``made`` are configurations of a chosen fraction; None where these do not tell.

    The order of an option's settings, which decides the sign of its effect, is today's; of one that is gone, one in
    which all that was made is in the fraction.
    """
    from hati.design import configurations
    from hati.space import Option, Space

    seen = list(made)
    settings = {name: tuple(dict.fromkeys(each[name] for each in seen if name in each)) for name in options}
    if any(len(own) != 2 for own in settings.values()) or len(options) != choice.factors:
        return None
    orders = [_orders(own, name, today) for name, own in settings.items()]
    if sum(len(order) > 1 for order in orders) > _MOST_GONE:
        return None
    for chosen in product(*orders):
        space = Space(tuple(Option(name, own, own[0]) for name, own in zip(options, chosen, strict=True)))
        try:
            planned = set(configurations(choice.design(tuple(options)), space))
        except InputError:
            return None
        if planned.issuperset(seen):
            return space
    return None


def _orders(own: tuple[Setting, ...], name: str, today: Space) -> list[tuple[Setting, ...]]:
    known = next((option.settings for option in today.options if option.name == name), ())
    if set(map(_typed, own)) == set(map(_typed, known)):
        return [known]
    return [own, own[::-1]]


def _typed(setting: Setting) -> tuple[type, Setting]:
    return type(setting), setting
