"""The terms of models: a two-level design's contrasts, each named by its lowest-order effect, and columns on the runs.

An effect is the mean at the second setting (+) minus the mean at the first (-).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations
from math import comb

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from hati.core import FloatArray, InputError
from hati.stats.distributions import normal_quantile

Signs = NDArray[np.int8]
"""Entries -1 and +1."""

Term = tuple[int, ...]
"""An effect by the positions of its factors, ascending: ``(2,)`` a main effect, ``(0, 2)`` an interaction."""

ALIAS_ORDER = 3
"""Aliases are listed up to this order."""

LEAST_LEFT = 3
"""The degrees of freedom that a fit leaves to the residuals at least, where these estimate the noise."""

_MANY_EFFECTS = 20_000
_MANY_RUNS = 1024


class Contrasts(Struct, frozen=True, eq=False):
    """Orthogonal contrasts of a design: main effects first, then by rising order.

    ``terms`` names each by the first effect of lowest order in its alias set, ``aliases`` holds the set's other
    members up to third order (second, where third would be more than 20,000 effects), and ``columns``, shape
    (rows, contrasts), the named effect's signs. A design of N rows has N - 1; above 1,024 rows those of order four and
    more are left out.
    """

    terms: tuple[Term, ...]
    aliases: tuple[tuple[Term, ...], ...]
    columns: Signs

    @property
    def rows(self) -> int:
        """Number of distinct configurations."""
        return int(self.columns.shape[0])

    @property
    def main_effects(self) -> Signs:
        """The columns of the main effects, which are the design: shape (rows, factors)."""
        return self.columns[:, [len(term) == 1 for term in self.terms]]


def contrasts(matrix: Signs) -> Contrasts:
    """All contrasts of a design with orthogonal main effects and complete or no aliasing.

    Args:
        matrix: shape (rows, factors), entries -1 and +1, no row twice.

    Raises:
        InputError: where two effects are partially aliased, or a factor has one setting only.

    >>> contrasts(np.array([[-1, -1, 1], [1, -1, -1], [-1, 1, -1], [1, 1, 1]], dtype=np.int8)).aliases[0]
    ((1, 2),)
    """
    matrix = np.asarray(matrix, dtype=np.int8)
    rows, factors = matrix.shape
    order = ALIAS_ORDER if sum(comb(factors, k) for k in (1, 2, 3)) <= _MANY_EFFECTS else 2
    found = dict[bytes, list[Term]]()
    for term, key in _effects(matrix, min(order, factors)):
        found.setdefault(key, []).append(term)
    for term in found.pop(_key(np.ones((rows, 1), dtype=np.int8))[0], ()):
        if len(term) == 1:
            raise InputError(f"factor {term[0] + 1} of the design has the same setting in every run")
    sets = list(found.values())
    if rows <= _MANY_RUNS and len(sets) < rows - 1:
        sets += _higher(matrix, found, order)
    columns = np.column_stack([matrix[:, list(members[0])].prod(axis=1, dtype=np.int8) for members in sets])
    _check(columns)
    return Contrasts(
        terms=tuple(members[0] for members in sets),
        aliases=tuple(tuple(members[1:]) for members in sets),
        columns=columns,
    )


def _effects(matrix: Signs, order: int) -> Iterator[tuple[Term, bytes]]:
    """Every effect up to an order, with a key that identifies its column up to sign."""
    for size in range(1, order + 1):
        terms = list(combinations(range(matrix.shape[1]), size))
        chosen = np.array(terms)
        columns = matrix[:, chosen[:, 0]]
        for position in range(1, size):
            columns = columns * matrix[:, chosen[:, position]]
        yield from zip(terms, _key(columns), strict=True)


def _key(columns: Signs) -> list[bytes]:
    packed = np.packbits(columns != columns[0], axis=0)
    return [column.tobytes() for column in packed.T]


def _higher(matrix: Signs, found: dict[bytes, list[Term]], order: int) -> list[list[Term]]:
    """The contrasts above an order, level by level: each level is one more main effect times the level below."""
    known = set(found) | {_key(np.ones((len(matrix), 1), dtype=np.int8))[0]}
    level = [members[0] for members in found.values() if len(members[0]) == order]
    higher = list[list[Term]]()
    while level:
        above = list[Term]()
        for term in level:
            product = matrix[:, list(term)].prod(axis=1, dtype=np.int8)
            for factor, key in enumerate(_key(matrix * product[:, None])):
                if factor not in term and key not in known:
                    known.add(key)
                    above.append(tuple(sorted((*term, factor))))
        higher += [[term] for term in above]
        level = above
    return higher


def _check(columns: Signs) -> None:
    """Check that distinct columns are orthogonal to each other and to the mean."""
    signs = columns.astype(np.float64)
    gram = signs.T @ signs
    np.fill_diagonal(gram, 0.0)
    if np.any(gram) or np.any(signs.sum(axis=0)):
        raise InputError(
            "the design's effects are partially aliased", fix="use a full factorial or a regular fraction for screening"
        )


def half_normal(sizes: FloatArray) -> FloatArray:
    """The half-normal coordinate of every effect, by the rank of its size.

    The i-th smallest of I effects gets the standard normal quantile of 0.5 + 0.5 (i - 0.5) / I
    (RES paper, equation 4). Effects of equal size share the mean of their coordinates.

    >>> [round(x, 2) for x in half_normal(np.array([3.0, -1.0])).tolist()]
    [1.15, 0.32]
    """
    sizes = np.abs(sizes)
    count = len(sizes)
    coordinates = np.array([normal_quantile(0.5 + 0.5 * (i - 0.5) / count) for i in range(1, count + 1)])
    _, group, members = np.unique(sizes, return_inverse=True, return_counts=True)
    ranked = np.empty(count)
    ranked[np.argsort(sizes, kind="stable")] = coordinates
    return (np.bincount(group, weights=ranked) / members)[group]


NOTHING = 1e-7
"""A column's remainder below this fraction of the column is rounding."""


