"""What all nodes of a formula's tree share: where they were read, how deep they are, how they are bracketed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import ClassVar

from hati.core import InputError

DEEPEST = 60
"""The greatest depth of a tree, so that whatever walks it may recurse."""

PLAIN = 100
"""The precedence of what never needs parentheses."""


class NodeError(InputError):
    """What is wrong with a node; ``offset`` is where it was read."""

    def __init__(self, node: Node, message: str, *, fix: str | None = None) -> None:
        super().__init__(message, fix=fix)
        self.offset = node.offset


@dataclass(frozen=True)
class Node:
    """A node: ``str`` prints it canonically, so that it parses to an equal one.

    ``offset`` is where it was read, in characters from 0 of the whole text; it makes no difference to equality.

    Raises:
        InputError: where the tree is deeper than ``DEEPEST``.
    """

    __match_args__: ClassVar[tuple[str, ...]]
    precedence: ClassVar[int] = PLAIN
    offset: int = field(default=0, compare=False, repr=False, kw_only=True)
    depth: int = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        depth = 1 + max([part.depth for part in self.parts], default=0)
        if depth > DEEPEST:
            fix = "split it into several"
            raise NodeError(self, f"the formula has more than {DEEPEST} levels, or terms in a row", fix=fix)
        object.__setattr__(self, "depth", depth)

    @property
    def parts(self) -> tuple[Node, ...]:
        """The nodes right below, in order."""
        found: list[Node] = []
        for name in self.__match_args__:
            value = getattr(self, name)
            if isinstance(value, Node):
                found.append(value)
            elif isinstance(value, tuple):
                found.extend([part for part in value if isinstance(part, Node)])
        return tuple(found)

    def nodes(self) -> Iterator[Node]:
        """This node and all below, in order of reading."""
        yield self
        for part in self.parts:
            yield from part.nodes()

    def bracketed(self, precedence: int) -> str:
        """The node's text, in parentheses unless it binds tighter than ``precedence``."""
        return str(self) if self.precedence > precedence else f"({self})"


def shortened(node: Node) -> str:
    """A node's text as messages show it."""
    text = str(node)
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


_SHOWN = 60
