"""The parameters of a formula, and which function takes which of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .signature import Named, Signature, signature
from .trouble import Trouble

RNG = "rng"
"""The parameter of workloads, instances and measuring functions that Hati gives: a source of randomness."""


class Parameters:
    """A formula's parameters in order, and what becomes of them; one without a name has its place.

    Functions are asked one after the other; each takes what it has a use for, whatever others took.
    """

    def __init__(self, values: Named, seed: str = "") -> None:
        self.values = list(values)
        self._seed = seed
        self._used: set[int] = set()
        self._takers: list[str] = []
        self.missing: list[tuple[str, str]] = []
        """What functions need and have not, and what to do about it."""

    def bound(self, function: Callable[..., Any], own: Sequence[Any] = (), skipped: int = 0) -> Callable[..., Any]:
        """A function with its own arguments, its parameters, and ``rng`` where it has one.

        ``skipped`` leading parameters are left for the caller to give.

        Raises:
            Trouble: for more arguments of its own than it takes, and for what is no function of Python's.
        """
        taken, whose = signature(function, skipped), getattr(function, "__qualname__", type(function).__name__)
        known = {RNG: self._randomness(whose)} if RNG in taken.names else {}
        listed, named = self.taken(whose, taken, own, known)
        return lambda *first: function(*first, *listed, **named)

    def taken(
        self, whose: str, takes: Signature, own: Sequence[Any] = (), known: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """What a function is called with: by place, and by name.

        Raises:
            Trouble: for more arguments of its own than it takes.
        """
        known = known or {}
        try:
            found = takes.given(own, self.values, known)
        except Trouble as trouble:
            raise Trouble(f"{whose} {trouble}") from None
        self._used.update(found.used)
        self._takers.append(f"{whose} takes {takes.told(known)}{_besides(own)}")
        if found.missing:
            way = _way(takes, found.missing)
            self.missing.append((f"{whose} needs {', '.join(found.missing)}", f"give it as a parameter{way}"))
        return found.listed, found.named

    def take_all(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All, as they are given: for what nobody knows the parameters of."""
        self._used.update(range(len(self.values)))
        named = {name: value for name, value in self.values if name}
        return () if named else tuple(value for _, value in self.values), named

    def see_given(self, whose: str) -> None:
        """See that each is of use, and that none is missing.

        Raises:
            Trouble: naming the first that no function has taken, and what they take; or what one needs.
        """
        if useless := self.useless(whose):
            raise Trouble(useless)
        if self.missing:
            raise Trouble(": ".join(self.missing[0]))

    def useless(self, whose: str) -> str:
        """What is wrong with the first that no function has taken; empty where there is none."""
        for place, (name, value) in enumerate(self.values):
            if place not in self._used:
                which = name or f"{place + 1} ({value!r})"
                takers = "; ".join(self._takers) or "nothing takes any"
                return f"{whose} has no use for parameter {which}: {takers}"
        return ""

    def _randomness(self, whose: str) -> object:
        from random import Random

        return Random(f"{self._seed} {whose}")  # noqa: S311 - inputs, no secrets


def _way(takes: Signature, missing: Sequence[str]) -> str:
    """How, where there is but one way."""
    names = list(takes.names)
    if all(name in names[: takes.nameless] for name in missing):
        return " without a name"
    return " by its name" if all(name in names[takes.places :] for name in missing) else ""


def _besides(own: Sequence[Any]) -> str:
    return f", of which ({', '.join(map(repr, own))}) {'is' if len(own) == 1 else 'are'} given" if own else ""
