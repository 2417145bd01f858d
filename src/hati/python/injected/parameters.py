"""The parameters of a formula, and which function takes which of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .trouble import Trouble

_RNG = "rng"
_MORE_PLACES, _MORE_NAMES = 0x04, 0x08


class Signature(NamedTuple):
    """The names of a function's parameters, each with whether it has to be given; and whether it takes any others."""

    names: dict[str, bool]
    more_places: bool
    more_names: bool

    @property
    def told(self) -> str:
        """What it takes, in words."""
        more = ["any others"] if self.more_places or self.more_names else []
        return ", ".join([*(name for name in self.names if name != _RNG), *more]) or "none"


class Parameters:
    """The formula's parameters in order, and the source of randomness of this run; one without a name has its place."""

    def __init__(self, values: Sequence[tuple[str, Any]], seed: str) -> None:
        self.values = list(values)
        self._seed = seed
        self._used: set[int] = set()
        self._takers: list[str] = []

    def bound(self, function: Callable[..., Any], skipped: int = 0) -> Callable[..., Any]:
        """The function with its parameters: by name where it has all these names, else the first ones in order.

        ``skipped`` leading parameters are left for the caller to give.

        Raises:
            Trouble: where it needs more than there are.
        """
        taken = signature(function, skipped)
        wanted = {name: needed for name, needed in taken.names.items() if name != _RNG}
        given = {_RNG: self._randomness(function.__qualname__)} if _RNG in taken.names else {}
        needed = [name for name in wanted if wanted[name]]
        more: tuple[Any, ...] = ()
        if self._named and all(name in dict(self.values) for name in needed):
            given.update(self.by_name(function, skipped))
        elif taken.more_places:
            more = self.by_place(function, skipped)
        else:
            given.update(zip(wanted, self.by_place(function, skipped)))
        missing = [name for name in needed[len(more) :] if name not in given]
        if missing:
            raise Trouble(f"{function.__qualname__} needs {', '.join(missing)}: give it as a parameter")
        return lambda *first: function(*first, *more, **given)

    def by_name(self, function: Callable[..., Any], skipped: int = 0) -> dict[str, Any]:
        """Those of which a function has the names."""
        taken = self._asked(function, skipped)
        found = {name: value for name, value in self.values if taken.more_names or name in taken.names}
        self._used.update(place for place, (name, _) in enumerate(self.values) if name in found)
        return found

    def by_place(self, function: Callable[..., Any], skipped: int = 0) -> tuple[Any, ...]:
        """As many of the first as a function takes; those that have names are not thereby used."""
        taken = self._asked(function, skipped)
        number = len(self.values) if taken.more_places else len([name for name in taken.names if name != _RNG])
        if not self._named:
            self._used.update(range(number))
        return tuple(value for _, value in self.values[:number])

    def take_all(self) -> None:
        """Say that all are of use."""
        self._used.update(range(len(self.values)))

    def see_used(self, whose: str) -> None:
        """See that each is of use.

        Raises:
            Trouble: naming the first that no function has taken, and what they take.
        """
        for place, (name, value) in enumerate(self.values):
            if place not in self._used:
                which = name or f"{place + 1} ({value!r})"
                takers = "; ".join(self._takers) or "nothing takes any"
                raise Trouble(f"{whose} has no use for parameter {which}: {takers}")

    @property
    def _named(self) -> bool:
        return bool(self.values and self.values[0][0])

    def _asked(self, function: Callable[..., Any], skipped: int) -> Signature:
        taken = signature(function, skipped)
        self._takers.append(f"{function.__qualname__} takes {taken.told}")
        return taken

    def _randomness(self, whose: str) -> object:
        from random import Random

        return Random(f"{self._seed} {whose}")  # noqa: S311 - inputs, no secrets


def signature(function: Any, skipped: int = 0) -> Signature:
    """What a function takes after the first ``skipped``, read from its code.

    ``inspect`` would take longer to load than most runs need otherwise.
    """
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    last = code.co_argcount - len(function.__defaults__ or ())
    optional = {*names[last : code.co_argcount], *(function.__kwdefaults__ or {})}
    return Signature(
        {name: name not in optional for name in names[skipped:]},
        bool(code.co_flags & _MORE_PLACES),
        bool(code.co_flags & _MORE_NAMES),
    )
