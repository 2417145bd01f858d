"""The known name that a wrong one was probably meant to be."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from hati.core.wording import listed

_LONGEST = 200  # the comparison is quadratic in length


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like ``name``, or None where none is like it.

    >>> nearest("jurnal_mode", ["cache", "journal_mode"])
    'journal_mode'
    """
    if len(name) > _LONGEST:
        return None
    candidates = list(known)
    folded = {candidate.casefold(): candidate for candidate in reversed(candidates)}
    if name.casefold() in folded:
        return folded[name.casefold()]
    return next(iter(get_close_matches(name, candidates, n=1)), None)


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
