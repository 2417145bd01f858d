"""Two lists that can be searched."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class ArrayList:
    """Python's list, searched by a loop in C."""

    def __init__(self) -> None:
        self._items: list[int] = []

    def add(self, item: int) -> None:
        """Put it behind the others."""
        self._items.append(item)

    def contains(self, item: int) -> bool:
        """Whether it was added."""
        return item in self._items


@dataclass
class Node:
    """An item and the one after it."""

    item: int
    after: Node | None = None


class LinkedList:
    """Nodes, each with the next one; a search takes a few steps of Python's for each."""

    def __init__(self) -> None:
        self._first = self._last = Node(-1)

    def add(self, item: int) -> None:
        """Put it behind the others."""
        self._last.after = Node(item)
        self._last = self._last.after

    def contains(self, item: int) -> bool:
        """Whether it was added."""
        node = self._first.after
        while node is not None:
            if node.item == item:
                return True
            node = node.after
        return False


def filled(container: ArrayList | LinkedList, items: Iterable[int]) -> ArrayList | LinkedList:
    for item in items:
        container.add(item)
    return container
