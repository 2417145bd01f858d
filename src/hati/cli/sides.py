"""Which files stand on each side of a comparison: names, patterns and folders, each file once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from glob import glob, has_magic
from pathlib import Path
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


class FileSides(Struct, frozen=True):
    """The files of each side, and what each is called."""

    before: tuple[Path, ...]
    after: tuple[Path, ...]
    names: tuple[str, str]

    @property
    def same(self) -> bool:
        """Whether both sides are the same files."""
        return {path.resolve() for path in self.before} == {path.resolve() for path in self.after}

    @property
    def files(self) -> tuple[Path, ...]:
        """Those of both sides."""
        return (*self.before, *self.after)

    @classmethod
    def of(cls, words: Words) -> FileSides:
        """The files that words name.

        Raises:
            InputError: for a pattern or a folder without files, and for a file on both sides that differ otherwise.
        """
        before, after = files_of(words.before), files_of(words.after)
        found = cls(before, after, (_named(words.before, "before"), _named(words.after, "after")))
        known = {path.resolve() for path in before}
        both = [str(path) for path in after if path.resolve() in known]
        if both and not found.same:
            raise InputError(
                f"{listed(both)} {'is' if len(both) == 1 else 'are'} on both sides", fix="leave it out on one side"
            )
        return found


def _named(words: Sequence[str], side: str) -> str:
    return words[0] if len(words) == 1 else side


def is_pattern(word: str) -> bool:
    """Whether a word is a pattern of files, and not a file's name."""
    return has_magic(word) and not Path(word).exists()


def files_of(words: Sequence[str]) -> tuple[Path, ...]:
    """The files that words name, in their order, each once.

    Raises:
        InputError: for an empty name, a pattern that no file matches, and a folder without files.
    """
    from hati.subject.samples import measured_files

    found = (file for word in words for path in _paths(word) for file in measured_files(path))
    return tuple({file.resolve(): file for file in found}.values())


def _paths(word: str) -> list[Path]:
    if not word:
        raise InputError("the name of a file is empty", fix="name a file, a pattern or a folder")
    if not is_pattern(word):
        return [Path(word)]
    paths = [Path(name) for name in sorted(glob(word, recursive=True))]  # noqa: PTH207 - that finds hidden files
    if not paths:
        raise InputError(f"no file matches {word!r}", fix="check the folder and the pattern")
    return paths
