"""Formulas as objects: comparing ``Performance`` objects writes the formula's text (Listing 6 of the SPL paper)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Union

from . import marks

SELF = "SELF"
"""The function that a formula stands on."""

_TAKEN = {
    *(
        "and",
        "or",
        "not",
        "implies",
        "true",
        "false",
        "for",
        "forall",
        "exists",
        "in",
        "step",
        "of",
        "within",
        "strictly",
    ),
    *("mean", "median", "quantile", "throughput", "cpu", "memory", "min", "max"),
    *("abs", "ceil", "exp", "floor", "log", "log2", "log10", "round", "sqrt", "SELF"),
}
"""Words that mean something else in formulas."""

Number = Union[int, float]
Method = Union[str, Callable[..., Any]]


class Names:
    """How functions are called in a text: by their own names where these differ, and what these names stand for."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}

    def of(self, method: Method) -> str:
        """The name of a function; a text is one already."""
        if isinstance(method, str):
            return method
        full = marks.reference(method)
        short = full.rpartition(":")[2].rpartition(".")[2]
        short += "_" if short in _TAKEN or (short[0] == "p" and short[1:].isdigit()) else ""
        name, number = short, 1
        while self.aliases.setdefault(name, full) != full:
            number += 1
            name = f"{short}_{number}"
        return name


class FormulaPart(ABC):
    """A part of a formula: ``str`` gives its text, ``aliases`` what the names in it stand for."""

    @abstractmethod
    def write(self, names: Names) -> str:
        """The text, with the names that functions have there."""

    def __str__(self) -> str:
        return self.write(Names())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    @property
    def aliases(self) -> dict[str, str]:
        """Names in the text, and the methods and generators that they stand for."""
        names = Names()
        self.write(names)
        return names.aliases

    def __bool__(self) -> bool:
        raise TypeError(
            f"whether {self} is decided by measuring: combine formulas by & | ~ and .implies, and a <= b, b <= c by &"
        )


class Formula(FormulaPart):
    """A statement about performance; ``&``, ``|``, ``~`` and ``implies`` make others of it."""

    def __init__(self, write: Callable[[Names], str]) -> None:
        self._write = write

    def write(self, names: Names) -> str:
        """The text, with the names that functions have there."""
        return self._write(names)

    def __and__(self, other: Formula) -> Formula:
        return _joined("&", self, other)

    def __or__(self, other: Formula) -> Formula:
        return _joined("|", self, other)

    def __invert__(self) -> Formula:
        return Formula(lambda names: f"!({self.write(names)})")

    def implies(self, other: Formula) -> Formula:
        """Where this holds, the other has to hold too."""
        return _joined("=>", self, other)


class Quantity(FormulaPart):
    """What can be compared: a performance, a limit, or what arithmetic makes of them."""

    def __init__(self, write: Callable[[Names], str]) -> None:
        self._write = write

    def write(self, names: Names) -> str:
        """The text, with the names that functions have there."""
        return self._write(names)

    def __le__(self, other: object) -> Formula:
        return _compared(self, "<=", other)

    def __ge__(self, other: object) -> Formula:
        return _compared(self, ">=", other)

    def __lt__(self, other: object) -> Formula:
        return _compared(self, "<", other)

    def __gt__(self, other: object) -> Formula:
        return _compared(self, ">", other)

    def equals(self, other: object, margin: str) -> Formula:
        """Equal up to a margin such as ``"3%"`` or ``"2 ms"``, which is proved."""
        return Formula(lambda names: f"{self.write(names)} = {_quantity(other).write(names)} +- {margin}")

    def __mul__(self, other: object) -> Quantity:
        return _computed(self, "*", other)

    def __rmul__(self, other: object) -> Quantity:
        return _computed(other, "*", self)

    def __truediv__(self, other: object) -> Quantity:
        return _computed(self, "/", other)

    def __add__(self, other: object) -> Quantity:
        return _computed(self, "+", other)

    def __radd__(self, other: object) -> Quantity:
        return _computed(other, "+", self)

    def __sub__(self, other: object) -> Quantity:
        return _computed(self, "-", other)

    def __rsub__(self, other: object) -> Quantity:
        return _computed(other, "-", self)


