"""A live list: what is put into it is checked, and gets its parent."""

from __future__ import annotations

from typing import Any


class FilterList:
    """Holds only what is of one kind, within one parent."""

    def __init__(self, parent: Any, kind: type) -> None:
        self.parent, self.kind = parent, kind
        self.items: list[Any] = []

    def __len__(self) -> int:
        return len(self.items)

    def accepts(self, item: Any) -> bool:
        """Whether it is of that kind, and not the parent itself."""
        return isinstance(item, self.kind) and item is not self.parent

    def insert(self, place: int, item: Any) -> None:
        """Put it there.

        Raises:
            ValueError: where it is not accepted.
            IndexError: where there is no such place.
        """
        if not self.accepts(item):
            raise ValueError(f"{item} cannot be put here")
        if not 0 <= place <= len(self):
            raise IndexError(f"there is no place {place}")
        item.parent = self.parent
        self.items.insert(place, item)

    def append(self, item: Any) -> None:
        """Put it behind the others."""
        self.insert(len(self), item)
