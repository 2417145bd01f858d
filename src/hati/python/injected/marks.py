"""The decorators: they store the purpose of a function in one of its attributes, and return it unchanged."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, overload

F = TypeVar("F", bound=Callable[..., Any])

MARK = "__hati__"
"""The attribute: a dictionary of plain values, so that every version of Hati can read what another one wrote.

On a module, it is the list of lines with ``@hati.spl``.
"""

FRESH = ("run", "observation", "call")
"""How often a new instance is created: per run, per observation or per call."""


class Statement(NamedTuple):
    """Formulas on a function: their texts and aliases, and the file and line of the decorator."""

    formulas: tuple[str, ...]
    aliases: dict[str, str]
    file: str
    line: int


def workload(function: F) -> F:
    """Mark a function that creates arguments for measured calls.

    It takes the formula's parameters, and a seeded ``random.Random`` if it has a parameter ``rng``. It returns the
    arguments of one call and is called again for the next, or it returns an iterator over the arguments of successive
    calls. A tuple holds several arguments; any other value is a single argument.

    >>> @workload
    ... def rand(n, rng):
    ...     return [rng.random() for _ in range(n)]
    >>> kind(rand)
    'workload'
    """
    return _marked(function, kind="workload")


@overload
def instance(function: F) -> F: ...
@overload
def instance(*, fresh: str = "run") -> Callable[[F], F]: ...
def instance(function: F | None = None, *, fresh: str = "run") -> F | Callable[[F], F]:
    """Mark a function that creates the object whose method is measured, from the formula's parameters.

    ``fresh`` says how often: once per ``"run"``, before each ``"observation"``, or for each ``"call"``, always
    outside the timed part.

    Raises:
        ValueError: for any other ``fresh``.
    """
    if fresh not in FRESH:
        raise ValueError(f"fresh={fresh!r}: write one of {', '.join(map(repr, FRESH))}")

    def mark(function: F) -> F:
        return _marked(function, kind="instance", fresh=fresh)

    return mark if function is None else mark(function)


def measured(function: F) -> F:
    """Mark a measuring function: it runs its own loop, and takes a controller and then the formula's parameters.

    Its loop is ``while spl.needs_more():``. The timed part is in ``with spl.measure():`` or between ``spl.start()``
    and ``spl.end()``, or it is the whole body (Listing 3 of the SPL paper).
    """
    return _marked(function, kind="measured")


def spl(*formulas: object, **aliases: object) -> Callable[[F], F]:
    """State formulas about the performance of the decorated function, which is ``SELF`` in them.

    ``formulas`` are texts or comparisons of ``Performance`` objects; ``aliases`` name methods and generators: as
    functions, or as texts such as ``"pkg.sorting:sort@v1.2"``.

    Raises:
        TypeError: for any other formula or alias, and on a class or a property, which are not functions.
    """
    caller = sys._getframe(1)
    named = {name: text for formula in formulas for name, text in getattr(formula, "aliases", {}).items()}
    named.update({name: alias if isinstance(alias, str) else reference(alias) for name, alias in aliases.items()})
    namespace, line = caller.f_globals, caller.f_lineno
    statement = [[_text(formula) for formula in formulas], named, caller.f_code.co_filename, line]

    def mark(function: F) -> F:
        if isinstance(function, type):
            raise TypeError(f"@hati.spl stands on the class {function.__name__}: write it on a function or a method")
        if getattr(function, "__globals__", namespace) is namespace:
            namespace.setdefault(MARK, []).append(line)
        return _marked(function, statements=[statement, *_mark(_unwrapped(function)).get("statements", ())])

    return mark


def kind(function: object) -> str:
    """``"workload"``, ``"instance"`` or ``"measured"``; empty for a function that is none of these."""
    return str(_mark(function).get("kind", ""))


def freshness(function: object) -> str:
    """How often an instance generator is called."""
    return str(_mark(function).get("fresh", "run"))


def statements(function: object) -> tuple[Statement, ...]:
    """The statements on a function, those of the topmost decorator first."""
    found = _mark(function).get("statements", ())
    return tuple(Statement(tuple(texts), dict(aliases), file, line) for texts, aliases, file, line in found)


def reference(function: object) -> str:
    """The reference to a function or method in other files: ``module:name`` or ``module:Class.name``.

    Raises:
        TypeError: if it has no name that can be imported.
    """
    name, module = getattr(function, "__qualname__", ""), getattr(function, "__module__", "")
    if not module:
        module = getattr(getattr(function, "__objclass__", None), "__module__", "")
    if not name or not module or "<" in name:
        raise TypeError(f"{function!r} is not a function that can be imported by its name")
    return f"{module}:{name}"


def stated(module: object) -> list[Callable[..., Any]]:
    """The functions and methods of a module that have statements, in the order of their definitions."""
    return _stated(module, getattr(module, "__name__", ""))


def unnamed(module: object) -> list[int]:
    """The lines of a module's statements on functions that no name of the module refers to: ``stated`` omits these."""
    found = {statement.line for function in stated(module) for statement in statements(function)}
    return sorted(set(vars(module).get(MARK, ())) - found)


def resolve(name: str, function: object) -> str | None:
    """The reference for a name without an alias in a formula on a function, looked up as the function would do it.

    >>> resolve("resolve", resolve)
    'hati.python.injected.marks:resolve'
    """
    first, *rest = name.split(".")
    found = getattr(function, "__globals__", {}).get(first)
    for part in rest:
        found = getattr(found, part, None)
    try:
        return None if found is None else reference(found)
    except TypeError:
        return None


def _stated(holder: object, module: str) -> list[Callable[..., Any]]:
    found: list[Callable[..., Any]] = []
    for member in vars(holder).values():
        value = _unwrapped(member)
        if getattr(value, "__module__", "") == module:
            found += _stated(value, module) if isinstance(value, type) else [value] if statements(value) else []
    return list(dict.fromkeys(found))


def _text(formula: object) -> str:
    if isinstance(formula, str) or hasattr(formula, "aliases"):
        return str(formula)
    raise TypeError(f"{formula!r} is not a valid formula: write a text, or compare Performance objects")


def _mark(function: object) -> dict[str, Any]:
    found = getattr(function, "__dict__", {}).get(MARK, {})  # a class's own, not inherited
    return dict(found) if isinstance(found, dict) else {}


def _marked(function: F, **about: object) -> F:
    inner = _unwrapped(function)
    try:
        setattr(inner, MARK, {**_mark(inner), **about})
    except AttributeError:
        raise TypeError(f"{function!r} is not a function written in Python: decorate one, or a method") from None
    return function


def _unwrapped(function: object) -> Any:
    """The function inside a static or class method; any other object unchanged."""
    return getattr(function, "__func__", function)