class Performance(Quantity):
    """The performance of a function on a workload: by default its mean time per call.

    ``method`` is a function, or a text such as ``"pkg:sort"`` or ``SELF``. Workload and instance generators follow,
    a ``partial`` of one where it has arguments of its own, then the parameters: numbers, texts, or what ``for_all``
    gives. ``revision`` is that of the method.

    >>> def old(values): ...
    >>> def sort(values): ...
    >>> @marks.workload
    ... def rand(n): ...
    >>> str(Performance(sort, rand, 100) <= 1.05 * Performance(old, rand, 100))
    'sort[rand](100) <= 1.05 * old[rand](100)'
    """

    def __init__(self, method: Method, *parameters: object, revision: str = "") -> None:
        kinds = [marks.kind(one.func if isinstance(one, partial) else one) for one in parameters]
        self._method, self._revision = method, revision
        self._generators: list[Any] = [
            next((one for one, found in zip(parameters, kinds) if found == kind), None)
            for kind in ("workload", "instance")
        ]
        if self._generators[1] is not None and self._generators[0] is None:
            raise TypeError("an instance generator needs a workload generator too")
        self._parameters = [one for one, found in zip(parameters, kinds) if not found]
        for one in self._parameters:
            _constant(one, Names())
        for one in filter(None, self._generators):
            _generated(one, Names())
        super().__init__(self._text)

    def at(self, revision: str) -> Performance:
        """The same in another revision, such as ``v1.2``, ``HEAD~1`` or ``pkg==1.4``."""
        given = [one for one in (*self._generators, *self._parameters) if one is not None]
        return Performance(self._method, *given, revision=revision)

    def statistic(self, name: str) -> Quantity:
        """Another statistic or metric than mean time: ``median``, ``p99``, ``throughput``, ``cpu``, ``memory``."""
        return Quantity(lambda names: f"{name}({self.write(names)})")

    def _text(self, names: Names) -> str:
        generators = ", ".join(_generated(one, names) for one in self._generators if one is not None)
        parameters = ", ".join(_constant(one, names) for one in self._parameters)
        brackets = f"[{generators}]" if generators else ""
        return f"{names.of(self._method)}{_revision(self._revision)}{brackets}" + (
            f"({parameters})" if parameters else ""
        )


def for_all(name: str, values: Sequence[Number | str], formula: Callable[[Quantity], Formula]) -> Formula:
    """A formula for every one of the values: ``for_all("n", [10, 100], lambda n: ...)``."""
    return _quantified("for all", name, values, formula)


def exists(name: str, values: Sequence[Number | str], formula: Callable[[Quantity], Formula]) -> Formula:
    """A formula for at least one of the values."""
    return _quantified("exists", name, values, formula)


def _quantified(word: str, name: str, values: Sequence[Any], formula: Callable[[Quantity], Formula]) -> Formula:
    inner = formula(Quantity(lambda _: name))
    listed = ", ".join(_constant(value, Names()) for value in values)
    return Formula(lambda names: f"{word} {name} in {{{listed}}}: {inner.write(names)}")


def _quantity(value: object) -> Quantity:
    """Of a number, a text with a unit (``"2 ms"``), or one already."""
    if isinstance(value, Quantity):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(f"{value!r} is not a performance, number or text such as '2 ms'")
    text = _limit(value) if isinstance(value, str) else str(value)
    return Quantity(lambda _: text)


def _compared(left: Quantity, sign: str, right: object) -> Formula:
    other = _quantity(right)
    return Formula(lambda names: f"{left.write(names)} {sign} {other.write(names)}")


def _computed(left: object, sign: str, right: object) -> Quantity:
    first, second = _quantity(left), _quantity(right)

    def write(names: Names) -> str:
        return f"{_operand(first, names)} {sign} {_operand(second, names)}"

    return Quantity(write)


def _operand(quantity: Quantity, names: Names) -> str:
    text = quantity.write(names)
    plain = isinstance(quantity, Performance) or " " not in text
    return text if plain else f"({text})"


def _joined(sign: str, left: Formula, right: Formula) -> Formula:
    return Formula(lambda names: f"({left.write(names)}) {sign} ({right.write(names)})")


def _generated(generator: Any, names: Names) -> str:
    """A generator, with the arguments that a ``partial`` of it has."""
    if not isinstance(generator, partial):
        return names.of(generator)
    if generator.keywords:
        raise TypeError(f"{generator!r} has arguments with names: give them by their places")
    listed = ", ".join(_constant(value, names) for value in generator.args)
    return names.of(generator.func) + (f"({listed})" if listed else "")


def _constant(value: object, names: Names) -> str:
    if isinstance(value, FormulaPart):
        return value.write(names)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(f"{value!r} is not a parameter: give a number, a text, or what for_all gives")
    return _quoted(value) if isinstance(value, str) else str(value)


def _limit(text: str) -> str:
    """A number with a unit; one that is no word is quoted: ``5 '1/s'``."""
    number, _, unit = text.strip().partition(" ")
    return f"{number} {_quoted(unit.strip())}" if "/" in unit else text.strip()


def _revision(text: str) -> str:
    if not text:
        return ""
    plain = all(c.isalnum() or c in "._/~^-=" for c in text) and (text[0].isalnum() or text[0] in "_^")
    return f"@{text}" if plain else f"@{_quoted(text)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
