"""Texts in tables that spreadsheets open: none may be taken for a formula."""

from __future__ import annotations

_ALWAYS = ("=", "@", "\t", "\r")
_SIGNS = ("+", "-")
_OF_FORMULAS = frozenset("=(!|")
_QUOTE = "'"


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
