"""The formats of documents, each with what writes any document in it: one table of them.

Packages add formats by entry points of the group ``hati.renderers``; each is a function of a document to text or bytes.
"""

from __future__ import annotations

from collections.abc import Callable

from hati.core import InputError
from hati.packages import added, callable_only, called, load_added
from hati.render.markdown import document_markdown
from hati.render.terminal import document_text
from hati.render.verdicts import to_annotations, to_junit
from hati.report import Document

GROUP = "hati.renderers"
"""The entry points of other packages."""

Renderer = Callable[[Document], str | bytes]

_RENDERERS: dict[str, Renderer] = {
    "text": document_text,
    "markdown": document_markdown,
    "junit": lambda document: to_junit(document.suite, document.cases),
    "github": lambda document: to_annotations(document.suite, document.answer, document.cases),
}


def renderer_names() -> tuple[str, ...]:
    """The formats that packages add."""
    return tuple(entry.name for entry in added(GROUP))


def renderer_of(name: str) -> Renderer:
    """What writes documents in a format.

    Raises:
        InputError: where there is no such format, or its package cannot be used.
    """
    if name in _RENDERERS:
        return _RENDERERS[name]
    found: Renderer = load_added(GROUP, name, "format", callable_only, tuple(_RENDERERS))

    def write(document: Document) -> str | bytes:
        text = called(f"the format {name!r}", found, document)
        if not isinstance(text, str | bytes):
            raise InputError(f"the format {name!r} gives {text!r}", fix="have it give text or bytes")
        return text

    return write
