"""Formulas as objects: comparing ``Performance`` objects builds the text of a formula (Listing 6 of the SPL paper)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Union

from . import marks

SELF = "SELF"
"""The function that a formula is stated on."""

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
"""Words with another meaning in formulas."""

Number = Union[int, float]
Method = Union[str, Callable[..., Any]]


class Names:
    """The names of functions in a text, which are their own unless two are the same, and what these names stand for."""

    def __init__(self) -> None:
        self.aliases: dict[str, str] = {}

    def of(self, method: Method) -> str:
        """The name of a function; a text is returned unchanged."""
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
    """A part of a formula: ``str`` gives its text, ``aliases`` the functions that its names stand for."""

    @abstractmethod
    def write(self, names: Names) -> str:
        """The text, with the names that functions have there."""

    def __str__(self) -> str:
        return self.write(Names())

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    @property
    def aliases(self) -> dict[str, str]:
        """The names in the text, with the methods and generators that they stand for."""
        names = Names()
        self.write(names)
        return names.aliases

    def __bool__(self) -> bool:
        raise TypeError(
            f"whether {self} holds is decided by measuring: combine formulas with & | ~ and .implies(), "
            "and write (a <= b) & (b <= c)"
        )


class Formula(FormulaPart):
    """A statement about performance; combine statements with ``&``, ``|``, ``~`` and ``implies``."""

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
        """The formula that the other holds wherever this one does."""
        return _joined("=>", self, other)


class Quantity(FormulaPart):
    """A value that can be compared: a performance, a limit, or a result of arithmetic on these."""

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
        """The formula that both are equal within a margin such as ``"3%"`` or ``"2 ms"``, which has to be proved."""
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
    as a ``partial`` if they have arguments of their own, then the parameters: numbers, texts, or variables of
    ``for_all`` and ``exists``. ``revision`` is the revision of the method.

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
        """The same performance in another revision, such as ``v1.2``, ``HEAD~1`` or ``pkg==1.4``."""
        given = [one for one in (*self._generators, *self._parameters) if one is not None]
        return Performance(self._method, *given, revision=revision)

    def statistic(self, name: str) -> Quantity:
        """A statistic or metric other than the mean time: ``median``, ``p99``, ``throughput``, ``cpu``, ``memory``."""
        return Quantity(lambda names: f"{name}({self.write(names)})")

    def _text(self, names: Names) -> str:
        generators = ", ".join(_generated(one, names) for one in self._generators if one is not None)
        parameters = ", ".join(_constant(one, names) for one in self._parameters)
        brackets = f"[{generators}]" if generators else ""
        return f"{names.of(self._method)}{_revision(self._revision)}{brackets}" + (
            f"({parameters})" if parameters else ""
        )


def for_all(name: str, values: Sequence[Number | str], formula: Callable[[Quantity], Formula]) -> Formula:
    """The formula that ``formula`` holds for every value: ``for_all("n", [10, 100], lambda n: ...)``."""
    return _quantified("for all", name, values, formula)


def exists(name: str, values: Sequence[Number | str], formula: Callable[[Quantity], Formula]) -> Formula:
    """The formula that ``formula`` holds for at least one of the values."""
    return _quantified("exists", name, values, formula)


def _quantified(word: str, name: str, values: Sequence[Any], formula: Callable[[Quantity], Formula]) -> Formula:
    inner = formula(Quantity(lambda _: name))
    listed = ", ".join(_constant(value, Names()) for value in values)
    return Formula(lambda names: f"{word} {name} in {{{listed}}}: {inner.write(names)}")


def _quantity(value: object) -> Quantity:
    """The quantity for a number or a text with a unit (``"2 ms"``); a quantity unchanged."""
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
    """The text of a generator, with its arguments if it is a ``partial``."""
    if not isinstance(generator, partial):
        return names.of(generator)
    if generator.keywords:
        raise TypeError(f"{generator!r} has keyword arguments: give them by position")
    listed = ", ".join(_constant(value, names) for value in generator.args)
    return names.of(generator.func) + (f"({listed})" if listed else "")


def _constant(value: object, names: Names) -> str:
    if isinstance(value, FormulaPart):
        return value.write(names)
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise TypeError(f"{value!r} is not a parameter: give a number, a text, or what for_all gives")
    return _quoted(value) if isinstance(value, str) else str(value)


def _limit(text: str) -> str:
    """A number with a unit; a unit that is not a word is quoted: ``5 '1/s'``."""
    number, _, unit = text.strip().partition(" ")
    return f"{number} {_quoted(unit.strip())}" if "/" in unit else text.strip()


def _revision(text: str) -> str:
    if not text:
        return ""
    plain = all(c.isalnum() or c in "._/~^-=" for c in text) and (text[0].isalnum() or text[0] in "_^")
    return f"@{text}" if plain else f"@{_quoted(text)}"


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