def added_basis(columns: FloatArray, basis: FloatArray) -> FloatArray:
    """An orthonormal basis, shape (runs, rank), of what the columns span beyond an orthonormal basis.

    Args:
        columns: shape (runs, any).
        basis: shape (runs, any), orthonormal columns.
    """
    vectors, sizes = _axes(orthogonal_part(columns, basis))
    return np.asarray(vectors[:, sizes > NOTHING * largest_norm(columns)])


def added_bases(terms: Sequence[FloatArray], basis: FloatArray) -> list[FloatArray]:
    """The added basis of each of several terms; terms with equally many columns are computed together."""
    found = [np.empty((len(columns), 0)) for columns in terms]
    for width in {columns.shape[1] for columns in terms} - {0}:
        places = [place for place, columns in enumerate(terms) if columns.shape[1] == width]
        stacked = np.array([terms[place] for place in places])
        vectors, sizes = _axes(orthogonal_part(stacked, basis))
        kept = sizes > NOTHING * np.sqrt(np.sum(stacked**2, axis=1).max(axis=1, initial=0.0))[:, None]
        for place, own, there in zip(places, vectors, kept, strict=True):
            found[place] = np.asarray(own[:, there])
    return found


def _axes(columns: FloatArray) -> tuple[FloatArray, FloatArray]:
    """The directions of columns' principal axes, shape (..., runs, axes), and their lengths, shape (..., axes)."""
    if columns.shape[-1] > 1:
        return np.linalg.svd(columns, full_matrices=False)[:2]
    sizes = np.sqrt(np.einsum("...ij,...ij->...j", columns, columns))
    return columns / np.where(sizes > 0.0, sizes, 1.0)[..., None, :], sizes


def _determined(rows: FloatArray) -> FloatArray:
    """The combinations of a part of the coefficients that are in the span of orthonormal rows, shape (part, any).

    Args:
        rows: that part of them, shape (rows, part).
    """
    within, directions = np.linalg.eigh(rows.T @ rows)
    return np.asarray(directions[:, within > 1.0 - NOTHING])


def spanned(columns: FloatArray) -> FloatArray:
    """An orthonormal basis of the columns' span, shape (runs, rank)."""
    return added_basis(columns, np.empty((len(columns), 0)))


