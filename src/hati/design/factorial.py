"""Full factorials and regular fractions: from columns and from generators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hati.core import InputError
from hati.design.matrix import MOST_RUNS, Design, Matrix, check_factors
from hati.design.names import separator_of, symbols

_MINUS = str.maketrans({"\u2212": "-", "\u2013": "-"})


@dataclass(frozen=True)
class Column:
    """A factor as the product of base factors: bit i of ``base`` is the i-th base factor; ``sign`` is -1 or +1."""

    base: int
    sign: int = 1

    def times(self, other: Column) -> Column:
        """The product of two: base factors that are in both cancel out."""
        return Column(self.base ^ other.base, self.sign * other.sign)


def full_factorial(factors: Sequence[str]) -> Design:
    """Every combination of the factors' two settings, in standard order: the first factor changes fastest.

    Raises:
        InputError: for names that will not do, or above 2^20 runs.
    """
    factors = tuple(factors)
    check_factors(factors)
    columns = [Column(1 << i) for i in range(len(factors))]
    return Design("full factorial", factors, standard_matrix(columns, len(factors)))


def from_generators(factors: Sequence[str], generators: Sequence[str]) -> Design:
    """The regular fraction in which the generated factors are products of the others.

    A generator reads ``F=ABC`` or ``M=-ABE``: it speaks of factors by their names where these are single
    characters, else by their letters (A for the first factor), or by names with colons: ``sync=cache:log``.
    Factors without a generator are the base; a generator may speak of generated factors.

    Raises:
        InputError: for text that is no generator, a factor that is unknown, generated twice or by itself,
            or a base of more than 20 factors.
    """
    factors = tuple(factors)
    check_factors(factors)
    recipes = dict[str, tuple[int, tuple[str, ...]]]()
    for text in generators:
        generated, sign, product = _parse(text, factors)
        if generated in recipes:
            raise InputError(f"factor {generated!r} has two generators", fix=f"drop one of them, such as {text!r}")
        recipes[generated] = (sign, product)
    if not recipes:
        return full_factorial(factors)
    base = [name for name in factors if name not in recipes]
    columns = _solve(base, recipes)
    matrix = standard_matrix([columns[name] for name in factors], len(base))
    return Design("regular fraction", factors, matrix, tuple(text.strip() for text in generators))


def parse_generators(text: str) -> tuple[str, ...]:
    """Split generators at commas: ``F=ABC,G=-ABD``; no text makes none. What each says is checked with the factors.

    >>> parse_generators("F=ABC, G=-ABD")
    ('F=ABC', 'G=-ABD')
    """
    return tuple(piece.strip() for piece in text.split(",")) if text.strip() else ()


def from_columns(factors: Sequence[str], base: int, generated: Sequence[int]) -> Design:
    """The regular fraction whose first ``base`` factors are the base; the others' columns are in Yates order.

    Bit i of a column's number is the i-th base factor: 3 is AB, 7 is ABC.
    """
    factors = tuple(factors)
    columns = [Column(1 << i) for i in range(base)] + [Column(number) for number in generated]
    names, between = symbols(factors), separator_of(symbols(factors))
    texts = [
        f"{name}={between.join(names[i] for i in range(base) if column.base >> i & 1)}"
        for name, column in zip(names[base:], columns[base:], strict=True)
    ]
    return Design("regular fraction", factors, standard_matrix(columns, base), tuple(texts))


def standard_matrix(columns: Sequence[Column], base: int) -> Matrix:
    """The matrix of those columns over all 2^base runs in standard order, the first base factor fastest.

    Raises:
        InputError: above 2^20 runs.
    """
    if 2**base > MOST_RUNS:
        raise InputError(f"{base} base factors make 2^{base} runs, too many", fix="give more generators: a fraction")
    runs = np.arange(2**base, dtype=np.int64)
    matrix = np.empty((2**base, len(columns)), dtype=np.int8)
    for j, column in enumerate(columns):
        chosen = [i for i in range(base) if column.base >> i & 1]
        signs = [((runs >> i & 1) * 2 - 1).astype(np.int8) for i in chosen]
        matrix[:, j] = np.multiply.reduce(signs, axis=0) * column.sign if signs else column.sign
    return matrix


def _parse(text: str, factors: tuple[str, ...]) -> tuple[str, int, tuple[str, ...]]:
    """The generated factor, the sign and the factors of the product."""
    left, equals, right = (part.strip() for part in text.translate(_MINUS).partition("="))
    sign = -1 if right.startswith("-") and right not in factors else 1
    if right[:1] in ("-", "+") and right not in factors:
        right = right[1:].strip()
    if not (left and equals and right):
        raise InputError(f"{text!r} is no generator", fix="write a generator as 'F=ABC' or 'M=-ABE'")
    by_symbol = dict(zip(symbols(factors), factors, strict=True)) | {name: name for name in factors}
    product = tuple(_factor(word, by_symbol, text) for word in _split(right, by_symbol))
    twice = [name for name in product if product.count(name) > 1]
    if twice:
        raise InputError(f"generator {text!r} has factor {twice[0]!r} twice, which cancels out", fix="leave both out")
    return _factor(left, by_symbol, text), sign, product


def _split(product: str, by_symbol: dict[str, str]) -> list[str]:
    if product in by_symbol:
        return [product]
    for between in (":", "*"):
        if between in product:
            return [word.strip() for word in product.split(between)]
    return list("".join(product.split()))


def _factor(word: str, by_symbol: dict[str, str], text: str) -> str:
    if word not in by_symbol:
        known = ", ".join(list(by_symbol)[:60])
        raise InputError(f"generator {text!r} speaks of {word!r}, which is no factor", fix=f"the factors are {known}")
    return by_symbol[word]


def _solve(base: list[str], recipes: dict[str, tuple[int, tuple[str, ...]]]) -> dict[str, Column]:
    """Every factor as a product of base factors."""
    columns = {name: Column(1 << i) for i, name in enumerate(base)}
    waiting = dict(recipes)
    while waiting:
        ready = [name for name, (_, product) in waiting.items() if all(word in columns for word in product)]
        if not ready:
            circle = ", ".join(repr(name) for name in waiting)
            raise InputError(f"generators go round in a circle: {circle}", fix="generate factors from base factors")
        for name in ready:
            sign, product = waiting.pop(name)
            column = Column(0, sign)
            for word in product:
                column = column.times(columns[word])
            columns[name] = column
    return columns
