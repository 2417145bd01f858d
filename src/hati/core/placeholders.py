"""The templates of commands: ``{name}`` stands for a value, ``{{`` and ``}}`` for braces."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

from hati.core.errors import InputError, Place
from hati.core.wording import nearest

_UNESCAPED = re.compile(r"(?<!\\)\{([^{}]*)\}")
_TOKEN = re.compile(r"\{\{|\}\}|\{([^{}]*)\}|[{}]")


class Placeholder(Struct, frozen=True):
    """A placeholder: its name (``""`` for ``{}``, ``"file:NAME"`` for a file) and the offset of its brace, from 0."""

    name: str
    offset: int


class PlaceholderError(InputError):
    """A template that cannot be read or filled; ``offset`` counts from 0 in ``text``."""

    def __init__(self, message: str, text: str, offset: int, *, fix: str | None = None) -> None:
        line = text.count("\n", 0, offset) + 1
        start = text.rfind("\n", 0, offset) + 1
        end = text.find("\n", offset)
        place = Place("template", line, offset - start + 1, text[start : end if end >= 0 else None])
        super().__init__(message, place=place, fix=fix)
        self.text = text
        self.offset = offset


def names(text: str) -> tuple[Placeholder, ...]:
    """The placeholders of a template, in order.

    Raises:
        PlaceholderError: where a brace stands alone.

    >>> names("--db {work}/a.db {{literal}}")
    (Placeholder(name='work', offset=5),)
    """
    return tuple(piece for piece in _pieces(text) if isinstance(piece, Placeholder))


def fill(text: str, values: Mapping[str, str]) -> str:
    """The template with every placeholder replaced by its value, and doubled braces by single ones.

    Raises:
        PlaceholderError: where a brace stands alone or a placeholder has no value.

    >>> fill("{work}/{{x}}", {"work": "/tmp/w"})
    '/tmp/w/{x}'
    """
    parts = []
    for piece in _pieces(text):
        if isinstance(piece, str):
            parts.append(piece)
        elif piece.name in values:
            parts.append(values[piece.name])
        else:
            raise unknown(text, piece, values)
    return "".join(parts)


def fill_known(text: str, values: Mapping[str, str]) -> str:
    r"""The text with ``{name}`` replaced where ``values`` has that name; every other brace stays.

    Use it for texts in which braces have another meaning, such as regular expressions; ``\{`` is not a placeholder.

    >>> fill_known(r"size {n}: (\d{1,3})", {"n": "100"})
    'size 100: (\\d{1,3})'
    """
    return _UNESCAPED.sub(lambda found: values.get(found[1], found[0]), text)


def unknown(text: str, placeholder: Placeholder, known: Collection[str]) -> PlaceholderError:
    """The error for a placeholder of a template that is not among the known ones."""
    near = nearest(placeholder.name, known)
    choices = f"did you mean {{{near}}}?" if near else f"there are: {_listed(known)}"
    fix = f"{choices} (for braces as they are, double them: {{{{ }}}})"
    return PlaceholderError(f"unknown placeholder {{{placeholder.name}}}", text, placeholder.offset, fix=fix)


def _listed(known: Collection[str]) -> str:
    return ", ".join(f"{{{name}}}" for name in known) if known else "none here"


def _pieces(text: str) -> Iterator[str | Placeholder]:
    end = 0
    for match in _TOKEN.finditer(text):
        yield text[end : match.start()]
        end = match.end()
        if match[1] is not None:
            yield Placeholder(match[1], match.start())
        elif len(match[0]) == 2:
            yield match[0][0]
        else:
            brace = match[0]
            raise PlaceholderError(
                f"a single {brace!r}", text, match.start(), fix=f"write {brace * 2!r} for a brace as it is"
            )
    yield text[end:]
