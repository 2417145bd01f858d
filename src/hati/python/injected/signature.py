"""The signature of a function, and the arguments that it gets from a formula's parameters.

The rules are those of a Python call. Positional arguments fill the positional parameters in order, then ``*more``.
Keyword arguments go to the parameter of that name, else to ``**more``. Parameters before a ``/`` have no name, those
after a ``*`` no position. Parameters that Hati supplies, such as ``rng``, are left out wherever they stand.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .trouble import Trouble

Named = Sequence[tuple[str, Any]]
"""Parameters in order: all have names, or all names are empty."""

_MORE_PLACES, _MORE_NAMES = 0x04, 0x08


class Given(NamedTuple):
    """A function's positional and keyword arguments, the indices of used parameters, and the names of missing ones."""

    listed: tuple[Any, ...]
    named: dict[str, Any]
    used: tuple[int, ...]
    missing: tuple[str, ...]


class Signature(NamedTuple):
    """The names of a function's parameters in order, each with whether it is required.

    The first ``places`` can be given by position, all but the first ``nameless`` by name. ``more_places`` and
    ``more_names`` say whether others are accepted by position or by name.
    """

    names: Mapping[str, bool]
    nameless: int = 0
    places: int = 0
    more_places: bool = False
    more_names: bool = False

    def without(self, number: int) -> Signature:
        """The signature without the first ``number`` parameters, which the caller gives."""
        kept = list(self.names.items())[min(number, self.places) :]
        return self._replace(
            names=dict(kept), nameless=max(0, self.nameless - number), places=max(0, self.places - number)
        )

    def describe(self, known: Mapping[str, Any]) -> str:
        """The parameters that it takes, in words."""
        more = ["any others"] if self.more_places else ["any others by name"] if self.more_names else []
        return ", ".join([*(name for name in self.names if name not in known), *more]) or "none"

    def free(self, known: Mapping[str, Any], own: int = 0) -> tuple[str, ...]:
        """The positional parameters that are left after ``own`` arguments of the function's own."""
        return tuple(name for name in list(self.names)[: self.places] if name not in known)[own:]

    def given(self, own: Sequence[Any], parameters: Named, known: Mapping[str, Any]) -> Given:
        """The ``own`` arguments by position, then the parameters by position or by name, and ``known`` by name.

        Raises:
            Trouble: for more arguments of its own than positional parameters.
        """
        places = self.free(known)
        if len(own) > len(places) and not self.more_places:
            raise Trouble(f"takes {self.describe(known)}, and is given {len(own)} in brackets")
        values = dict(zip(places, own))
        if parameters and parameters[0][0]:
            used = tuple(place for place, (name, _) in enumerate(parameters) if self._takes(name, values, known))
            values.update(parameters[place] for place in used)
            more = tuple(own[len(places) :])
        else:
            left = len(parameters) if self.more_places else max(0, len(places) - len(own))
            used = tuple(range(min(left, len(parameters))))
            every = (*own, *(parameters[place][1] for place in used))
            values.update(zip(places, every))
            more = every[len(places) :]
        values.update((name, value) for name, value in known.items() if name in self.names)
        listed, named = self._called(values)
        return Given((*listed, *more), named, used, self._missing(values, known))

    def _takes(self, name: str, values: Mapping[str, Any], known: Mapping[str, Any]) -> bool:
        """Whether it takes a parameter of that name, given the arguments that it has."""
        if name in self.names:
            return name in list(self.names)[self.nameless :] and name not in values and name not in known
        return self.more_names

    def _called(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The values by position as far as possible, which is faster, and the rest by name."""
        listed: list[Any] = []
        for name in list(self.names)[: self.places]:
            if name not in values:
                break
            listed.append(values[name])
        first = list(self.names)[: len(listed)]
        return listed, {name: value for name, value in values.items() if name not in first}

    def _missing(self, values: Mapping[str, Any], known: Mapping[str, Any]) -> tuple[str, ...]:
        """The required parameters without a value; all before a positional-only one in ``known`` are required."""
        last = max((place for place, name in enumerate(list(self.names)[: self.nameless]) if name in known), default=0)
        return tuple(
            name
            for place, (name, needed) in enumerate(self.names.items())
            if (needed or place < last) and name not in values
        )


def signature(function: Any, skipped: int = 0) -> Signature:
    """The signature of a function without its first ``skipped`` parameters, read from its code object.

    Importing ``inspect`` would take longer than most runs.

    Raises:
        Trouble: if it is not a Python function.
    """
    skipped += getattr(function, "__self__", None) is not None
    while hasattr(function, "__wrapped__"):
        function = function.__wrapped__
    if not hasattr(function, "__code__"):
        raise Trouble(f"what a {type(function).__name__} takes is not known: write a function around it")
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    last = code.co_argcount - len(function.__defaults__ or ())
    optional = {*names[last : code.co_argcount], *(function.__kwdefaults__ or {})}
    return Signature(
        {name: name not in optional for name in names},
        code.co_posonlyargcount,
        code.co_argcount,
        bool(code.co_flags & _MORE_PLACES),
        bool(code.co_flags & _MORE_NAMES),
    ).without(skipped)
