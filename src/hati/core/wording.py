"""Text for people: numbers and names in sentences, suggestions for wrong names, cells of spreadsheets.

Names and settings come from users: they must be shown, and have no other effect (`visible`).
"""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Iterable
from difflib import get_close_matches


def counted(number: int, noun: str) -> str:
    """A number and its noun, whose plural ends in s.

    >>> counted(1, "run"), counted(2000, "run")
    ('1 run', '2,000 runs')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def runs_of_study(study: str, made: int, analysed: int | None = None) -> str:
    """A study's key with the number of all runs made for it, and of the values in its analysis if these are fewer.

    >>> runs_of_study("screening-1", 334), runs_of_study("screening-1", 334, 329)
    ('screening-1: 334 runs', 'screening-1: 334 runs, 329 values in the analysis')
    """
    fewer = "" if analysed is None or analysed == made else f", {counted(analysed, 'value')} in the analysis"
    return f"{study}: {counted(made, 'run')}{fewer}"


_SPANS = (("day", 86_400), ("hour", 3_600), ("minute", 60), ("second", 1))


def span_text(seconds: float) -> str:
    """A length of time in the largest unit that it reaches.

    >>> span_text(50 * 3600), span_text(90), span_text(3)
    ('2 days', '1 minute', '3 seconds')
    """
    name, size = next((unit for unit in _SPANS if seconds >= unit[1]), _SPANS[-1])
    return counted(int(seconds // size), name)


def listed(names: Iterable[str], most: int = 6, separator: str = ", ") -> str:
    """The first names, and the number of further ones; a single further one is named.

    >>> listed("abc", most=2), listed("abcd", most=2), listed("abcd", most=2, separator="; ")
    ('a, b, c', 'a, b and 2 more', 'a; b; and 2 more')
    """
    known = list(names)
    more = len(known) - most
    if more <= 1:
        return separator.join(known)
    return f"{separator.join(known[:most])}{separator.strip(', ')} and {more:,} more"


def effect_name(options: Iterable[str]) -> str:
    """An effect by its options.

    >>> effect_name(["cache"]), effect_name(["cache", "threads"])
    ('cache', 'cache x threads')
    """
    return " x ".join(options)


LINE = 80
"""The columns of a line of text."""


def shortened(text: str, columns: int) -> str:
    """The text, cut after a word with an ellipsis where it has more than that number of columns.

    >>> shortened("Sort by radix", 13), shortened("Sort by radix", 11)
    ('Sort by radix', 'Sort by ...')
    """
    if len(text) <= columns:
        return text
    kept = text[: max(columns - 3, 0)]
    return f"{kept[: kept.rfind(' ') + 1] or kept}..."


def ranges(numbers: Iterable[int]) -> list[str]:
    """Ascending numbers, consecutive ones as ranges.

    >>> ranges([3, 4, 5, 9])
    ['3-5', '9']
    """
    found: list[list[int]] = []
    for number in numbers:
        if found and found[-1][1] == number - 1:
            found[-1][1] = number
        else:
            found.append([number, number])
    return [str(first) if first == last else f"{first}-{last}" for first, last in found]


_LONGEST = 200  # the comparison is quadratic in length


def nearest(name: str, known: Iterable[str], alike: float = 0.6) -> str | None:
    """The known name most like ``name``, or None where none is like it by the fraction ``alike``.

    >>> nearest("jurnal_mode", ["cache", "journal_mode"])
    'journal_mode'
    """
    if len(name) > _LONGEST:
        return None
    candidates = list(known)
    folded = {candidate.casefold(): candidate for candidate in reversed(candidates)}
    if name.casefold() in folded:
        return folded[name.casefold()]
    return next(iter(get_close_matches(name, candidates, 1, alike)), None)


def suggestion(name: str, known: Iterable[str]) -> str:
    """A fix: the nearest known name, or all of them where none is near.

    >>> suggestion("jurnal_mode", ["cache", "journal_mode"])
    "did you mean 'journal_mode'?"
    >>> suggestion("x", ["cache", "journal_mode"])
    'there are: cache, journal_mode'
    """
    candidates = list(known)
    near = nearest(name, candidates)
    if near is not None:
        return f"did you mean {near!r}?"
    if not candidates:
        return "there are none"
    return f"there are: {listed(candidates, 12)}"


_ALWAYS = ("=", "@", "\t", "\r")
_SIGNS = ("+", "-")
_OF_FORMULAS = frozenset("=(!|")
_QUOTE = "'"


def command_text(words: Iterable[str]) -> str:
    r"""The words as a command for a shell: quoted where it needs that, and in double quotes where an apostrophe is.

    >>> command_text(["hati", "screen", "my runs", "--set", "a != 'b'"])
    'hati screen \'my runs\' --set "a != \'b\'"'
    """
    return " ".join(f'"{word}"' if _plain_in_double_quotes(word) else shlex.quote(word) for word in words)


_SPECIAL_IN_DOUBLE_QUOTES = re.compile(r'["$`\\]|!(?![\s=])')
"""What a shell expands; an exclamation mark before a blank or an equals sign is never a reference to its history."""


def _plain_in_double_quotes(word: str) -> bool:
    return "'" in word and not _SPECIAL_IN_DOUBLE_QUOTES.search(word)


def guarded(text: str) -> str:
    """The text with an apostrophe before it where a spreadsheet would take it for a formula that does something.

    >>> guarded("=1+2"), guarded("-O2")
    ("'=1+2", '-O2')
    """
    return _QUOTE + text if _is_formula(text) else text


def unguarded(text: str) -> str:
    """The text that `guarded` was given.

    >>> unguarded("'=1+2"), unguarded("'tis")
    ('=1+2', "'tis")
    """
    return text[1:] if text.startswith(_QUOTE) and _is_formula(text[1:]) else text


def _is_formula(text: str) -> bool:
    text = text.lstrip(_QUOTE)
    return text.startswith(_ALWAYS) or (text.startswith(_SIGNS) and not _OF_FORMULAS.isdisjoint(text))


def visible(text: str) -> str:
    r"""The text as one line that only shows: control and direction characters are written as escapes.

    >>> visible("line\nbreak")
    'line\\nbreak'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    if unicodedata.category(character) == "Zs":
        return " "
    return character.encode("unicode_escape").decode("ascii")
