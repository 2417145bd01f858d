"""What is called: a function or a method, with arguments made in advance for every call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any

from .memory import resident
from .trouble import Full, Trouble

_LAZY = ("builtins", "itertools")


MOST = 2**28
"""Bytes that the arguments of a batch may take."""

_LOOK = 16


class Calls:
    """Makes batches of calls, whose arguments take about ``most`` bytes at most.

    ``shape`` is that of ``timing.loop``; ``call`` is what is called where it is the same for all of a batch.
    """

    def __init__(
        self,
        call: Callable[..., Any] | None,
        arguments: Callable[[], Any] | None,
        receiver: Receiver | None = None,
        most: int = MOST,
    ) -> None:
        self.call: Callable[..., Any] = call if call is not None else _never
        self._receiver, self._most, self._limit = receiver, most, most
        self._supply = None if arguments is None else supply(arguments)
        if receiver is not None and receiver.fresh == "call":
            self.shape = "each"
        elif self._supply is None:
            self.shape = "none"
        else:
            first = next(self._supply)
            self.shape = "one" if len(first) == 1 else "many"
            self._width = len(first)

    def batch(self, size: int) -> Iterable[Any]:
        """So many calls, all that they need made anew.

        Raises:
            Full: where that takes too much memory.
            Trouble: where the workload makes another number of arguments.
        """
        if self._receiver is not None and self.shape != "each":
            self.call = self._receiver.method()
        if self.shape == "none":
            return repeat(None, size)
        make = self._own if self.shape == "each" else self._one if self.shape == "one" else self._many
        before, made = resident(), []
        for number in range(size):
            if (number & (number - 1) == 0 or number % _LOOK == 0) and resident() - before > self._limit:
                raise Full(number, self._most)
            made.append(make())
        return made

    def settle(self) -> None:
        """Say that batches are as large as they will be: these may seem to take twice as much.

        What a batch reuses of the memory of those before it is not seen, and the next one may reuse less.
        """
        self._limit = 2 * self._most

    def _own(self) -> Any:
        assert self._receiver is not None
        return self._receiver.method(), () if self._supply is None else next(self._supply)

    def _one(self) -> Any:
        return self._many()[0]

    def _many(self) -> tuple[Any, ...]:
        assert self._supply is not None
        item = next(self._supply)
        if len(item) != self._width:
            raise Trouble("the workload makes arguments of different numbers for different calls")
        return item


class Receiver:
    """The objects that a method is called on, as often made anew as their generator says."""

    def __init__(self, make: Callable[[], Any], fresh: str, owner: type, name: str) -> None:
        self.fresh = fresh
        self._make, self._owner, self._name = make, owner, name
        self._kept: Any = None

    def method(self) -> Callable[..., Any]:
        """The method of the object for the next observation, or the next call.

        Raises:
            Trouble: where the object is none of the class whose method is measured.
        """
        if self._kept is None or self.fresh != "run":
            made = self._make()
            if not isinstance(made, self._owner):
                raise Trouble(
                    f"the instance is a {type(made).__module__}.{type(made).__qualname__}, "
                    f"no {self._owner.__module__}.{self._owner.__qualname__}"
                )
            self._kept = getattr(made, self._name)
        method: Callable[..., Any] = self._kept
        return method


def supply(generator: Callable[[], Any]) -> Iterator[tuple[Any, ...]]:
    """The arguments of call after call, from a workload that makes those of one, or an iterator over them.

    Raises:
        Trouble: where an iterator has none.
    """
    while True:
        made = generator()
        if not isinstance(made, Iterator):
            yield made if type(made) is tuple else (made,)
            continue
        none = True
        for item in made:
            none = False
            yield item if type(item) is tuple else (item,)
        if none:
            raise Trouble("the workload's iterator has nothing in it")


def is_lazy(result: object) -> bool:
    """Whether a result is computed as it is asked for: a generator, or what ``map`` and ``itertools`` make."""
    return isinstance(result, Iterator) and type(result).__module__ in _LAZY


def _never() -> None:
    raise AssertionError
