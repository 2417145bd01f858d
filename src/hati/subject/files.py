"""Configuration files, made from Jinja2 templates for every run."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from types import TracebackType

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, UndefinedError, meta

from hati.core import ConfigurationFile, InputError, Place, replace
from hati.subject.bounded_jinja import BoundedEnvironment


def _plain(value: object) -> object:
    """Booleans as in a command: ``true`` and ``false``."""
    return str(value).lower() if isinstance(value, bool) else value


_OF_EXPRESSIONS = (ArithmeticError, LookupError, TypeError, ValueError, AttributeError)

# A name that a template misspells must not vanish silently.
_JINJA = BoundedEnvironment(
    undefined=StrictUndefined,
    keep_trailing_newline=True,
    finalize=_plain,
    autoescape=False,  # the files are not HTML
)


def check_template(file: ConfigurationFile) -> frozenset[str]:
    """The names that a template uses.

    Raises:
        InputError: with the place, where its syntax is wrong.
    """
    _compile(file)
    return frozenset(meta.find_undeclared_variables(_JINJA.parse(file.template)))


def render(file: ConfigurationFile, variables: Mapping[str, object]) -> str:
    """The text of a configuration file.

    Raises:
        InputError: with the place, where the template uses what is not there, or fails otherwise.
    """
    template = _compile(file)
    try:
        return _JINJA.bounded(template, variables)
    except UndefinedError as error:
        raise InputError(
            f"template: {error.message}",
            place=Place(file.source, _line(error.__traceback__)),
            fix="an option without influence has no setting: test it with `is defined`",
        ) from None
    except (TemplateError, RecursionError, MemoryError, *_OF_EXPRESSIONS) as error:
        raise InputError(
            f"template: {str(error) or type(error).__name__}", place=Place(file.source, _line(error.__traceback__))
        ) from None


def of_revision(file: ConfigurationFile, tree: Path) -> ConfigurationFile:
    """The file by the template that a revision has in its tree; today's where it has none."""
    source = tree / file.inside
    if not file.inside or not source.is_file():
        return file
    return replace(file, template=source.read_text(encoding="utf-8"), source=str(source))


def write(path: Path, text: str) -> None:
    """Write a configuration file, with the folders above it; a regular file that is there is replaced."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.is_symlink() or path.is_file():
        path.unlink()
    path.write_text(text, encoding="utf-8")


@lru_cache(maxsize=64)
def _compile(file: ConfigurationFile) -> Template:
    try:
        return _JINJA.compiled(file.template)
    except TemplateSyntaxError as error:
        raise InputError(f"template: {error.message}", place=Place(file.source, error.lineno)) from None


def _line(traceback: TracebackType | None) -> int | None:
    """The template's line where it failed: Jinja2 puts it into the traceback."""
    line = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == "<template>":
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
