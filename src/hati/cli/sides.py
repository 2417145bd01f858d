"""What a command line names for each side of a comparison."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec import Struct
from typer.core import TyperCommand

from hati.core import InputError
from hati.core.wording import listed

if TYPE_CHECKING:
    from typer._click import Context

_SEVERAL = frozenset({"--before", "--after"})
_USAGE = "write `hati compare BEFORE AFTER`, or `hati compare --before FILE... --after FILE...`"


class SeveralFiles(TyperCommand):
    """Lets an option of files take all words up to the next option, as a shell gives those of a pattern."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:
        """Parse the words with such an option before each of its files."""
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


class Words(Struct, frozen=True):
    """What a command line names for each side."""

    before: tuple[str, ...]
    after: tuple[str, ...]

    @classmethod
    def of(cls, names: Sequence[str], before: Sequence[str], after: Sequence[str]) -> Words:
        """Two names, or what the options of both sides name.

        Raises:
            InputError: where a side has nothing, or names are on no side.
        """
        if before or after:
            if names:
                raise InputError(
                    f"{listed(names)} {'is' if len(names) == 1 else 'are'} on neither side",
                    fix="name all files of a side right after --before or --after",
                )
            if not (before and after):
                raise InputError(f"{'--after' if before else '--before'} is missing", fix=_USAGE)
            return cls(tuple(before), tuple(after))
        if len(names) == 2:
            return cls((names[0],), (names[1],))
        missing = ("BEFORE and AFTER are", "AFTER is")
        what = f"{missing[len(names)]} missing" if len(names) < 2 else f"{len(names)} files are on neither side"
        raise InputError(what, fix=_USAGE)

    @property
    def pair(self) -> tuple[str, str] | None:
        """Both names where each side has one: benchmarks may have them."""
        if len(self.before) == len(self.after) == 1:
            return self.before[0], self.after[0]
        return None