def orthogonal_part(columns: FloatArray, basis: FloatArray) -> FloatArray:
    """The part of columns, shape (..., runs, any), orthogonal to an orthonormal basis, shape (runs, any)."""
    left = columns - basis @ (basis.T @ columns)
    return np.asarray(left - basis @ (basis.T @ left))  # twice: rounding errors would look like something new


def largest_norm(columns: FloatArray) -> float:
    """The Euclidean norm of the largest column; 0 where there is none."""
    return float(np.sqrt(np.einsum("ij,ij->j", columns, columns).max(initial=0.0)))


_WIDEST = 0.6
"""An interaction of three options has at most this many columns for each run: more leave no runs to test it by."""
_ALIASED = 1e-6


def interaction_columns(parts: Sequence[FloatArray]) -> FloatArray:
    """Return the columns of an interaction: all products of one column of each option.

    Args:
        parts: each option's columns, shape (runs, columns) or (1, columns).
    """
    found = parts[0]
    for part in parts[1:]:
        products = found[:, :, None] * part[:, None, :]
        found = products.reshape(len(products), products.shape[1] * products.shape[2])
    return found


class Alike(Struct, frozen=True, eq=False):
    """Terms with equally many columns: their ``places`` among all, and these columns.

    ``columns`` has shape (all columns, runs), a term's being next to each other. ``products``, shape (terms, columns of
    a term, columns of a term), are the inner products of each term's columns; ``sizes`` are the largest of these.
    """

    places: NDArray[np.intp]
    columns: FloatArray
    products: FloatArray
    sizes: FloatArray


def alike(terms: Sequence[FloatArray], first: int = 0) -> list[Alike]:
    """The terms with these columns grouped by the number of columns; their places are counted from ``first``."""
    found = []
    for width in sorted({columns.shape[1] for columns in terms} - {0}):
        places = np.array([place for place, columns in enumerate(terms) if columns.shape[1] == width], dtype=np.intp)
        stacked = np.array([terms[place].T for place in places], dtype=np.float64)
        products = stacked @ stacked.transpose(0, 2, 1)
        sizes = products.diagonal(axis1=1, axis2=2).max(axis=1)
        found.append(Alike(first + places, stacked.reshape(-1, stacked.shape[2]), products, sizes))
    return found


