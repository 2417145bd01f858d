"""The parameters of a formula, and the functions that take them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .signature import Named, Signature, signature
from .trouble import Trouble

RNG = "rng"
"""The parameter of workloads, instances and measuring functions that Hati supplies: a random generator."""


class Parameters:
    """A formula's parameters in order, and which functions take them; one without a name is positional.

    Functions are asked one after the other. Each takes all parameters that it can use, even if others took them.
    """

    def __init__(self, values: Named, seed: str = "") -> None:
        self.values = list(values)
        self._seed = seed
        self._used: set[int] = set()
        self._takers: list[str] = []
        self.missing: list[tuple[str, str]] = []
        """The parameters that functions lack, each with a fix."""

    def bound(self, function: Callable[..., Any], own: Sequence[Any] = (), skipped: int = 0) -> Callable[..., Any]:
        """The function with its own arguments, its parameters, and ``rng`` if it has that parameter.

        The caller gives the first ``skipped`` parameters.

        Raises:
            Trouble: for more arguments of its own than it takes, and if it is not a Python function.
        """
        taken, whose = signature(function, skipped), getattr(function, "__qualname__", type(function).__name__)
        known = {RNG: self._randomness(whose)} if RNG in taken.names else {}
        listed, named = self.taken(whose, taken, own, known)
        return lambda *first: function(*first, *listed, **named)

    def taken(
        self, whose: str, takes: Signature, own: Sequence[Any] = (), known: Mapping[str, Any] | None = None
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The positional and the keyword arguments for a function.

        Raises:
            Trouble: for more arguments of its own than it takes.
        """
        known = known or {}
        try:
            found = takes.given(own, self.values, known)
        except Trouble as trouble:
            raise Trouble(f"{whose} {trouble}") from None
        self._used.update(found.used)
        self._takers.append(f"{whose} takes {takes.describe(known)}{_besides(own)}")
        if found.missing:
            way = _way(takes, found.missing)
            self.missing.append((f"{whose} needs {', '.join(found.missing)}", f"give it as a parameter{way}"))
        return found.listed, found.named

    def take_all(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """All parameters as given, for a function with an unknown signature."""
        self._used.update(range(len(self.values)))
        named = {name: value for name, value in self.values if name}
        return () if named else tuple(value for _, value in self.values), named

    def check_given(self, whose: str) -> None:
        """Check that every parameter is taken, and that none is missing.

        Raises:
            Trouble: for the first parameter that no function takes, with those that they take; or for a missing one.
        """
        if useless := self.useless(whose):
            raise Trouble(useless)
        if self.missing:
            raise Trouble(": ".join(self.missing[0]))

    def useless(self, whose: str) -> str:
        """The message about the first parameter that no function takes; empty if there is none."""
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
    """How to give the missing parameters, if there is only one way."""
    names = list(takes.names)
    if all(name in names[: takes.nameless] for name in missing):
        return " without a name"
    return " by its name" if all(name in names[takes.places :] for name in missing) else ""


def _besides(own: Sequence[Any]) -> str:
    return f", of which ({', '.join(map(repr, own))}) {'is' if len(own) == 1 else 'are'} given" if own else ""
