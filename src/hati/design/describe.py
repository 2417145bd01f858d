"""A design as plain values, ready to be shown as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from math import comb

from hati.core import InputError
from hati.design.aliasing import clear_interactions, groups, partial_aliases
from hati.design.exchange import FORMAT
from hati.design.matrix import Design
from hati.design.names import effect_name, separator_of
from hati.design.structure import Indices, hull
from hati.design.words import Word, shortest_words, word_length_pattern

_USUAL_ORDER = 3
_MOST_LISTED = 1_000_000
_MOST_WORDS = 5_000


def describe(design: Design, alias_order: int | None = None) -> dict[str, object]:
    """All that is known of a design, from its matrix alone, as values that JSON can hold.

    ``aliases`` names for every main effect, and for every two-factor interaction where the order is two or
    more, the effects up to ``alias_order`` that equal it, with a minus where it is their negative;
    ``partial_aliases`` the main effects' partial ones up to second order, with the mean of their product.
    Without an order: third, or as far below it as keeps the listing to a million.
    ``words`` are all defining words, the shortest first, where there are at most 5,000 of them, otherwise the
    shortest only, where a search finds them; ``resolution`` is null for a full factorial.

    Raises:
        InputError: for an order below one, or one whose listing would be too long.
    """
    between = separator_of(design.factors)
    order = _usual_order(len(design.factors), design.runs) if alias_order is None else alias_order
    if order < 1:
        raise InputError(f"an alias order of {order} leaves nothing to list", fix="use 1 or more")
    if _listed(len(design.factors), design.runs, order) > _MOST_LISTED and alias_order is not None:
        raise InputError(f"the aliases up to order {order} are too many to list", fix="use a lower --alias-order")
    pattern = word_length_pattern(design)
    return {
        "format": FORMAT,
        "kind": design.kind,
        "runs": design.runs,
        "factors": list(design.factors),
        "generators": list(design.generators),
        "resolution": min(pattern, default=None),
        "word_length_pattern": {str(length): count for length, count in pattern.items()},
        "words": [_signed(effect_name(word.factors, between), word.sign) for word in _words(design)],
        "alias_order": order,
        "aliases": _aliases(design, order, between),
        "partial_aliases": _partial_aliases(design, min(order, 2), between),
        "clear_interactions": [effect_name(pair, between) for pair in clear_interactions(design)],
        "matrix": design.matrix.tolist(),
    }


def _words(design: Design) -> Iterable[Word]:
    """The group that the factors outside the base generate: each equals a product of base factors up to its sign."""
    geometry = hull(design)
    free = len(design.factors) - geometry.rank
    if 2**free - 1 > _MOST_WORDS:
        return shortest_words(design)
    found: list[frozenset[int]] = [frozenset()]
    for j in set(range(len(design.factors))) - set(geometry.base):
        generator = {j, *(base for i, base in enumerate(geometry.base) if geometry.columns[j] >> i & 1)}
        found += [word ^ generator for word in found]
    ordered = sorted((tuple(sorted(word)) for word in found if word), key=lambda word: (len(word), word))
    return (Word(tuple(design.factors[j] for j in word), geometry.sign(word)) for word in ordered)


def _aliases(design: Design, order: int, between: str) -> dict[str, list[str]]:
    geometry = hull(design)
    sets = groups(geometry, order)

    def name(effect: Indices) -> str:
        return effect_name((design.factors[j] for j in effect), between)

    listed = [(effect, group) for group in sets.values() for effect in group if len(effect) <= 2]
    return {
        name(effect): [
            _signed(name(other), geometry.sign(effect) * geometry.sign(other)) for other in group if other != effect
        ]
        for effect, group in sorted(listed, key=lambda pair: (len(pair[0]), pair[0]))
    }


def _partial_aliases(design: Design, order: int, between: str) -> dict[str, dict[str, float]]:
    found = {
        factor: {
            effect_name(alias.factors, between): alias.coefficient
            for alias in partial_aliases(design, (factor,), order)
        }
        for factor in design.factors
    }
    return {factor: partial for factor, partial in found.items() if partial}


def _signed(name: str, sign: int) -> str:
    return name if sign > 0 else f"-{name}"


def _listed(factors: int, runs: int, order: int) -> int:
    """About how many aliases there are to list: effects, times those that share a column with each."""
    effects = sum(comb(factors, size) for size in range(1, order + 1))
    keys = sum(comb(factors, size) for size in range(1, min(order, 2) + 1))
    return max(effects, keys * effects // runs)


def _usual_order(factors: int, runs: int) -> int:
    return next((k for k in range(_USUAL_ORDER, 1, -1) if _listed(factors, runs, k) <= _MOST_LISTED), 1)