class ModelTerms(Struct, frozen=True, eq=False, dict=True):
    """Terms and their columns on the runs, main effects before interactions.

    ``columns[term]`` has shape (runs, parameters of the term). ``always``, shape (runs, any), is in every model: the
    intercept, or the means of blocks.

    Raises:
        InputError: where columns are of different lengths.
    """

    always: FloatArray
    columns: Mapping[Term, FloatArray]

    def __post_init__(self) -> None:
        if any(len(columns) != len(self.always) for columns in self.columns.values()):
            raise InputError("the terms of a model have columns of different lengths")

    def __iter__(self) -> Iterator[Term]:
        return iter(self.columns)

    @property
    def runs(self) -> int:
        """The number of runs."""
        return len(self.always)

    @property
    def main_effects(self) -> tuple[Term, ...]:
        """The terms of one option."""
        return tuple(term for term in self.columns if len(term) == 1)

    @property
    def interactions(self) -> tuple[Term, ...]:
        """The terms of several options."""
        return tuple(term for term in self.columns if len(term) > 1)

    def with_third_order(self, found: Sequence[Term]) -> ModelTerms:
        """Add the interactions of three options of which two have an interaction that was found (weak heredity).

        Interactions are left out if they are wholly aliased with an effect of fewer options, which is the likelier one,
        or have columns for more than ``_WIDEST`` of the runs.
        """
        pairs = [term for term in found if len(term) == 2]
        options = [option for (option,) in self.main_effects]
        threes = {tuple(sorted((*pair, option))) for pair in pairs for option in options if option not in pair}
        wider = {
            term: interaction_columns([self.columns[(option,)] for option in term])
            for term in sorted(threes - set(self.columns))
            if all((option,) in self.columns for option in term)
        }
        wider = {term: columns for term, columns in wider.items() if columns.shape[1] <= _WIDEST * self.runs}
        aliased = self._aliased(added_bases(list(wider.values()), self._basis_of_always))
        new = {term: columns for (term, columns), lost in zip(wider.items(), aliased, strict=True) if not lost}
        return ModelTerms(self.always, {**self.columns, **new}) if new else self

    def _aliased(self, added: Sequence[FloatArray]) -> NDArray[np.bool_]:
        """Whether each orthonormal basis of what a term adds to ``always`` lies within what a single term adds to it.

        A basis of no columns does.
        """
        ranks = np.array([own.shape[1] for own in added], dtype=np.intp)
        found = np.array(ranks == 0, dtype=np.bool_)
        there = np.flatnonzero(ranks)
        if not len(there):
            return found
        joined, starts = np.hstack(added), np.concatenate([[0], np.cumsum(ranks[there])[:-1]])
        for bases in self._bases:
            products = (bases.reshape(-1, self.runs) @ joined).reshape(len(bases), -1, joined.shape[1])
            within = np.add.reduceat(np.sum(products**2, axis=1), starts, axis=1).max(axis=0)
            found[there] |= within > ranks[there] - _ALIASED
        return found

    @cached_property
    def _bases(self) -> tuple[FloatArray, ...]:
        """The orthonormal bases of terms of up to two options, given ``always``, by rank, shape (terms, rank, runs)."""
        each = added_bases([own for term, own in self.columns.items() if len(term) <= 2], self._basis_of_always)
        ranks = sorted({basis.shape[1] for basis in each})
        return tuple(np.array([basis.T for basis in each if basis.shape[1] == rank]) for rank in ranks)

    @cached_property
    def mains(self) -> NDArray[np.bool_]:
        """Whether each term is a main effect, shape (terms,)."""
        return np.array([len(term) == 1 for term in self.columns], dtype=np.bool_)

    @cached_property
    def alike(self) -> tuple[Alike, ...]:
        """The terms grouped by their number of columns."""
        return tuple(alike(list(self.columns.values())))

    @cached_property
    def children(self) -> NDArray[np.bool_]:
        """Whether the second term is the first with one more option, shape (terms, terms).

        Under weak heredity main effects may be chosen, and the children of what was chosen.
        """
        place = {term: number for number, term in enumerate(self.columns)}
        found = np.zeros((len(place), len(place)), dtype=np.bool_)
        for term, number in place.items():
            for i in range(len(term)):
                parent = place.get(term[:i] + term[i + 1 :])
                if parent is not None:
                    found[parent, number] = True
        return found

    @cached_property
    def _basis_of_always(self) -> FloatArray:
        return spanned(self.always)

    def basis(self, terms: Iterable[Term]) -> FloatArray:
        """An orthonormal basis of ``always`` and those terms, shape (runs, rank)."""
        always = self._basis_of_always
        return np.hstack([always, added_basis(self._joined(terms), always)])

    def added(self, term: Term, others: Iterable[Term]) -> FloatArray:
        """An orthonormal basis of what a term adds to others and to ``always``, shape (runs, rank)."""
        return added_basis(self.columns[term], self.basis(others))

    def added_to_others(self, model: Sequence[Term]) -> Mapping[Term, FloatArray]:
        """What each term of a model adds to all others of it: orthonormal bases, shape (runs, rank).

        One factorization has them all. The columns of the transposed pseudoinverse that are a term's are orthogonal to
        the columns of all others where all columns are independent. Else those of their combinations are whose
        coefficients, alone, are determined: they are in the span of the rows.
        """
        if not model:
            return {}
        joined = self._joined(model)
        vectors, sizes, rotation = np.linalg.svd(orthogonal_part(joined, self._basis_of_always), full_matrices=False)
        kept = sizes > NOTHING * largest_norm(joined)
        rows = rotation[kept]
        dual = (vectors[:, kept] / sizes[kept]) @ rows
        ends = np.cumsum([self.columns[term].shape[1] for term in model])[:-1]
        own = np.split(dual, ends, axis=1)
        if len(rows) < joined.shape[1]:
            own = [each @ _determined(part) for each, part in zip(own, np.split(rows, ends, axis=1), strict=True)]
        return dict(zip(model, added_bases(own, np.empty((self.runs, 0))), strict=True))

    def _joined(self, terms: Iterable[Term]) -> FloatArray:
        return np.hstack([np.empty((self.runs, 0)), *(self.columns[term] for term in terms)])
