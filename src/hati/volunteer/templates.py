"""Fill the templates of a signed statement: ``{name}`` stands for a value, ``{{`` and ``}}`` for braces."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping

from .errors import EnvelopeError

_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


def fill(text: str, values: Mapping[str, str]) -> str:
    """The template with each placeholder replaced by its value.

    Raises:
        EnvelopeError: where a brace stands alone, or a placeholder has no value.

    >>> fill("{work}/{{x}}", {"work": "/w"})
    '/w/{x}'
    """

    def replaced(found: re.Match[str]) -> str:
        if found[1] is None:
            if len(found[0]) == 2:
                return found[0][0]
            raise EnvelopeError(f"a brace stands alone in the template {text!r}")
        if found[1] not in values:
            raise EnvelopeError(f"the placeholder {{{found[1]}}} of the template {text!r} has no value")
        return values[found[1]]

    return _TOKEN.sub(replaced, text)


def names(texts: Iterable[str]) -> set[str]:
    """The names of all placeholders in templates.

    >>> sorted(names(["{work}/{{x}}", "{n}"]))
    ['n', 'work']
    """
    return {found[1] for text in texts for found in _TOKEN.finditer(text) if found[1] is not None}


def fill_all(argv: Iterable[str], values: Mapping[str, str]) -> list[str]:
    """An argument list with its placeholders filled.

    Raises:
        EnvelopeError: where one cannot be filled.
    """
    return [fill(part, values) for part in argv]


def option_arguments(template: str, setting: str, values: Mapping[str, str]) -> list[str]:
    """The arguments that an option adds: the template is split as by a shell, ``{}`` is the setting.

    One without ``{}`` is a flag, added if the setting is ``true``.

    Raises:
        EnvelopeError: where the template is malformed.

    >>> option_arguments("--level {}", "3", {})
    ['--level', '3']
    """
    if "{}" not in template and setting != "true":
        return []
    try:
        parts = shlex.split(template)
    except ValueError as error:
        raise EnvelopeError(f"the argument {template!r} cannot be split: {error}") from None
    return fill_all(parts, {**values, "": setting})
