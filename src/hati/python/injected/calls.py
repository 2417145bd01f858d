"""Batches of calls of a function or a method, with arguments that are created before the batch is timed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import repeat
from typing import Any

from .memory import resident
from .trouble import Full, Trouble

_LAZY = ("builtins", "itertools")


MOST = 2**28
"""The most memory for the arguments of a batch, in bytes."""

_LOOK = 16


class Calls:
    """Creates batches of calls, whose arguments take about ``most`` bytes at most.

    ``shape`` is that of ``timing.loop``; ``call`` is the function to call, if it is the same for a whole batch.
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
        """A batch of ``size`` calls, with newly created arguments.

        Raises:
            Full: if the arguments take too much memory.
            Trouble: if the workload returns different numbers of arguments for different calls.
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
        """Declare that batches have their final size: from now on they may appear to take twice as much memory.

        Memory that a batch reuses from earlier ones is not counted, and the next batch may reuse less.
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
            raise Trouble("the workload returns different numbers of arguments for different calls")
        return item


class Receiver:
    """The objects that a method is called on, created as often as ``fresh`` of their generator says."""

    def __init__(self, make: Callable[[], Any], fresh: str, owner: type, name: str) -> None:
        self.fresh = fresh
        self._make, self._owner, self._name = make, owner, name
        self._kept: Any = None

    def method(self) -> Callable[..., Any]:
        """The method of the object for the next observation or the next call.

        Raises:
            Trouble: if the object is not an instance of the class whose method is measured.
        """
        if self._kept is None or self.fresh != "run":
            made = self._make()
            if not isinstance(made, self._owner):
                raise Trouble(
                    f"the instance is a {type(made).__module__}.{type(made).__qualname__}, "
                    f"not a {self._owner.__module__}.{self._owner.__qualname__}"
                )
            self._kept = getattr(made, self._name)
        method: Callable[..., Any] = self._kept
        return method


def supply(generator: Callable[[], Any]) -> Iterator[tuple[Any, ...]]:
    """The arguments of successive calls, from a workload that returns those of one call or an iterator over them.

    Raises:
        Trouble: if an iterator is empty.
    """
    while True:
        made = generator()
        if not isinstance(made, Iterator):
            yield made if type(made) is tuple else (made,)
            continue
        empty = True
        for item in made:
            empty = False
            yield item if type(item) is tuple else (item,)
        if empty:
            raise Trouble("the workload's iterator is empty")


def is_lazy(result: object) -> bool:
    """Whether a result is computed on demand: a generator, or an iterator of ``map`` or ``itertools``."""
    return isinstance(result, Iterator) and type(result).__module__ in _LAZY


def _never() -> None:
    raise AssertionError
