"""Commands in the text of a document: each stands in backquotes, and may have backquotes within its quotes."""

from __future__ import annotations

import re
from collections.abc import Callable

COMMAND = r"""`(hati (?:'[^']*'|"[^"]*"|[^`'"])*)`"""
"""The pattern of a command in its backquotes; its one group is the command."""

_COMMAND = re.compile(COMMAND)


def with_commands(text: str, plain: Callable[[str], str], command: Callable[[str], str]) -> str:
    """The text with each command set by ``command``, without its backquotes, and what is between them by ``plain``.

    >>> with_commands("Run `hati screen` again.", str.upper, lambda own: f"<{own}>")
    'RUN <hati screen> AGAIN.'
    """
    pieces = _COMMAND.split(text)
    return "".join((command if place % 2 else plain)(piece) for place, piece in enumerate(pieces))
