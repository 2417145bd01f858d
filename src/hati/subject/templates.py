"""Render configuration files from Jinja2 templates for every run, in a sandbox with bounded time and memory."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from functools import lru_cache, wraps
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import Any, cast

from jinja2 import (
    StrictUndefined,
    Template,
    TemplateError,
    TemplateSyntaxError,
    UndefinedError,
    meta,
    nodes,
    pass_context,
)
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment
from jinja2.visitor import NodeTransformer

from hati.core import ConfigurationFile, InputError, Place, replace

MOST_STEPS = 250_000
"""The largest number of loop iterations and calls in one file."""
MOST_CHARACTERS = 16 * 2**20
"""The largest number of characters of one file, and of each intermediate value."""
MOST_HANDLED = 4 * MOST_CHARACTERS
"""The largest total number of characters that all expressions of one file take and return."""
_MOST_BITS = 100_000
_MULTIPLYING = {
    *("center", "ljust", "rjust", "zfill", "expandtabs", "indent", "wordwrap"),
    *("replace", "join", "batch", "slice", "tojson"),
}
"""The filters and methods whose result can be as long as the product of two of their arguments."""
_OUT_OF_REACH = {"translate", "to_bytes"}
_FORMATS = {"format", "format_map"}
_SPECIFICATION = re.compile(r"[%:]([^%:{}a-zA-Z]*)")
_COLLECTIONS = (list, tuple, set, dict)
_DEEPEST = 5
_ITEM = 16
"""The cost of an item of a collection, in characters."""
_COUNTED, _CONCATENATED, _KEPT = "counted", "concatenated", "kept"

_steps: ContextVar[Iterator[int]] = ContextVar("steps")
_handled: ContextVar[list[int]] = ContextVar("handled")


class BoundedEnvironment(SandboxedEnvironment):
    """A sandbox that also bounds loop iterations, calls, and the size of all values."""

    intercepted_binops = frozenset({"+", "*", "**", "%"})

    def __init__(self, finalize: Callable[[Any], Any], **options: Any) -> None:
        @pass_context  # so that constants are not evaluated when the template is compiled
        def written(_: Context, value: Any) -> Any:
            return finalize(_kept(value))

        super().__init__(finalize=written, **options)
        self.filters = {name: _bounded_filter(name, each) for name, each in self.filters.items()}
        self.filters |= {_COUNTED: _counted, _CONCATENATED: _concatenated, _KEPT: _kept}
        del self.globals["lipsum"]

    def compiled(self, text: str) -> Template:
        """A template whose loops count their iterations, and whose concatenations and blocks count their results.

        Raises:
            TemplateSyntaxError: where it is not valid, or a loop is recursive, whose iterations cannot be counted.
        """
        counting: nodes.Template = _Counting(self).visit(self.parse(text))
        return Template.from_code(self, self.compile(counting), self.make_globals(None))

    def bounded(self, template: Template, variables: Mapping[str, object]) -> str:
        """The text of a template.

        Raises:
            SecurityError: where it takes too many steps, or is too long.
            TemplateError: where it fails otherwise; Python's own errors in its expressions are raised as they are.
        """
        steps, handled = _steps.set(iter(range(MOST_STEPS))), _handled.set([0])
        try:
            parts, size = list[str](), 0
            for part in template.generate(variables):
                parts.append(part)
                size += len(part)
                if size > MOST_CHARACTERS:
                    raise SecurityError(f"it makes more than {MOST_CHARACTERS >> 20} MiB")
            return "".join(parts)
        finally:
            _steps.reset(steps)
            _handled.reset(handled)

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may use an attribute: as in every sandbox, without methods that cannot be bounded."""
        return attr not in _OUT_OF_REACH and super().is_safe_attribute(obj, attr, value)

    def call(self, context: Context, called: Any, /, *arguments: Any, **named: Any) -> Any:
        """Call a function or method in a template."""
        _count()
        method = getattr(called, "__wrapped__", called)
        _check(getattr(method, "__name__", ""), [getattr(method, "__self__", None), *arguments, *named.values()])
        return _kept(super().call(context, called, *arguments, **named))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Add, multiply, raise to a power, or format."""
        if operator == "*":
            _check_product(left, right)
        elif operator == "**" and _bits(left) * abs(right if isinstance(right, int) else 1) > _MOST_BITS:
            raise SecurityError("a power is too large")
        _check("format" if operator == "%" else operator, [left, right])
        return _kept(super().call_binop(context, operator, left, right))


class _Counting(NodeTransformer):
    """Wraps nodes that a sandbox does not intercept in counting filters."""

    def __init__(self, environment: BoundedEnvironment) -> None:
        self.environment = environment

    def visit_For(self, node: nodes.For) -> nodes.Node:  # noqa: N802 - Jinja2 finds visitors by the names of nodes
        if node.recursive:
            raise TemplateSyntaxError("recursive loops are not supported", node.lineno)
        literal = sum(len(data.data) for data in node.find_all(nodes.TemplateData))
        node.iter = self._filtered(cast("nodes.Expr", node.iter), _COUNTED, node.lineno, literal)
        return self.generic_visit(node)

    def visit_AssignBlock(self, node: nodes.AssignBlock) -> nodes.Node:  # noqa: N802 - as above
        node.filter = self._filtered(node.filter, _KEPT, node.lineno)
        return self.generic_visit(node)

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:  # noqa: N802 - as above
        parts = nodes.List(node.nodes, lineno=node.lineno, environment=self.environment)
        return self.generic_visit(self._filtered(parts, _CONCATENATED, node.lineno))

    def _filtered(self, node: nodes.Expr | None, name: str, line: int, *given: int) -> nodes.Filter:
        about: dict[str, Any] = {"lineno": line, "environment": self.environment}
        constants = [nodes.Const(value, **about) for value in given]
        return nodes.Filter(node, name, constants, [], None, None, **about)


def _bounded_filter(name: str, filtering: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(filtering)
    def bounded(*arguments: Any, **named: Any) -> Any:
        _check(name, [*arguments, *named.values()])
        return _kept(filtering(*arguments, **named))

    return bounded


def _check(name: str, given: Iterable[Any]) -> None:
    """Check that the result of an operation with these values is not too long, and count its arguments."""
    values = list(given)
    weights = [_weight(value) for value in values]
    _handle(sum(weights))
    if name in _MULTIPLYING:
        numbers = (value for value in values if isinstance(value, int))
        sizes = sorted([*weights, *numbers])
        if len(sizes) > 1 and sizes[-1] * sizes[-2] > MOST_CHARACTERS:
            raise SecurityError(f"the result of {name} is too long")
    elif name in _FORMATS:
        _check_format(values[0])


def _check_format(text: Any) -> None:
    """Check that the sum of the widths and precisions of a format is not too large."""
    specified = _SPECIFICATION.findall(text) if isinstance(text, str) else []
    wide = sum(int(digits[:9]) for part in specified for digits in re.findall(r"\d+", part))
    if wide > MOST_CHARACTERS or any("*" in part for part in specified):
        raise SecurityError("a format is too wide")


def _check_product(left: Any, right: Any) -> None:
    for many, times in ((left, right), (right, left)):
        if isinstance(many, (str, bytes, list, tuple)) and isinstance(times, int):
            if _weight(many) * times > MOST_CHARACTERS:
                raise SecurityError("a repetition is too long")
            return
    if _bits(left) + _bits(right) > _MOST_BITS:
        raise SecurityError("a product is too large")


def _bits(value: Any) -> int:
    return value.bit_length() if isinstance(value, int) else 0


def _weight(value: Any, depth: int = 0) -> int:
    """The number of characters of a value, nested values included.

    Raises:
        SecurityError: where it has too many, or is nested too deeply.
    """
    if isinstance(value, (str, bytes, range)):
        return len(value)
    if not isinstance(value, _COLLECTIONS):
        return 0
    if depth > _DEEPEST:
        raise SecurityError("a value is nested too deeply")
    weight = _ITEM * len(value)
    for each in chain(value, value.values()) if isinstance(value, dict) else value:
        weight += _weight(each, depth + 1)
        if weight > MOST_CHARACTERS:
            raise SecurityError(f"a value has more than {MOST_CHARACTERS >> 20} MiB")
    return weight


def _counted(values: Iterable[Any], literal: int) -> Iterator[Any]:
    for value in values:
        _count()
        _handle(literal)
        yield value


def _concatenated(values: Iterable[Any]) -> Any:
    parts = list(values)
    _check("~", parts)
    return _kept("".join(map(str, parts)))


def _kept(value: Any) -> Any:
    """Count a value, and return it."""
    weight = _weight(value)
    if weight > MOST_CHARACTERS:
        raise SecurityError(f"a value has more than {MOST_CHARACTERS >> 20} MiB")
    _handle(weight)
    return value


def _handle(size: int) -> None:
    handled = _handled.get()
    handled[0] += size
    if handled[0] > MOST_HANDLED:
        raise SecurityError(f"its expressions handle more than {MOST_HANDLED >> 20} MiB")


def _count() -> None:
    if next(_steps.get(), None) is None:
        raise SecurityError(f"it takes more than {MOST_STEPS:,} steps")


def _plain(value: object) -> object:
    """A value with booleans as in commands: ``true`` and ``false``."""
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
        InputError: with the place, where the template uses an unknown name, or fails otherwise.
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
    """The file with the template in a revision's tree; with today's if the revision has none."""
    source = tree / file.inside
    if not file.inside or not source.is_file():
        return file
    return replace(file, template=source.read_text(encoding="utf-8"), source=str(source))


def write(path: Path, text: str) -> None:
    """Write a configuration file, and create its folders; an existing file or link is replaced."""
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
    """The line at which the template failed: Jinja2 puts it into the traceback."""
    line = None
    while traceback is not None:
        if traceback.tb_frame.f_code.co_filename == "<template>":
            line = traceback.tb_lineno
        traceback = traceback.tb_next
    return line
