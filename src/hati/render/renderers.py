"""The formats of documents, each with what writes any document in it: one table of them.

Packages add formats by entry points of the group ``hati.renderers``; each is a function of a document to text or bytes.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points

from hati.core import InputError
from hati.core.wording import suggestion
from hati.render.html import document_html
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
    "html": document_html,
    "junit": lambda document: to_junit(document.suite, document.cases),
    "github": lambda document: to_annotations(document.suite, document.answer, document.cases),
}


def renderer_names() -> tuple[str, ...]:
    """The formats that packages add."""
    return tuple(sorted(entry.name for entry in entry_points(group=GROUP)))


def renderer_of(name: str) -> Renderer:
    """What writes documents in a format.

    Raises:
        InputError: where there is no such format, or its package cannot be loaded.
    """
    if name in _RENDERERS:
        return _RENDERERS[name]
    found = next((entry for entry in entry_points(group=GROUP) if entry.name == name), None)
    if found is None:
        raise InputError(f"there is no format {name!r}", fix=suggestion(name, [*_RENDERERS, *renderer_names()]))
    try:
        made: Renderer = found.load()
    except Exception as error:  # of another's code, whatever it is
        what = f"{type(error).__name__}: {error}"
        raise InputError(
            f"the format {name!r} of {found.value} cannot be loaded: {what}", fix="correct or remove its package"
        ) from error
    return made
