"""Jinja2 whose templates reach nothing but their variables, and end."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

from jinja2 import Template, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import SandboxedEnvironment

MOST_STEPS = 1_000_000
"""Passes through loops, and calls, of one file."""
MOST_CHARACTERS = 16 * 2**20
_MOST_BITS = 100_000
_COUNTED = "counted"

_steps: ContextVar[Iterator[int]] = ContextVar("steps")


class BoundedEnvironment(SandboxedEnvironment):
    """A sandbox that also bounds passes through loops, calls, what is written, repetitions and powers."""

    intercepted_binops = frozenset({"*", "**"})

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.filters[_COUNTED] = _counted

    def compiled(self, text: str) -> Template:
        """A template, whose loops count their passes.

        Raises:
            TemplateSyntaxError: where it is none.
        """
        parsed = self.parse(text)
        for loop in list(parsed.find_all(nodes.For)):
            loop.iter = nodes.Filter(loop.iter, _COUNTED, [], [], None, None, lineno=loop.lineno, environment=self)
        return Template.from_code(self, self.compile(parsed), self.make_globals(None))

    def bounded(self, template: Template, variables: Mapping[str, object]) -> str:
        """The text that a template makes.

        Raises:
            SecurityError: where it does too much, or is too long.
            TemplateError: where it fails otherwise; Python's own errors of its expressions are raised as they are.
        """
        token = _steps.set(iter(range(MOST_STEPS)))
        try:
            parts, size = list[str](), 0
            for part in template.generate(variables):
                parts.append(part)
                size += len(part)
                if size > MOST_CHARACTERS:
                    raise SecurityError(f"it makes more than {MOST_CHARACTERS >> 20} MiB")
            return "".join(parts)
        finally:
            _steps.reset(token)

    def call(self, context: Context, called: Any, /, *arguments: Any, **named: Any) -> Any:
        """Call something in a template."""
        _count()
        return super().call(context, called, *arguments, **named)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Multiply, or raise to a power."""
        if operator == "*":
            _check_product(left, right)
        elif isinstance(left, int) and isinstance(right, int) and left.bit_length() * right > _MOST_BITS:
            raise SecurityError("a power is too large")
        return super().call_binop(context, operator, left, right)


def _check_product(left: Any, right: Any) -> None:
    for many, times in ((left, right), (right, left)):
        if isinstance(many, (str, list, tuple)) and isinstance(times, int) and len(many) * times > MOST_CHARACTERS:
            raise SecurityError("a repetition is too long")


def _counted(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        _count()
        yield value


def _count() -> None:
    if next(_steps.get(), None) is None:
        raise SecurityError(f"it takes more than {MOST_STEPS:,} steps")
