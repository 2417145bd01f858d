"""Options of files that take several words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from typer.core import TyperCommand

if TYPE_CHECKING:
    from typer._click import Context

_SEVERAL = frozenset({"--before", "--after"})


class SeveralFiles(TyperCommand):
    """Lets an option of files take all words up to the next option, such as the files of a shell's pattern."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse the words with the option repeated before each of its files."""
        return super().parse_args(ctx, list(option_for_each(args)))


def option_for_each(words: Sequence[str]) -> Iterator[str]:
    """The words of a command line, each file with its option before it.

    >>> list(option_for_each(["--before", "a", "b", "--margin", "2%"]))
    ['--before', 'a', '--before', 'b', '--margin', '2%']
    """
    option, taken = "", False
    for word in words:
        if word.startswith("-") and len(word) > 1:
            option, taken = (word if word in _SEVERAL else ""), False
        elif option and taken:
            yield option
        else:
            taken = True
        yield word
