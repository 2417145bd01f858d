"""The terms of a linear model, each with its columns on the runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hati.core import FloatArray, InputError
from hati.stats.contrasts import Term
from hati.stats.projection import NOTHING, added_basis, beside, largest_norm, spanned


@dataclass(frozen=True, eq=False)
class ModelTerms:
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

    def eligible(self, chosen: Sequence[int]) -> NDArray[np.bool_]:
        """Which terms may be chosen next: main effects, and interactions with a parent that was (weak heredity).

        Args:
            chosen: the places of the terms that were.

        Returns:
            shape (terms,), as ordered in ``columns``.
        """
        places = list(chosen)
        found = self._mains.copy()
        found |= np.any(self._children[places], axis=0)
        found[places] = False
        return found

    def with_third_order(self, found: Sequence[Term]) -> ModelTerms:
        """With the interactions of three options of which two have an interaction that was found (weak heredity)."""
        pairs = [term for term in found if len(term) == 2]
        options = [option for (option,) in self.main_effects]
        threes = {tuple(sorted((*pair, option))) for pair in pairs for option in options if option not in pair}
        new = [term for term in sorted(threes - set(self.columns)) if {term[:2], term[2:]} <= set(self.columns)]
        if not new:
            return self
        return ModelTerms(self.always, {**self.columns, **{term: self._product(term[:2], term[2:]) for term in new}})

    def _product(self, one: Term, other: Term) -> FloatArray:
        """The columns of an interaction."""
        products = self.columns[one][:, :, None] * self.columns[other][:, None, :]
        return products.reshape(self.runs, -1)

    @cached_property
    def _mains(self) -> NDArray[np.bool_]:
        return np.array([len(term) == 1 for term in self.columns], dtype=np.bool_)

    @cached_property
    def _children(self) -> NDArray[np.bool_]:
        """Shape (terms, terms): whether the second is the first and one more option."""
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
        """An orthonormal basis of what is always there and those terms, shape (runs, rank)."""
        always = self._basis_of_always
        return np.hstack([always, added_basis(self._joined(terms), always)])

    def added(self, term: Term, others: Iterable[Term]) -> FloatArray:
        """An orthonormal basis of what a term adds to others and to what is always there, shape (runs, rank)."""
        return added_basis(self.columns[term], self.basis(others))

    def added_to_others(self, model: Sequence[Term]) -> Mapping[Term, FloatArray]:
        """What each term of a model adds to all others of it: orthonormal bases, shape (runs, rank).

        Where all columns are independent, one factorization has them all: the columns of the transposed pseudoinverse
        that are a term's are orthogonal to the columns of all others.
        """
        if not model:
            return {}
        joined = self._joined(model)
        left = beside(joined, self._basis_of_always)
        vectors, sizes, rotation = np.linalg.svd(left, full_matrices=False)
        if left.shape[1] > left.shape[0] or np.any(sizes <= NOTHING * largest_norm(joined)):
            return {term: self.added(term, [other for other in model if other != term]) for term in model}
        dual = (vectors / sizes) @ rotation
        ends = np.cumsum([self.columns[term].shape[1] for term in model])
        return {term: spanned(own) for term, own in zip(model, np.split(dual, ends[:-1], axis=1), strict=True)}

    def _joined(self, terms: Iterable[Term]) -> FloatArray:
        return np.hstack([np.empty((self.runs, 0)), *(self.columns[term] for term in terms)])
